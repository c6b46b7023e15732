# What is answered from the store alone: the request line, headers, methods,
# ranges, conditionals, and what error_page may not change.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use Test::More;
use Test::ModuleCase;

my $t = Test::ModuleCase->new;

my $body = join '', map { chr(33 + $_ % 90) } 0 .. 9999;
my $file = $t->put('3.1.0', $body);
$t->put('3.2.0', 'three two');
$t->put('4.5.0', 'four five');
$t->put('3.0.0', 'too old');
$t->put('03.9.9', 'not a name of the store');
$t->put('2.9.9', 'much too old');

$t->write_file('html/index.html', 'index');
$t->start_nginx(<<'EON');
    location /s/ { symcache %%DIR%%/store; }
    location /bare { symcache %%DIR%%/store/; }
    location ~ ^/re/ { symcache %%DIR%%/store; }
    location /var/ { symcache $arg_root; }
    location /page/ {
        symcache %%DIR%%/store;
        error_page 400 404 405 503 =200 /index.html;
    }
    location /if/ {
        symcache %%DIR%%/store;
        if ($arg_x) { set $y 1; }
        limit_except GET { deny all; }
    }
    location @named { symcache %%DIR%%/store; }
    location /try/ { try_files /nothing @named; }
    location /type/ {
        symcache %%DIR%%/store;
        symcache_type application/x-sym;
        symcache_min_version 3.0.0;
        charset utf-8;
        charset_types application/x-sym;
        expires 1h;
        etag off;
    }
EON

my $pdb = $Test::ModuleCase::pdb;
my $guid = $Test::ModuleCase::guid;
my $dashed = '01234567-89ab-cdef-0123-456789abcdef';

sub h { Test::Symcache::header(@_) }

# --- which version

my @versions = (
    ['3.0.1', '3.2.0', 'the highest of the same major, also a newer one'],
    ['3.1.0', '3.2.0', 'the highest serves, not the one asked for'],
    ['3.65535.65535', '3.2.0', 'greatest numbers'],
    ['4.0.0', '4.5.0', 'a 4.0.0 client gets 4.5.0'],
    ['5.1.0', '4.5.0', 'an older major serves'],
);

for (@versions) {
    my ($asked, $served, $name) = @$_;
    my $r = $t->ask($asked);
    is $r->{status}, 200, "$name: 200";
    is h($r, 'Content-Type'),
        "application/vnd.ms-symcache; version=$served", "$name: its type";
}

# --- 200 as the static module sends it

unlink $t->path('store/' . Test::ModuleCase::key() . "/$pdb-v3.2.0.symcache");

my $r = $t->ask('3.1.0');
is $r->{body}, $body, 'the bytes of the file';
is h($r, 'Content-Length'), 10000, 'Content-Length';
ok h($r, 'ETag'), 'ETag';
ok h($r, 'Last-Modified'), 'Last-Modified';
is h($r, 'Accept-Ranges'), 'bytes', 'Accept-Ranges';
is h($r, 'Cache-Control'), undef, 'a file may be kept by caches';
my ($etag, $modified) = (h($r, 'ETag'), h($r, 'Last-Modified'));

$r = $t->head($t->uri('3.1.0'));
is $r->{status}, 200, 'HEAD';
is h($r, 'Content-Length'), 10000, 'HEAD: length';
is $r->{body}, '', 'HEAD: no body';
is h($r, 'ETag'), $etag, 'HEAD: the same ETag';

$r = $t->ask('3.1.0', 'Range: bytes=100-199');
is $r->{status}, 206, 'range';
is $r->{body}, substr($body, 100, 100), 'range: bytes';
is h($r, 'Content-Range'), 'bytes 100-199/10000', 'range: Content-Range';
is h($r, 'Content-Type'), 'application/vnd.ms-symcache; version=3.1.0',
    'range: type';

$r = $t->ask('3.1.0', 'Range: bytes=-10');
is $r->{body}, substr($body, -10), 'range from the end';

$r = $t->ask('3.1.0', 'Range: bytes=0-0,9999-9999');
is $r->{status}, 206, 'two ranges';
like h($r, 'Content-Type'), qr{^multipart/byteranges}, 'two ranges: type';

is $t->ask('3.1.0', 'Range: bytes=10000-')->{status}, 416, 'beyond the end';
is $t->ask('3.1.0', 'Range: bytes=0-9', "If-Range: $etag")->{status}, 206,
    'If-Range of this file';
