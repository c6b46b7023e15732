#!/usr/bin/env perl

# More clients than descriptors, and thousands of held requests.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

plan skip_all => 'needs prlimit(1)'
    if system('prlimit --version >/dev/null 2>&1') != 0;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $config = $t->default_config('http://127.0.0.1:1', gated => 1);
$config->{sources} = { upstream => { type => 'filesystem',
                                     path => $t->path('sym') } };

sub hold {
    return $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/default/crash.pdb/$id?version=9.0.0&wait=60");
}

$t->symbol_store('sym');
my $pid = $t->start_symcached($config);

# the transcoder runs before descriptors are short

my @held = hold();
$t->wait_until('the transcoder', sub { $t->runs == 1 });
system('prlimit', "--pid=$pid", '--nofile=64:') == 0 or die;

my @more = map { hold() } 1 .. 100;
$t->wait_until('no descriptor is left', sub {
    $t->helper_log =~ /\[crit\].* accept\(\) failed \(24: /
});
close $_ for splice @more, 50;
close $_ for splice @more, 10;
is $t->helper('GET', '/healthz')->{status}, 200,
    'when some close, others are served';
is $t->metric('symcached_waiters'), 11, 'who waits still waits';

system('prlimit', "--pid=$pid", '--nofile=1000:') == 0 or die;
push @held, @more, map { hold() } 1 .. 500;
$t->wait_until('many wait',
    sub { $t->metric('symcached_waiters') == @held });
$t->write_file('gate', '');
my %status;
$status{$t->read_response($_)->{status}}++ for @held;
is_deeply \%status, { 200 => 511 }, 'all are answered';
is $t->runs, 1, 'by one run';

# --- none for a connection to a source, or for the name of another one

my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c) = @_;
    $t->wait_until('open', sub { -e $t->path('open') });
    $c->reply(404, { Connection => 'close' }, '');
    $c->{closed} = 1;
});
$t->stop_symcached;
$config = $t->default_config($web->url, cache => { retry_errors_after => '1s' });
$config->{limits} = { breaker_failures => 2, downloads_per_host => 2,
                      look_ahead_after => '0s' };
$config->{sources}{named} = { type => 'http', url => 'http://symbols.invalid/x' };
$config->{stores}{default}{sources} = ['upstream', 'named'];
$pid = $t->start_symcached($config);
my @waiting = map { $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/a$_.pdb/$id?version=9.0.0&wait=60") } 1 .. 4;
$t->wait_until('two are asked for', sub { (() = $web->requests) >= 2 });
$t->wait_until('all wait', sub { $t->metric('symcached_waiters') == 4 });
system('prlimit', "--pid=$pid", '--nofile=5:') == 0 or die;
$t->write_file('open', '');
my @last = map { $t->read_response($_) } @waiting;
is_deeply [map { $_->{status} } @last], [(503) x 4],
    'no descriptor for a socket: not known';
like $last[0]{body}, qr/failed here \(socket: Too many open files\)/, 'it is said why';
like $_->{body}, qr/failed here \(resolver: Too many open files\)/,
    'and of a name' for @last;
system('prlimit', "--pid=$pid", '--nofile=1000:') == 0 or die;
is $_->{host}{breaker}, 'closed', "$_->{name}: the host is not blamed"
    for @{ $t->helper_json('/v1/sources')->{sources} };

# --- no memory of the kernel to watch a connection with

my $shim = $t->path('shim.so');
$t->write_file('shim.c', <<'C');
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

int epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
    int (*real)(int, int, int, struct epoll_event *) =
        (int (*)(int, int, int, struct epoll_event *))dlsym(RTLD_NEXT, "epoll_ctl");
    int domain = 0;
    socklen_t size = sizeof(domain);

    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size);
    if (op == EPOLL_CTL_ADD && domain == AF_INET && access(getenv("DENY"), F_OK) == 0) {
        errno = ENOMEM;
        return -1;
    }
    return real(epoll, op, fd, event);
}
C
SKIP: {
    skip 'not under a sanitizer', 3 if $Test::Symcache::san;
    skip 'no C compiler', 3
        if system('cc', '-shared', '-fPIC', '-w', '-o', $shim, $t->path('shim.c'), '-ldl') != 0;
    $t->stop_symcached;
    $config->{stores}{default}{sources} = ['upstream'];
    my $deny = $t->write_file('deny', '');
    $t->start_symcached($config, env => { LD_PRELOAD => $shim, DENY => $deny });
    my $r = $t->helper('GET', "/v1/symcache/default/watched.pdb/$id?version=9.0.0&wait=60");
    is $r->{status}, 404, 'a connection that cannot be watched: asked all the same'
        or diag $r->{body};
    like $t->helper_log, qr/Epoll ADD/, '... which was so';
    unlink $deny;
    is $t->helper('GET', "/v1/symcache/default/next.pdb/$id?version=9.0.0&wait=60")->{status},
        404, '... and then the next one';
}

$t->finish;
done_testing;
