#!/usr/bin/perl

# A transfer that breaks goes on where it ended, if and only if the server
# says that what follows belongs to what came.  Half of every body that is
# not to be kept is garbage: a mixed one would not be published as it should.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use POSIX ();
use Test::More;
use Test::ScriptedServer;
use Test::SourceCase;
use Test::Symcache;
use Time::HiRes qw(time);

my $t = Test::Symcache->new;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $id = $Test::SourceCase::id;
my $size = length $crash;
my $half = int $size / 2;
my $quarter = int $size / 4;

sub http_date {
    return POSIX::strftime('%a, %d %b %Y %H:%M:%S GMT', gmtime(time - $_[0]));
}

my %strong = (ETag => '"v1"', 'Accept-Ranges' => 'bytes');
my $old = http_date(3600);

# Sends the head of the whole body and n of its bytes, and hangs up.
sub cut {
    my ($c, $n, %h) = @_;
    my $body = $h{garbage} ? substr($crash, 0, 64) . "\xee" x ($size - 64)
                           : $crash;
    delete $h{garbage};
    my $text = $c->reply_text(200, \%h, $body);
    $c->send(substr $text, 0, length($text) - $size + $n);
    $c->close;
}

# The answer to a Range, with n bytes less at the end.
sub rest {
    my ($c, $req, $less, %h) = @_;
    my ($from) = ($req->{headers}{range} // '') =~ /^bytes=(\d+)-$/
        or return $c->reply(500, {}, 'no range');
    my $text = $c->reply_text(206, {
        'Content-Range' => sprintf('bytes %u-%u/%u', $from, $size - 1, $size),
        %h }, substr $crash, $from);
    $c->send(substr $text, 0, length($text) - $less);
    $c->close if $less;
}

sub whole { $_[0]->reply(200, { ETag => '"v2"' }, $crash) }

# name => what the first, second, ... request is answered
my %script = (
    etag => [sub { cut($_[0], $half, %strong) },
             sub { rest($_[0], $_[1], 0, ETag => '"v1"') }],
    silentetag => [sub { cut($_[0], $half, %strong) },
                   sub { rest($_[0], $_[1], 0) }],
    modified => [sub { cut($_[0], $half, 'Last-Modified' => $old,
                           Date => http_date(0), 'Accept-Ranges' => 'bytes')
                 },
                 sub { rest($_[0], $_[1], 0, 'Last-Modified' => $old) }],
    twice => [sub { cut($_[0], $quarter, %strong) },
              sub { rest($_[0], $_[1], $half, %strong) },
              sub { rest($_[0], $_[1], 0, %strong) }],
    between => [sub { cut($_[0], $half, %strong) },
                sub { $_[0]->reply(503, {}, 'x' x 100) },
                sub { rest($_[0], $_[1], 0) }],

    # nothing to go on with
    recent => [sub { cut($_[0], $half, garbage => 1, 'Last-Modified' =>
                         http_date(10), Date => http_date(0),
                         'Accept-Ranges' => 'bytes') }, \&whole],
    nodate => [sub { cut($_[0], $half, garbage => 1, 'Last-Modified' => $old,
                         'Accept-Ranges' => 'bytes') }, \&whole],
    weak => [sub { cut($_[0], $half, garbage => 1, %strong,
                       ETag => 'W/"v1"') }, \&whole],
    noranges => [sub { cut($_[0], $half, garbage => 1, ETag => '"v1"') },
                 \&whole],
    ranges => [sub { cut($_[0], $half, garbage => 1, %strong,
                         'Accept-Ranges' => 'none') }, \&whole],
    coded => [sub { cut($_[0], $half, garbage => 1, %strong,
                        'Content-Encoding' => 'gzip') }, \&whole],
    chunked => [sub {
        $_[0]->send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n"
                    . "ETag: \"v1\"\r\nAccept-Ranges: bytes\r\n\r\n"
                    . "ffff\r\nMicrosoft");
        $_[0]->close;
    }, \&whole],

    # the server does not go on with it
    changed => [sub { cut($_[0], $half, garbage => 1, %strong) }, \&whole],
    gone416 => [sub { cut($_[0], $half, garbage => 1, %strong) },
                sub { $_[0]->reply(416, { 'Content-Range' => 'bytes */9' },
                                   '') }, \&whole],
    otherstart => [sub { cut($_[0], $half, garbage => 1, %strong) },
                   sub { rest($_[0], $_[1], 0, 'Content-Range' =>
                       "bytes 0-$half/$size") }, \&whole],
    othertotal => [sub { cut($_[0], $half, garbage => 1, %strong) },
                   sub { rest($_[0], $_[1], 0, 'Content-Range' =>
                       sprintf('bytes %u-%u/%u', $half, $size - 1,
                               $size + 1)) }, \&whole],
    norange => [sub { cut($_[0], $half, garbage => 1, %strong) },
                sub { rest($_[0], $_[1], 0, 'Content-Range' => undef) },
                \&whole],
    otheretag => [sub { cut($_[0], $half, garbage => 1, %strong) },
                  sub { rest($_[0], $_[1], 0, ETag => '"v2"') }, \&whole],
    restcoded => [sub { cut($_[0], $half, garbage => 1, %strong) },
                  sub { rest($_[0], $_[1], 0,
                             'Content-Encoding' => 'gzip') }, \&whole],
    emptyrest => [sub { cut($_[0], $half, garbage => 1, %strong) },
                  sub { $_[0]->reply(206, { 'Content-Range' => sprintf
                      'bytes %u-%u/%u', $half, $size - 1, $size }, '') },
                  \&whole],
    longrest => [sub { cut($_[0], $half, garbage => 1, %strong) },
                 sub { rest($_[0], $_[1], 0, 'Content-Length' => $size + 1);
                       $_[0]->send('x' x $size); $_[0]->close }, \&whole],
    multipart => [sub { cut($_[0], $half, garbage => 1, %strong) },
                  sub { rest($_[0], $_[1], 0, 'Content-Range' => undef,
                             'Content-Type' => 'multipart/byteranges') },
                  \&whole],

    # a part of the rest, framed as all of it
    shortrest => [sub { cut($_[0], $quarter, %strong) },
                  sub { $_[0]->reply(206, { 'Content-Range' => sprintf
                      'bytes %u-%u/%u', $quarter, $size - 1, $size },
                      substr $crash, $quarter, $half - $quarter) },
                  sub { rest($_[0], $_[1], 0) }],

    # what the first answer said is not true of the second
    thennone => [sub { cut($_[0], $half, garbage => 1, %strong) },
                 sub { cut($_[0], $quarter, garbage => 1) }, \&whole],
    thenother => [sub { cut($_[0], $half, garbage => 1, %strong) },
                  sub { cut($_[0], $quarter, %strong, ETag => '"v2"') },
                  sub { ($_[1]{headers}{'if-range'} // '') eq '"v2"'
                      ? rest($_[0], $_[1], 0) : $_[0]->reply(500) }],
    thenchunks => [sub { cut($_[0], $half, garbage => 1, %strong) }, sub {
        $_[0]->send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    . sprintf("%x\r\n", $size) . "$crash\r\n0\r\n\r\n") }],

    # what came before is no part of the last answer
    empty => [sub { cut($_[0], $half, %strong) },
              sub { $_[0]->reply(200, {}, '') }],
    emptychunks => [sub { cut($_[0], $half, %strong) }, sub {
        $_[0]->send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    . "0\r\n\r\n") }],
    gone => [sub { cut($_[0], $half, %strong) },
             sub { $_[0]->reply(404, {}, '') }],
    page => [sub { cut($_[0], $half, %strong) },
             sub { $_[0]->reply(200, {}, '<html>later</html>') }],
);