is $t->ask('3.1.0', 'Range: bytes=0-9', 'If-Range: "x"')->{status}, 200,
    'If-Range of another';

$r = $t->ask('3.1.0', "If-None-Match: $etag");
is $r->{status}, 304, 'If-None-Match';
is h($r, 'ETag'), $etag, 'standard 304 keeps its validator';
is h($r, 'Cache-Control'), undef, 'standard 304 may be kept';
is $t->ask('3.1.0', 'If-None-Match: "x"')->{status}, 200,
    'If-None-Match of another';
is $t->ask('3.1.0', "If-Modified-Since: $modified")->{status}, 304,
    'If-Modified-Since';
is $t->ask('3.1.0', 'If-Match: "x"')->{status}, 412, 'If-Match';

# a use changes the time of the file, not its ETag, which goes before the date

utime 1_700_000_000, 1_700_000_000, $file;
for (["If-None-Match: $etag", "If-Modified-Since: $modified", 304],
     ['If-None-Match: "x"', "If-Modified-Since: $modified", 200],
     ["If-Match: $etag",
      'If-Unmodified-Since: Mon, 13 Nov 2023 22:13:20 GMT', 200],
     ['If-Match: "x"', "If-Unmodified-Since: $modified", 412])
{
    my ($by_etag, $by_date, $status) = @$_;
    is $t->ask('3.1.0', $by_etag, $by_date)->{status}, $status,
        "used since: $by_etag, $by_date";
}
is $t->ask('3.1.0', "If-Modified-Since: $modified")->{status}, 200,
    'used since: a date alone';

# --- the request line

my @found = (
    ["/s/V3.1.0/$pdb/$guid/26", 'V'],
    ["/s/v03.1.00/$pdb/$guid/26", 'leading zeros'],
    ["/s/v3.1.0/APP.PDB/$guid/26", 'name in upper case'],
    ["/s/v3.1.0/%61pp.pdb/$guid/26", 'name percent-encoded'],
    ["/s/v3.1.0/$pdb/" . lc($guid) . '/26', 'GUID in lower case'],
    ["/s/v3.1.0/$pdb/$dashed/26", 'GUID with hyphens'],
    ["/s/v3.1.0/$pdb/{$dashed}/26", 'GUID in braces'],
    ["/s/v3.1.0/$pdb/%7B$dashed%7D/26", 'GUID in encoded braces'],
    ["/s/v3.1.0/$pdb/($dashed)/26", 'GUID in parentheses'],
    ["/s/v3.1.0/$pdb/$guid/26/", 'slash at the end'],
    ["/s/v3.1.0/$pdb/$guid/26?x=y", 'arguments'],
    ["/bare/v3.1.0/$pdb/$guid/26", 'location without a slash at its end'],
    ["/re/some/where/v3.1.0/$pdb/$guid/26", 'regex location'],
    ["/re/v3.1.0/$pdb/$guid/26/", 'regex location, slash at the end'],
    ["/try/v3.1.0/$pdb/$guid/26", 'named location'],
    ["/if/v3.1.0/$pdb/$guid/26?x=1", '"if" block'],
    ['/var' . "/v3.1.0/$pdb/$guid/26?root=" . $t->path('store'),
     'root from a variable'],
);

for (@found) {
    my ($uri, $name) = @$_;
    is $t->get($uri)->{status}, 200, "found: $name";
}

