#!/usr/bin/env perl

# A disk on which clients' stores together have no room: what clients have not
# asked for the longest goes, of whichever store it is, until cache.min_free is
# left, and the next client gets its file.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Mount;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical->utf8;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $key = $Test::Symcache::key{'crash.pdb'};
my $root = $t->path('tenants');
Test::Mount::small($root, '24m');
my ($total) = qx(df --output=size -B1 $root) =~ /\n\s*(\d+)/;
my $each = length $crash;
my $scopes = int 1.3 * $total / $each;

my $server = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    $req->{path} =~ m{^/private/crash\.pdb/\Q$key\E/crash\.pdb$}
        ? $c->reply(200, {}, $crash) : $c->reply(404);
});
my $port = $server->port;
$t->start_symcached({
    stores => { default => { root => $t->path('store') } },
    symbolication => { symbolicator => { sources => 'allow', tenants => {
        root => $root, size => '4m', count => 4 * $scopes,
        hosts => ["127.0.0.1:$port"] } } },
});
$t->start_symbolicated;

sub post {
    my ($n) = @_;
    my $r = $t->post($t->symbolicated_socket, "/symbolicate?scope=s$n", $json->encode({
        stacktraces => [{ frames => [{ instruction_addr => '0x402913' }] }],
        modules => [{ type => 'pe', debug_file => 'crash.pdb', image_addr => '0x400000',
                      debug_id => '3249d99d-0c40-4931-8610-f4e4fb0b6936-1' }],
        sources => [{ type => 'http', id => 'private', filters => { filetypes => ['pdb'] },
            layout => { type => 'symstore' }, url => "http://127.0.0.1:$port/private/",
            headers => { 'X-Token' => "token-$n" } }],
        options => { apply_source_context => \0 },
    }), 'Content-Type: application/json');
    return $json->decode($r->{body})->{modules}[0]{debug_status} // $r->{body};
}

sub bytes_free { my ($n) = qx(df --output=avail -B1 $root) =~ /\n\s*(\d+)/; return $n }
sub stored { my @files = glob "$root/*/store/crash.pdb/$key/*.symcache"; return scalar @files }

# What was used of late stays: of all files but those of the last scopes we say
# that they were used hours ago, the first ones before the others.
my %made;
sub age {
    my ($n) = @_;
    my @files = grep { -f } glob "$root/*/{store,downloads/*}/crash.pdb/$key/*";
    $made{$_} //= $n for @files;
    for my $file (grep { $made{$_} <= $n - 3 } @files) {
        my $then = time - 7 * 3600 + 60 * $made{$file};
        utime $then, $then, $file;
    }
}

# That there was no room is remembered for a minute, for which nobody waits.
sub forget {
    $t->http("$root/sock", 'POST', "/v1/forget/$_/crash.pdb/$key")
        for map { m{/([0-9a-f]{32})$} ? $1 : () } glob "$root/*";
}

my $again = 0;
sub get {
    my ($n, $turn) = @_;
    return $t->wait_until("scope $n has its file", sub {
        my $status = post($n);
        age($turn);
        return 1 if $status eq 'found';
        $again++;
        forget();
        return 0;
    });
}

get($_, $_) for 1 .. $scopes;
pass "$scopes scopes, of more than the size of the disk, each got its file";
diag "asked again: $again, SymCaches that are left: " . stored();
$t->wait_until('cache.min_free is left', sub { bytes_free() >= $total / 20 });
is post($scopes), 'found', 'who asked last still has it';
get(1, $scopes + 1);
pass 'who asked first gets it anew';

$t->stop_symbolicated;
$t->stop_symcached;
Test::Mount::gone($root);
$t->finish;
done_testing;
