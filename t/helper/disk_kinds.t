#!/usr/bin/env perl

# A full disk and the newer kinds: CfiCaches, SourceCaches, JsCaches and
# ProguardCaches, scripts at URLs, symbfiles and their parts, bundles of scripts
# and of sources.  Nothing final, nothing partial, what was there stays, and all
# of it works when there is room again.

use strict;
use warnings;

use Digest::SHA qw(sha1_hex sha256 sha256_hex);
use FindBin;
use lib "$FindBin::Bin/../lib";
use MIME::Base64 qw(encode_base64);
use Test::Mount;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;
use Test::Uploads;
use Test::Zip;

my $u = Test::Uploads->new(prepare => sub {
    my ($t) = @_;
    Test::Mount::small($t->path($_), '4m') for 'store', 'uploads';
});
my $t = $u->t;

# --- what there is

my $crash = $Test::Symcache::key{'crash.pdb'};
my $ring = 'C84A1FD148EE6E3D69B18B9DE238D7230';
my $ring_id = 'd11f4ac8ee483d6e69b18b9de238d72346637b94';
my $uuid = '5C1D3F3A000040008000000000000001';
my $bundle = $t->read_file($t->data('sourcebundle/ring/ring.src.zip'));
my %files = (
    "/crash.pdb/$crash/crash.pdb" => $t->read_file($t->data('pdb/crash.pdb')),
    '/d1/' . substr($ring_id, 2) . '/sourcebundle' => $bundle,
    '/5c/' . lc(substr $uuid, 2) . '/proguard' =>
        "org.example.Main -> a.a:\n    1:3:void run():10:12 -> a\n",
    map { ("/$_" => $t->read_file($t->data("javascript/shop/$_"))) }
        'terser.js', 'terser.js.map',
);
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my $body = $files{ $req->{path} };
    $c->reply(defined $body ? 200 : 404, {}, $body // '');
});
my $config = $u->config;
$config->{cache} = { retry_errors_after => '1s', min_free => undef };
$config->{sources}{$_->[0]} = { type => 'http', url => $web->url,
    layout => $_->[1], internal => JSON::PP::true() }
    for ['pdbs', 'symstore'], ['unified', 'unified'];
$config->{sources}{web} = { type => 'web', internal => JSON::PP::true() };
$config->{stores}{default}{sources} = ['pdbs', 'unified', 'web', 'uploads'];
$config->{stores}{default}{transcoders} =
    [{ version => '9.0.0', command => ['pdb2symcache', '{pdb}'] }];
$t->reload_symcached($config);

sub ask {
    my ($kind, $key, $version, @hints) = @_;
    return $t->helper('GET', "/v1/$kind/default/$key?"
        . join '&', "version=$version", 'wait=60', @hints);
}
sub url_key { '127.0.0.1/hash-' . sha256_hex($web->url . "/$_[0]") }
sub source { ask('source', url_key($_[0]), '1.0.0', 'url=' . $web->url . "/$_[0]") }
my $js = sha256_hex(join '', map { sha256($files{"/$_"}) } 'terser.js', 'terser.js.map');
my %kinds = (
    cficache => sub { ask('cficache', "crash.pdb/$crash", '1.0.0') },
    sourcecache => sub { ask('sourcecache', "ring/$ring", '1.0.0',
        "code_id=buildid-$ring_id") },
    proguardcache => sub { ask('proguardcache', "mapping.txt/${uuid}0", '1.0.0') },
    jscache => sub { ask('jscache', substr($js, 0, 2) . "/hash-$js", '2.0.0',
        'script=' . url_key('terser.js'), 'map=' . url_key('terser.js.map')) },
    'a file at a URL' => sub { source('terser.js.map?other=1') },
);
$files{'/terser.js.map?other=1'} = $files{'/terser.js.map'};

# Takes all blocks but for some bytes; returns what gives them back.
sub fill {
    my ($folder, $but) = @_;
    my $file = $t->path("$folder/filler");
    open my $f, '>', $file or die "$file: $!";
    1 while syswrite $f, 'x' x 65536;
    1 while syswrite $f, 'x' x 4096;
    truncate $f, (-s $f) - $but or die "$file: $!" if $but;
    close $f;
    return sub { unlink $file or die };
}
sub files_of { join ' ', sort grep { -f } glob $t->path("$_[0]/*/*/*") }

# --- derived kinds

is ask('symcache', "crash.pdb/$crash", '9.0.0')->{status}, 200,
    'a SymCache, before the disk is full';