# How often a name was asked for, this time included.
my $tries = $t->path('tries');
mkdir $tries;
sub nth {
    my $n = 1;
    $n++ until mkdir "$tries/$_[0].$n";
    return $n;
}

my $up = Test::ScriptedServer->new(log => $t->path('up.log'), script => sub {
    my ($c, $req) = @_;
    my ($name) = $req->{path} =~ m{^/(\w+)[./]} or return $c->reply(404);
    my $n = nth($name);

    if ($name eq 'moved') {
        return $c->reply(302, { Location => "/blob/x?sig=$n" }, '');
    } elsif ($name eq 'elsewhere') {
        return $c->reply(302, { Location => "/blob$n/x" }, '');
    } elsif ($name eq 'blob') {
        return $n == 1 ? cut($c, $half, %strong) : rest($c, $req, 0);
    } elsif ($name eq 'blob1') {
        return cut($c, $half, %strong, garbage => 1);
    } elsif ($name eq 'blob2') {
        return whole($c);
    }
    my $script = $script{$name} or return $c->reply(404, {}, '');
    return $script->[$n > @$script ? -1 : $n - 1]->($c, $req);
});

my $c = Test::SourceCase->new($t, sources => { up => {
    type => 'http', url => $up->url, internal => JSON::PP::true(),
} });

