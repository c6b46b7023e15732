#!/usr/bin/env perl

# Held lookups: what they cost, and that their answers are those that evhttp
# would have given.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Socket::INET;
use Test::More;
use Test::Symcache;
use Time::HiRes qw(time);

my $t = Test::Symcache->new;
my $crash = "/v1/symcache/default/crash.pdb/$Test::Symcache::key{'crash.pdb'}"
    . '?version=9.0.0';

# an upstream that never answers
my $silent = IO::Socket::INET->new(Listen => 100, LocalAddr => '127.0.0.1')
    or die "listen: $!";

sub header { Test::Symcache::header(@_) }
sub waiters { my ($n) = @_; $t->wait_until("$n waiters",
    sub { $t->metric('symcached_waiters') == $n }) }

my $c = $t->default_config('http://127.0.0.1:1', gated => 1);
$c->{sources} = {
    upstream => { type => 'filesystem', path => $t->path('sym'),
                  only => '^crash' },
    silent => { type => 'http', url => 'http://127.0.0.1:'
                    . $silent->sockport, internal => JSON::PP::true(),
                except => '^crash' } };
$c->{stores}{default}{sources} = ['upstream', 'silent'];
$t->symbol_store('sym');
my $pid = $t->start_symcached($c);

# --- answers

my $begin = time;
my $h = $t->open_http($t->helper_socket, 'GET', "$crash&wait=1",
                      'Connection: keep-alive');
my $r = $t->read_response($h);
cmp_ok time - $begin, '>', 0.9, 'a hold lasts';
is $r->{status}, 202, 'a hold that is over';
is $r->{reason}, 'Accepted', 'with its reason phrase';
is header($r, 'Retry-After'), 1, 'and headers';
is header($r, 'Content-Length'), 0, 'and no body';
is header($r, 'Connection'), 'close', 'says that the connection ends';
is sysread($h, my $rest, 1), 0, 'and it does';

$h = $t->open_http($t->helper_socket, 'GET', "$crash&wait=60");
my $head = $t->open_http($t->helper_socket, 'HEAD', "$crash&wait=60");
my $two = $t->open_http($t->helper_socket, 'GET', "$crash&wait=60",
    'Connection: keep-alive', '', "GET /healthz HTTP/1.1\r\nHost: x");
waiters(3);

# --- bytes behind a held request end it

my $more = $t->open_http($t->helper_socket, 'GET', "$crash&wait=60");
waiters(4);
syswrite $more, 'x';
waiters(3);
is sysread($more, $rest, 1) // 0, 0, 'who sends more is dropped';
is $t->metric('symcached_lookups_aborted_total'), 1, 'and counted';

$t->write_file('gate', '');
$r = $t->read_response($h);
is $r->{status}, 200, 'a result';
is header($r, 'X-Symcache-Version'), '9.0.0', 'with its version';
like header($r, 'X-Symcache-Path'), qr/^crash\.pdb\/.*-v9\.0\.0\.symcache$/,
    'and path';
$r = $t->read_response($head, 'HEAD');
is $r->{status}, 200, 'HEAD is held, too';
my $raw = '';
$t->wait_until('two answers on one connection', sub {
    sysread $two, $raw, 4096, length $raw;
    return 2 == (() = $raw =~ m{^HTTP/1\.1 200 OK\r$}mg);
});
pass 'one that was sent together with another, and the other';

# --- memory

sub private_memory {
    open my $f, '<', "/proc/$pid/smaps_rollup" or die "smaps: $!";
    my $kb = 0;
    /^Private_\w+:\s+(\d+)/ and $kb += $1 while <$f>;
    return $kb * 1024;
}

SKIP: {
    skip 'memory is not that of a sanitized program', 1
        if $ENV{SYMCACHE_SAN};
    my $n = 800;
    my @held;
    my $hold = sub {
        my ($i) = @_;
        push @held, $t->open_http($t->helper_socket, 'GET', sprintf
            '/v1/symcache/default/none%d.pdb/%032X1?version=9.0.0&wait=60',
            $i, $i + 1);
    };
    $hold->($_) for 0 .. 99; # more than are asked for at once
    waiters(100);
    my $before = private_memory();
    $hold->($_) for 100 .. $n + 99;
    waiters($n + 100);
    my $each = (private_memory() - $before) / $n;

    # What a held key costs is bench/hold's question.  The allocator's pages
    # depend on how late the requests are read, so that on a busy machine the
    # figure is up to half as much again: this only finds a buffer or a job
    # that is kept for each of them.
    cmp_ok $each, '<', 4096, sprintf 'a held key costs %d bytes', $each;
    close $_ for @held;
    waiters(0);
}

$t->finish;
done_testing;
