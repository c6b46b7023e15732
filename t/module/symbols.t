#!/usr/bin/perl

# Original files, as debuggers ask for them: what is served, what is looked for,
# how long a client is held, and how it is told that there is nothing yet.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use Errno qw(ECONNRESET);
use IO::Socket::INET;
use POSIX ();
use Test::More;
use Test::ModuleCase;

my $t = Test::ModuleCase->new;
my $port = Test::Symcache::free_port();

my $guid  = '0123456789ABCDEF0123456789ABCDEF';
my $build = '93ac61ec5a8eb1396f9fbd350e3169a558528a40';

sub h { Test::Symcache::header(@_) }

my $listen = 'listen unix:' . $t->nginx_socket . "; listen 127.0.0.1:$port;";

$t->start_nginx(<<'EON', http => <<'EOH', listen => $listen);
    location /sym/ {
        symcache_symbols %%DIR%%/downloads;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_zone z;
        symcache_gzip always;
        limit_except GET { allow all; }
    }
    location /brief/ {
        symcache_symbols %%DIR%%/downloads/;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_hold_timeout 1s;
        symcache_zone z;
    }
    location /machine/ {
        symcache_symbols %%DIR%%/downloads;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_error 502;
    }
    location /alone/ { symcache_symbols %%DIR%%/downloads; }
    location /mirrored/ {
        mirror /gone/buildid/abcdef/debuginfo;
        symcache_symbols %%DIR%%/downloads;
        symcache_pass unix:%%DIR%%/h.sock;
    }
    location /gone/ {
        internal;
        symcache_symbols %%DIR%%/downloads;
        symcache_pass unix:%%DIR%%/gone.sock;
        symcache_hold_timeout 0;
    }
    location /other/ {
        symcache_symbols %%DIR%%/$arg_d;
        symcache_store team;
    }
    location /accel/ {
        symcache_symbols %%DIR%%/downloads;
        symcache_accel /files/;
    }
    location /files/ { internal; alias %%DIR%%/downloads/default/; }
    location /redirect/ {
        symcache_symbols %%DIR%%/downloads;
        symcache_redirect https://store.example.org/originals;
    }
EON
    symcache_zone z:64k;
    types { application/x-pilot pdb; }
    log_format s '$status $symcache_status $symcache_pdb $symcache_id '
                 '$symcache_age $symcache_key';
    access_log %%DIR%%/s.log s;
EOH

