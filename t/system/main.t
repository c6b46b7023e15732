#!/usr/bin/perl

# The main job, end to end: a real nginx as symbol server, symcached, nginx
# with the module, real MSVC-made PDBs.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my ($up, $symbols) = Test::Symcache->symbol_nginx;

my $t = Test::Symcache->new;
$t->start_symcached($t->default_config($symbols,
                                       gated => 1));
$t->start_nginx($t->default_locations, http => 'sendfile on;');

my $crash = $t->request_path('crash.pdb');
my $basic = $t->request_path('basic32.pdb');

# --- nobody has asked before

my $r = $t->get("/poll/$crash");
is $r->{status}, 404, 'not cached: 404';
like $t->can('header')->($r, 'Retry-After'), qr/^[1-9]\d*$/,
    'with Retry-After';
is $r->{headers}{'cache-control'}[0], 'no-store', 'and no-store';

$t->wait_until('the transcoder runs', sub { $t->runs });
is $t->get("/poll/$crash")->{status}, 404, 'still 404 while it runs';

my $held = $t->open_http($t->nginx_socket, 'GET', "/hold/$crash");
$t->write_file('gate', '');
$r = $t->read_response($held);
is $r->{status}, 200, 'a held request is answered';
like $r->{headers}{'content-type'}[0],
    qr{^application/vnd\.ms-symcache; ?version=9\.0\.0$}, 'its type';
like $r->{body}, qr/^SYMC\x09\0\0\0/, 'a SymCache of version 9';
my $body = $r->{body};

# --- the second request is a plain file send

$r = $t->get("/poll/$crash");
is $r->{status}, 200, 'cached: 200';
ok $r->{body} eq $body, 'the same bytes';
ok $r->{headers}{etag}, 'with ETag';
ok $r->{headers}{'last-modified'}, 'and Last-Modified';
is $t->get("/poll/$crash", "If-None-Match: $r->{headers}{etag}[0]")->{status},
    304, 'conditional: 304';
is $t->get("/poll/$crash", 'Range: bytes=0-3')->{body}, 'SYMC', 'range';
is $t->head("/poll/$crash")->{headers}{'content-length'}[0], length $body,
    'HEAD';
is $t->runs, 1, 'one transcoder ran';

my $file = $t->path("store/crash.pdb/$Test::Symcache::key{'crash.pdb'}"
                    . '/crash.pdb-v9.0.0.symcache');
ok -f $file, 'the file is where WPA would keep it';
ok $t->read_file($file) eq $body, 'and holds what was served';

# --- a cabinet, held from the start

$r = $t->get("/hold/$basic");
is $r->{status}, 200, 'a cabinet on the symbol server';
like $r->{body}, qr/^SYMC\x09\0\0\0/, 'is a SymCache';
like $up->access_log, qr{^404 \d+ "GET /basic32.pdb/\w+/basic32.pdb }m,
    'the plain name was asked';
like $up->access_log, qr{^200 \d+ "GET /basic32.pdb/\w+/basic32.pd_ }m,
    'then the cabinet';

# --- spellings of the same key

(my $spelled = $crash) =~ s{/(\w{8})(\w{4})(\w{4})(\w{4})(\w{12})/1$}
                           {"/%7B" . lc("$1-$2-$3-$4-$5") . '%7D'}e;
$spelled =~ s/crash/CRASH/;
ok $t->get("/poll/$spelled")->{body} eq $body, "found as $spelled";

# --- a symbol server that tells cases apart

(my $mixed = $crash) =~ s/crash\.pdb/Mixed.PDB/;
my $id = $Test::Symcache::key{'crash.pdb'};
$up->write_file("html/Mixed.PDB/$id/Mixed.PDB",
                $up->read_file("html/crash.pdb/$id/crash.pdb"));
is $t->get("/hold/$mixed")->{status}, 200,
    'a name is asked for as the client spelled it';
ok -f $t->path("store/mixed.pdb/$id/mixed.pdb-v9.0.0.symcache"),
    'and stored in lower case';

# --- If-Version-Exceeds

(my $newer = $crash) =~ s/v9\.0\.0/v9.1.0/;
is $t->get("/poll/$newer", 'If-Version-Exceeds: 9.0.0')->{status}, 304,
    'nothing newer: 304';
is $t->get("/poll/$newer", 'If-Version-Exceeds: 8.0.0')->{status}, 200,
    'newer than the client has: 200';
is $t->get("/poll/$crash", 'If-Version-Exceeds: 9.0.0')->{status}, 400,
    'not below the version asked for: 400';

# --- nobody has it

my $none = 'v9.0.0/none.pdb/00000000000000000000000000000000/1';
$r = $t->get("/hold/$none");
is $r->{status}, 404, 'unknown PDB: 404';
ok !$r->{headers}{'retry-after'}, 'without Retry-After: the server knows';
$r = $t->get("/poll/$none");
is $r->{status}, 404, 'the same for a client that retries';
ok !$r->{headers}{'retry-after'}, 'without Retry-After';
my @asked = $up->access_log =~ m{ "GET (/none\.pdb/\S+)}g;
my $asked = @asked;
ok $asked >= 3, "the symbol server was asked $asked times";
$t->get("/poll/$none") for 1 .. 5;
@asked = $up->access_log =~ m{ "GET (/none\.pdb/\S+)}g;
is @asked, $asked, 'and not again while that is remembered';

# --- a client too old for what the transcoder makes

(my $old = $crash) =~ s/v9\.0\.0/v3.1.0/;
$r = $t->get("/hold/$old");
is $r->{status}, 404, 'no version that a 3.1.0 client reads: 404';
ok !$r->{headers}{'retry-after'}, 'final';

# --- the helper's own account

my $why = $t->helper_json("/v1/why/default/none.pdb/"
                          . '000000000000000000000000000000001');
ok $why, 'why answers';
like $t->helper_log, qr/crash\.pdb.*upstream/, 'log line of a job';

$t->finish;
$up->finish;
done_testing;
