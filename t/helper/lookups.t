#!/usr/bin/env perl

# Many lookups in one request: a line for each as soon as it is known, what
# ends a request that waits, and what is refused.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Socket::INET;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my %key = %Test::Symcache::key;
my $crash = "/v1/symcache/default/crash.pdb/$key{'crash.pdb'}";
my $other = "/v1/symcache/default/basic32.pdb/$key{'basic32.pdb'}";
my $none = '/v1/symcache/default/none.pdb/' . 'A' x 32 . '1';
my $query = 'version=9.0.0';

my $c = $t->default_config('http://127.0.0.1:1', gated => 1);
$c->{sources} = { upstream => { type => 'filesystem',
    path => $t->symbol_store('sym') } };
my $pid = $t->start_symcached($c);

sub waiters { my ($n) = @_; $t->wait_until("$n waiters",
    sub { $t->metric('symcached_waiters') == $n }) }
sub aborted { $t->metric('symcached_lookups_aborted_total') }

# The request, sent; for lines().
sub ask {
    my ($query, @paths) = @_;
    my $body = join '', map { "$_\n" } @paths;
    my $s = Test::Symcache::connect_to($t->helper_socket);
    syswrite $s, Test::Symcache::request_text('POST', "/v1/lookups?$query",
        'Content-Length: ' . length $body, 'Connection: keep-alive') . $body;
    return { socket => $s, raw => '' };
}

