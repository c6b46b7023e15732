#!/usr/bin/env perl

# A JsCache is made of two files at URLs, which lie in the store, or in bundles
# there: what the converter makes of them by itself.  Its id is the hash of their
# digests.

use strict;
use warnings;

use Digest::SHA qw(sha256 sha256_hex);
use FindBin;
use lib "$FindBin::Bin/../lib";
use POSIX ();
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;
use Test::Zip;

my $t = Test::Symcache->new;
my $shop = $t->data('javascript/shop');
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my ($name) = $req->{path} =~ m{^/([\w.-]+)$} or return $c->reply(404);
    return $c->reply(200, {}, "{\"version\":3,\"mappings\":\"!\"}")
        if $name eq 'bad.map';
    return $c->reply(200, {}, "SYSB\2\0\0\0" . Test::Zip::zip(
        (map { [$_, $t->read_file("$shop/$_")] } 'tsc.js', 'tsc.js.map'),
        ['manifest.json', '{"files":{"tsc.js":{"type":"minified_source",'
            . '"url":"~/tsc.js"},"tsc.js.map":{"type":"source_map",'
            . '"url":"~/tsc.js.map"}}}'])) if $name eq 'bundle';
    -e "$shop/$name" ? $c->reply(200, {}, $t->read_file("$shop/$name"))
                     : $c->reply(404);
});
my $config = $t->default_config('http://127.0.0.1:1');
$config->{sources} = { web => { type => 'web', internal => JSON::PP::true() } };
$config->{stores}{default}{sources} = ['web'];
$config->{stores}{default}{transcoders}[0]{command} =
    ['pdb2symcache', '-pdb', '{pdb}'];
$config->{cache} = { retry_errors_after => '1s' };
$t->start_symcached($config);

sub source {
    my ($name) = @_;
    my $url = $web->url . "/$name";
    my $key = '127.0.0.1/hash-' . sha256_hex($url);
    my $r = $t->helper('GET',
        "/v1/source/default/$key?version=1.0.0&wait=60&url=$url");
    die "$name: $r->{status}" if $r->{status} != 200;
    return $key;
}
my $get = { x86_64 => 191, aarch64 => 8 }->{ (POSIX::uname())[4] };
my $probe = source('terser.js');
my ($file, $name, $text) = ($t->path("store/$probe/127.0.0.1-v1.0.0.source"),
    'user.symcached.sha256', "\0" x 256);
plan skip_all => 'no extended attributes here'
    unless defined $get && syscall($get, $file, $name, $text, 256) > 0;

sub ask {
    my ($id, @hints) = @_;
    my $hex = unpack 'H*', $id;
    my $r = $t->helper('GET', '/v1/jscache/default/' . substr($hex, 0, 2)
        . "/hash-$hex?" . join '&', 'version=2.0.0', 'wait=60', @hints);
    return join ' ', $r->{status},
        Test::Symcache::header($r, 'X-Symcache-Reason') // ();
}
sub made {
    my ($id) = @_;
    my $hex = unpack 'H*', $id;
    my $folder = substr $hex, 0, 2;
    return $t->read_file("store/$folder/hash-$hex/$folder-v2.0.0.jscache");
}
sub content { $t->read_file("$shop/$_[0]") }
sub converted {
    system($t->program('pdb2symcache'), '--kind', 'jscache',
        (map { "$shop/$_" } @_), '-o', $t->path('made')) == 0 or die;
    return $t->read_file('made');
}
sub id_of {
    return sha256(join '', map { length == 8 ? $_ : sha256($_) } @_);
}

# A SourceCache of a bundle with both files of a build.
my $cache;
sub source_cache {
    my $url = $web->url . '/bundle';
    my $hex = sha256_hex($url);
    my $r = $t->helper('GET', "/v1/sourcecache/default/127.0.0.1/hash-$hex"
        . "?version=1.0.0&wait=60&url=$url");
    is $r->{status}, 200, 'the SourceCache of a bundle at a URL' or diag $r->{raw};
    $cache = "store/127.0.0.1/hash-$hex/127.0.0.1-v1.0.0.sourcecache";
    return "127.0.0.1/hash-$hex";
}

my $id = id_of(content('terser.js'), content('terser.js.map'));
my @hints = ("script=$probe", 'map=' . source('terser.js.map'));
is ask($id, @hints), '200', 'of a script and its map';
ok made($id) eq converted('terser.js', 'terser.js.map'),
    'what the converter makes of them';
is ask($id), '200', 'it is there for who does not know of what it was made';

$id = id_of(content('babel-inline.js'), 'embedded');
is ask($id, 'script=' . source('babel-inline.js')), '200',
    'of a script with its map';
ok made($id) eq converted('babel-inline.js'), 'the same';

# --- of files in a bundle, which is an artifact at a URL

my %at;
$id = id_of(content('tsc.js'), content('tsc.js.map'));
my $bundled = source_cache();
@at{qw(script map)} = map {
    $bundled . '@' . index($t->read_file($cache), $_) . '-' . length
} content('tsc.js'), content('tsc.js.map');
is ask($id, "script=$at{script}", "map=$at{map}"), '200', 'of files in a bundle';
ok made($id) eq converted('tsc.js', 'tsc.js.map'), 'what the converter makes of them';
is ask(id_of(content('tsc.js'), 'embedded'), "script=$at{map}"), '503 error',
    'other bytes of it are refused by their digest';
is ask(id_of('a', 'b'), 'script=' . $bundled . '@99999999-10'), '503 error',
    'so are those that it has not';
is ask(id_of('a', 'b'), 'script=_/hash-' . '1' x 64 . '@1-10'), '503 error',
    'and those of another one';

# --- what is refused

is ask(id_of('a', 'b'), @hints), '503 error', 'an id of other files';
is ask(id_of(content('terser.js'), content('rollup.js.map')), @hints),
    '503 error', 'of which one is another';
is ask($id = id_of(content('rollup.js'), content('rollup.js.map')),
    "script=127.0.0.1/hash-" . '0' x 64, $hints[1]), '503 error',
    'files that are not here';
is ask($id, 'script=' . source('rollup.js'),
    'map=' . source('rollup.js.map')), '200', 'harm nobody else';
my $bad = source('bad.map');
is ask(id_of(content('terser.js'), '{"version":3,"mappings":"!"}'), $hints[0],
    "map=$bad"), '404 malformed', 'a map that is none';
ok -e $t->path("store/$bad/127.0.0.1-v1.0.0.source"), 'stays where it is';
is ask($id, 'script=..%2fa'), '400', 'what is not a file';
is $t->stop_symcached, 0, 'symcached stops';
$t->finish;
done_testing;
