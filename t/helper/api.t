#!/usr/bin/env perl

# Every page of the helper's socket: what it takes, answers and refuses.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $crash = "default/crash.pdb/$id";
my $json = JSON::PP->new;

sub header { Test::Symcache::header(@_) }
sub page { $t->helper('GET', @_) }
sub lookup { page("/v1/symcache/$_[0]") }

# (status, error word) of an answer
sub refusal {
    my ($r) = @_;
    my $body = eval { $json->decode($r->{body}) } // {};
    return [$r->{status}, $body->{error}];
}

$t->symbol_store('sym');
my $command = [$t->program('pdb2symcache'), '-pdb', '{pdb}'];
$t->start_symcached({
    stores => {
        default => { root => $t->path('store'), sources => ['local'],
            transcoders => [{ version => '9.0.0', command => $command }] },
        import => { root => $t->path('import') },
        originals => { root => $t->path('originals'), sources => ['local'] },
        made => { root => $t->path('made'),
            transcoders => [{ version => '3.5.0', command => $command },
                            { version => '4.2.0', command => $command }] },
    },
    sources => { local => { type => 'filesystem', path => $t->path('sym') } },
});

# lookups

my $r = lookup("$crash?version=9.0.0&wait=60");
is $r->{status}, 200, 'lookup';
is header($r, 'X-Symcache-Version'), '9.0.0', 'version';
is header($r, 'X-Symcache-Path'), "crash.pdb/$id/crash.pdb-v9.0.0.symcache",
    'path';
is header($r, 'Cache-Control'), 'no-store', 'answers are not to be cached';
is $r->{body}, '', 'no body';

for (["\LDEFAULT/Crash.PDB\E/$id", 'a name in lower case'],
     ["default/CRASH.pdb/\L$id", 'any case of name and id'],
     ["default/cr%61sh.pdb/$id/", 'escapes and a trailing slash']) {
    my ($key, $name) = @$_;
    is lookup("$key?version=9.0.0")->{status}, 200, $name;
}
is $t->helper('HEAD', "/v1/symcache/$crash?version=9.0.0")->{status}, 200,
    'HEAD';

is lookup("$crash?version=10.0.0")->{status}, 200, 'a newer client';
is lookup("$crash?version=10.0.0&exceeds=8.0.0")->{status}, 200,
    'exceeds below the file';
is lookup("$crash?version=10.0.0&exceeds=0.65535.65535")->{status}, 200,
    'exceeds below 1.0.0, for symcache_min_version 1.0.0';
$r = lookup("$crash?version=10.0.0&exceeds=9.0.0");
is $r->{status}, 304, 'exceeds is the file';
is $r->{body}, '', 'without a body';
is lookup("default/x.pdb/$id?version=10.0.0&exceeds=9.0.0")->{status}, 304,
    'not cached, and nothing newer can be made';

$r = lookup("$crash?version=8.0.0");
is_deeply refusal($r), [404, 'no-transcoder'],
    'an older client than any transcoder';
is header($r, 'X-Symcache-Reason'), 'no-transcoder', 'for a reason';
is header($r, 'X-Symcache-Valid'), 60, 'for a time';
$r = lookup("import/crash.pdb/$id?version=9.0.0");
is header($r, 'X-Symcache-Reason'), 'no-transcoder', 'a store for imports';
$r = lookup("made/crash.pdb/$id?version=9.0.0");
is header($r, 'X-Symcache-Reason'), 'no-source', 'a store without a source';

$r = lookup('default/' . 'n' x 225 . "/$id?version=9.0.0");
is header($r, 'X-Symcache-Reason'), 'unstorable',
    'a name too long for a file system';
is $r->{status}, 404, 'is known absent';

# what a lookup refuses

$r = lookup("nostore/crash.pdb/$id?version=9.0.0");
is_deeply refusal($r), [503, 'unknown-store'],
    'an unknown store is no final 404';
ok header($r, 'Retry-After'), 'and may be asked again';
is header($r, 'X-Symcache-Reason'), 'unknown-store', 'for this reason';
lookup("nostore/crash.pdb/$id?version=9.0.0") for 1 .. 3;
my @told = $t->helper_log =~ /\[warn\] \d+: (lookup store=.*)/g;
is_deeply \@told, ["lookup store=nostore key=crash.pdb/$id: the configuration "
        . 'has no such store, answered 503 (1 lookups in unknown stores since '
        . 'this was last said)'], 'the log says so, and not for each';

