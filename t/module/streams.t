# HTTP/2: several streams of one connection that are held for one key, and
# what becomes of them when some are reset, the connection is closed, or nginx
# is reloaded meanwhile.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use Socket qw(AF_INET INADDR_LOOPBACK SOCK_STREAM SOL_SOCKET SO_RCVBUF
              pack_sockaddr_in);
use Test::More;
use Test::ModuleCase;
use Time::HiRes qw(time);

use constant { DATA => 0, HEADERS => 1, RST_STREAM => 3, SETTINGS => 4,
    WINDOW_UPDATE => 8, INITIAL_WINDOW_SIZE => 4 };
use constant { END_STREAM => 1, END_HEADERS => 4, CANCEL => 8 };

my $t = Test::ModuleCase->new;

my ($rc, $out) = $t->test_nginx('listen unix:%%DIR%%/h2.sock http2;');
plan skip_all => 'nginx without HTTP/2' if $rc;

my $port = Test::Symcache::free_port();
$t->start_nginx($t->location('symcache_hold_timeout 60s;') . <<'EON',
    listen unix:%%DIR%%/h2.sock http2;
    location = /state { stub_status; }
EON
    http => <<"EOH", address => $t->path('h2.sock'));
    server {
        listen 127.0.0.1:$port http2;
        keepalive_requests 2;
        lingering_close off;
        location /sym/ {
            symcache_symbols %%DIR%%/downloads;
            symcache_pass unix:%%DIR%%/none.sock;
        }
    }
EOH

sub frame {
    my ($type, $flags, $stream, $payload) = @_;
    return substr(pack('N', length $payload), 1)
        . pack('CCN', $type, $flags, $stream) . $payload;
}

# a header that no table has
sub literal { join '', "\0", map { chr(length) . $_ } @_ }

sub request {
    my ($stream, $uri) = @_;
    return frame(HEADERS, END_STREAM | END_HEADERS, $stream, join '',
        literal(':method', 'GET'), literal(':scheme', 'http'),
        literal(':path', $uri), literal(':authority', 'localhost'));
}

sub connection {
    my ($n, $uri) = @_;
    my $s = Test::Symcache::connect_to($t->path('h2.sock'));
    syswrite $s, join '', "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        frame(SETTINGS, 0, 0, ''),
        map { request(2 * $_ - 1, $uri) } 1 .. $n;
    return $s;
}

# The bodies of these streams.
sub bodies {
    my ($s, @streams) = @_;
    my (%body, %done);
    my ($buf, $end) = ('', time + $Test::Symcache::patience);
    until (@streams == grep { $done{$_} } @streams) {
        die "timed out reading streams\n" if time > $end;
        my $bits = '';
        vec($bits, fileno $s, 1) = 1;
        next unless select $bits, undef, undef, 0.1;
        sysread $s, $buf, 65536, length $buf or last;
        while (length $buf >= 9) {
            my ($high, $low, $type, $flags, $stream) = unpack 'CnCCN', $buf;
            my $len = $high << 16 | $low;
            last if length $buf < 9 + $len;
            $body{$stream} .= substr $buf, 9, $len if $type == DATA;
            $done{$stream} = 1 if $type == DATA && $flags & END_STREAM;
            substr $buf, 0, 9 + $len, '';
        }
    }
    return map { $body{$_} // '' } @streams;
}

# A helper that makes the file once it may.
sub gated {
    unlink $t->path('gate');
    return $t->helper_says(sub {
        my ($c) = @_;
        until (-e $t->path('gate')) {
            return $c->close if $c->wait_for_peer(0.01);
        }
        $t->put('3.1.0', 'made');
        $c->reply(200, { 'X-Symcache-Version' => '3.1.0' });
    });
}

sub idle {
    my ($name) = @_;
    $t->wait_until($name, sub {
        $t->get('/state')->{body} =~ /Active connections: 1 / });
    pass "$name: nothing is left";
}

# [name, streams reset one after the other, questions that come of it]
for (['none is reset', [], 1],
     ['the first is reset', [1], 2],
     ['followers are reset', [3, 5], 1],
     ['each that leads is reset', [1, 3, 5], 4]) {
    my ($name, $reset, $questions) = @$_;
    my $helper = gated();
    my $c = connection(6, $t->uri('3.1.0'));
    $t->wait_until('asked', sub { $helper->requests >= 1 });
    # all of them have come when what came behind them is answered
    syswrite $c, request(101, '/state');
    bodies($c, 101);

    my $asked = 1;
    for my $stream (@$reset) {
        syswrite $c, frame(RST_STREAM, 0, $stream, pack 'N', CANCEL);
        $asked++ if $asked < $questions;
        $t->wait_until('asked again', sub { $helper->requests >= $asked });
    }
    $t->write_file('gate', '');
    my @left = grep { my $n = $_; !grep { $_ == $n } @$reset }
        map { 2 * $_ - 1 } 1 .. 6;
    is_deeply [bodies($c, @left)], [('made') x @left], "$name: answered";
    is scalar($helper->requests), $questions, "$name: questions";
    close $c;
    idle($name);
    unlink glob($t->path('store/*/*/*')), $t->path('store/.absent');
}

my $helper = gated();
my $c = connection(6, $t->uri('3.1.0'));
$t->wait_until('asked', sub { $helper->requests >= 1 });
close $c;
idle('the connection is closed');

$helper = gated();
$c = connection(6, $t->uri('3.1.0'));
$t->wait_until('asked', sub { $helper->requests >= 1 });
syswrite $c, request(101, '/state');
bodies($c, 101);
$t->reload_nginx;
$t->write_file('gate', '');
is_deeply [bodies($c, map { 2 * $_ - 1 } 1 .. 6)], [('made') x 6],
    'a reload: all are answered';
close $c;

# A stream that is reset leaves to the others what nginx has sent of them and the
# client has not received yet when nginx closes the connection.

my $size = 1_000_000;
my ($guid, $build) = ('0123456789ABCDEF0123456789ABCDEF', 'cd' x 20);
$t->write_file("downloads/default/app.pdb/${guid}1/app.pdb", 'x' x $size);
$c = IO::Socket->new(Domain => AF_INET, Type => SOCK_STREAM) or die $!;
setsockopt $c, SOL_SOCKET, SO_RCVBUF, 4096 or die $!;
connect $c, pack_sockaddr_in($port, INADDR_LOOPBACK) or die $!;
syswrite $c, join '', "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    frame(SETTINGS, 0, 0, pack 'nN', INITIAL_WINDOW_SIZE, $size),
    frame(WINDOW_UPDATE, 0, 0, pack 'N', $size),
    request(1, "/sym/buildid/$build/debuginfo"),
    request(3, "/sym/app.pdb/${guid}1/app.pdb");
$t->wait_until('sent', sub { $t->access_log =~ /app\.pdb/ });
idle('a stream is reset and the connection closed');
$t->allow_log(qr/connect\(\) to unix/);
is length((bodies($c, 3))[0]), $size, 'the other stream is whole';
close $c;

$t->finish;
done_testing;
