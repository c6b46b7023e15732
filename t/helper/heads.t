#!/usr/bin/env perl

# Requests that a proxy could understand in another way than symcached: they
# are refused, on every socket, and what follows them is not read.  And those
# that never become whole, or while symcached is stopped.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Socket::INET;
use Test::Clock;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $probe = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1')
    or die "listen: $!";
my $tcp = '127.0.0.1:' . $probe->sockport;
close $probe;
my $config = { stores => { default => { root => $t->path('store') } },
    uploads => { root => $t->path('up'),
                 listen => 'unix:' . $t->path('u.sock') } };
$t->start_symcached({ %$config, listen => $tcp,
    admin_listen => 'unix:' . $t->path('a.sock') }, address => $tcp);

# All that comes until the connection ends.
sub talk {
    my ($address, $text) = @_;
    my $s = Test::Symcache::connect_to($address) or die "$address: $!";
    binmode $s;
    local $SIG{PIPE} = 'IGNORE';
    print $s $text;
    $s->flush;
    local $/;
    return readline($s) // '';
}

sub statuses { return join ' ', $_[0] =~ m{^HTTP/1\.[01] (\d+) }gm }

my $get = "GET /version HTTP/1.1\r\n";
my $end = "Connection: close\r\n\r\n";
my $next = "${get}Host: next\r\n$end";
my @bad = (
    ['two Content-Length', 400, "${get}Host: h\r\nContent-Length: 0\r\n"
        . 'Content-Length: ' . length($next) . "\r\n\r\n"],
    ['the same twice', 400,
        "${get}Host: h\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n"],
    (map { ["Content-Length: $_", 400,
            "${get}Host: h\r\nContent-Length: $_\r\n\r\n"] }
        '+12', '-0', '0x0', '1,1', '', "0\0", '1 2'),
    ['bare LF', 400, "GET /version HTTP/1.1\nHost: h\n\n"],
    ['one bare LF', 400, "${get}Host: h\nX: y\r\n\r\n"],
    ['a bare CR', 400, "${get}Host: h\r\nX: a\rb\r\n\r\n"],
    ['two Host', 400, "${get}Host: h\r\nHost: h\r\n\r\n"],
    ['no Host', 400, "$get\r\n"],
    ['NUL in a value', 400, "${get}Host: h\r\nX: a\0b\r\n\r\n"],
    ['NUL in a name', 400, "${get}Host: h\r\nX\0: a\r\n\r\n"],
    ['a blank before the colon', 400,
        "${get}Host: h\r\nContent-Length : 0\r\n\r\n"],
    ['a folded field', 400, "${get}Host: h\r\nX: a\r\n b\r\n\r\n"],
    ['chunks', 411, "${get}Host: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        . "0\r\n\r\n"],
    # that of which evhttp reads no body
    (map { ["$_ with a body", 400, "$_ /version HTTP/1.1\r\nHost: h\r\n"
            . 'Content-Length: ' . length($next) . "\r\n\r\n"] }
        'HEAD', 'TRACE', 'PROPFIND'),
    ['chunks and a length', 400, "${get}Host: h\r\nContent-Length: 0\r\n"
        . "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"],
);

for my $address ($tcp, $t->path('a.sock'), $t->path('u.sock')) {
    for (@bad) {
        my ($name, $status, $text) = @$_;
        my $got = talk($address, $text . $next);
        is statuses($got), $status, "$name: refused, and nothing after it"
            or diag $got;
    }
}

# what is whole is as before, in whatever pieces it comes

is statuses(talk($tcp, "${get}Host: h\r\n\r\n" . $next)), '200 200',
    'one after the other';
is statuses(talk($tcp, "GET /version HTTP/1.0\r\n\r\n")), 200, 'HTTP/1.0';
is statuses(talk($tcp, "${get}Host: h\r\nContent-Length: 12\r\n\r\n"
    . "GET / HTTP/1" . $next)), '200 200', 'a body is no request';
is statuses(talk($tcp, "$_ / HTTP/1.1\r\nHost: h\r\nContent-Length: 12\r\n\r\n"
    . "GET / HTTP/1" . $next)), '404 200', "nor is that of $_"
    for qw(POST PUT PATCH DELETE OPTIONS);
for (1, 99999999, '9' x 20) {
    my $of = "Host: h\r\nContent-Length: $_\r\n\r\n$next";
    is statuses(talk($tcp, "CONNECT a:1 HTTP/1.1\r\n$of")),
        $_ == 1 ? '400 400' : '413 400', "CONNECT with $_ bytes: so is the next";
    is statuses(talk($tcp, "POST / HTTP/1.1\r\n$of")), 413,
        "POST with $_ bytes: the end" if $_ > 1;
}
is statuses(talk($tcp, "${get}Host: h\r\n\r\nGET /x\nx\r\n\r\n" . $next)) =~ /^(?:200|400)/,
    1, 'a bad one behind a good one: the end';

my $s = Test::Symcache::connect_to($tcp) or die "$tcp: $!";
for my $byte (split //, $next) {
    syswrite $s, $byte;
}
is statuses(do { local $/; readline($s) // '' }), 200, 'byte by byte';

# what does not become whole: the connection ends, others are answered

my @late = (['', 408], ['G', 408], ["${get}Host: h\r\n", 408],
    ["${get}Host: h\r\nContent-Length: 5\r\n\r\n1234", 408],
    # libevent waits for the body
    ["${get}Host: h\r\nContent-Length: +1\r\n\r\n", 400]);
my @half = map {
    my $half = Test::Symcache::connect_to($tcp) or die "$tcp: $!";
    syswrite $half, $_->[0] if length $_->[0];
    $half;
} @late;
is statuses(talk($tcp, $next)), 200, 'beside half requests';
is statuses(do { local $/; readline($half[$_]) // '' }), $late[$_][1],
    'half a request ends in time' for 0 .. $#late;

is $t->stop_symcached, 0, 'the same process, to the end';

# stops of symcached, while clients send the rest

SKIP: {
    my $clock = Test::Clock->new($t) or skip Test::Clock::why(), 4;
    $t->start_symcached({ %$config, listen => $tcp }, address => $tcp,
        env => $clock->env(all => 1));
    my $ask = sub { talk($tcp, $next) };
    @half = map { Test::Symcache::connect_to($tcp) or die "$tcp: $!" } 1 .. 3;
    syswrite $_, "${get}Host: h\r\n" for @half;
    for (30, 60, 90) {
        $ask->();    # then they have been read
        kill 'STOP', $t->{helper};
        $clock->set($_);
        syswrite $half[0], $end if $_ == 90;
        kill 'CONT', $t->{helper};
    }
    my ($whole, $later, $never) = @half;
    is statuses(do { local $/; readline($whole) // '' }), 200,
        'what was whole when symcached went on';
    syswrite $later, $end;
    is statuses(do { local $/; readline($later) // '' }), 200, 'or after that';
    $clock->pass(11, $ask);
    is statuses(do { local $/; readline($never) // '' }), 408,
        'but not 10 s later';
    is $t->stop_symcached, 0, 'the same process, to the end';
}
$t->finish;
done_testing;
