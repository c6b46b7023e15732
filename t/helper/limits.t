#!/usr/bin/perl

# The limits of a download, each with a server that breaks it: connecting, the
# first byte, stalling, attempts, and the room on the disk.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Socket::INET;
use JSON::PP ();
use Test::More;
use Test::ScriptedServer;
use Test::SourceCase;
use Test::Symcache;
use Time::HiRes qw(time);

my $t = Test::Symcache->new;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $id = $Test::SourceCase::id;
my $half = length($crash) / 2;

my $up = Test::ScriptedServer->new(log => $t->path('up.log'), script => sub {
    my ($c, $req) = @_;
    my ($name) = $req->{path} =~ m{^/(\w+)};
    if ($name eq 'silent') {
        $c->wait_for_peer(60);
        return $c->close;
    } elsif ($name eq 'stall' || $name eq 'slow') {
        $c->send(substr $c->reply_text(200, {}, $crash), 0, $half);
        $c->wait_for_peer(60);
        return $c->close;
    } elsif ($name eq 'late') {
        # slower than stall_time, but within first_byte_time
        $c->wait_for_peer(2.5);
        return $c->reply(200, {}, $crash);
    } elsif ($name eq 'busy') {
        return $c->reply(500, {}, '');
    } elsif ($name eq 'unknown') {
        $c->send("HTTP/1.0 200 OK\r\n\r\n$crash");
        return $c->close;
    }
    return $c->reply(200, {}, $crash);
});

sub case {
    my (%o) = @_;
    $t->stop_symcached;
    return Test::SourceCase->new($t, sources => { up => {
        type => 'http', url => $o{url} // $up->url,
        internal => JSON::PP::true(),
    } }, %o);
}

sub count {
    my ($name) = @_;
    return scalar grep { $_->{path} eq "/$name.pdb/$id/$name.pdb" }
        $up->requests;
}

# Asks; the answer must not come before these seconds, and its reason says that
# the limit was the end.
sub timed {
    my ($c, $name, $re, $what, $least) = @_;
    my $start = time;
    $c->undecided("$name.pdb", 'failed', $re, $what);
    cmp_ok time - $start, '>=', $least, "$what: not earlier than the limit";
}

my $c = case(limits => { first_byte_time => '1s', attempts => 1 });
timed($c, 'silent', qr/no answer in time/, 'no first byte', 1);
is count('silent'), 1, 'one attempt';

# the address is passed over in the second attempt, and there is no other one
$c = case(limits => { first_byte_time => '1s', attempts => 2 });
timed($c, 'silent', qr/no answer in time/, 'no first byte, twice', 2);
is count('silent'), 3, 'two attempts';
is $t->metric('symcached_fetch_retries_total'), 1, '... of which one is a repetition';

$c = case(limits => { stall_time => '1s', attempts => 2 });
timed($c, 'stall', qr/stalled/, 'a stall', 2);
is count('stall'), 2, 'two attempts';
$c->found('late.pdb', 'waiting for the first byte is no stall');

$c = case(limits => { attempts => 4 });
$c->undecided('busy.pdb', 'failed', qr/^500$/, '500, four times');
is count('busy'), 4, 'four attempts';

SKIP: {
    # a listener whose queue is full answers no SYN
    my $full = IO::Socket::INET->new(Listen => 0, LocalAddr => '127.0.0.1');
    my @pending;
    for (1 .. 8) {
        my $s = IO::Socket::INET->new(PeerAddr => '127.0.0.1',
            PeerPort => $full->sockport, Timeout => 0.3) or last;
        push @pending, $s;
    }
    skip 'this kernel takes every connection', 4 if @pending == 8;
    $c = case(url => 'http://127.0.0.1:' . $full->sockport,
              limits => { connect_time => '1s', attempts => 1 });
    timed($c, 'connect', qr/timed? ?out|timeout/i, 'no connection', 1);
}

# --- the disk

sub reserved {
    my ($file) = glob $t->path('downloads/.tmp/*/*/slow.pdb.part');
    return $file && (stat $file)[12] * 512;
}

$c = case(limits => { download_time => '1h' });
my $s = $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/slow.pdb/$id?version=9.0.0&wait=60");
ok $t->wait_until('the whole size is reserved while half of it has come',
                  sub { (reserved() // 0) >= length $crash }),
    'room for a download is reserved';
$t->stop_symcached;
ok !defined reserved(), 'and given back';

$c = case(cache => { min_free => '1000000g' });
$c->undecided('room.pdb', 'failed here', qr/no room: \d+ bytes needed/,
              'min_free would not be left');
is count('room'), 1, 'no other attempt';
$c->undecided('unknown.pdb', 'failed here', qr/no room: 0 bytes needed/,
              'the same where the size is not known');
is $t->metric('symcached_fetch_no_room_total'), count('room') + count('unknown'),
    'each attempt is counted';

$c = case(cache => { min_free => '1k' });
$c->found('unknown.pdb', 'with room a size need not be known');

$t->finish;
done_testing;