for (['', 'no version'], ['?version=9', 'no version in it'],
     ['?version=9.0.0&version=9.0.0', 'repeated'],
     ['?version=9.0.0&why=1', 'unknown key'],
     ['?version=9.0.0&exceeds=x', 'exceeds is not a version'],
     ['?version=9.0.0&exceeds=9.0.0', 'exceeds is not below'],
     ['?version=9.0.0&wait=-1', 'negative wait'],
     ['?version=9.0.0&wait=1s', 'wait with a unit'],
     ['?version=9.0.0%00x', 'a NUL'],
     ['?version=9.0.0&wait=', 'empty wait']) {
    my ($query, $name) = @$_;
    is_deeply refusal(lookup($crash . $query)), [400, 'bad-query'],
        "query: $name";
}
for ("default/crash.pdb/$id" . '0' x 9, 'default/crash.pdb/12',
     "default/..%2Fx/$id", "default/%2e%2e/$id", "default/a%00b/$id",
     "default/.tmp/$id", "default/.clock.new/$id", "default/.x/$id",
     "default/a%5Cb/$id") {
    is_deeply refusal(lookup("$_?version=9.0.0")), [400, 'bad-key'],
        "key: $_";
}
for ('/', '/v1', '/v1/', '/v2/jobs', '/v1/jobs/x', '/v1/nothing',
     '/metrics/x', "/v1/symcache/$crash/1/2", '/v1/symcache') {
    is refusal(page("$_?version=9.0.0"))->[0], 404, "no page: $_";
}
is_deeply refusal(page('/metrics?x=1')), [400, 'bad-query'],
    'pages without a query refuse one';

is_deeply refusal(page("/v1/pdb/$crash?version=9.0.0")), [404, 'not-found'],
    'what is no kind at all is no page';
is page("/v1/why/$crash?kind=symcache")->{body} =~ s/"time":\d+//r,
    page("/v1/why/$crash")->{body} =~ s/"time":\d+//r,
    'why is about a SymCache unless told otherwise';
for ('kind=', 'kind=pdb', 'kind=symcache&kind=symcache', 'x=1') {
    is_deeply refusal(page("/v1/why/$crash?$_")), [400, 'bad-query'],
        "why: $_";
}
for ('crash.pdb/buildid-93ac61ec5a8eb139',
     '_/buildid-93ac61ec5a8eb1396f9fbd350e3169a558528a40') {
    is_deeply refusal(lookup("default/$_?version=9.0.0")), [400, 'bad-key'],
        "SymCaches are not looked up by $_";
    is_deeply refusal(page("/v1/why/default/$_")), [400, 'bad-key'], 'why';
    is $t->helper('POST', "/v1/forget/default/$_")->{status}, 200,
        'but forgotten, as other kinds are';
}

is_deeply refusal(lookup('default/crash.dll/5AB380779000?version=9.0.0')),
    [404, 'no-transcoder'], 'an image, in a store of PDBs';

for my $method (qw(POST PUT DELETE OPTIONS PATCH)) {
    $r = $t->helper($method, "/v1/symcache/$crash?version=9.0.0",
        'Content-Length: 0');
    is $r->{status}, 405, "$method is not for a lookup";
    is header($r, 'Allow'), 'GET, HEAD', 'which says what is';
}
is $t->helper('GET', "/v1/forget/$crash")->{status}, 405,
    'GET forgets nothing';

$r = $t->helper('POST', "/v1/forget/$crash", 'Content-Length: 3000000');
is $r->{status}, 413, 'bodies have a limit';

# pages

my $why = $t->helper_json("/v1/why/$crash");
is $why->{id}, $id, 'why: the key';
is_deeply [map { "$_->{version} $_->{path}" } @{ $why->{files} }],
    ["9.0.0 crash.pdb/$id/crash.pdb-v9.0.0.symcache"], 'why: files';
my ($found) = grep { $_->{outcome} eq 'found' } @{ $why->{attempts} };
is $found->{source}, 'local', 'why: the source that had it';
is $found->{place}, $t->path("sym/crash.pdb/$id/crash.pdb"), 'why: the place';
is $why->{next}, 'the next request is served from disk', 'why: next';
is $t->helper_json("/v1/why/default/never.pdb/$id")->{next},
    'the next request starts a job', 'why: a key that nobody asked for';
