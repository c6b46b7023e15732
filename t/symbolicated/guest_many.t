#!/usr/bin/env perl

# More clients with sources of their own than the guest helper has descriptors
# for: stores that nobody asks are closed for those that are asked, which are
# opened again when they are asked for, with the files that they have.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

plan skip_all => 'needs prlimit(1)' if system('prlimit --version >/dev/null 2>&1') != 0;

# of descriptors: a store in use counts for six in twelve
my $limit = 384;
my $most = $limit / 12;
my $scopes = 120;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical->utf8;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $key = $Test::Symcache::key{'crash.pdb'};
my $server = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    $req->{path} =~ m{^/private/crash\.pdb/\Q$key\E/crash\.pdb$}
        ? $c->reply(200, {}, $crash) : $c->reply(404);
});
my $url = $server->url . '/private';

$t->start_symcached({
    stores => { default => { root => $t->path('store') } },
    symbolication => { symbolicator => { sources => 'allow', tenants => {
        root => $t->path('tenants'), count => 4 * $scopes,
        hosts => ['127.0.0.1:' . $server->port] } } },
}, wrapper => ['prlimit', "--nofile=$limit"]);
my $sock = $t->path('tenants/sock');

sub ask {
    my ($n) = @_;
    my $r = $t->post($sock, '/v1/tenants', $json->encode({ scope => "s$n",
        sources => [{ name => 's0', type => 'http', layout => 'symstore',
                      url => $url, headers => { 'X-Token' => "t$n" } }] }));
    return $r->{status} == 200 ? $json->decode($r->{body})->{tenants}[0]{name}
        : "status $r->{status}";
}

sub lookup {
    my ($name) = @_;
    return $t->http($sock, 'GET',
        "/v1/symcache/$name/crash.pdb/$key?version=9.0.0&wait=60")->{status};
}

# The helper and its guard have one command line; the guard has few descriptors.
sub count { my @fds = glob "/proc/$_[0]/fd/*"; return scalar @fds }
sub guest {
    my @pids = map { m{/(\d+)/} } grep {
        ($t->read_file($_) // '') =~ /\0--guests\0\Q@{[$t->dir]}\E/
    } glob '/proc/[0-9]*/cmdline';
    return (sort { count($b) <=> count($a) } @pids)[0];
}
my $guest;
sub descriptors { return count($guest) }

my %name;
my $highest = 0;
for my $n (1 .. $scopes) {
    $name{$n} = ask($n);
    is lookup($name{$n}), 200, 'the first gets a file' if $n == 1;
    $guest //= guest();
    $highest = descriptors() if descriptors() > $highest;
}
is_deeply [grep { !/^[0-9a-f]{32}$/ } values %name], [], 'all scopes have a store';
cmp_ok $highest, '<', $limit - 64, "with $highest descriptors of $limit";
cmp_ok $highest, '>', 2 * $most, 'of which many were open at a time';

is lookup($name{1}), 503, 'the first one is closed';
is ask(1), $name{1}, 'it is opened when it is asked for';
my $before = my @before = $server->requests;
is lookup($name{1}), 200, 'and has its file';
is scalar(my @after = $server->requests), $before, 'without a look at its source';

$t->finish;
done_testing;
