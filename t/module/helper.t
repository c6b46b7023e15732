# What the helper is asked, what each of its replies becomes, and what becomes
# of replies that are none.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use Test::More;
use Test::ModuleCase;

my $t = Test::ModuleCase->new;
my $key = Test::ModuleCase::key();

sub h { Test::Symcache::header(@_) }

my @common = ('symcache_read_timeout 1s; symcache_hold_timeout 2s;');

$t->start_nginx($t->location("@common symcache_retry_after 7s;")
    . $t->location('symcache_store other.store-1; symcache_buffer_size 1024;')
      =~ s{/s/}{/other/}r
    . <<'EON',
    location /fault/ {
        symcache %%DIR%%/store;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_error 502;
    }
    location /drain/ {
        symcache %%DIR%%/store;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_draining 403;
    }
    location /broken/ { symcache %%DIR%%/loop; symcache_error 504; }
    location /kept/ { symcache %%DIR%%/store; symcache_pass kept; }
    location /page/ {
        symcache %%DIR%%/store;
        symcache_pass unix:%%DIR%%/h.sock;
        error_page 404 502 503 504 =200 /index.html;
    }
EON
    http => 'upstream kept { server unix:%%DIR%%/h.sock; keepalive 4; }
        symcache_zone off;');
$t->write_file('html/index.html', 'index');

# One poll and one hold while the helper runs the script.
sub both {
    my ($script, $code) = @_;
    my $s = $t->helper_says($script);
    for my $retries (1, 0) {
        my $r = $t->ask('3.1.0', $retries ? 'Allow-Retry-After: true' : ());
        $code->($r, $retries);
    }
    return $s;
}

# Any failure: come back later, in the way that the client understands.
sub is_later {
    my ($r, $retries, $after, $name) = @_;
    $name = ($retries ? 'poll' : 'hold') . ": $name";
    is $r->{status}, ($retries ? 404 : 503), "$name: status";
    is h($r, 'Retry-After'), $after, "$name: Retry-After";
    is h($r, 'Cache-Control'), 'no-store', "$name: no-store";
}

# --- what is asked

my $s = both(sub { $_[0]->reply(503, {}) }, sub { });
my @r = $s->requests;
is $r[0]{uri}, "/v1/symcache/default/$key?version=3.1.0", 'a poll';
is $r[1]{uri}, "/v1/symcache/default/$key?version=3.1.0&wait=2", 'a hold';
like $r[0]{head}, qr{^GET \S+ HTTP/1\.1\r\nHost: localhost}, 'HTTP/1.1';

$s = $t->helper_says(sub { $_[0]->reply(304, {}) });
my $r = $t->ask('3.9.0', 'If-Version-Exceeds: 3.1.0',
                'accept-retry-after: TRUE', 'Range: bytes=0-1');
is(($s->requests)[0]{uri},
   "/v1/symcache/default/$key?version=3.9.0&exceeds=3.1.0", 'with exceeds');
is $r->{status}, 304, '304 is passed on';
is h($r, 'Cache-Control'), 'no-store', '304 is not kept';

$s = $t->helper_says(sub { $_[0]->reply(503, {}) });
$t->get("/other/v3.1.1/A%20%26%C3%A9+%3d%23b.pdb/$Test::ModuleCase::guid/1");
is(($s->requests)[0]{uri}, '/v1/symcache/other.store-1/'
   . "A%20%26%C3%A9%2B%3D%23b.pdb/${Test::ModuleCase::guid}1?version=3.1.1",
   'the name is escaped, in its own case, the store is named, 3.1.1 polls');

for my $header ('Allow-Retry-After: TRUE', 'ACCEPT-RETRY-AFTER: true',
                'allow-retry-after: True')
{
    is $t->ask('3.1.0', $header)->{status}, 404, "polls: $header";
}
for my $header ('Allow-Retry-After: yes', 'Accept-Retry-After: 1',
                'Retry-After: true', 'X-Allow-Retry-After: true')
{
    is $t->ask('3.1.0', $header)->{status}, 503, "does not: $header";
}

# --- replies

both(sub { $_[0]->reply(503, { 'Retry-After' => 33 }, '{"error":"full"}') },
     sub { is_later(@_, 33, '503 with Retry-After') });
both(sub { $_[0]->reply(503, {}) }, sub { is_later(@_, 7, '503 without') });
# an absence may be known for as long as cache.retry_misses_after allows
for my $valid (60, 366 * 86400) {
    both(sub { $_[0]->reply(404, { 'X-Symcache-Reason' => 'not found',
                                   'X-Symcache-Valid' => $valid }, '{}') },
         sub {
             my ($r, $retries) = @_;
             is $r->{status}, 404, "absent for $valid s: 404 ($retries)";
             is h($r, 'Retry-After'), undef, "absent: final ($retries)";
             is h($r, 'Cache-Control'), 'no-store', "absent: no-store ($retries)";
         });
}

$s = $t->helper_says(sub { $_[0]->reply(202, { 'Retry-After' => 5 }) });
$r = $t->ask('3.1.0', 'Allow-Retry-After: true');
is_later($r, 1, 5, '202');
$t->helper_says(sub { $_[0]->reply(202, {}) });
is_later($t->ask('3.1.0', 'Allow-Retry-After: true'), 1, 7, '202 without');

sub ready {
    my ($version, %more) = @_;
    return (200, { 'X-Symcache-Version' => $version,
                   'X-Symcache-Path' => '../../../../etc/passwd', %more });
}

for my $retries (1, 0) {
    my @h = $retries ? 'Allow-Retry-After: true' : ();
    $t->helper_says(sub {
        $t->put('3.1.0', 'made');
        $_[0]->reply(ready('3.1.0'), 'made');
    });
    $r = $t->ask('3.1.0', @h);
    is $r->{status}, 200, "200: the file ($retries)";
    is $r->{body}, 'made', "its bytes ($retries)";
    is h($r, 'Content-Type'), 'application/vnd.ms-symcache; version=3.1.0',
        "its type ($retries)";
    unlink $t->path("store/$key/$Test::ModuleCase::pdb-v3.1.0.symcache");

    $t->helper_says(sub {
        $t->put('3.1.0', 'made') if $_[1]{n} == 1;
        $_[0]->reply(ready('3.1.0'));
    });
    $r = $t->http($t->nginx_socket, 'HEAD', $t->uri('3.1.0'), @h);
    is $r->{status}, 200, "HEAD ($retries)";
    is h($r, 'Content-Length'), 4, "HEAD: length ($retries)";
    $r = $t->ask('3.1.0', @h, 'Range: bytes=1-2');
    is $r->{body}, 'ad', "the next is a hit with ranges ($retries)";
    unlink $t->path("store/$key/$Test::ModuleCase::pdb-v3.1.0.symcache");
}

# a first hit of 206 through the helper
$t->helper_says(sub { $t->put('3.1.0', 'made'); $_[0]->reply(ready('3.1.0')) });
is $t->ask('3.1.0', 'Range: bytes=2-3')->{body}, 'de', 'range of a held file';
unlink $t->path("store/$key/$Test::ModuleCase::pdb-v3.1.0.symcache");

# a reply of symcached about the longest path, at the least size of the buffer
my $long = 'x' x 255;
my $head = join '', "HTTP/1.1 200 OK\r\n",
    "X-Symcache-Version: 3.1.0\r\n",
    "X-Symcache-Path: $long/buildid-", 'f' x 128, "/$long",
    "-v65535.65535.65535.symcache\r\nCache-Control: no-store\r\n",
    "Content-Type: text/plain\r\nDate: Sun, 29 Nov 2026 17:13:09 GMT\r\n",
    "Content-Length: 0\r\nConnection: close\r\n\r\n";
$t->helper_says(sub { $t->put('3.1.0', 'made'); $_[0]->send($head) });
is $t->ask('3.1.0')->{body}, 'made', 'the longest header fits';
unlink $t->path("store/$key/$Test::ModuleCase::pdb-v3.1.0.symcache");

# --- 200 for a file that is not there: asked again, then an error

$s = both(sub { $_[0]->reply(ready('3.1.0')) },
          sub { is_later(@_, 7, 'a file that does not exist') });
is scalar($s->requests), 6, 'asked three times each';

$t->helper_says(sub {
    $t->put('3.0.7', 'older') if $_[1]{n} == 1;
    $_[0]->reply(ready('3.1.0'));
});
is $t->ask('3.1.0')->{body}, 'older', 'what vanished: the next best';
unlink $t->path("store/$key/$Test::ModuleCase::pdb-v3.0.7.symcache");

# --- replies that are none

my $reason = { 'X-Symcache-Reason' => 'no' };
my @garbage = (
    ['closes at once', sub { $_[0]->close }],
    ['resets', sub { $_[0]->reset }],
    ['garbage', sub { $_[0]->send("\0\1\2garbage\r\n\r\n"); $_[0]->close }],
    ['another protocol', sub { $_[0]->send("SSH-2.0-x\r\n"); $_[0]->close }],
    ['HTTP/0.9', sub { $_[0]->send("<html>404</html>"); $_[0]->close }],
    ['half a status line', sub { $_[0]->send("HTTP/1.1 2"); $_[0]->close }],
    ['half a header', sub { $_[0]->send("HTTP/1.1 404 N\r\nX-Symcache-Rea");
                            $_[0]->close }],
    ['half a body', sub { $_[0]->send("HTTP/1.1 404 N\r\nContent-Length: 9\r\n"
                            . "X-Symcache-Reason: x\r\n\r\n1234");
                          $_[0]->close }],
    ['half a chunk', sub { $_[0]->send("HTTP/1.1 404 N\r\n"
                            . "Transfer-Encoding: chunked\r\n"
                            . "X-Symcache-Reason: x\r\n\r\n9\r\n1234");
                           $_[0]->close }],
    ['a bad chunk', sub { $_[0]->send("HTTP/1.1 404 N\r\n"
                            . "Transfer-Encoding: chunked\r\n"
                            . "X-Symcache-Reason: x\r\n\r\nzz\r\n1234") }],
    ['404 without a reason', sub { $_[0]->reply(404, {}) }],
    ['404 with an empty reason',
     sub { $_[0]->reply(404, { 'X-Symcache-Reason' => '' }) }],
    ['500', sub { $_[0]->reply(500, $reason) }],
    ['400', sub { $_[0]->reply(400, $reason) }],
    ['301', sub { $_[0]->reply(301, { Location => '/' }) }],
    ['204', sub { $_[0]->reply(204, {}) }],
    ['100', sub { $_[0]->send("HTTP/1.1 100 Continue\r\n\r\n") }],
    ['304 that nobody asked for', sub { $_[0]->reply(304, {}) }],
    ['200 without a version', sub { $_[0]->reply(200, {}) }],
    ['200 with a bad version', sub { $_[0]->reply(ready('3.1')) }],
    ['200 with two versions', sub {
        $_[0]->send("HTTP/1.1 200 O\r\nX-Symcache-Version: 3.1.0\r\n"
            . "X-Symcache-Version: 3.1.0\r\nContent-Length: 0\r\n\r\n") }],
    ['200 with a version that does not serve',
     sub { $_[0]->reply(ready('4.0.0')) }],
    ['200 below symcache_min_version', sub { $_[0]->reply(ready('3.0.0')) }],
    ['a bad Content-Length',
     sub { $_[0]->reply(404, { %$reason, 'Content-Length' => 'x' }) }],
    ['two lengths', sub { $_[0]->send("HTTP/1.1 404 N\r\n"
        . "X-Symcache-Reason: x\r\nContent-Length: 0\r\n"
        . "Content-Length: 0\r\n\r\n") }],
    ['a length and chunks', sub { $_[0]->send("HTTP/1.1 404 N\r\n"
        . "X-Symcache-Reason: x\r\nContent-Length: 0\r\n"
        . "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n") }],
    ['a bad Retry-After', sub { $_[0]->reply(503, { 'Retry-After' => 'Mon' }) }],
    ['a header that is too big',
     sub { $_[0]->reply(404, { %$reason, 'X-Big' => 'x' x 100_000 }) }],
    ['a status line that is too big',
     sub { $_[0]->send('HTTP/1.1 404 ' . 'x' x 100_000) }],
);

for (@garbage) {
    my ($name, $script) = @$_;
    both($script, sub { is_later(@_, 7, $name) });
}

$t->helper_says(sub { $_[0]->reply(404, {}) });
is $t->get($t->uri('3.1.0', location => '/page'))->{status}, 503,
    'error_page does not see failures of the helper';

# --- one byte at a time, and all ways to end a body

my @whole = (
    [404, "HTTP/1.1 404 Not Found\r\nX-SYMCACHE-reason:  gone \r\n"
        . "Content-Type: application/json\r\nContent-Length: 16\r\n\r\n"
        . '{"error":"gone"}'],
    [404, "HTTP/1.1 404\r\nX-Symcache-Reason: gone\r\n"
        . "Transfer-Encoding: Chunked\r\n\r\n"
        . "4\r\n{\"er\r\na;x=y\r\nror\":\"x\"}\n\r\n0\r\nTrailer: x\r\n\r\n"],
    [304, "HTTP/1.1 304 Not Modified\r\nContent-Length: 44\r\n\r\n"],
    [404, "HTTP/1.0 404 Not Found\nX-Symcache-Reason: gone\n\nto the end"],
);

for (@whole) {
    my ($status, $bytes) = @$_;
    my ($name) = $bytes =~ /^(.*?)\r?\n\r?\n/s;
    $name =~ s/\s+/ /g;

    $t->helper_says(sub { $_[0]->send_bytewise($bytes); $_[0]->close });
    my $r = $t->ask('3.9.0', 'If-Version-Exceeds: 3.1.0');
    is $r->{status}, $status, "byte by byte: $name";
    is h($r, 'Retry-After'), undef, "byte by byte: final: $name";

    $t->helper_says(sub { $_[0]->send($bytes); $_[0]->wait_for_peer });
    is $t->ask('3.9.0', 'If-Version-Exceeds: 3.1.0')->{status}, $status,
        "at once: $name";
}

# every split in two

my $bytes = $whole[1][1];
$t->helper_says(sub {
    my ($c, $req) = @_;
    # the split is in the name
    my ($n) = $req->{path} =~ m{/split(\d+)\.pdb/};
    $c->send(substr $bytes, 0, $n);
    Time::HiRes::sleep(0.002);
    $c->send(substr $bytes, $n);
});
my $wrong = 0;
for my $n (1 .. length($bytes) - 1) {
    my $r = $t->get($t->uri('3.1.1', pdb => "split$n.pdb"));
    $wrong++ if $r->{status} != 404 || defined h($r, 'Retry-After');
}
is $wrong, 0, 'split at every byte';

$t->helper_says(sub { $_[0]->reply(404, $reason, '{' . ' ' x 50_000 . '}') });
$r = $t->get($t->uri('3.1.1', location => '/other'));
is $r->{status}, 404, 'a body larger than the buffer';
is h($r, 'Retry-After'), undef, 'is read to its end';

# --- keepalive

$s = $t->helper_says(sub {
    my ($c, $req) = @_;
    $c->{count}++;
    return $c->reply(404, $reason, '{}' . $c->{count}) if $req->{path} =~ /k1/;
    return $c->send("HTTP/1.1 404 N\r\nX-Symcache-Reason: $c->{count}\r\n"
        . "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
        if $req->{path} =~ /k2/;
    $c->reply(503, { 'Retry-After' => $c->{count} });
});
$t->get($t->uri('3.1.1', location => '/kept', pdb => "$_.pdb"))
    for qw(k1 k2 k1 k2);
$r = $t->get($t->uri('3.1.1', location => '/kept', pdb => 'count.pdb'));
is h($r, 'Retry-After'), 5, 'upstream keepalive: five on one connection';

$s = $t->helper_says(sub {
    my ($c, $req) = @_;
    $c->{count}++;
    return $c->send($c->reply_text(404, $reason, '{}') . 'HTTP/1.1 200 extra')
        if $req->{path} =~ /extra/;
    return $c->reply(404, { %$reason, Connection => 'close' })
        if $req->{path} =~ /close/;
    $c->reply(503, { 'Retry-After' => $c->{count} });
});
for my $pdb (qw(extra close)) {
    $r = $t->get($t->uri('3.1.1', location => '/kept', pdb => "$pdb.pdb"));
    is $r->{status}, 404, "$pdb: the reply counts";
    is h($r, 'Retry-After'), undef, "$pdb: final";
    $r = $t->get($t->uri('3.1.1', location => '/kept', pdb => 'count.pdb'));
    is h($r, 'Retry-After'), 1, "$pdb: the connection is not used again";
}
like $t->error_log, qr/symcached sent more data than its reply has/,
    'extra bytes are logged';

# a kept connection that the helper has closed meanwhile
$t->helper_says(sub { $_[0]->reply(404, $reason) });
is $t->get($t->uri('3.1.1', location => '/kept'))->{status}, 404, 'kept';
$t->helper_says(sub { $_[0]->reply(404, $reason) });
$r = $t->get($t->uri('3.1.1', location => '/kept'));
is h($r, 'Retry-After'), undef, 'a restarted helper is asked once more';

# --- no helper

$t->helper_stops;
for my $retries (1, 0) {
    my @h = $retries ? 'Allow-Retry-After: true' : ();
    is_later($t->ask('3.1.0', @h), $retries, 7, 'no socket');
}
$t->write_file('h.sock', 'a file');
is_later($t->ask('3.1.0'), 0, 7, 'no socket but a file');
unlink $t->path('h.sock');

my $full = IO::Socket::UNIX->new(Local => $t->helper_socket, Listen => 1);
my @fill;
for (1 .. 8) {
    socket my $c, Socket::AF_UNIX(), Socket::SOCK_STREAM(), 0 or die;
    $c->blocking(0);
    connect $c, Socket::pack_sockaddr_un($t->helper_socket) or last;
    push @fill, $c;
}
is_later($t->ask('3.1.0'), 0, 7, 'a backlog that is full');
undef @fill;
close $full;
unlink $t->helper_socket;

$t->helper_says(sub { $_[0]->wait_for_peer });
is_later($t->ask('3.1.0', 'Allow-Retry-After: true'), 1, 7,
         'symcache_read_timeout');

# --- whose fault it is: symcache_error

my @at = (location => '/fault');
for my $headers ([], ['Allow-Retry-After: true']) {
    $t->helper_stops;
    $r = $t->get($t->uri('3.1.0', @at), @$headers);
    is $r->{status}, 502, "symcache_error: no socket @$headers";
    is h($r, 'X-Symcache-Reason'), 'error', 'with its reason';
    ok h($r, 'Retry-After'), 'and a time';
    $t->helper_says(sub { $_[0]->send("HTTP/1.1 200 OK\r\n\r\n") });
    is $t->get($t->uri('3.1.0', @at), @$headers)->{status}, 502,
        'an answer that is none';
    for my $status (503, 404) {
        $t->helper_says(sub { $_[0]->reply($status, $status == 404 ? $reason
            : { 'Retry-After' => 3 }) });
        is $t->get($t->uri('3.1.0', @at), @$headers)->{status},
            $status == 404 || @$headers ? 404 : 503,
            "the helper's own $status";
    }
    my $drains = $t->helper_says(sub { $_[0]->reply(503,
        { 'X-Symcache-Reason' => 'draining', 'Retry-After' => 4 }) });
    $r = $t->get($t->uri('3.1.0', @at), @$headers);
    is $r->{status}, 502, 'a helper that drains';
    is h($r, 'Retry-After'), 4, 'with its time';
    $r = $t->get($t->uri('3.1.0', location => '/drain'), @$headers);
    is $r->{status}, 403, 'symcache_draining';
    is $t->ask('3.1.0', @$headers)->{status}, @$headers ? 404 : 503,
        'without symcache_error';
    is scalar($drains->requests), 3, 'is asked once each time';
    $t->helper_says(sub { $_[0]->reply(202, {}) });
    is $t->get($t->uri('3.9.0', @at), 'Allow-Retry-After: true')->{status},
        404, 'a poll';
}
symlink 'loop', $t->path('loop') or die;
$t->allow_log(qr/Too many levels of symbolic links/);
is $t->get($t->uri('3.1.0', location => '/broken'))->{status}, 504,
    'a store that cannot be read';

# --- files are served all the same

$t->put('3.1.0', 'cached');
is $t->ask('3.1.0')->{body}, 'cached', 'cached files need no helper';

$t->finish;
done_testing;
