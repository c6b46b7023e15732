#!/usr/bin/perl

# Compressed PDBs (MSFZ) from a server to its clients: upstream is told that
# they are taken, and what came is served as it came to who takes that, and
# expanded to everybody else, each with headers of its own.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::Msfz;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my @streams = msf_streams($crash);
my $msfz = msfz(\@streams);
my $takes = 'Accept: application/msfz0';

sub h { Test::Symcache::header(@_) }

# As a server that negotiates: compressed for who takes it.
my $up = Test::ScriptedServer->new(log => $t->path('up.log'), script => sub {
    my ($c, $req) = @_;
    return $c->reply(404, {}, '')
        if $req->{path} !~ m{^/(?:crash|first|plain)\.pdb/$id/\w+\.pdb$};
    my $packs = $req->{path} !~ /plain/
        && ($req->{headers}{accept} // '') =~ m{application/msfz0};
    $c->reply(200, { Vary => 'Accept' }, $packs ? $msfz : $crash);
});

$t->start_symcached({
    sources => { up => { type => 'http', url => $up->url,
        internal => JSON::PP::true(), forms => ['plain'] } },
    stores => { default => { root => $t->path('store'), sources => ['up'],
        transcoders => [{ version => '9.0.0',
            command => [$t->program('pdb2symcache'), '-pdb', '{pdb}'] }] } },
});
$t->start_nginx(<<'EON', http => 'symcache_zone z:64k;');
    location /sym/ {
        symcache_symbols %%DIR%%/downloads;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_zone z;
    }
    location /symcache/ {
        symcache %%DIR%%/store;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_async_after 65535.65535.65535;
    }
EON

my $uri = "/sym/crash.pdb/$id/crash.pdb";
my $only = "/sym/crash.pdb/$id/msfz0/crash.pdb";

# --- it is fetched compressed, and sent as the client takes it

my $plain = $t->get($uri);
is $plain->{status}, 200, 'who does not know MSFZ';
is_deeply [msf_streams($plain->{body})], \@streams, 'gets the PDB';
my ($asked) = $up->requests;
like $asked->{headers}{accept}, qr{application/msfz0.*\*/\*},
    'upstream was told that it is taken';
is h($plain, 'Vary'), 'Accept', 'Vary';

my $packed = $t->get($uri, $takes);
ok $packed->{body} eq $msfz, 'who takes it gets what upstream sent';
is h($packed, 'Vary'), 'Accept', 'Vary';
is h($packed, 'Content-Type'), 'application/octet-stream',
    'with the type that TraceEvent wants';
isnt h($packed, 'ETag'), h($plain, 'ETag'), 'each has its own ETag';
ok $t->get($uri, 'Accept: text/html, Application/MSFZ0;q=0.9, */*')->{body}
    eq $msfz, 'in a list';
my $alone = $t->get($only);
ok $alone->{body} eq $msfz, 'by its own path, without Accept';
is h($alone, 'Vary'), undef, 'which has nothing else';
is h($alone, 'ETag'), h($packed, 'ETag'), 'the same file';

for (['expanded', $uri, $plain], ['compressed', $uri, $packed, $takes],
     ['by its path', $only, $alone]) {
    my ($what, $path, $whole, @headers) = @$_;
    my $r = $t->head($path, @headers);
    is join(' ', $r->{status}, h($r, 'Content-Length'), h($r, 'ETag')),
        join(' ', 200, length $whole->{body}, h($whole, 'ETag')),
        "$what: HEAD";
    $r = $t->get($path, @headers, 'Range: bytes=1000-1999');
    is join(' ', $r->{status}, h($r, 'Content-Range')),
        '206 bytes 1000-1999/' . length $whole->{body}, "$what: a range";
    ok $r->{body} eq substr($whole->{body}, 1000, 1000), 'of its bytes';
    $r = $t->get($path, @headers, 'If-None-Match: ' . h($whole, 'ETag'));
    is $r->{status}, 304, "$what: is not modified";
    is h($r, 'Vary'), h($whole, 'Vary'), 'the same Vary';
}
is $t->get($uri, $takes, 'If-None-Match: ' . h($plain, 'ETag'))->{status}, 200,
    'the ETag of one form is not that of the other';

# --- everything else sees the PDB

my $cache = $t->get('/symcache/'
    . Test::Symcache::request_path(undef, 'crash.pdb'));
is $cache->{status}, 200, 'a SymCache is made of it';
is scalar(() = grep { $_->{path} =~ /crash/ } $up->requests), 1,
    'of the same download';

# --- who asks for the compressed form first

my $first = "/sym/first.pdb/$id/msfz0/first.pdb";
ok $t->get($first)->{body} eq $msfz, 'a file that was not there';
is_deeply [msf_streams($t->get("/sym/first.pdb/$id/first.pdb")->{body})],
    \@streams, 'and the PDB of it';
is scalar(() = grep { $_->{path} =~ /first/ } $up->requests), 1,
    'was asked for once';

# --- what came as it is

my $r = $t->get("/sym/plain.pdb/$id/msfz0/plain.pdb");
is join(' ', $r->{status}, h($r, 'Retry-After') // '-'), '404 -',
    'what did not come compressed is not there compressed';
$r = $t->get("/sym/plain.pdb/$id/plain.pdb", $takes);
ok $r->{body} eq $crash, 'and is served as it is';
$r = $t->get("/sym/nowhere.pdb/$id/msfz0/nowhere.pdb");
is join(' ', $r->{status}, h($r, 'Retry-After') // '-'), '404 -',
    'what is nowhere';

# --- on the disk

my @files = map { s{.*/}{}r } sort glob $t->path("downloads/default/crash.pdb/$id/*");
is_deeply \@files, ['crash.pdb', 'crash.pdb.msfz'], 'both forms lie there';
$r = $t->helper('GET', "/v1/msfz/default/crash.pdb/$id?version=1.0.0");
is $r->{status}, 200, 'the helper knows both';

$t->finish;
done_testing;
