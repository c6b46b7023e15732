#!/usr/bin/env perl

# The checksum of a portable PDB: sent to HTTP sources as SymbolChecksum, and
# compared with what they send.  The oracle is the entry that the compiler made
# in the assembly, and an nginx insists on it as NuGet's server does.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $pdb = $t->read_file($t->data('ppdb/weave.pdb'));
my ($sum) = $t->read_file($t->data('ppdb/weave.dll')) =~ /SHA256\0(.{32})/s;
my $hex = unpack 'H*', $sum;
my $id = '6022E78B4BF44D048F9E21D7790ECE60FFFFFFFF';

# One byte of the language version in a custom record: the identity and the
# tables stay as they were.
my $other = $pdb;
my $at = index $other, 'language-version';
die 'no such record' if $at < 0;
substr($other, $at, 1) = 'L';

my @names = qw(none given two first upper other wrong unknown);
for (@names) {
    $t->write_file("html/strict/$_.pdb/$id/$_.pdb", $pdb);
    $t->write_file("html/false/$_.pdb/$id/$_.pdb", $other);
}
my $port = Test::Symcache::free_port();
my $web = "http://127.0.0.1:$port";
$t->start_nginx('', load => 0, http => <<"CONF", address => "127.0.0.1:$port");
    server {
        listen 127.0.0.1:$port;
        root %%DIR%%/html;
        location /strict/ {
            if (\$http_symbolchecksum = '') {
                return 403;
            }
        }
    }
CONF

my $true = JSON::PP::true();
my %source = map { $_ => { type => 'http', url => "$web/$_",
    internal => $true } } qw(strict false);
my @transcoders = { version => '1.0.0', makes => 'ppdbcache',
    command => [$t->program('pdb2symcache'), '-pdb', '{pdb}'] };
$t->start_symcached({
    stores => {
        strict => { root => $t->path('store-strict'), sources => ['strict'],
                    transcoders => \@transcoders },
        both => { root => $t->path('store-both'),
                  sources => ['false', 'strict'],
                  transcoders => \@transcoders },
    },
    sources => \%source,
});

sub lookup {
    my ($store, $name, $checksum) = @_;
    return $t->helper('GET', "/v1/ppdbcache/$store/$name.pdb/$id?version=1.0.0"
        . '&wait=60' . (defined $checksum ? "&checksum=$checksum" : ''));
}
sub attempts {
    my ($store, $name) = @_;
    return join "\n", map { "$_->{source} $_->{outcome}: $_->{detail}" }
        @{ $t->helper_json("/v1/why/$store/$name.pdb/$id?kind=ppdbcache")
            ->{attempts} };
}

isnt lookup('strict', 'none')->{status}, 200, 'refused without a checksum';
like attempts('strict', 'none'), qr/^strict .*403/m, 'by the server';
is lookup('strict', 'given', "SHA256:$hex")->{status}, 200, 'sent as it is'
    or diag attempts('strict', 'given');
is lookup('strict', 'upper', 'sha256:' . uc $hex)->{status}, 200, 'any case';
is lookup('strict', 'two', "SHA384:00%3BSHA256:$hex")->{status}, 200,
    'one of two fits';
is lookup('strict', 'unknown', 'BLAKE3:00')->{status}, 200,
    'an algorithm that is not known proves nothing';
is lookup('strict', 'wrong', 'SHA256:' . '0' x 64)->{status}, 503,
    'another checksum';
like attempts('strict', 'wrong'),
    qr/^strict unusable: another checksum than the one asked for/m,
    'is the fault of the source';

is lookup('both', 'first')->{status}, 200, 'without one, the first is taken';
is lookup('both', 'other', "SHA256:$hex")->{status}, 200,
    'with one, the next source is asked';
like attempts('both', 'other'),
    qr/^false unusable: another checksum.*^strict found/ms, 'after the first';

for ('SHA256', ':00', 'SHA256:', 'SHA256:xy', "SHA256:$hex%3B",
     'SHA256:00%0d%0aX:1', 'A:' . '0' x 600) {
    is lookup('strict', 'bad', $_)->{status}, 400,
        'refused: ' . substr $_, 0, 30;
}

$t->finish;
done_testing;
