#!/usr/bin/env perl

# POST /symbolicate-js: the answers of Symbolicator 26.8.0 for builds of six
# tools, and those of its own test suite, whose files a project of Sentry has.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Uncompress::Gunzip qw(gunzip);
use JSON::PP ();
use Test::File qw(slurp);
use Test::More;
use Test::ScriptedServer;
use Test::Sentry;
use Test::Symcache;
use Time::HiRes qw(sleep);

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical->utf8;
my $data = $t->data('javascript');
my $s = Test::Sentry->new($t, token => 's3cret');
my $config = $s->config;
$t->start_symcached($config);
$t->start_symbolicated;

sub request { $s->symbolicate_js(@_) }

plan skip_all => 'no extended attributes here, so files have no digest'
    if !$t->has_attributes;

# What became of files that are not artifacts: it is not looked for here.
sub without_reasons {
    my ($answer) = @_;
    for (@{ $answer->{scraping_attempts} // [] }) {
        delete @$_{qw(reason details)};
    }
    return $answer;
}

# An older word for the origin of a file of its own.
sub of_2026 {
    my ($answer) = @_;
    for my $frame (map { @{ $_->{frames} } }
            map { @{ $answer->{$_} // [] } } qw(stacktraces raw_stacktraces)) {
        my $origin = $frame->{data}{sourcemap_origin};
        $frame->{data}{sourcemap_origin} = { individual_file => $origin }
            if defined $origin && !ref $origin && $origin ne 'embedded';
    }
    return $answer;
}

sub same {
    my ($got, $wanted, $name) = @_;
    is_deeply without_reasons($got), without_reasons($wanted), $name
        or diag explain $got->{errors}, $got->{scraping_attempts};
}

# --- builds

gunzip("$data/peer.json.gz" => \my $peer) or die;
$peer = $json->decode($peer);
for my $tool (sort keys %$peer) {
    $s->store('artifacts', []);
    my $map = $tool eq 'esbuild-nocontent' ? 'maps' : 'js';
    for (["~/js/$tool.js", "$tool.js"],
         ["~/$map/$tool.js.map", "$tool.js.map"]) {
        my ($name, $file) = @$_;
        $s->artifact($name, slurp("$data/shop/$file"), id => $file)
            if -e "$data/shop/$file";
    }
    my $p = $peer->{$tool};
    same(request({ %{ $p->{request} } }, scope => $tool), $p->{answer},
        "$tool: the answer of Symbolicator");
}

# --- its own suite

for my $case (@{ $json->decode(slurp("$data/sentry/answers.json")) }) {
    $s->store('artifacts', []);
    for my $name (sort keys %{ $case->{artifacts} }) {
        my $a = $case->{artifacts}{$name};
        $s->artifact($name, slurp("$data/sentry/$a->{file}"),
            id => $a->{id}, headers => $a->{headers} // {},
            resolved_with => $a->{resolved_with});
    }
    my $got = request($case->{request}, scope => $case->{name});
    my $wanted = of_2026($case->{response});
    is_deeply $got->{scraping_attempts}, $wanted->{scraping_attempts},
        "$case->{name}: attempts";
    same($got, $wanted, "$case->{name}: the answer");
}

# --- a position each

for my $tool (grep { -e "$data/shop/$_.positions.json" } sort keys %$peer) {
    $s->store('artifacts', []);
    my $map = $tool eq 'esbuild-nocontent' ? 'maps' : 'js';
    $s->artifact("~/js/$tool.js", slurp("$data/shop/$tool.js"),
        id => "$tool.js");
    $s->artifact("~/$map/$tool.js.map", slurp("$data/shop/$tool.js.map"),
        id => "$tool.js.map") if -e "$data/shop/$tool.js.map";
    my @peer = @{ $json->decode(slurp("$data/shop/$tool.positions.json"))
        ->{peer} };
    my $got = request({ release => 'r1', stacktraces => [map { +{ frames => [{
        abs_path => "https://cdn.example.com/js/$tool.js", lineno => $_->[0] + 1,
        colno => $_->[1] + 1, function => '<given>' }] } } @peer] },
        scope => $tool);
    my @found = map { my $f = $_->{frames}[0];
        $f->{data}{symbolicated} ? [$f->{filename}, $f->{lineno} - 1,
            $f->{colno} - 1, $f->{function}] : [(undef) x 4]
    } @{ $got->{stacktraces} };
    is_deeply \@found, [map { [@$_[2 .. 4], defined $_->[2] ? $_->[5] : undef]
        } @peer], "$tool: " . @peer . ' positions';
}

# --- requests that are none, and what is of another client

for (['no source', { source => undef }, qr/source/],
     ['no credentials', { source => { id => 'x', url => $s->artifact_lookup } },
        qr/missing field `token` or `cookies`/],
     ['a source that is not a URL', { source => { id => 'x', token => 't',
        url => 'file:///etc/passwd' } }, qr/source\.url/],
     ['a token that is a file', { source => { id => 'x', token => '@/etc/passwd',
        url => $s->artifact_lookup } }, qr/source\.token/],
     ['an empty token', { source => { id => 'x', token => '',
        url => $s->artifact_lookup } }, qr/source\.token/],
     ['empty cookies', { source => { id => 'x', cookies => '',
        url => $s->artifact_lookup } }, qr/source\.cookies/],
     ['another type of module', { modules => [{ type => 'js', code_file => 'a',
        debug_id => 'b' }] }, qr/modules\[0\]\.type/],
     ['a frame without a line', { stacktraces => [{ frames => [{
        abs_path => 'a' }] }] }, qr/missing field `lineno`/],
     ['half a scraping', { scraping => { enabled => JSON::PP::true() } },
        qr/missing field `allowed_origins`/]) {
    my ($name, $body, $text) = @$_;
    my $r = request($body);
    is $r->{status}, 422, $name;
    like $r->{body}, $text, 'and why';
}
like $t->post($t->symbolicated_socket, '/symbolicate-js', '',
    'Content-Type: application/json')->{body},
    qr/^Failed to parse the request body as JSON: EOF while parsing a value at/,
    'no body';
my %terser = (release => 'r1', stacktraces => [{ frames => [{ lineno => 1,
    colno => 224, abs_path => 'https://cdn.example.com/js/terser.js' }] }]);
is request({ %terser, source => { id => 'x', token => 'another',
    url => $s->artifact_lookup } }, scope => 'terser')->{errors}[0]{type},
    'scraping_disabled', 'with another token nothing is found';

$s->artifact('~/js/latin1.js', "/* \xe9 */ f()\n", id => 'latin1.js');
is request({ %terser, stacktraces => [{ frames => [{ lineno => 1,
    abs_path => 'https://cdn.example.com/js/latin1.js' }] }] },
    scope => 'latin1')->{errors}[0]{type}, 'missing_source',
    'a script that is not UTF-8';

# --- polling

my $pending = request(\%terser, query => '&timeout=0', scope => 'later');
if (($pending->{status} // '') eq 'pending') {
    my $r = $t->http($t->symbolicated_socket, 'GET',
        "/requests/$pending->{request_id}?timeout=60");
    is $json->decode($r->{body})->{status}, 'completed', 'a poll';
} else {
    is $pending->{status}, 'completed', 'it was there at once';
}
is $t->stop_symbolicated, 0, 'symbolicated stops';
is $t->stop_symcached, 0, 'symcached stops';

# --- a script that is read in another thread, as it is large

$config->{symbolication}{javascript} = { scraping => JSON::PP::false() };
$s->store('artifacts', []);
my $script = slurp("$data/shop/terser.js");
$script =~ s{(?=//# sourceMappingURL)}{"/*" . 'so' x 2**20 . "*/\n"}e or die;
$s->artifact('~/js/large.js', $script, id => 'large.js');
$s->artifact('~/js/terser.js.map', slurp("$data/shop/terser.js.map"),
    id => 'terser.js.map');
$t->start_symcached($config);
$t->start_symbolicated;
my $large = request({ release => 'r1', stacktraces => [({ frames => [{
    abs_path => 'https://cdn.example.com/js/large.js', lineno => 1,
    colno => 224 }] }) x 3] }, scope => 'large');
is_deeply [map { $_->{frames}[0]{filename} } @{ $large->{stacktraces} }],
    [('src/money.js') x 3], 'a large script, whose last comment counts'
    or diag explain $large->{errors};

# clients that leave while it is read
for my $n (1 .. 5) {
    my $body = $json->encode({ release => 'r1', stacktraces => [{ frames => [({
        abs_path => 'https://cdn.example.com/js/large.js', lineno => 1,
        colno => 224 }) x 2000] }],
        source => { id => 'x', token => 's3cret', url => $s->artifact_lookup } });
    my $read = () = grep { $_ eq 'artifact large.js' } $s->requests;
    my $client = Test::Symcache::connect_to($t->symbolicated_socket);
    print $client Test::Symcache::request_text('POST',
        "/symbolicate-js?scope=leaves$n", 'Content-Type: application/json',
        'Content-Length: ' . length $body), $body;
    $client->flush;
    $t->wait_until('the script is fetched', sub {
        $read < grep { $_ eq 'artifact large.js' } $s->requests;
    });
    close $client;
}
$t->wait_until('no request runs', sub {
    $t->symbolicated_metric('symbolicated_requests_running') == 0;
});
is $t->stop_symbolicated, 0, 'symbolicated stops';
is $t->stop_symcached, 0, 'symcached stops';

# --- the web

$config->{symbolication}{javascript} = { scraping => JSON::PP::true() };
$s->store('artifacts', []);
my %odd = ('many.js' => 's' x 2**21, 'empty.js' => '',
    'latin1.js' => "/* \xe9 */ f()\n");
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my ($late, $name) = $req->{path} =~ m{^/(late/)?([\w.-]+)$};
    return $c->reply(200, {}, $odd{$name}) if defined $name && defined $odd{$name};
    return $c->reply(404) if !defined $name || !-e "$data/shop/$name";
    sleep 1.2 if $late && $name =~ /map$/;
    $c->reply(200, { $name =~ /map$/ ? () : (SourceMap => 'terser.js.map') },
        slurp("$data/shop/$name"));
});
$config->{symbolication}{symbolicator}{tenants}{hosts} = [$s->host,
    '127.0.0.1:' . $web->port];
$t->start_symcached($config);
my $pid = $t->start_symbolicated;

sub of_web {
    my ($url, %o) = @_;
    return request({ stacktraces => [{ frames => [{ abs_path => $url,
        lineno => 1, colno => 224 }] }], %o }, scope => 'web');
}
my $url = $web->url . '/terser.js';
my $got = of_web($url);
is $got->{stacktraces}[0]{frames}[0]{filename}, 'src/money.js',
    'a script of the web, with the map that its header names'
    or diag explain $got;
is_deeply $got->{scraping_attempts}, [map { { url => $_, status => 'success' } }
    $url, "$url.map"], 'which are told';
my $frame = $got->{stacktraces}[0]{frames}[0];
is $frame->{data}{resolved_with}, 'scraping', 'how';
like $frame->{data}{sourcemap_origin}{scraped_file},
    qr/^\Q$url\E\.map#\d+$/, 'from which hour';
my $n = () = $web->requests;
of_web($url);
is scalar(() = $web->requests), $n, 'within the hour once';
for (['off', $url, { enabled => 0 }, 'disabled'],
     ['another origin', $url, { origins => ['https://*.example.com'] },
        'invalid_host'],
     ['a host', $url, { origins => ['127.0.0.1'] }, undef],
     ['its port', $url, { origins => ['127.0.0.1:1'] }, 'invalid_host'],
     ['no origin', $url, { origins => [] }, 'invalid_host'],
     ['another scheme', 'app:///a.js', {}, 'invalid_host'],
     ['no such file', $web->url . '/no.js', {}, 'not_found'],
     ['an internal host', 'http://localhost:' . $web->port . '/terser.js', {},
        'download_error']) {
    my ($name, $of, $o, $reason) = @$_;
    my $answer = of_web($of, scraping => { headers => {},
        enabled => $o->{enabled} // 1 ? JSON::PP::true() : JSON::PP::false(),
        allowed_origins => $o->{origins} // ['*'] });
    is $answer->{scraping_attempts}[0]{reason}, $reason, $name
        or diag explain $answer;
}

# A script is looked through once, though many frames have it under a name each.
my $before = $t->processor_time($pid);
my $many = request({ stacktraces => [{ frames => [map { +{ lineno => 1,
    abs_path => $web->url . "/many.js#$_" } } 1 .. 1000] }] }, scope => 'web');
is $many->{status}, 'completed', 'a script of 1000 names';
cmp_ok $t->processor_time($pid) - $before, '<', $ENV{SYMCACHE_SAN} ? 30 : 3,
    '... which took no long time';

# Symbolicator's cache of files has them as absent, or as malformed.
for (['empty.js', 'not_found'], ['latin1.js', 'other']) {
    my ($name, $reason) = @$_;
    my $answer = of_web($web->url . "/$name");
    is_deeply [map { $_->{type} } @{ $answer->{errors} }], ['missing_source'],
        "$name of the web is no script" or diag explain $answer;
    is $answer->{scraping_attempts}[0]{reason}, $reason, '... and why';
}

# the digest of a script stays, however long it is there before it is used
sub late {
    my $answer = request({ stacktraces => [{ frames => [{
        abs_path => $web->url . '/late/terser.js', lineno => 1,
        colno => 224 }] }] }, scope => 'late');
    return $answer->{stacktraces}[0]{frames}[0]{filename};
}
is late(), 'src/money.js', 'a map that takes a second';
is $t->stop_symbolicated, 0, 'symbolicated stops';
$t->start_symbolicated;
is late(), 'src/money.js', 'the same by another process';
is $t->stop_symbolicated, 0, 'symbolicated stops';
is $t->stop_symcached, 0, 'symcached stops';
$t->finish;
done_testing;
