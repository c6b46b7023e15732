#!/usr/bin/env perl

# What a client with sources of its own holds in the guest helper after it has
# asked its server: under 50 KB, and no descriptors of a connection but those of
# the latest clients.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $scopes = 200;
my $kb = 50;          # the gate, of each
my $kept = 64;        # connections, of all

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical->utf8;
my $server = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    $c->reply(404);
});

$t->start_symcached({
    stores => { default => { root => $t->path('store') } },
    symbolication => { symbolicator => { sources => 'allow', tenants => {
        root => $t->path('tenants'), count => 4 * $scopes,
        hosts => ['127.0.0.1:' . $server->port] } } },
});
my $sock = $t->path('tenants/sock');

# a store, and a job whose source is asked
sub ask {
    my ($n) = @_;
    my $r = $t->post($sock, '/v1/tenants', $json->encode({ scope => "s$n",
        sources => [{ name => 's0', type => 'http', layout => 'symstore',
                      url => $server->url . '/private',
                      headers => { 'X-Token' => "t$n" } }] }));
    my $name = $json->decode($r->{body})->{tenants}[0]{name};
    return $t->http($sock, 'GET', "/v1/symcache/$name/crash.pdb/"
        . "$Test::Symcache::key{'crash.pdb'}?version=9.0.0&wait=60")->{status};
}

# The helper and its guard have one command line; the guard has few descriptors.
sub count { my @fds = glob "/proc/$_[0]/fd/*"; return scalar @fds }
my $guest = $t->wait_until('both', sub {
    my @both = sort { count($b) <=> count($a) } map { m{/(\d+)/} } grep {
        ($t->read_file($_) // '') =~ /\0--guests\0\Q@{[$t->dir]}\E/
    } glob '/proc/[0-9]*/cmdline';
    return @both == 2 ? $both[0] : undef;
});
sub memory { return $t->read_file("/proc/$guest/status") =~ /^RssAnon:\s+(\d+)/m ? $1 : 0 }

is ask(0), 404, 'the first one has asked its server';
my ($memory, $fds) = (memory(), count($guest));
is_deeply [grep { ask($_) != 404 } 1 .. $scopes], [], 'so have the others';
my $each = (memory() - $memory) / $scopes;
note sprintf '%.1f KB each, %d descriptors', $each, count($guest) - $fds;
SKIP: {
    skip 'AddressSanitizer takes memory of its own', 1 if $ENV{SYMCACHE_SAN};
    cmp_ok $each, '<', $kb, 'each has less than 50 KB';
}
# of a store two; of a pool of connections three
$t->wait_until('connections of former clients are closed', sub {
    count($guest) - $fds <= 2 * $scopes + 3 * $kept;
});

$t->finish;
done_testing;
