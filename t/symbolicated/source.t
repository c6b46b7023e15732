#!/usr/bin/env perl

# Texts of source files as the Firefox Profiler asks for them, before nginx with
# conf-examples/symbolicate.conf: the members are those of samply's API.md, and
# the texts those of the program that the source bundle is of.

use strict;
use warnings;

use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::File qw(slurp spew);
use Test::Front;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8->canonical;
my $ring = "$FindBin::Bin/../data/sourcebundle/ring";
my $build = 'd11f4ac8ee483d6e69b18b9de238d72346637b94';
my $id = 'C84A1FD148EE6E3D69B18B9DE238D7230';
my $place = $t->path('symbols/d1/' . substr $build, 2);
my @firefox = ('Origin: https://profiler.firefox.com',
    'Content-Type: text/plain;charset=UTF-8');

make_path($place);
spew("$place/debuginfo", slurp("$ring/ring"));
spew("$place/sourcebundle", slurp("$ring/ring.src.zip"));
my $config = { stores => { default => { root => $t->path('store'),
        sources => ['local'], transcoders => [{ version => '9.0.0', inputs => ['elf'],
            command => ['pdb2symcache', '-pdb', '{pdb}'] }] } },
    sources => { local => { type => 'filesystem', layout => 'unified',
        path => $t->path('symbols') } },
    symbolication => { mozilla => { source => JSON::PP::true() } } };
local $ENV{PATH} = $t->program('') . ":$ENV{PATH}";
$t->start_symcached($config);
$t->start_symbolicated($config);
my ($front) = Test::Front::start($t, 'rate=20r/s' => 'rate=1000r/s');

sub ask {
    my (%change) = @_;
    my %request = (debugName => 'ring', debugId => $id, moduleOffset => '0x1142',
        file => '/build/ring/main.c', %change);
    delete $request{$_} for grep { !defined $request{$_} } keys %request;
    return $t->post($front, '/source/v1', $json->encode(\%request), @firefox);
}
sub text {
    my $text = slurp($_[0]);
    utf8::decode($text);
    return $text;
}
sub error {
    my ($r) = @_;
    my $said = eval { $json->decode($r->{body}) } // {};
    return "$r->{status} " . ($said->{error} // "no error: $r->{body}");
}

# The profiler names a debug id alone; another client has told the build id.
like error(ask(debugName => 'early')), qr{^200 the module has no debug information}, 'before it is known';
for my $kind ('symcache', 'sourcecache') {
    my $version = $kind eq 'symcache' ? '9.0.0' : '1.0.0';
    is $t->helper('GET', "/v1/$kind/default/ring/$id?version=$version&wait=60"
        . "&code_id=buildid-$build")->{status}, 200, "the $kind is made"
        or diag $t->helper_log;
}

for (['main.c', '0x1142'], ['lib/ring.h', '0x1142'], ['main.c', '0x1139']) {
    my ($file, $offset) = @$_;
    my $r = ask(moduleOffset => $offset, file => "/build/ring/$file");
    is $r->{status}, 200, "$file at $offset" or diag $r->{raw};
    is_deeply eval { $json->decode($r->{body}) },
        { symbolsLastModified => undef, sourceLastModified => undef,
          file => "/build/ring/$file",
          source => text("$ring/$file") },
        'has its text';
    is Test::Symcache::header($r, 'Access-Control-Allow-Origin'), '*',
        'and a web page may read it';
}

# --- what is refused

for (['a file that is not at the address', moduleOffset => '0x1139',
         file => '/build/ring/lib/ring.h'],
     ['an address of nothing', moduleOffset => '0xfffffff0'],
     ['a file of nowhere', file => '/etc/passwd'],
     ['an empty path', file => '']) {
    my ($what, @change) = @$_;
    like error(ask(@change)), qr/^200 the file is none of those at the address/, $what;
}
like error(ask(debugName => 'other')), qr/^200 the module has no debug/, 'another module';
for (['no file', file => undef], ['a number', file => 1],
     ['an offset without 0x', moduleOffset => '1142'],
     ['an offset of other digits', moduleOffset => '0x11x2'],
     ['a long offset', moduleOffset => '0x' . '1' x 17],
     ['an id that is none', debugId => 'C84A'],
     ['a name with folders', debugName => '../ring']) {
    my ($what, @change) = @$_;
    like error(ask(@change)), qr/^400 /, $what;
}
like error($t->post($front, '/source/v1', '', @firefox)), qr/^400 /, 'no body';
like error($t->post($front, '/source/v1', '{', @firefox)), qr/^400 /, 'half of JSON';
like error($t->post($front, '/source/v1', '', @firefox)), qr/^400 /, 'an empty body';
like error($t->post($front, '/source/v1', '[]', @firefox)), qr/^400 /, 'a list';
like error($t->post($front, '/source/v1', '{"file":"' . 'x' x 70000 . '"}', @firefox)),
    qr/^400 /, 'a large body';
is $t->http($front, 'GET', '/source/v1', @firefox)->{status}, 405, 'another method';
my $r = $t->http($front, 'OPTIONS', '/source/v1', @firefox,
    'Access-Control-Request-Method: POST');
is join(' ', $r->{status}, Test::Symcache::header($r, 'Access-Control-Allow-Methods') // '-'),
    '200 POST', 'a preflight';
$t->stop_nginx;
cmp_ok $t->symbolicated_metric(qq(symbolicated_requests_total{protocol="source",status="$_"})),
    '>', 3, "requests are counted: $_" for '2xx', '4xx';
cmp_ok $t->symbolicated_metric('symbolicated_sources_total{outcome="found"}'), '>', 3,
    'source code that is found is, too: the alert, panel and status row are of these';
$t->stop_symbolicated;

# --- it is off by default

delete $config->{symbolication};
$t->start_symbolicated($config);
is $t->post($t->symbolicated_socket, '/source/v1', '{}', @firefox)->{status}, 404,
    'off by default';

$t->finish;
done_testing;
