#!/usr/bin/env perl

# Paths, keys and answers of the helper's socket that others rely on:
# t/data/golden/lookups.tsv has a request and its answer in each line.  It
# grows; a line that changes is a change of the API.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::File;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
$t->symbol_store('sym');
my $id = $Test::Symcache::key{'crash.pdb'};
my $portable = '198A378EEC0A47DA8FB2289C2BDAD68F';
for (['ppdb/plain.pdb', "sym/plain.pdb/${portable}FFFFFFFF/plain.pdb"]) {
    my ($from, $to) = @$_;
    $t->write_file($to, $t->read_file($t->data($from)));
}
my $command = [$t->program('pdb2symcache'), '{pdb}'];
$t->start_symcached({
    stores => {
        default => { root => $t->path('store'), sources => ['local'],
            transcoders => [
                { version => '9.0.0', command => $command },
                { version => '1.0.0', makes => 'ppdbcache',
                  command => $command }] },
        import => { root => $t->path('import') },
    },
    sources => { local => { type => 'filesystem', path => $t->path('sym') } },
});

# What clients see of an answer, "-" for what it has not.
sub seen {
    my ($r) = @_;
    my ($error) = $r->{body} =~ /"error":\s*"([\w-]+)"/;
    return join "\t", $r->{status},
        map({ Test::Symcache::header($r, "X-Symcache-$_") // '-' }
            qw(Version Path Reason)), $error // '-';
}

my $n = 0;
for (split /\n/, slurp($t->data('golden/lookups.tsv'))) {
    next if /^#/;
    my ($method, $uri, @expected) = split /\t/;
    my $r = $t->helper($method, $uri);
    is seen($r), join("\t", @expected), "$method $uri";
    $n++;
}
cmp_ok $n, '>=', 60, 'that many lines';

is $t->stop_symcached, 0, 'symcached stops';
$t->finish;
done_testing;