my @bad = (
    ['/s/', 'nothing'],
    ["/s/v3.1.0/$pdb", 'no GUID'],
    ["/s/v3.1.0/$pdb/$guid/26/1", 'too many parts'],
    ["/s/3.1.0/$pdb/$guid/26", 'no v'],
    ["/s/v3.1/$pdb/$guid/26", 'two numbers'],
    ["/s/v3.1.0.0/$pdb/$guid/26", 'four numbers'],
    ["/s/v3.1.65536/$pdb/$guid/26", 'number out of range'],
    ["/s/v3.-1.0/$pdb/$guid/26", 'sign'],
    ["/s/v3.1.0/../$guid/26", 'dots'],
    ["/s/v3.1.0/a%5Cb.pdb/$guid/26", 'backslash'],
    ["/s/v3.1.0/a%2Fb.pdb/$guid/26", 'slash in the name'],
    ["/s/v3.1.0/a:b/$guid/26", 'colon'],
    ["/s/v3.1.0/a%01b/$guid/26", 'control character'],
    ["/s/v3.1.0/a%C0%AFb/$guid/26", 'overlong UTF-8'],
    ["/s/v3.1.0/.transcoders/$guid/26", 'a name of the store itself'],
    ["/s/v3.1.0/" . ('x' x 256) . "/$guid/26", 'name of 256 bytes'],
    ["/s/v3.1.0/$pdb/$guid" . '0/26', 'GUID with 33 digits'],
    ["/s/v3.1.0/$pdb/{$dashed)/26", 'mixed brackets'],
    ["/s/v3.1.0/$pdb/$guid/-1", 'negative age'],
    ["/s/v3.1.0/$pdb/$guid/1A", 'age in hex'],
    ["/s/v3.1.0/$pdb/$guid/4294967296", 'age of 33 bits'],
    ["/barev3.1.0/$pdb/$guid/26", 'no slash behind the location'],
    ["/re/v3.1.0/$pdb/$guid", 'regex location: another age'],
    ["/s/v3.0.0/$pdb/$guid/26", 'version 3.0.0 is refused'],
    ["/s/v2.9.9/$pdb/$guid/26", 'version 2.9.9 is refused'],
);

for (@bad) {
    my ($uri, $name) = @$_;
    my $r = $t->get($uri);
    is $r->{status}, 404, "404: $name";
    is h($r, 'Retry-After'), undef, "404 is final: $name";
    is h($r, 'Cache-Control'), 'no-store', "404 is not kept: $name";
    is $r->{body}, '', "404 has no body: $name";
}

is $t->get("/s/v3.1.0/$pdb/$guid")->{status}, 404, 'age 1 by default';
$t->put('3.1.0', 'age one', key => "$pdb/${guid}1");
is $t->get("/s/v3.1.0/$pdb/$guid")->{body}, 'age one', 'age 1 is served';

# --- methods

{
    my $c = $t->open_http($t->nginx_socket, 'PUT', $t->uri('3.1.0'),
        'Content-Length: 300000', 'Expect: 100-continue');
    is $t->read_response($c)->{status}, 405, 'PUT: told to go on with nothing';

    $c = $t->open_http($t->nginx_socket, 'PUT', $t->uri('3.1.0'),
        'Content-Length: 300000', 'Connection: keep-alive');
    syswrite $c, 'x' x 300_000;
    is $t->read_response($c)->{status}, 405, 'PUT with a body: 405';
    syswrite $c, Test::Symcache::request_text('GET', $t->uri('3.1.0'));
    is $t->read_response($c)->{status}, 200, 'and the next request is read';
}

for my $method (qw(POST PUT DELETE OPTIONS PATCH PROPFIND)) {
    my $r = $t->http($t->nginx_socket, $method, $t->uri('3.1.0'));
    is $r->{status}, 405, "$method: 405";
    is h($r, 'Allow'), 'GET, HEAD', "$method: Allow";
    is h($r, 'Cache-Control'), 'no-store', "$method: no-store";
}

# --- If-Version-Exceeds without anybody who makes versions

for my $name ('If-Version-Exceeds', 'if-version-exceeds') {
    is $t->ask('3.9.0', "$name: 3.0.9")->{status}, 200, "$name: 3.1.0 exceeds";

    for my $x ('3.1.0', '3.1.1', '3.8.9') {
        my $r = $t->ask('3.9.0', "$name: $x");
        is $r->{status}, 304, "$name: 3.1.0 does not exceed $x";
        is h($r, 'Cache-Control'), 'no-store', '304 is not kept';
        is h($r, 'Retry-After'), undef, '304 is final';
    }
}

my @invalid = (
    [['3.9.0'], 'equal to the version asked for'],
    [['4.0.0'], 'above it'],
    [['0.9.0'], 'major 0'],
    [['v3.0.1'], 'a leading v'],
    [['3.0.1.2'], 'four numbers'],
    [['3.0'], 'two numbers'],
    [[''], 'empty'],
    [['3.0.1-beta'], 'something behind it'],
    [['3.0.1, 3.0.2'], 'a list'],
    [['3.0.1', '3.0.1'], 'two lines'],
);