# The lines that have come, when there are n.
sub lines {
    my ($h, $n) = @_;
    my @lines;
    while (1) {
        my (undef, $body) = split /\r\n\r\n/, $h->{raw}, 2;
        @lines = sort +($body // '') =~ /^(.*)\n/mg;
        last if @lines >= $n;
        sysread $h->{socket}, $h->{raw}, 65536, length $h->{raw} or last;
    }
    return \@lines;
}

sub ends { sysread($_[0]{socket}, my $rest, 1) // 0 }

# --- what can be told at once

my $h;
$t->wait_until('a job finds nothing', sub {
    $h = ask($query, $none);
    lines($h, 1)->[0] =~ /^0 404 \d+ notfound$/;
});
$h = ask($query, $none, '/v1/symcache/nostore/a.pdb/' . 'A' x 32 . '1',
    '/v1/symcache/default/a.pdb/x', '/v1/othercache/default/a.pdb/1', '/v1/jobs',
    '', "a\0b", '/v1/symcache/default/a.pdb');
my $lines = lines($h, 8);
like shift @$lines, qr/^0 404 \d+ notfound$/, 'known to be absent';
is_deeply $lines, ['1 503 0 unknown-store', '2 400 0 bad-key',
    '3 404 0 not-found', '4 404 0 not-found', '5 404 0 not-found',
    '6 400 0 bad-path', '7 404 0 not-found'], 'and what is no lookup';
like $h->{raw}, qr/^Content-Length: /m, 'the connection is kept';
syswrite $h->{socket}, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
is $t->read_response($h->{socket})->{status}, 200, 'for the next request';

# --- what takes longer

$h = ask("$query&wait=60", $crash, $none, $other, $crash);
is_deeply [map { /^(\d 404) / } @{ lines($h, 1) }], ['1 404'],
    'what is known is told at once';
waiters(3);
$t->write_file('gate', '');
is_deeply [grep { !/ 404 / } @{ lines($h, 4) }],
    ['0 200 0', '2 200 0', '3 200 0'], 'the others when they are made';
ok !ends($h), 'then the connection ends';
is_deeply lines(ask("$query&wait=60", $crash, $other), 2),
    ['0 200 0', '1 200 0'], 'hits';
is_deeply lines(ask("$query&exceeds=8.0.0", $crash), 1), ['0 200 0'],
    'exceeds=, less than there is';
is_deeply lines(ask('version=9.0.1&exceeds=9.0.0', $crash), 1), ['0 304 0'],
    'and as much';

is_deeply lines(ask('wait=60', "$crash?version=9.0.1&exceeds=9.0.0",
        "$other?version=9.0.0", "$crash?version=9.0.0&exceeds=x"), 3),
    ['0 304 0', '1 200 0', '2 400 0 bad-path'], 'a version in each line';
like join("\n", @{ lines(ask('version=9.0.1', "$crash?version=1.0.0",
        "$crash?exceeds=9.0.0"), 2) }),
    qr/^0 404 \d+ no-transcoder\n1 304 0$/,
    'that of the line counts, where it has one';

# --- the end of a hold, clients that go away or send more

sub forget_all {
    Test::Symcache::remove_tree($t->path("store/$_"))
        for 'crash.pdb', 'basic32.pdb';
    unlink $t->path('gate');
}
forget_all();
$h = ask("$query&wait=1", $crash, $other);
is_deeply lines($h, 2), ['0 202 1', '1 202 1'], 'a hold that is over';
ok !ends($h), 'ends the request';
is_deeply lines(ask($query, $crash, $other), 2), ['0 202 1', '1 202 1'],
    'nobody waits without wait=';

my $before = aborted();
$h = ask("$query&wait=60", $crash, $other);
waiters(2);
close $h->{socket};
waiters(0);
is aborted(), $before + 2, 'a client that goes away';

$h = ask("$query&wait=60", $crash, $other);
waiters(2);
syswrite $h->{socket}, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
waiters(0);
is aborted(), $before + 4, 'who sends more is dropped';
is_deeply lines($h, 1), [], 'without an answer to either';

my $body = "$crash\n$other\n";
my $s = Test::Symcache::connect_to($t->helper_socket);
syswrite $s, Test::Symcache::request_text('POST',
    "/v1/lookups?$query&wait=60", 'Content-Length: ' . length $body,
    'Connection: keep-alive') . $body
    . "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
my $raw = '';
$t->wait_until('two answers', sub {
    sysread $s, $raw, 65536, length $raw;
    return 2 == (() = $raw =~ m{^HTTP/1\.1 200 OK\r$}mg);
});
like $raw, qr/\r\n\r\n0 202 1\n1 202 1\nHTTP/,
    'what is sent together with another is not held';

# --- a reload, and the end

$h = ask("$query&wait=60", $crash);
waiters(1);
$t->reload_symcached($c);
my $again = ask("$query&wait=60", $crash);
waiters(2);
$t->write_file('gate', '');
is_deeply lines($_, 1), ['0 200 0'], 'held while the configuration changes'
    for $h, $again;

# --- what is refused

sub refused {
    my ($body, $query) = @_;
    my $r = $t->post($t->helper_socket, '/v1/lookups?'
        . ($query // 'version=9.0.0'), $body);
    return "$r->{status} $r->{body}";
}
like refused(''), qr/^400 .*bad-body/s, 'no line';
like refused($crash), qr/^400 .*bad-body.*the last line has no line feed/s,
    'half a line';
like refused("$crash\n" x 65), qr/^400 .*bad-body/s, 'too many lines';
like refused("$crash\n", 'exceeds=8.0.0'), qr/^400 .*bad-query/s,
    'what is exceeded, but no version';
is_deeply lines(ask('wait=1', $crash), 1), ['0 400 0 bad-path'],
    'no version, in neither the request nor the line';
is refused("$crash\n" x 64) =~ tr/\n//, 64, 'as many as there may be';
is $t->post($t->helper_socket, "/v1/lookups?$query", 'x' x 2097153)->{status},
    413, 'too many bytes';
is $t->helper('GET', "/v1/lookups?$query")->{status}, 405, 'GET';

forget_all();
$h = ask("$query&wait=60", $crash);
waiters(1);
is $t->stop_symcached, 0, 'symcached stops';
like lines($h, 1)->[0], qr/^0 503 \d+ stopping$/, 'who waits is told';

$t->finish;
done_testing;