is source($_)->{status}, 200, "$_ of the web" for 'terser.js', 'terser.js.map';
my $before = files_of('store');
my $room = fill('store');
for my $kind (sort keys %kinds) {
    my $r = $kinds{$kind}->();
    is $r->{status}, 503, "$kind: a full disk is no reason of the file";
    ok Test::Symcache::header($r, 'Retry-After'), '... ask again';
    like $r->{body}, qr/\bfull\b|no room/, '... and it is said' or diag $r->{raw};
}
is files_of('store'), $before, 'nothing is published, and nothing is lost';
is ask('symcache', "crash.pdb/$crash", '9.0.0')->{status}, 200,
    'what is there is served';
$room->();
for my $kind (sort keys %kinds) {
    my $r;
    $t->wait_until("$kind when there is room", sub {
        ($r = $kinds{$kind}->())->{status} == 200 });
    is $r->{status}, 200, "$kind: made when there is room again";
}

# --- uploads

my $secret = '0123456789abcdef0123456789abcdef';
my $id = 'p-eeioXaabrVw_6iCTQqyQ';
my $hex = 'a7e79e8a85da69bad5c3fea209342ac9';
my $ranges = $t->read_file($t->data('convert/symbfile/ranges.symbfile'));
sub symbfile {
    my ($part, $parts, $body) = @_;
    return $u->request('POST', '/api/symbols-ranges', $body, "FileID: $id",
        "FilePart: $part", "FileParts: $parts",
        'Authorization: APIKey ' . encode_base64("ci:$secret", ''));
}
# Bodies that nginx can spool where symcached has no room beside them for a copy.
# A record of an unknown type is skipped.
my $noise = join '', map { chr rand 256 } 1 .. 100_000;
my $large = $ranges . "\xa0\x8d\x06\x09" . $noise;
my $noise_bundle = "SYSB\2\0\0\0" . Test::Zip::zip(['noise', $noise], ['manifest.json',
    '{"files":{},"object_name":"ring","debug_id":"c84a1fd1-48ee-6e3d-69b1-8b9de238d723"}']);
my $scripts = "SYSB\2\0\0\0" . Test::Zip::zip(['noise', $noise],
    (map { [$_, $files{"/$_"}] } 'terser.js', 'terser.js.map'),
    ['manifest.json', '{"files":{"terser.js":{"type":"minified_source",'
        . '"url":"~/terser.js"},"terser.js.map":{"type":"source_map",'
        . '"url":"~/terser.js.map"}}}']);
sub chunk {
    my $sum = sha1_hex($scripts);
    return $u->request('POST', '/api/0/organizations/acme/chunk-upload/',
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"$sum\"\r\n"
            . "Content-Type: application/octet-stream\r\n\r\n$scripts\r\n--b--\r\n",
        'Content-Type: multipart/form-data; boundary=b', "Authorization: Bearer $secret");
}

is symbfile(0, 2, substr $ranges, 0, 50)->{status}, 200, 'a part of a symbfile';
my $stored = $u->stored;
my %uploads = (
    'a part' => sub { symbfile(1, 2, substr $large, 50) },
    'a source bundle' => sub { $u->put("ring/$ring/ring.src.zip", $noise_bundle) },
    'chunks' => \&chunk,
);
for my $what (sort keys %uploads) {
    $room = fill('uploads', 150_000);
    my $r = $uploads{$what}->();
    $room->();
    is $r->{status}, 507, "$what: refused on a full disk";
    like $r->{raw}, qr/No space left|no room/, '... with the reason' or diag $r->{raw};
    next if $what ne 'a part';
    ok !$r->{json}{success} && $r->{json}{status} == 507, '... in the form of its API';
    like $t->helper_log, qr/status=507 uuid=\Q$r->{json}{uuid}\E /,
        '... and its uuid in the log';
}
is $u->stored, $stored, 'nothing is stored, and nothing is lost';
is symbfile(1, 2, substr $ranges, 50)->{status}, 200, 'room again: the other part';
is $t->read_file("uploads/_/hash-$hex/_.symbfile"), $ranges, '... and both are joined';
is $u->put("ring/$ring/ring.src.zip", $bundle)->{status}, 201, '... a source bundle';
is $u->send_bundle($scripts)->{state}, 'ok', '... and a bundle of scripts';

is $t->stop_symcached, 0, 'stopped';
$t->stop_nginx;
Test::Mount::gone($t->path($_)) for 'store', 'uploads';
$t->finish;
done_testing;