is $t->helper_json("/v1/why/originals/crash.pdb/$id?kind=debuginfo")->{next},
    'the next request starts a job', 'why: originals need no transcoder';
like $t->helper_json("/v1/why/originals/crash.pdb/$id")->{next},
    qr/^nothing: /, 'why: SymCaches do';

my ($source) = @{ $t->helper_json('/v1/sources')->{sources} };
is $source->{name}, 'local', 'sources: name';
is $source->{found}, 1, 'sources: what it answered';
is_deeply $t->helper_json('/v1/jobs')->{jobs}, [], 'jobs: none';
is $t->helper_json('/healthz')->{status}, 'ok', 'healthz';
like $t->helper_json('/version')->{version}, qr/^\d+\.\d+\.\d+$/, 'version';

my $m = page('/metrics');
like header($m, 'Content-Type'), qr{^text/plain; version=0\.0\.4},
    'metrics: type';
my (%type, %seen, @wrong);
for (split /\n/, $m->{body}) {
    if (/^# HELP ((?:symcached|process)_[a-z_]+) \S.*$/) { push @wrong, $_ if $seen{$1}++ }
    elsif (/^# TYPE (\S+) (counter|gauge|histogram)$/) { $type{$1} = $2 }
    elsif (/^((?:symcached|process)_\w+)(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? \d+(?:\.\d+)?$/) {
        push @wrong, $_
            unless $type{$1 =~ s/_seconds\K_(?:bucket|sum|count)$//r};
        push @wrong, $_ if $seen{$_}++;
    } else { push @wrong, $_ }
}
is_deeply \@wrong, [], 'metrics: every line is a sample, a help or a type';
is $type{symcached_lookups_total}, 'counter', 'metrics: a counter';
is $type{symcached_waiters}, 'gauge', 'metrics: a gauge';

# many requests on one connection, in pieces of a byte

my $s = Test::Symcache::connect_to($t->helper_socket);
for my $i (1 .. 3) {
    syswrite $s, $_ for split //, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    is $t->read_response($s)->{status}, 200, "request $i of a connection";
}
close $s;

# garbage

for ("\r\n\r\n", "x\r\n\r\n", "GET\r\n\r\n", "\0" x 100 . "\r\n\r\n",
     "GET / HTTP/1.1\r\n" . "A: b\r\n" x 10000 . "\r\n") {
    my $c = Test::Symcache::connect_to($t->helper_socket);
    local $SIG{PIPE} = 'IGNORE';
    syswrite $c, $_;
    shutdown $c, 1;
    1 while sysread $c, my $buf, 4096;
}
is page('/healthz')->{status}, 200, 'garbage does no harm';

# --- behind an answer without a body the next one begins

# What comes for a request and another one, which ends the connection.
sub two {
    my ($method, $path) = @_;
    my $s = Test::Symcache::connect_to($t->helper_socket) or die;
    print $s "$method $path HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    $s->flush;
    local $/;
    return scalar <$s>;
}
for ('/healthz', '/readyz', '/version', '/metrics', '/v1/jobs', '/v1/sources', "/v1/why/$crash", '/v1/find?q=x',
     '/v1/forget/default/x', '/v1/nothing', "/v1/symcache/default/none.pdb/$id?version=9.0.0") {
    my ($head, $next) = split /\r\n\r\n/, two('HEAD', $_), 2;
    like $next, qr{^HTTP/1\.1 200 }, "HEAD $_: no body";
    like $head, qr/^Content-Length: \d+\r?$/m, 'but its length';
}
my ($head) = two('HEAD', '/healthz') =~ /^(.*?)\r\n\r\n/s;
my ($length) = $head =~ /^Content-Length: (\d+)/m;
is $length, length page('/healthz')->{body}, 'which is that of GET';
my $r404 = two('CONNECT', '/healthz');
my ($n) = $r404 =~ /^Content-Length: (\d+)\r$/m;
like $r404, qr{^HTTP/1\.1 404 .*?\r\n\r\n.{$n}HTTP/1\.1 200 }s, 'CONNECT has a body whose end is told';

$t->finish;
done_testing;
