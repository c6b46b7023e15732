#!/usr/bin/env perl

# "scraping.headers" of POST /symbolicate-js: sent with what a request scrapes,
# and what was fetched with them is nobody's who has others.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::File qw(slurp);
use Test::More;
use Test::ScriptedServer;
use Test::Sentry;
use Test::Symcache;

my $t = Test::Symcache->new;
plan skip_all => 'no extended attributes here, so files have no digest'
    if !$t->has_attributes;
my $data = $t->data('javascript/shop');
my $s = Test::Sentry->new($t, token => 's3cret');

# The other origin, which is asked for nothing.
my $other = Test::ScriptedServer->new(log => $t->path('other.log'),
    script => sub {
        my ($c, $req) = @_;
        my ($name) = $req->{path} =~ m{/([\w.-]+)$};
        $c->reply(200, {}, slurp("$data/$name"));
    });

# Each token has a script of its own, one by another tool.
my %tool = ('tenant-one' => 'terser', 'tenant-two' => 'rollup');
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my $tool = $tool{ $req->{headers}{'x-sentry-token'} // '' };
    return $c->reply(302, { Location => $other->url . $1 })
        if $req->{path} =~ m{^/moved(/.*)};
    return $c->reply(403) if !defined $tool;
    return $c->reply(200, { SourceMap => 'app.js.map' },
        slurp("$data/$tool.js")) if $req->{path} eq '/app.js';
    return $c->reply(200, {}, slurp("$data/$tool.js.map"))
        if $req->{path} eq '/app.js.map';
    $c->reply(404);
});

my $config = $s->config(javascript => { scraping => JSON::PP::true() },
    hosts => [map { '127.0.0.1:' . $_->port } $web, $other]);
$t->start_symcached($config);
$t->start_symbolicated;

sub request {
    my ($url, $headers, %o) = @_;
    return $s->symbolicate_js({ stacktraces => [{ frames => [{ abs_path => $url,
                lineno => 1, colno => 224 }] }],
            scraping => { enabled => JSON::PP::true(),
                allowed_origins => $o{origins} // ['*'], headers => $headers } });
}

# What a request learns of the script: its line, or why there is none.
sub line_of {
    my ($answer) = @_;
    return $answer->{raw_stacktraces}[0]{frames}[0]{context_line}
        // $answer->{scraping_attempts}[0]{reason};
}

sub token { { 'X-Sentry-Token' => $_[0] } }
sub asked { scalar grep { $_->{path} eq $_[1] } $_[0]->requests }

my $url = $web->url . '/app.js';
is line_of(request($url, {})), 'download_error', 'without a token there is none';
my $one = request($url, token('tenant-one'));
ok $one->{stacktraces}[0]{frames}[0]{data}{symbolicated},
    'with a token a script and its map are found' or diag explain $one;
is asked($web, '/app.js.map'), 1, '... which were asked for';
my $two = request($url, token('tenant-two'));
isnt line_of($two), line_of($one), 'another token has another file';
like line_of($two), qr/\S/, '... and has one';
is line_of(request($url, token('tenant-three'))), 'download_error',
    'a wrong token has none, although others have the file here';
is line_of(request($url, {})), 'download_error', 'and no token has none, either';
my $n = () = $web->requests;
is_deeply request($url, { 'x-b' => '$HOME', %{ token('tenant-one') } })
    ->{stacktraces}, $one->{stacktraces}, 'one more header is another key';
my ($last) = grep { exists $_->{headers}{'x-b'} } $web->requests;
is $last->{headers}{'x-b'}, '$HOME', 'a value is sent as it is';
$n = () = $web->requests;
is_deeply request($url, token($_))->{stacktraces},
    ($_ eq 'tenant-one' ? $one : $two)->{stacktraces},
    "$_ has the same for an hour" for qw(tenant-one tenant-two);
is scalar(() = $web->requests), $n, '... without a request';

# --- where they go

# That a redirect to another public origin has no headers, the tests of fetches
# show; to an internal one there is none.
is line_of(request($web->url . '/moved/terser.js', token('tenant-one'))),
    'download_error', 'a redirect to another internal origin';
is_deeply [$other->requests], [], '... is not followed';
$n = () = $web->requests;
is line_of(request($web->url . '/no.js', token('tenant-one'),
    origins => ['https://cdn.example.com'])), 'invalid_host',
    'an origin that is not allowed';
is scalar(() = $web->requests), $n, '... is not asked';

for ([('x') x 1000, '*'], ['a' x 65536, '*']) {
    my $r = request($web->url . '/no.js', token('tenant-one'), origins => $_);
    is $r->{status}, 422, @$_ . ' origins are too many';
    like $r->{body}, qr/scraping\.allowed_origins: more than/, '... and why';
}

$s->store('artifacts', []);
$s->artifact('~/js/terser.js', slurp("$data/terser.js"), id => 'terser.js');
$s->artifact('~/js/terser.js.map', slurp("$data/terser.js.map"),
    id => 'terser.js.map');
request('https://cdn.example.com/js/terser.js', token('tenant-one'));
is_deeply [grep { exists $_->{headers}{'x-sentry-token'} } $s->{server}->requests],
    [], 'the source gets none of them';

# --- what is none

for (['Host', 'a'], ['range', 'bytes=0-1'], ['Transfer-Encoding', 'chunked'],
     ['a b', 'c'], ['', 'c'], ['a', "b\r\nc: d"], ['a', '@/etc/passwd'],
     ['a', ['b']], ['a', 'b' x 5000]) {
    my ($name, $value) = @$_;
    my $r = request($url, { $name => $value });
    is $r->{status}, 422, "'$name' is refused";
    like $r->{body}, qr/scraping\.headers: /, '... and why';
}
is request($url, { map { ("x-$_" => $_) } 1 .. 17 })->{status}, 422,
    'too many';
is request($url, { map { ("x-$_" => $_ x 4000) } 1 .. 3 })->{status}, 422,
    'too much';

is $t->stop_symbolicated, 0, 'symbolicated stops';
is $t->stop_symcached, 0, 'symcached stops';
like $t->helper_log, qr/127\.0\.0\.1/, 'the log tells of the server';
unlike $t->helper_log . $t->symbolicated_log, qr/tenant-(?:one|two|three)/,
    '... and no value of a header';
$t->finish;
done_testing;