for (@invalid) {
    my ($values, $name) = @$_;
    my $r = $t->ask('3.9.0', map { "If-Version-Exceeds: $_" } @$values);
    is $r->{status}, 400, "400: $name";
    like $r->{body}, qr/\A[^\n]+\n\z/, "400 says why in one line: $name";
    is h($r, 'Content-Type'), 'text/plain', "400 is text: $name";
    is h($r, 'Cache-Control'), 'no-store', "400 is not kept: $name";
}

is $t->http($t->nginx_socket, 'HEAD', $t->uri('3.9.0'),
            'If-Version-Exceeds: 9.0.0')->{status}, 400, '400: HEAD';

# --- what is not cached

for my $h ([], ['Allow-Retry-After: true'], ['Accept-Retry-After: true']) {
    my $r = $t->get("/s/v3.1.0/other.pdb/$guid/1", @$h);
    is $r->{status}, 404, "nobody to ask: 404 @$h";
    is h($r, 'Retry-After'), undef, "nobody to ask: final @$h";
}

# --- files that are none

my $dir = "$pdb/" . 'F' x 32 . '1';
mkdir $t->path("store/$pdb/" . 'F' x 32 . '1');
mkdir $t->path("store/$dir/$pdb-v3.1.0.symcache");
is $t->get("/s/v3.1.0/$pdb/" . 'F' x 32)->{status}, 404, 'a directory';
$t->put('3.0.9', '', key => $dir);
is $t->get("/s/v3.1.0/$pdb/" . 'F' x 32)->{status}, 404, 'an empty file';
$t->put('3.0.8', 'good', key => $dir);
is $t->get("/s/v3.1.0/$pdb/" . 'F' x 32)->{body}, 'good',
    'the next version below them';

my $long = ('y' x 250) . '.pdb';
is $t->get("/s/v3.1.0/$long/$guid/1")->{status}, 404,
    'a name that no file system takes';
$long = ('y' x 220) . '.pdb';
$t->put('3.1.0', 'long', key => "$long/${guid}1");
is $t->get("/s/v3.1.0/$long/$guid/1")->{body}, 'long',
    'the longest name that can be stored';

# --- error_page and other modules

for (['GET', "/page/v3.1.0/none.pdb/$guid/1", 404],
     ['GET', '/page/', 404],
     ['POST', "/page/v3.1.0/$pdb/$guid/26", 405])
{
    my ($method, $uri, $status) = @$_;
    my $r = $t->http($t->nginx_socket, $method, $uri);
    is $r->{status}, $status, "error_page leaves $method $uri alone";
    unlike $r->{body}, qr/index/, 'and its body';
}

is $t->get("/page/v3.9.0/$pdb/$guid/26", 'If-Version-Exceeds: 9.9.9')
    ->{status}, 400, 'error_page leaves 400 alone';

is $t->http($t->nginx_socket, 'POST', "/if/v3.1.0/$pdb/$guid/26")->{status},
    403, 'limit_except';

$r = $t->get("/type/v3.1.0/$pdb/$guid/26");
is h($r, 'Content-Type'), 'application/x-sym; version=3.1.0',
    'symcache_type, and no charset behind it';
is h($r, 'ETag'), undef, 'etag off';
$r = $t->get("/type/v3.0.0/$pdb/$guid/26");
is h($r, 'Content-Type'), 'application/x-sym; version=3.1.0',
    'symcache_min_version 3.0.0';
$r = $t->get("/type/v3.9.0/$pdb/$guid/26", 'If-Version-Exceeds: 3.8.0');
ok((grep { $_ eq 'no-store' } @{ $r->{headers}{'cache-control'} }),
    'no-store is not replaced by expires');

# --- keepalive: an answer ends where the next one begins

my $s = $t->open_http($t->nginx_socket, 'GET', '/s/', 'Connection: keep-alive');
is $t->read_response($s)->{status}, 404, 'first on a connection';
syswrite $s, Test::Symcache::request_text('GET', $t->uri('3.1.0'));
is $t->read_response($s)->{body}, $body, 'second on it';

# --- a root that cannot be read

is $t->get("/var/v3.1.0/$pdb/$guid/26")->{status}, 503,
    'empty root: not a final 404';
$r = $t->get("/var/v3.1.0/$pdb/$guid/26", 'Allow-Retry-After: true');
is $r->{status}, 404, 'empty root: 404 for those who come back';
is h($r, 'Retry-After'), 1, 'empty root: with Retry-After';

$t->finish;
done_testing;
