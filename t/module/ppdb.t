#!/usr/bin/env perl

# PpdbCaches beside SymCaches in one location, before a scripted helper.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Compress::Gzip ();
use Test::ModuleCase;
use Test::More;

my $t = Test::ModuleCase->new;
my $guid = $Test::ModuleCase::guid;
my ($key, $age1) = ("app.pdb/${guid}FFFFFFFF", "app.pdb/${guid}1");

sub h { Test::Symcache::header(@_) }
sub cache {
    my ($k, $content, $ext) = @_;
    my ($name) = $k =~ m{^([^/]+)/};
    return $t->write_file("store/$k/$name-v1.0.0.ppdbcache" . ($ext // ''),
        $content);
}
sub uri { '/s/ppdb/v1.0.0/' . ($_[0] // 'app.pdb') . '/' . ($_[1] // $guid) }

cache($key, 'the ppdbcache');
$t->put('9.0.0', 'the symcache', key => $age1);
$t->made('9.0.0');

my %said;
my $s = $t->helper_says(sub {
    my ($c, $req) = @_;
    return $c->reply(404, { 'X-Symcache-Reason' => 'wrong-format',
                            'X-Symcache-Valid' => 60 }, '')
        if $req->{path} =~ m{/windows\.pdb/};
    return $c->reply(202, { 'Retry-After' => 3 }, '')
        if $req->{path} =~ m{/slow\.pdb/};
    if ($req->{path} =~ m{^/v1/ppdbcache/default/new\.pdb/}) {
        cache("new.pdb/${guid}FFFFFFFF", 'new');
        return $c->reply(200, { 'X-Symcache-Version' => '1.0.0',
                                'X-Symcache-Path' => 'x' }, '');
    }
    $c->reply(404, { 'X-Symcache-Reason' => 'notfound' }, '');
});
my $file = $t->path("store/$key/app.pdb-v1.0.0.ppdbcache");
my $gz;
IO::Compress::Gzip::gzip(\'the ppdbcache' => \$gz);
$t->write_file("$file.gz", $gz);
utime((stat $file)[8, 9], "$file.gz");

$t->start_nginx(<<'EON', http => <<'EOH');
    location /s/ {
        symcache %%DIR%%/store;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_zone z;
        symcache_gzip on;
    }
    location ~ ^/any/ {
        symcache %%DIR%%/store;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_zone z;
    }
    location /alone/ { symcache %%DIR%%/store; }
    location /moved/ {
        symcache %%DIR%%/store;
        symcache_redirect https://store.example.org/;
    }
EON
    symcache_zone z:64k;
    log_format s '$status $symcache_status $symcache_key';
    access_log %%DIR%%/s.log s;
EOH
sub logged {
    my ($line) = @_;
    $t->wait_until("log: $line", sub {
        ($t->read_file('s.log') // '') =~ /^\Q$line\E$/m });
}

my $r = $t->get(uri());
is "$r->{status} $r->{body}", '200 the ppdbcache', 'a PpdbCache';
is h($r, 'Content-Type'), 'application/vnd.ppdbcache; version=1.0.0',
    'its type and version';
is h($r, 'Accept-Ranges'), 'bytes', 'parts may be asked for';
my $etag = h($r, 'ETag');
ok $etag, 'it has a tag';
logged("200 HIT app.pdb/${guid}FFFFFFFF");
is $t->get(uri(), "If-None-Match: $etag")->{status}, 304, 'and is not modified';
$r = $t->get(uri(), 'Range: bytes=4-7');
is "$r->{status} $r->{body}", '206 ppdb', 'a part';
is $t->head(uri())->{status}, 200, 'HEAD';
for ("$guid/1", "$guid/4294967295", lc $guid, '{' . $guid =~ s/^(.{8})(.{4})(.{4})(.{4})/$1-$2-$3-$4-/r . '}',
    "$guid/") {
    is $t->get('/s/ppdb/v1.0.0/App.PDB/' . $_)->{body}, 'the ppdbcache', $_;
}
is $t->get("/any/where/ppdb/v1.0.0/app.pdb/$guid")->{body}, 'the ppdbcache',
    'behind any path';

# kinds do not meet

$r = $t->get("/s/v9.0.0/app.pdb/$guid");
is "$r->{status} $r->{body}", '200 the symcache', 'the SymCache of that id';
is h($r, 'Content-Type'), 'application/vnd.ms-symcache; version=9.0.0',
    'of its type';
is $t->get("/any/v9.0.0/app.pdb/$guid")->{body}, 'the symcache',
    'behind any path, too';
is $t->get("/alone/v9.0.0/app.pdb/$guid/4294967295")->{status}, 404,
    'a SymCache is none of the other kind';
is $t->get("/alone/ppdb/v1.0.0/app.pdb/$guid/2")->{status}, 404,
    'nor is a PpdbCache of another age';
is scalar(() = $s->requests), 0, 'all of that without the helper';

# what is no request

for ('/s/ppdb/', '/s/ppdb/v1.0.0/app.pdb', "/s/ppdb/app.pdb/$guid",
     "/s/ppdb/v1.0.0/app.pdb/$guid/1/2", "/s/PPDB/v1.0.0/app.pdb/$guid",
     "/s/ppdb/ppdb/v1.0.0/app.pdb/$guid", '/s/ppdb/v1.0.0/app.pdb/12',
     "/s/ppdb/v1.0.0/..%2fx/$guid", "/s/ppdbv1.0.0/app.pdb/$guid") {
    is $t->get($_)->{status}, 404, "no request: $_";
}
is scalar(() = $s->requests), 0, 'of which the helper hears nothing';

# misses

$r = $t->get(uri('new.pdb'));
is "$r->{status} $r->{body}", '200 new', 'a miss is held';
my ($asked) = $s->requests;
is $asked->{uri} =~ s/&wait=\d+//r,
    "/v1/ppdbcache/default/new.pdb/${guid}FFFFFFFF?version=1.0.0",
    'the helper is asked for the kind';
logged("200 HELD new.pdb/${guid}FFFFFFFF");

$r = $t->get(uri('slow.pdb'), 'Allow-Retry-After: true');
is $r->{status} . ' ' . (h($r, 'Retry-After') // ''), '404 3',
    'a client that takes retries polls' or diag $r->{head};
my $n = () = $s->requests;
$r = $t->get(uri('slow.pdb'), 'Allow-Retry-After: true');
is $r->{status}, 404, 'and again';
is scalar(() = $s->requests), $n, 'which the zone answers';

$r = $t->get(uri('windows.pdb'));
is $r->{status} . ' ' . (h($r, 'Retry-After') // 'final'), '404 final',
    'a Windows PDB has no PpdbCache';
$n = () = $s->requests;
is $t->get(uri('windows.pdb'))->{status}, 404, 'asked again';
is scalar(() = $s->requests), $n, 'the zone knows';
is $t->get("/s/v9.0.0/windows.pdb/$guid/4294967295")->{status}, 404,
    'a SymCache of that id';
is scalar(() = $s->requests), $n + 1, 'is another matter';

# elsewhere, and compressed

$r = $t->get("/moved/ppdb/v1.0.0/app.pdb/$guid");
is $r->{status} . ' ' . h($r, 'Location'),
    "302 https://store.example.org/$key/app.pdb-v1.0.0.ppdbcache",
    'symcache_redirect';
$r = $t->get(uri(), 'Accept-Encoding: gzip');
is h($r, 'Content-Encoding'), 'gzip', 'the compressed copy';
ok $r->{body} eq $gz, 'as it is on disk';

$t->finish;
done_testing;