# The Range of each request for a file, "-" for none.
sub ranges {
    my ($path) = @_;
    return join ' ', map { $_->{headers}{range} // '-' }
        grep { $_->{path} eq $path } $up->requests;
}

sub case {
    my ($name, $what, @ranges) = @_;
    my $r = $c->found("$name.pdb", $what);
    ok $r->{path} && $c->published($r) eq $crash, "$name: the right body";
    is ranges("/$name.pdb/$id/$name.pdb"), join(' ', @ranges),
        "$name: what was asked for";
}

my $rest = "bytes=$half-";
case('etag', 'goes on: a strong ETag', '-', $rest);
my ($req) = grep { $_->{headers}{range} } $up->requests;
is $req->{headers}{'if-range'}, '"v1"', 'and it is sent in If-Range';
case('silentetag', 'goes on: 206 need not repeat the ETag', '-', $rest);
case('modified', 'goes on: an old Last-Modified', '-', $rest);
case('twice', 'goes on twice', '-', "bytes=$quarter-",
     'bytes=' . ($size - $half) . '-');
case('between', 'goes on after a 503', '-', $rest, $rest);

case($_->[0], "begins again: $_->[1]", '-', '-')
    for ['recent', 'a Last-Modified that may change yet'],
        ['nodate', 'a Last-Modified without Date'], ['weak', 'a weak ETag'],
        ['noranges', 'no Accept-Ranges'], ['ranges', 'Accept-Ranges: none'],
        ['coded', 'a Content-Encoding'], ['chunked', 'an unknown length'];

case('changed', 'begins again: 200, as If-Range does not hold', '-', $rest);
case($_->[0], "begins again: $_->[1]", '-', $rest, '-')
    for ['gone416', '416'], ['otherstart', 'another start'],
        ['othertotal', 'another size'], ['norange', 'no Content-Range'],
        ['otheretag', 'another ETag'], ['restcoded', 'a Content-Encoding'],
        ['emptyrest', '206 without a body'],
        ['longrest', 'more than the rest'], ['multipart', 'several parts'];
case('thennone', 'begins again: another answer without ETag', '-', $rest, '-');
case('thenother', 'goes on with another version', '-', $rest,
     "bytes=$quarter-");
case('thenchunks', 'begins again: without a length', '-', $rest);
case('shortrest', 'goes on with the rest of the rest', '-',
     "bytes=$quarter-", $rest);

$c->undecided("$_.pdb", 'unusable', qr/^200, empty body/,
              "half of a body, and then nothing ($_)") for qw(empty emptychunks);
$c->absent('gone.pdb', qr/^404$/, 'half of a body, and then there is none');
$c->undecided('page.pdb', 'unusable', qr/HTML/,
              'half of a body, and then a page');

case('moved', 'goes on behind a redirect', '-', '-');
is ranges('/blob/x'), "- $rest", 'where it leads to';
is join(' ', map { $_->{query}{sig} } grep { $_->{path} eq '/blob/x' }
        $up->requests), '1 2', 'with a new signature';
case('elsewhere', 'begins again: a redirect to elsewhere', '-', '-');
is ranges('/blob2/x'), '-', 'which is asked for all';

is $t->metric('symcached_resumes_total{result="whole"}'), 8,
    'resumes are counted';
is $t->metric('symcached_resumes_total{result="restarted"}'), 9,
    'and those that servers did not take';
cmp_ok $t->metric('symcached_fetch_retries_total'), '>', 20, 'and retries';

# --- nginx behind a connection that breaks

my $port = Test::Symcache::free_port();
$t->write_file("sym/real.pdb/$id/real.pdb", $crash);
$t->start_nginx('', load => 0, http =>
    "server { listen 127.0.0.1:$port; root %%DIR%%/sym; }",
    address => "127.0.0.1:$port");
my $broken = Test::ScriptedServer->new(log => $t->path('broken.log'),
    script => sub {
        my ($c, $request) = @_;
        my (undef, @headers) = split /\r\n/, $request->{head};
        my $r = $t->http("127.0.0.1:$port", $request->{method},
                         $request->{uri}, @headers);
        $c->send(substr $r->{raw}, 0,
                 -d $t->path('broke') ? length $r->{raw} : $half);
        mkdir $t->path('broke');
        $c->close;
    });
$t->stop_symcached;
$c = Test::SourceCase->new($t, sources => { up => {
    type => 'http', url => $broken->url, internal => JSON::PP::true(),
} });
my $r = $c->found('real.pdb', 'nginx behind a connection that breaks');
ok $c->published($r) eq $crash, 'the right body';
like $t->access_log, qr{^206 \d+ "GET /real\.pdb/}m, 'nginx gave the rest';

$t->finish;
done_testing;
