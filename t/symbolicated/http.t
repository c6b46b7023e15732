#!/usr/bin/env perl

# symbolicated's HTTP: what proxies and libraries send that few people do, and
# what only those send who look for a hole (RFC 9112).

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical;
my $key = $Test::Symcache::key{'crash.pdb'};

$t->fill_store('store', $t->data('pdb/crash.pdb'));
my $config = {
    stores => { default => { root => $t->path('store') } },
    symbolication => { threads => 2, limits => {
        body_size => '1m', receiving_size => '1m' } },
};
$t->start_symbolicated($config);

my $body = $json->encode({ memoryMap => [['crash.pdb', $key]],
                           stacks => [[[0, 0x2913]]] });
my $start = "POST /symbolicate/v5 HTTP/1.1\r\nHost: h\r\n";
my $request = $start . "Content-Length: " . length($body) . "\r\n\r\n$body";
my $healthz = "GET /healthz HTTP/1.1\r\nHost: h\r\n";

sub client {
    my $s = Test::Symcache::connect_to($t->symbolicated_socket)
        or die "connect: $!";
    binmode $s;
    return $s;
}

# Sends all of it, however long that takes; false: the other side has closed.
sub say_to {
    my ($s, @parts) = @_;
    local $SIG{PIPE} = 'IGNORE';
    for my $part (@parts) {
        my $at = 0;
        while ($at < length $part) {
            $at += syswrite($s, $part, 65536, $at) // return 0;
        }
    }
    return 1;
}

# All that comes until the other side closes.
sub rest_of {
    my ($s) = @_;
    my $r = $t->read_response($s, 'CONNECT');
    my $text = $r->{raw};
    while (1) {
        my $bits = '';
        vec($bits, fileno $s, 1) = 1;
        select $bits, undef, undef, 60 or die "it stays open: $text\n";
        sysread $s, $text, 65536, length $text or return $text;
    }
}

sub function_of {
    my ($r) = @_;
    return $r->{status} if $r->{status} != 200;
    return $json->decode($r->{body})->{results}[0]{stacks}[0][0]{function};
}

my $main = 'main(int, char**)';

# one connection, many requests

