# symcache_gzip: gzip files of the store for clients that accept gzip, for all
# with gunzip, with ranges, conditionals and HEAD; fallbacks; what the zone
# knows of them.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use IO::Compress::Gzip qw(gzip);
use IO::Uncompress::Gunzip qw(gunzip);
use Test::More;
use Test::ModuleCase;

my $t = Test::ModuleCase->new;
my @gzip = ('Accept-Encoding: deflate, gzip');

sub h { Test::Symcache::header(@_) }

# The file and its gzip file, whose time is $later seconds after the file's.
sub put_both {
    my ($version, $body, $later, %o) = @_;
    my $file = $t->put($version, $body, %o);
    my $gz;
    gzip \$body => \$gz;
    $t->write_file("$file.gz", $gz);
    my $time = time - 600;
    utime $time, $time, $file;
    utime $time + $later, $time + $later, "$file.gz";
    return ($file, $gz);
}

sub uri {
    my ($where, %o) = @_;
    return $t->uri('3.1.0', location => "/$where", %o);
}

# All values of Vary, joined.
sub vary { join ', ', @{ $_[0]{headers}{vary} // [] } }

$t->start_nginx(<<'EON', http => <<'EOH');
    location /none/ { symcache %%DIR%%/store; }
    location /on/ { symcache %%DIR%%/store; symcache_gzip on; }
    location /vary/ {
        symcache %%DIR%%/store; symcache_gzip on; gzip_vary on;
    }
    location /proxied/ {
        symcache %%DIR%%/store; symcache_gzip on; gzip_proxied no-store;
    }
    location /disable/ {
        symcache %%DIR%%/store; symcache_gzip on; gzip_disable Old;
    }
    location /http10/ {
        symcache %%DIR%%/store; symcache_gzip on; gzip_http_version 1.0;
    }
    location /always/ { symcache %%DIR%%/store; symcache_gzip always; }
    location /original/ {
        symcache_symbols %%DIR%%/downloads; symcache_gzip always;
        location /original/always/ { symcache %%DIR%%/store; }
    }
    location /gunzip/ {
        symcache %%DIR%%/store; symcache_gzip always; gunzip on;
        gzip_vary on;
    }
    location /filter/ {
        symcache %%DIR%%/store; symcache_gzip on;
        gzip on; gzip_types *; gzip_min_length 1;
    }
    location /zone/ {
        symcache %%DIR%%/store; symcache_gzip on; symcache_zone z;
    }
    location /cached/ {
        symcache %%DIR%%/store; symcache_gzip on;
        open_file_cache max=100; open_file_cache_valid 1h;
    }
    location /accel/ {
        symcache %%DIR%%/store; symcache_gzip on; symcache_accel /files/;
    }
    location /files/ { internal; alias %%DIR%%/store/; gzip_static on; }
    location /helper/ {
        symcache %%DIR%%/store; symcache_pass unix:%%DIR%%/h.sock;
        symcache_gzip on;
    }
    location /ssi/ { ssi on; root %%DIR%%/outer; default_type text/html; }
    location /inherit/ {
        symcache_gzip on;
        location /inherit/on/ { symcache %%DIR%%/store; }
        location /inherit/off/ { symcache %%DIR%%/store; symcache_gzip off; }
    }
EON
    symcache_zone z:64k;
EOH

my $body = join '', map { "line $_ of a file that compresses well\n" }
    1 .. 3000;
my ($file, $gz) = put_both('3.1.0', $body, 0);

# --- off

my $r = $t->get(uri('none'), @gzip);
ok $r->{body} eq $body, 'default: the file itself';
is h($r, 'Content-Encoding'), undef, 'default: no encoding';
is vary($r), '', 'default: no Vary';
my $plain_etag = h($r, 'ETag');

# --- on

$r = $t->get(uri('on'), @gzip);
is $r->{status}, 200, 'on: 200';
ok $r->{body} eq $gz, 'on: the gzip file';
is h($r, 'Content-Encoding'), 'gzip', 'on: Content-Encoding';
is h($r, 'Content-Length'), length $gz, 'on: Content-Length';
is h($r, 'Content-Type'), 'application/vnd.ms-symcache; version=3.1.0',
    'on: Content-Type is that of the file';
is vary($r), 'Accept-Encoding', 'on: Vary';
is h($r, 'Accept-Ranges'), 'bytes', 'on: ranges';
my $etag = h($r, 'ETag');
like $etag, qr/^"3\.1\.0-[0-9a-f]+-[0-9a-f]+-gz"$/, 'on: a strong ETag';
isnt $etag, $plain_etag, 'on: that differs from the one of the file';
my $modified = h($r, 'Last-Modified');

$r = $t->get(uri('on'));
ok $r->{body} eq $body, 'on: the file for who does not accept gzip';
is h($r, 'Content-Encoding'), undef, 'without encoding';
is vary($r), 'Accept-Encoding', 'with Vary';
is h($r, 'ETag'), $plain_etag, 'and its own ETag';
for (['gzip;q=0', $body], ['gzip;q=0.5', $gz], ['identity', $body],
     ['x-gzip', $body], ['GZIP', $gz]) {
    my ($accept, $want) = @$_;
    ok $t->get(uri('on'), "Accept-Encoding: $accept")->{body} eq $want,
        "Accept-Encoding: $accept";
}

$r = $t->head(uri('on'), @gzip);
is $r->{status}, 200, 'HEAD';
is h($r, 'Content-Length'), length $gz, 'HEAD: length of the gzip file';
is h($r, 'Content-Encoding'), 'gzip', 'HEAD: encoding';
is $r->{body}, '', 'HEAD: no body';

$r = $t->get(uri('vary'), @gzip);
ok $r->{body} eq $gz, 'gzip_vary on: the gzip file';
is vary($r), 'Accept-Encoding', 'gzip_vary on: Vary once';

# --- as gzip_static: gzip_proxied, gzip_disable, gzip_http_version

ok $t->get(uri('on'), @gzip, 'Via: 1.1 x')->{body} eq $body,
    'gzip_proxied: off by default';
ok $t->get(uri('disable'), @gzip, 'User-Agent: Older')->{body} eq $body,
    'gzip_disable: applies';
ok $t->get(uri('disable'), @gzip, 'User-Agent: New')->{body} eq $gz,
    'gzip_disable: does not';

sub http10 {
    my $s = Test::Symcache::connect_to($t->nginx_socket);
    syswrite $s, "GET $_[0] HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n";
    return $t->read_response($s);
}
ok http10(uri('on'))->{body} eq $body, 'gzip_http_version: 1.1 by default';
ok http10(uri('http10'))->{body} eq $gz, 'gzip_http_version: 1.0';

# --- ranges and conditionals

$r = $t->get(uri('on'), @gzip, 'Range: bytes=10-99');
is $r->{status}, 206, 'range: 206';
ok $r->{body} eq substr($gz, 10, 90), 'range: of the gzip file';
is h($r, 'Content-Encoding'), 'gzip', 'range: encoding';
is h($r, 'Content-Range'), 'bytes 10-99/' . length $gz, 'range: of its size';
$r = $t->get(uri('on'), @gzip, 'Range: bytes=9999999-');
is $r->{status}, 416, 'range: 416';
like $r->{body}, qr/<html>/, 'range: 416: text that is not compressed';
is h($r, 'Content-Encoding'), undef, 'range: 416: and not called so';
is h($r, 'Content-Range'), 'bytes */' . length $gz, 'range: 416: the size';
is $t->get(uri('on'), @gzip, 'Range: bytes=0-0', "If-Range: $etag")
    ->{status}, 206, 'If-Range: 206';
$r = $t->get(uri('on'), @gzip, 'Range: bytes=0-0', "If-Range: $plain_etag");
is $r->{status}, 200, 'If-Range with the ETag of the file: 200';
ok $r->{body} eq $gz, 'and the whole gzip file';
$r = $t->get(uri('on'), 'Range: bytes=0-0', "If-Range: $etag");
is $r->{status}, 200, 'If-Range with the ETag of the gzip file, for the file';
is $t->get(uri('on'), @gzip, "If-None-Match: $etag")->{status}, 304,
    'If-None-Match: 304';
is vary($t->get(uri('on'), @gzip, "If-None-Match: $etag")),
    'Accept-Encoding', '304: Vary';
is $t->get(uri('on'), @gzip, "If-None-Match: $plain_etag")->{status}, 200,
    'If-None-Match with the ETag of the file: 200';
is $t->get(uri('on'), "If-None-Match: $etag")->{status}, 200,
    'If-None-Match with the ETag of the gzip file, for the file: 200';
is $t->get(uri('on'), @gzip, "If-Match: $plain_etag")->{status}, 412,
    'If-Match: 412';
is $t->get(uri('on'), @gzip, "If-Modified-Since: $modified")->{status}, 304,
    'If-Modified-Since: 304';

# --- always

for my $accept ([], \@gzip) {
    $r = $t->get(uri('always'), @$accept);
    ok $r->{body} eq $gz, "always: @$accept: the gzip file";
    is h($r, 'Content-Encoding'), 'gzip', 'always: encoding';
}

$r = $t->get(uri('gunzip'), @gzip);
ok $r->{body} eq $gz, 'always, gunzip: the gzip file for who accepts it';
ok $t->get(uri('original/always'))->{body} eq $gz,
    'always: inherited from a location of originals, which have none';
is vary($r), 'Accept-Encoding', 'always, gunzip: Vary once';
$r = $t->get(uri('gunzip'));
is $r->{status}, 200, 'always, gunzip: 200 for others';
ok $r->{body} eq $body, 'always, gunzip: inflated for others';
is h($r, 'Content-Encoding'), undef, 'always, gunzip: no encoding';
is h($r, 'ETag'), "W/$etag", 'always, gunzip: a weak ETag';
is h($r, 'Content-Length'), undef, 'always, gunzip: length unknown';
$r = $t->get(uri('gunzip'), 'Range: bytes=0-9');
is $r->{status}, 200, 'always, gunzip: no range of what is inflated';
is $t->get(uri('gunzip'), "If-None-Match: W/$etag")->{status}, 304,
    'always, gunzip: 304';
is $t->head(uri('gunzip'))->{status}, 200, 'always, gunzip: HEAD';

# --- beside the gzip filter

$r = $t->get(uri('filter'), @gzip);
ok $r->{body} eq $gz, 'gzip on: not compressed twice';
is scalar(@{ $r->{headers}{'content-encoding'} }), 1, 'gzip on: one encoding';

# --- fallbacks

my %k = map { $_ => "$_.pdb/${Test::ModuleCase::guid}1A" }
    qw(none older newer broken many);
sub named { uri($_[0], pdb => "$_[1].pdb") }

$t->put('3.1.0', 'no gzip file', key => $k{none});
for my $where (qw(on always gunzip zone cached)) {
    $r = $t->get(named($where, 'none'), @gzip);
    is $r->{body}, 'no gzip file', "$where: none: the file";
    is h($r, 'Content-Encoding'), undef, "$where: none: no encoding";
}

my ($old) = put_both('3.1.0', 'new', -1, key => $k{older});
for my $where (qw(on always zone cached)) {
    is $t->get(named($where, 'older'), @gzip)->{body}, 'new',
        "$where: an older gzip file is not sent";
}
my (undef, $newer) = put_both('3.1.0', 'new', 5, key => $k{newer});
ok $t->get(named('on', 'newer'), @gzip)->{body} eq $newer,
    'a younger one is';

my $broken = $t->put('3.1.0', 'whole', key => $k{broken});
mkdir "$broken.gz" or die;
is $t->get(named('on', 'broken'), @gzip)->{body}, 'whole', 'no file: the file';
rmdir "$broken.gz" or die;
$t->write_file("$broken.gz", '');
is $t->get(named('on', 'broken'), @gzip)->{body}, 'whole', 'empty: the file';
unlink $broken or die;
is $t->get(named('on', 'broken'), @gzip)->{status}, 404,
    'a gzip file without its file is not sent';

$t->put("3.1.$_", "v$_", key => $k{many}) for 0, 2, 3, 4;
my (undef, $best) = put_both('3.1.5', 'v5', 0, key => $k{many});
for my $where (qw(on zone)) {
    $r = $t->get($t->uri('3.9.0', location => "/$where", pdb => 'many.pdb'),
                 @gzip);
    ok $r->{body} eq $best, "$where: more versions than are remembered";
}

# --- a page takes the file itself

put_both('3.1.0', '(part)', 0, key => "part.pdb/${Test::ModuleCase::guid}1A");
$t->write_file('outer/ssi/page.html', sprintf
    'a<!--#include virtual="%s" -->b', named('always', 'part'));
is $t->get('/ssi/page.html', @gzip)->{body}, 'a(part)b', 'subrequest';

# --- the zone knows, until its time is over

ok $t->get(uri('zone'), @gzip)->{body} eq $gz, 'zone: the gzip file';
ok $t->get(uri('zone'), @gzip)->{body} eq $gz, 'zone: again, from memory';
ok $t->get(uri('zone'))->{body} eq $body, 'zone: the file';
unlink "$file.gz" or die;
ok $t->get(uri('zone'), @gzip)->{body} eq $body, 'zone: it has vanished';
$t->write_file("$file.gz", $gz);
ok $t->get(uri('zone'), @gzip)->{body} eq $body, 'zone: that is remembered';
ok $t->get(uri('on'), @gzip)->{body} eq $gz, 'without: seen at once';

# --- a use between two looks of open_file_cache moves both times

ok $t->get(uri('cached'), @gzip)->{body} eq $gz, 'open_file_cache';
utime undef, undef, "$file.gz";
utime undef, undef, $file;
ok $t->get(uri('cached'), @gzip)->{body} eq $gz, 'after a use';

# --- elsewhere

$r = $t->get(uri('accel'), @gzip);
ok $r->{body} eq $gz, 'symcache_accel: gzip_static of the other location';
is h($r, 'Content-Type'), 'application/vnd.ms-symcache; version=3.1.0',
    'symcache_accel: the type';
ok $t->get(uri('accel'))->{body} eq $body, 'symcache_accel: the file';

# --- what has just been made

$t->helper_says(sub {
    $t->put('3.1.0', 'made', key => "made.pdb/${Test::ModuleCase::guid}1A");
    $_[0]->reply(200, { 'X-Symcache-Version' => '3.1.0' });
});
$r = $t->get(named('helper', 'made'), @gzip);
is $r->{body}, 'made', 'after a hold: the file, its gzip file is not there yet';
is vary($r), 'Accept-Encoding', 'after a hold: Vary';

# --- inheritance, and what nginx -t refuses

ok $t->get(uri('inherit/on'), @gzip)->{body} eq $gz, 'inherited';
ok $t->get(uri('inherit/off'), @gzip)->{body} eq $body, 'off';

for (
    ['symcache_gzip yes;', qr/takes "on", "off" or "always"/],
    ['symcache_gzip;', qr/invalid number of arguments in "symcache_gzip"/],
    ['symcache_gzip on; symcache_gzip on;', qr/is duplicate/],
    ['location / { if ($arg_a) { symcache_gzip on; } }', qr/not allowed here/],
) {
    my ($conf, $re) = @$_;
    my ($rc, $out) = $t->test_nginx($conf);
    isnt $rc, 0, "refused: $conf";
    like $out, $re, 'with words that help';
}
my ($rc) = $t->test_nginx('symcache_gzip always;', http => 'symcache_gzip on;');
is $rc, 0, 'http and server';

$t->finish;
done_testing;