sub original {
    my ($file, $content, $store) = @_;
    $t->write_file('downloads/' . ($store // 'default') . "/$file", $content);
}

# nginx logs when it has answered.
sub logged {
    my ($line, $what) = @_;
    my $last = '';
    eval { $t->wait_until($what, sub {
        $last = (split /\n/, $t->read_file('s.log') // '')[-1] // '';
        return $last eq $line;
    }, 60) };
    is $last, $line, $what;
}

# The client's end of a reset connection, which only TCP has: no byte, and an
# error instead of an end.
sub is_reset {
    my ($what, $uri) = @_;
    my $c = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port") or die $!;
    print $c "GET $uri HTTP/1.1\r\nHost: h\r\n\r\n";
    my $n = sysread $c, my $buf, 4096;
    my $error = $!;
    ok !defined $n && $error == ECONNRESET, "$what: the connection is reset";
}

# The helper says this to all, and how many it was asked for.
sub helper_says {
    my ($status, %headers) = @_;
    return $t->helper_says(sub { $_[0]->reply($status, {%headers}) });
}

# --- hits

original("app.pdb/${guid}1A/app.pdb", 'the pdb');
original("app.exe/00D9F64E6c000/app.exe.executable", 'the image');
original("app.pdb/${guid}1A/app.pdb.sym", 'the text');
original("_/buildid-$build/_", 'debug information');
original("_/buildid-$build/_.executable", 'code');
original("%2fusr%2f%41.c/buildid-$build/%2fusr%2f%41.c.source", 'int a;');
original("%2etext/buildid-$build/%2etext.section", 'bytes');
original("app.pdb/${guid}1A/app.pdb", 'of the team', 'team');

for my $row (
    [ "/sym/app.pdb/${guid}1a/app.pdb", 'the pdb' ],
    [ "/sym//APP.pdb/" . lc($guid) . '1A/App.PDB', 'the pdb' ],
    [ "/sym/app.pdb%2F${guid}1A%2fapp.pdb", 'the pdb' ],
    [ "/sym/ap/app.pdb/${guid}1A/app.pdb", 'the pdb' ],
    [ "/sym/app.pdb/${guid}1A/app.sym", 'the text' ],
    [ '/sym/App.exe/00d9f64e6c000/app.exe', 'the image' ],
    [ "/sym/_.debug/elf-buildid-sym-$build/_.debug", 'debug information' ],
    [ "/sym/buildid/$build/debuginfo", 'debug information' ],
    [ '/sym/buildid/' . uc($build) . '/executable', 'code' ],
    [ "/sym/buildid/$build/source/usr/A.c", 'int a;' ],
    [ "/sym/buildid/$build/source%2Fusr%2f%41.c", 'int a;' ],
    [ "/accel/buildid/$build/source/usr/A.c", 'int a;' ],
    [ "/sym/buildid/$build/section/.text", 'bytes' ],
    [ "/alone/app.pdb/${guid}1a/app.pdb", 'the pdb' ],
    [ "/other/app.pdb/${guid}1a/app.pdb?d=downloads", 'of the team' ],
) {
    my ($uri, $content) = @$row;
    my $r = $t->get($uri, 'Accept: application/msfz0',
                    'Accept-Encoding: deflate, gzip, br, zstd');
    is $r->{status}, 200, "$uri: 200";
    is $r->{body}, $content, '- the file';
    is h($r, 'Content-Type'), 'application/octet-stream',
        '- with the one type that all clients take';
    is h($r, 'Content-Length'), length $content, '- and its length';
    is h($r, 'Content-Encoding'), undef, '- as it is';
    is h($r, 'X-DEBUGINFOD-SIZE'), $uri =~ m{^/sym/buildid/} ? length $content
        : undef, '- with the size that debuginfod tells, or without';
}
logged("200 HIT app.pdb $guid 26 app.pdb/${guid}1A",
    'variables of a PDB');
$t->get('/sym/App.exe/00d9f64e6c000/app.exe');
logged('200 HIT app.exe 00D9F64E6c000 - app.exe/00D9F64E6c000',
    'variables of an image');

my $r = $t->get("/sym/app.pdb/${guid}1A/app.pdb", 'Range: bytes=4-');
is "$r->{status} $r->{body}", '206 pdb', 'ranges';
$r = $t->head("/sym/app.pdb/${guid}1A/app.pdb");
is $r->{status} . h($r, 'Content-Length'), '2007', 'HEAD';
$r = $t->http($t->nginx_socket, 'POST', "/alone/app.pdb/${guid}1A/app.pdb");
is $r->{status} . ' ' . h($r, 'Allow'), '405 GET, HEAD', 'POST';

$r = $t->get("/accel/app.pdb/${guid}1A/app.pdb");
is "$r->{status} $r->{body}", '200 the pdb', 'symcache_accel';
$r = $t->get("/redirect/App.pdb/${guid}1A/app.pdb");
is $r->{status} . ' ' . h($r, 'Location'), '302 https://store.example.org/'
    . "originals/app.pdb/${guid}1A/app.pdb", 'symcache_redirect';

$r = $t->get("/redirect/buildid/$build/section/.text");
is h($r, 'Location'), 'https://store.example.org/originals/%252etext/buildid-'
    . "$build/%252etext.section", '- of a name with an escape in it';

# --- 404 at once, and nobody is asked

my $s = helper_says(202);
for my $path ("app.pdb/${guid}1/app.p__", "app.pdb/${guid}1/file.ptr",
              "app.pdb/${guid}1A/file.ptr", 'file.ptr', 'index2.txt',
              'pingme.txt', '000Admin/lastid.txt', 'a%20b+c', '',
              "ap/app.pdb/${guid}1/app.pdb", "ap/app.pdb/${guid}1/file.ptr",
              "*http://h/app.pdb/${guid}1/app.pdb",
              "buildid/$build/section", "buildid/$build/section/a/b",
              "buildid/$build/source/", "buildid/$build/source/a%0ab",
              "buildid/$build/source/" . 'A' x 90,
              "..%5capp.pdb/${guid}1/..%5capp.pdb")
{
    my $c = $t->get("/sym/$path");
    is $c->{status}, 404, "404 at once: $path";
    is h($c, 'Retry-After'), undef, '- and it is final';
}
$r = $t->get("/alone/app.pdb/${guid}1/app.pdb");
is $r->{status}, 404, 'without symcache_pass the disk is all there is';
is scalar(() = $s->requests), 0, 'the helper was asked for none of them';

# --- held, for as long as each client waits

sub asks_for {
    my ($what, $uri, $asked, @headers) = @_;
    $asked = [$asked] if !ref $asked;
    my $helper = helper_says(404, 'X-Symcache-Reason' => 'notfound',
                             'X-Symcache-Valid' => 30);
    my $got = $t->get($uri, @headers);
    is $got->{status}, 404, "$what: the helper is believed";
    is h($got, 'Retry-After'), undef, '- for good';
    # of a second question, a second of the hold may be over
    is_deeply [ map { $_->{uri} =~ s/wait=24/wait=25/r } $helper->requests ],
        $asked,
        '- it was asked';
}

my $ts = 'User-Agent: Microsoft-Symbol-Server/';
asks_for('TraceEvent has 60 seconds', "/sym/Te.pdb/${guid}1a/Te.pdb",
         "/v1/debuginfo/default/Te.pdb/${guid}1A?version=1.0.0&wait=55&redirect=1",
         "${ts}6.13.0009.1140");
asks_for('dump_syms waits for ever', "/sym/ds.pdb/${guid}1/ds.pdb",
         "/v1/debuginfo/default/ds.pdb/${guid}1?version=1.0.0&wait=85&redirect=1",
         "${ts}6.3.0.0");
asks_for('a symsrv of another version', "/sym/dt.pdb/${guid}1/dt.pdb",
         "/v1/debuginfo/default/dt.pdb/${guid}1?version=1.0.0&wait=25&redirect=1",
         "${ts}6.3.9600.17298");
asks_for('symsrv has 30', "/sym/ws.pdb/${guid}1/ws.pdb",
         "/v1/debuginfo/default/ws.pdb/${guid}1?version=1.0.0&wait=25&redirect=1",
         "${ts}10.0.0.0");
asks_for('a packed PDB', "/sym/Pk.pdb/${guid}1/Pk.pd_",
         "/v1/cabinet/default/Pk.pdb/${guid}1?version=1.0.0&wait=25&redirect=1",
         "${ts}10.0.0.0");
asks_for('as everybody who is not known', "/sym/unknown.pdb/${guid}1/unknown.pdb",
         "/v1/debuginfo/default/unknown.pdb/${guid}1?version=1.0.0&wait=25&redirect=1",
         'User-Agent: curl/8');
asks_for('.NET has 100 and no name', '/sym/clr.dll/5ddc1e9a6c000/clr.dll',
         '/v1/executable/default/clr.dll/5DDC1E9A6c000?version=1.0.0&wait=85&redirect=1');
asks_for('debuginfod has 90', '/sym/buildid/' . '12' x 20 . '/debuginfo',
         '/v1/debuginfo/default/_/buildid-' . '12' x 20
         . '?version=1.0.0&wait=85&redirect=1', 'User-Agent: elfutils/0.188');
asks_for('a long build id', '/sym/buildid/' . 'ab' x 32 . '/executable',
         '/v1/executable/default/_/buildid-' . 'ab' x 32
         . '?version=1.0.0&wait=85');
asks_for('a source file', "/sym/buildid/$build/source/usr/src/x/..//A%20b.c",
         '/v1/source/default/%252fusr%252fsrc%252f%2541%2520b.c/buildid-'
         . "$build?version=1.0.0&wait=85&redirect=1", 'User-Agent: elfutils/0.188');
asks_for('a section', "/sym/buildid/$build/section/.gdb_index",
         "/v1/section/default/%252egdb_index/buildid-$build"
         . '?version=1.0.0&wait=85&redirect=1', 'User-Agent: elfutils/0.188');
# what no source has is made of the module, which the client may know better
asks_for('Breakpad', "/sym/bp.pdb/${guid}1/bp.sym?code_id=5DDC1E9A6C000",
         ["/v1/sym/default/bp.pdb/${guid}1?version=1.0.0&wait=25&redirect=1",
          "/v1/breakpad/default/bp.pdb/${guid}1?version=1.0.0&wait=25&redirect=1"
          . '&code_id=5DDC1E9A6c000'],
         'User-Agent: x');
# the second question is longer than the first one by both hints
my ($id, $file) = ('ab' x 64, 'x' x 251 . '.dll');
asks_for('Breakpad, with long hints',
         "/sym/bl.pdb/${guid}1/bl.sym?code_id=$id&code_file=$file",
         ["/v1/sym/default/bl.pdb/${guid}1?version=1.0.0&wait=25&redirect=1",
          "/v1/breakpad/default/bl.pdb/${guid}1?version=1.0.0&wait=25&redirect=1"
          . "&code_id=buildid-$id&code_file=$file"],
         'User-Agent: x');

# --- what is absent stays so: by the zone, for one key only

$s = helper_says(202);
for my $uri ("/sym/Te.pdb/${guid}1a/Te.pdb",
             '/sym/buildid/' . '12' x 20 . '/debuginfo')
{
    is $t->get($uri)->{status}, 404, "$uri: 404 of the zone";
}
is scalar(() = $s->requests), 0, 'the helper is not asked again';

# --- the file comes while the client is held; nothing is sent before

$t->helper_says(sub {
    original("new.pdb/${guid}1/new.pdb", 'new');
    $_[0]->reply(200, { 'X-Symcache-Version' => '1.0.0' });
});
$r = $t->get("/sym/new.pdb/${guid}1/new.pdb");
is "$r->{status} $r->{body}", '200 new', 'a file that came meanwhile';
logged("200 HELD new.pdb $guid 1 new.pdb/${guid}1", '- counts as held');

# --- the client is sent elsewhere, and that is not remembered

my @ua = 'User-Agent: elfutils/0.188';
my $there = 'https://objects.example.org/b/x?X-Amz-Signature=0123';
my $asked = "/sym/there.pdb/${guid}1/there.pdb";
$s = helper_says(302, Location => $there);
for (1, 2) {
    $r = $t->get($asked);
    is $r->{status} . ' ' . h($r, 'Location'), "302 $there", '302 of the helper';
    is h($r, 'Cache-Control'), 'no-store', '- which is not to be kept';
}
is scalar(() = $s->requests), 2, '- nor is it here';
logged("302 HELD there.pdb $guid 1 there.pdb/${guid}1", '- counts as held');
$r = $t->get('/sym/buildid/' . 'ef' x 20 . '/debuginfo', @ua);
is h($r, 'Location'), $there, 'a build id';
$s = helper_says(302);
is $t->get($asked)->{status}, 503, 'a 302 that says not where';
$s = helper_says(302, Location => $there);
is $t->head($asked)->{status}, 503, 'a 302 that was not asked for';
is_deeply [map { $_->{uri} =~ /redirect/ ? 1 : 0 } $s->requests], [0],
    '- as HEAD does not follow it';
$s = $t->helper_says(sub {
    sleep 0.05 until -e $t->path('goes on');
    $_[0]->reply(302, { Location => $there });
});
my @pids = map {
    my $pid = fork() // die;
    if (!$pid) {
        my $got = $t->get($asked);
        POSIX::_exit(h($got, 'Location') eq $there ? 0 : 1);
    }
    $pid;
} 1 .. 3;
$t->wait_until('one asks', sub { scalar(() = $s->requests) });
$t->write_file('goes on', '');
is_deeply [map { waitpid $_, 0; $? } @pids], [0, 0, 0],
    'who shares a question shares the answer';

# --- not ready: 503 for store paths, and no second hold for some seconds

$s = helper_says(202, 'Retry-After' => 1);
$r = $t->get("/brief/slow.pdb/${guid}1/slow.pdb");
is $r->{status}, 503, '503 when the hold is over';
ok h($r, 'Retry-After'), '- with Retry-After';
my $n = () = $s->requests;
cmp_ok $n, '>', 0, '- the helper was asked';
$r = $t->get("/sym/slow.pdb/${guid}1/slow.pdb", "${ts}6.13.0009.1140");
is $r->{status}, 503, '503 at once for the next client';
is scalar(() = $s->requests), $n, '- which is not held';

# --- not ready: a reset for build ids, and each is held again

my $other = 'cd' x 20;
$s = helper_says(202, 'Retry-After' => 1);
is_reset('a build id whose hold is over', "/brief/buildid/$other/debuginfo");
$n = () = $s->requests;
is_reset('asked again', "/brief/buildid/$other/debuginfo");
cmp_ok scalar(() = $s->requests), '>', $n, '- it is held again';

# --- failures

helper_says(503, 'Retry-After' => 7, 'X-Symcache-Reason' => 'error');
$r = $t->get("/sym/bad.pdb/${guid}1/bad.pdb");
is $r->{status} . ' ' . h($r, 'Retry-After'), '503 7', 'sources fail: 503';
is_reset('sources fail', '/sym/buildid/' . 'ef' x 20 . '/debuginfo');
$r = $t->get('/machine/buildid/' . 'ef' x 20 . '/debuginfo');
is $r->{status}, 503, 'sources fail behind a front, which resets';
$t->helper_stops;
$r = $t->get("/brief/bad.pdb/${guid}1/bad.pdb");
is $r->{status}, 503, 'the helper is gone: 503';
$r = $t->get('/machine/buildid/' . 'ef' x 20 . '/debuginfo');
is $r->{status}, 502, 'the helper is gone, and a front asks another machine';
is_reset('the helper is gone', '/brief/buildid/' . 'ef' x 20 . '/debuginfo');
$t->allow_log(qr/connect\(\) to unix/);
$t->allow_log(qr/symcached/);

# a mirror is no part of the answer

$t->helper_says(sub {
    $t->wait_until('the mirror has failed', sub {
        $t->error_log =~ m{connect\(\) to unix:\S+/gone\.sock};
    });
    $_[0]->reply(404, { 'X-Symcache-Reason' => 'notfound' });
});
is $t->get("/mirrored/app.pdb/${guid}2/app.pdb")->{status}, 404,
    'a mirror that fails does not reset the connection';

# --- configuration

for my $row (
    [ 'location ~ x { symcache_symbols /d; }', qr/location with a prefix/ ],
    [ 'location /x/ { symcache_symbols /d; symcache_symbols /d; }',
      qr/"symcache_symbols" directive is duplicate/ ],
    [ 'location /x/ { symcache /s; symcache_symbols /d; }',
      qr/conflicts with "symcache"/ ],
    [ 'location /x/ { symcache_symbols ""; }', qr/needs the folder/ ],
    [ 'location /x/ { symcache_symbols /d; alias /x/; }',
      qr/"alias" has no effect beside "symcache_symbols"/ ],
    [ 'location /x/ { symcache_symbols /d; try_files /y =404; }',
      qr/"try_files" answers before "symcache_symbols"/ ],
    [ 'location /x/ { symcache_symbols /d; proxy_pass http://127.0.0.1:1; }',
      qr/"symcache_symbols" and another directive that answers requests/ ],
) {
    my ($conf, $error) = @$row;
    like $t->test_nginx($conf), $error, $conf;
}

$t->finish;
done_testing;