my $s = client();
for (1 .. 3) {
    say_to($s, $request);
    is function_of($t->read_response($s, 'POST')), $main,
        "request $_ of a connection";
}
say_to($s, "\r\n", split /(?<=\n)|(?<=\{)/, $request);
is function_of($t->read_response($s, 'POST')), $main, 'in parts';
say_to($s, $request x 50, "${healthz}Connection: close\r\n\r\n");
my $all = rest_of($s);
is scalar(() = $all =~ /\Q$main\E/g), 50, 'fifty that do not wait';
like $all, qr/Connection: close\r\n\r\n\{"status": "ok"\}\n\z/,
    'and a last one';

$s = client();
say_to($s, $start, "Expect: 100-continue\r\nContent-Length: "
       . length($body) . "\r\n\r\n");
my $go = '';
sysread $s, $go, 25;
is $go, "HTTP/1.1 100 Continue\r\n\r\n", 'who asks is invited';
say_to($s, $body);
is function_of($t->read_response($s, 'POST')), $main, 'and answered';

$s = client();
say_to($s, "$healthz\r\n");
shutdown $s, 1;
is $t->read_response($s, 'GET')->{status}, 200,
    'who has nothing more to say is answered';

$s = client();
say_to($s, "HEAD /healthz HTTP/1.0\r\n\r\n");
my $head = qr/^HTTP\/1\.1 200 OK\r\n.*Content-Length: 17\r\n/s;
like rest_of($s), qr/$head.*Connection: close\r\n\r\n\z/s, 'HTTP/1.0, HEAD';

# forms that two servers may read in two ways: one answer, and the connection
# ends, whatever comes behind

my $length = 'Content-Length: ' . length $body;
my $chunked = 'Transfer-Encoding: chunked';
my %forms = (
    'two lengths' => "$length\r\n$length\r\n\r\n$body",
    'two in one' => "$length, " . length($body) . "\r\n\r\n$body",
    'length and chunks' => "$length\r\n$chunked\r\n\r\n0\r\n\r\n",
    'chunks and length' => "$chunked\r\n$length\r\n\r\n0\r\n\r\n",
    'folded' => "X: y\r\n z\r\n$length\r\n\r\n$body",
    'bare LF' => "X: y\n$length\r\n\r\n$body",
    'bare CR' => "X: y\r$length\r\n\r\n$body",
    'NUL' => "X: y\0\r\n$length\r\n\r\n$body",
    'a blank before the colon' => "Content-Length : 2\r\n$length\r\n\r\n$body",
    'a signed chunk' => "$chunked\r\n\r\n+2\r\n{}\r\n0\r\n\r\n",
    'a chunk 0x2' => "$chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n",
    'a chunk of 2^64' => "$chunked\r\n\r\n10000000000000002\r\n{}",
    'a chunk that is longer' => "$chunked\r\n\r\n2\r\n{}}\r\n0\r\n\r\n",
    'a chunk line with LF' => "$chunked\r\n\r\n2\n{}\r\n0\r\n\r\n",
    'a second host' => "Host: i\r\n$length\r\n\r\n$body",
);
for my $name (sort keys %forms) {
    $s = client();
    say_to($s, $start, $forms{$name}, "$healthz\r\n");
    shutdown $s, 1;
    my $answer = rest_of($s);
    like $answer, qr/^HTTP\/1\.1 400 /, "$name: 400";
    is scalar(() = $answer =~ /HTTP\/1\.1 /g), 1, 'and no more';
}
is $t->symbolicated_metric('symbolicated_requests_refused_total'),
    scalar(keys %forms), 'all are counted';
$t->wait_until('and logged', sub {
    my @lines = $t->symbolicated_log =~ /request refused: status=400/g;
    return @lines == keys %forms;
});
for (['a coding we do not know', "Transfer-Encoding: gzip, chunked", 501],
     ['a head of 64 KiB', 'X: ' . 'y' x 65536, 431]) {
    my ($name, $field, $status) = @$_;
    $s = client();
    say_to($s, "$start$field\r\n\r\n");
    is $t->read_response($s, 'POST')->{status}, $status, $name;
}

# bodies beyond the limit

my $said = qr/please send less: the body has more than 1048576 bytes/;
$s = client();
say_to($s, $start, "Content-Length: 99999999999999999999\r\n",
       "Expect: 100-continue\r\n\r\n");
my $r = $t->read_response($s, 'POST');
is $r->{status}, 413, 'a body beyond all bounds is not invited';
like $r->{body}, $said, 'in the words of the protocol';
$s = client();
ok say_to($s, $start, "Content-Length: 30000000\r\n\r\n", 'x' x 30000000),
    'who sends all of it first';
like $t->read_response($s, 'POST')->{body}, $said, 'has the answer as well';
$s = client();
say_to($s, $start, "$chunked\r\n\r\n", ("10000\r\n" . 'x' x 65536 . "\r\n")
       x 17);
like $t->read_response($s, 'POST')->{body}, $said, 'in chunks';

# bodies that do not end: together they have the room of one

my @slow = map { client() } 1 .. 3;
say_to($_, $start, "Content-Length: 900000\r\n\r\n", ' ' x 600000)
    for @slow[0, 1];
my $bits = '';
vec($bits, fileno $_, 1) = 1 for @slow[0, 1];
select $bits, undef, undef, 60;
my @refused = grep { vec $bits, fileno $_, 1 } @slow[0, 1];
is scalar @refused, 1, 'of two large bodies one has no room';
$r = $t->read_response($refused[0], 'POST');
is $r->{status}, 503, 'and is refused';
is Test::Symcache::header($r, 'Retry-After'), 1, 'for now';
say_to($slow[2], $request);
is function_of($t->read_response($slow[2], 'POST')), $main,
    'what is whole needs no room';
my ($first) = grep { $_ != $refused[0] } @slow[0, 1];
say_to($first, ' ' x (300000 - length $body), $body);
is function_of($t->read_response($first, 'POST')), $main,
    'the other one is read to its end';

# a hundred clients that are slow keep nobody waiting

@slow = map { client() } 1 .. 100;
for my $at (0 .. 9) {
    say_to($_, substr $request, $at, 1) for @slow;
}
is function_of($t->post($t->symbolicated_socket, '/symbolicate/v5', $body)),
    $main, 'an answer beside a hundred half requests';
say_to($_, substr $request, 10) for @slow;
is scalar(grep { function_of($t->read_response($_, 'POST')) eq $main } @slow),
    100, 'which have theirs';
is $t->stop_symbolicated, 0, 'it stops, whoever is connected';

$t->finish;
done_testing;
