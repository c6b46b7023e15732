#!/usr/bin/env perl

# Files that Sentry's clients upload: in chunks under their SHA-1, of which files
# are made when none is missing.  Requests and answers are as sentry-cli 3.8.0
# sends and reads them (t/full/sentry_cli.t has the client itself).

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib qw(memGzip);
use Digest::SHA qw(sha1_hex);
use JSON::PP qw(encode_json);
use Test::More;
use Test::Symcache;
use Test::Uploads;
use Test::Zip;

my $u = Test::Uploads->new(inputs => ['pdb', 'elf'],
                           uploads => { parts_kept => '1h' });
my $t = $u->t;
my $dir = $t->dir;
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my $path = 'crash.pdb/3249D99D0C4049318610F4E4FB0B69361/crash.pdb';
my @bearer = ('Authorization: Bearer 0123456789abcdef0123456789abcdef');
my @form = ('Content-Type: multipart/form-data; boundary=b');
my $send = '/api/0/organizations/acme/chunk-upload/';
my $assemble = '/api/0/projects/acme/web/files/difs/assemble/';

sub part {
    my ($field, $data, $name) = @_;
    return "--b\r\nContent-Disposition: form-data; name=\"$field\"; filename=\"$name\"\r\n"
        . "Content-Type: application/octet-stream\r\n\r\n$data\r\n";
}
sub chunks {
    my (@parts) = @_;
    return $u->request('POST', $send, join('', @parts, "--b--\r\n"), @form,
                       @bearer);
}
sub packed { map { part('file_gzip', memGzip($_), sha1_hex($_)) } @_ }

# What becomes of one file; waits while it is being made.
sub state_of {
    my ($sum, $name, @sums) = @_;
    my $r;
    $t->wait_until("$name is assembled", sub {
        $r = $u->request('POST', $assemble, encode_json({ $sum =>
            { name => $name, chunks => \@sums } }), @bearer);
        return ($r->{json}{$sum}{state} // '') !~ /^(?:created|assembling)$/;
    });
    return $r->{json}{$sum};
}

# --- how to send, and who may

my $r = $u->request('GET', $send, '', @bearer);
is $r->{status}, 200, 'a client is told how to send';
is_deeply [@{ $r->{json} }{qw(url hashAlgorithm compression concurrency)}],
    ['http://localhost/api/0/organizations/acme/chunk-upload/', 'sha1', ['gzip'], 2],
    '... below the address by which it has come';
cmp_ok $r->{json}{chunksPerRequest} * $r->{json}{chunkSize}, '<=',
    $r->{json}{maxRequestSize}, '... so much that a request takes it';

for (['GET', $send], ['POST', $send], ['POST', $assemble]) {
    my ($method, $page) = @$_;
    for my $bad ([], ['Authorization: Bearer wrong']) {
        $r = $u->request($method, $page, $method eq 'GET' ? '' : '{}', @$bad);
        ok $r->{status} == 401 && $r->{json}{detail},
            "$method $page: 401 with " . (@$bad ? 'another' : 'no') . ' token';
    }
}
# Sentry's SDK of .NET uploads only where "sentry-cli info" finds the token valid.
my $user = { id => 'ci@example.com', email => 'ci@example.com' };
$r = $u->request('GET', '/api/0/', '', @bearer);
is $r->{status}, 200, 'a client asks for its token';
is_deeply [@{ $r->{json} }{qw(user auth)}], [$user, { scopes => ['org:ci'] }],
    '... and is told whose it is, and that it is one of a build';
$r = $u->request('GET', '/api/0/auth/', '', @bearer);
is_deeply $r->{json}, $user, '... as is the one in TypeScript';
for my $page ('', 'auth/') {
    is $u->request('GET', "/api/0/$page", '', 'Authorization: Bearer wrong')->{status}, 401,
        "/api/0/$page: another token is none";
}
is $u->request('GET', '/api/0/projects/', '', @bearer)->{status}, 404,
    'other pages of Sentry are not there';
is $u->request('DELETE', $send, '', @bearer)->{status}, 405, 'nor other methods';
is $u->request('HEAD', $send, '', @bearer)->{status}, 200, 'HEAD is answered as GET is';

# The client that is written in TypeScript cannot send to an address below its
# own; Sentry gives each client what its version can.
for (['sentry-cli/0.45.0 (linux-x64) node/20.20.2', 1], ['sentry-cli/1.77.2', 0],
    ['sentry-cli/2.58.6', 0], ['sentry-cli/3.8.0', 0], ['curl/8', 1]) {
    my ($agent, $is_whole) = @$_;
    $r = $u->request('GET', $send, '', @bearer, "User-Agent: $agent", 'Host: a.example:81');
    is $r->{json}{url}, ($is_whole ? 'http://a.example:81/api/0/' : '')
        . 'organizations/acme/chunk-upload/', "the address for $agent";
}

# --- a release, which is nothing but a name

for my $page ('organizations/acme', 'projects/acme/web') {
    $r = $u->request('POST', "/api/0/$page/releases/",
        encode_json({ version => 'web@1', projects => ['web'] }), @bearer);
    is $r->{status}, 201, "$page: a release is taken";
    is $r->{json}{version}, 'web@1', '... by its name';
    like $r->{json}{dateCreated}, qr/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/, '... and a date';
}
is $u->request('POST', '/api/0/projects/acme/web/releases/',
    '{"version": 1}', @bearer)->{status}, 400, 'one without a name is none';
for my $page ('organizations/acme', 'projects/acme/web') {
    $r = $u->request('PUT', "/api/0/$page/releases/web%401/",
        encode_json({ dateReleased => '2026-11-29T16:58:08Z', projects => ['web'] }), @bearer);
    is $r->{status}, 200, "$page: it is finalized";
    is_deeply [@{ $r->{json} }{qw(version dateReleased)}], ['web@1', '2026-11-29T16:58:08Z'],
        '... as it is told';
}
is $u->request('PUT', '/api/0/organizations/acme/releases/a%0Ab/', '{}', @bearer)->{status},
    400, 'one with a control character is none';
my $deploys = '/api/0/organizations/acme/releases/web%401/deploys/';
$r = $u->request('POST', $deploys, encode_json({ environment => 'production', name => 'one' }),
    @bearer);
is $r->{status}, 201, 'a deploy is taken';
is_deeply [@{ $r->{json} }{qw(environment name)}], ['production', 'one'],
    '... with its environment and name';
is $u->request('POST', $deploys, '{}', @bearer)->{status}, 400, '... and not without';
is_deeply $u->request('GET', '/api/0/organizations/acme/repos/?cursor=', '', @bearer)->{json},
    [], 'there are no repositories, so commits are those of the folder';
is_deeply $u->request('GET', $deploys =~ s/deploys/previous-with-commits/r, '', @bearer)->{json},
    {}, '... and no release before';
$r = $u->request('GET', '/api/0/projects/acme/web/releases/web%401/files/?checksum='
    . sha1_hex($pdb), '', @bearer);
is $r->{status}, 200, 'its files are asked for';
is_deeply $r->{json}, [], '... and are none';

# --- a file of three chunks

my @pieces = (substr($pdb, 0, 10_000), substr($pdb, 10_000, 1),
              substr($pdb, 10_001));
my @sums = map { sha1_hex($_) } @pieces;
my $sum = sha1_hex($pdb);
my $debug_id = '3249d99d-0c40-4931-8610-f4e4fb0b6936-1';

my $state = state_of($sum, 'crash.pdb', @sums);
is $state->{state}, 'not_found', 'before anything is sent, it is not found';
is_deeply $state->{missingChunks}, \@sums, '... and all chunks are missing';

is chunks(packed($pieces[0]), part('file', $pieces[1], $sums[1]))->{status},
    200, 'two chunks come, one packed';
$state = state_of($sum, 'crash.pdb', @sums);
is_deeply [@$state{qw(state missingChunks)}], ['not_found', [$sums[2]]],
    'the third one is missing';
unlike $u->stored, qr/crash/, '... and nothing is made';

chunks(packed($pieces[2]));
$state = state_of($sum, '/build/out/crash.pdb', @sums);
is $state->{state}, 'ok', 'when all have come, the file is there';
is_deeply [@{ $state->{dif} }{qw(uuid debugId sha1 symbolType id)}],
    [substr($debug_id, 0, 36), $debug_id, $sum, 'pdb', $path],
    '... and the client is told what it is';
is_deeply [grep { /debug/ } @{ $state->{dif}{data}{features} }], ['debug'],
    '... and what it has';
ok $t->read_file("uploads/$path") eq $pdb, '... with all of its bytes';
my $answer = $t->http("$dir/h.sock", 'GET',
    '/v1/symcache/default/crash.pdb/3249D99D0C4049318610F4E4FB0B69361?version=9.0.0&wait=60');
is $answer->{status}, 200, 'a SymCache is made of it';

is state_of($sum, '/build/out/crash.pdb', @sums)->{state}, 'ok',
    'asked again, it is still there';
unlink "$dir/uploads/$path" or die $!;
is state_of($sum, '/build/out/crash.pdb', @sums)->{state}, 'ok',
    'one that was removed is made again of its chunks';
ok -e "$dir/uploads/$path", '... and is there';

# one that another file has replaced meanwhile is not there any more
my $place = 'libx.so/0123456789ABCDEF0123456789ABCDEF0/libx.so.sym';
my @texts = map { "MODULE Linux x86_64 0123456789ABCDEF0123456789ABCDEF0 libx.so\nPUBLIC $_ 0 f\n" }
    1000, 2000;
for my $text (@texts, $texts[0]) {
    chunks(packed($text));
    is state_of(sha1_hex($text), 'libx.so.sym', sha1_hex($text))->{state}, 'ok', 'a text';
    is $t->read_file("uploads/$place"), $text, '... is there, also when it is sent again';
}

# ... but of two files of one request, such as a program and its stripped copy,
# the better one stays, and the client is told that both are done
for my $order (0, 1) {
    my $module = "MODULE Linux x86_64 ${order}123456789ABCDEF0123456789ABCDEF1 two.so\n";
    my $lines = "${module}FILE 0 a.c\nFUNC 1000 10 0 f\n1000 10 1 0\n";
    my $names = $module . join '', map { "PUBLIC ${_}000 0 long_name_$_\n" } 1 .. 9;
    my %files = map { sha1_hex($_) => $_ } $lines, $names;
    chunks(packed($_)) for values %files;
    my @sums = $order ? sort keys %files : reverse sort keys %files;
    my ($both, $polls);
    $t->wait_until('both are done', sub {
        my $ask = '{' . join(',', map { encode_json({ $_ =>
            { name => 'two.so.sym', chunks => [$_] } }) =~ /^\{(.*)\}$/s } @sums) . '}';
        $both = $u->request('POST', $assemble, $ask, @bearer)->{json};
        $polls++;
        return "@{[map { $both->{$_}{state} } @sums]}" eq 'ok ok' || $polls > 50;
    });
    is_deeply [map { $both->{$_}{state} } @sums], ['ok', 'ok'],
        'two files for one place: the client is told that both are done';
    is $t->read_file("uploads/two.so/${order}123456789ABCDEF0123456789ABCDEF1/two.so.sym"),
        $lines, '... and the one with debug information is there';
}

# "sentry-cli upload-proguard" asks once, and takes what is not refused then for
# accepted
my $none = "no debug file\n";
chunks(packed($none));
for my $time ('at first', 'and again') {
    $r = $u->request('POST', $assemble, encode_json({ sha1_hex($none) =>
        { name => 'notes.txt', chunks => [sha1_hex($none)] } }), @bearer);
    is $r->{json}{sha1_hex($none)}{state}, 'error',
        "a file that is no debug file: the answer is that, $time";
}
# ... and "created" as well, without a refusal later
$r = $u->request('POST', $assemble, encode_json({ sha1_hex($none) =>
    { name => 'notes.txt', chunks => [sha1_hex($none)], more => 'x' x 70_000 } }), @bearer);
is $r->{json}{sha1_hex($none)}{state}, 'assembling', 'a large request is answered at once';
is state_of(sha1_hex($none), 'notes.txt', sha1_hex($none))->{state}, 'error',
    '... and later what has become of it';

# --- a chunk that the disk has changed

my $kept = "$dir/uploads/_/hash-$sums[2]/_.chunk";
unlink "$dir/uploads/$path" or die $!;
open my $fh, '+<', $kept or die "$kept: $!";
print $fh 'x';
close $fh;
is state_of($sum, 'crash.pdb', @sums)->{state}, 'error',
    'a file is not made of a chunk that has changed';
$state = state_of($sum, 'crash.pdb', @sums);
is_deeply [@$state{qw(state missingChunks)}], ['not_found', [$sums[2]]],
    '... which is missing then';
chunks(packed($pieces[2]));
is state_of($sum, 'crash.pdb', @sums)->{state}, 'ok',
    '... and makes the file when it is sent again';

# --- a mapping of ProGuard, whose UUID is in its name

my $uuid = '5c1d3f3a-0000-4000-8000-0123456789ab';
my $key = '5C1D3F3A0000400080000123456789AB0';
my $mapping = "org.example.Main -> a.a:\n    1:3:void run():10:12 -> a\n";
ok scalar(grep { $_ eq 'proguard' } @{ $u->request('GET', $send, '', @bearer)
        ->{json}{accept} }), 'a client may send mappings';
chunks(packed($mapping));
$state = state_of(sha1_hex($mapping), "/proguard/$uuid.txt", sha1_hex($mapping));
is $state->{state}, 'ok', 'a mapping is taken' or diag explain $state;
is_deeply [@{ $state->{dif} }{qw(uuid symbolType id)}],
    [$uuid, 'proguard', "mapping.txt/$key/mapping.txt"], '... under its UUID';
my $with = $u->config;
push @{ $with->{stores}{default}{transcoders} }, { version => '1.0.0',
    makes => 'proguardcache', command => [$t->program('pdb2symcache'), '{pdb}'] };
$t->stop_symcached;
$t->start_symcached($with);
$answer = $t->http("$dir/h.sock", 'GET',
    "/v1/proguardcache/default/mapping.txt/$key?version=1.0.0&wait=60");
is $answer->{status}, 200, 'a ProguardCache is made of it' or diag $answer->{raw};
$state = state_of(sha1_hex($mapping), 'mapping.txt', sha1_hex($mapping));
is $state->{state}, 'error', 'without a UUID it belongs nowhere';
like $state->{detail}, qr/needs a UUID/, '... and why';

# --- after a restart the client asks again, and the chunks are there

$t->stop_symcached;
$t->start_symcached($u->config);
is state_of($sum, 'crash.pdb', @sums)->{state}, 'ok',
    'nothing is sent again after a restart';

# --- as a source of type "sentry" asks for files

my $files = '/api/0/projects/acme/web/files/dsyms/';
sub listed {
    my $r = $u->request('GET', "$files?$_[0]", '', @bearer);
    return $r->{status} == 200 ? $r->{json} : $r->{status};
}

my $list = listed("debug_id=$debug_id");
is_deeply [map { [@$_{qw(id symbolType objectName size)}] } @$list],
    [[$path, 'pdb', 'crash.pdb', length $pdb]], 'a PDB is listed by its debug id';
is_deeply listed("debug_id=$debug_id&code_id=5ab380779000"), $list,
    '... also beside a code id that nothing has';
is_deeply listed('debug_id=' . ($debug_id =~ s/-1$/-2/r)), [], 'another age has none';
is_deeply listed($_), [], "nothing is listed for '$_'"
    for '', 'debug_id=', 'debug_id=..%2F..', 'debug_id=x&code_id=y';

is listed('code_id=%00'), 400, "a NUL is refused";

$r = $u->request('GET', "$files?id=$path", '', @bearer);
ok $r->{status} == 200 && $r->{body} eq $pdb, 'and sent by its id';
for my $bad ("$path/x", 'crash.pdb', "../uploads/$path", "/$path", '.tmp/x/y',
             'tokens', 'crash.pdb/../crash.pdb', "crash.pdb//$path") {
    is $u->request('GET', "$files?id=$bad", '', @bearer)->{status}, 404,
        "no file: $bad";
}
is_deeply [map { [@$_{qw(id symbolType)}] } @{ listed("debug_id=$uuid") }],
    [["mapping.txt/$key/mapping.txt", 'proguard']], 'a mapping is listed by its UUID';
is $u->request('GET', "$files?debug_id=$debug_id", '')->{status}, 401,
    'not without a token';
# what nginx rewrites for labels is an internal request to it
like $u->request('GET', "$_/$path", '')->{status}, qr/^40[04]$/, "nor where nginx has them for itself: $_"
    for '/.uploads', '/builds/a/b/1/.uploads', '/builds/a/b/1//%2euploads',
        '/builds/a/b/1/builds/a/b/1/.uploads', '/builds/a/b/1/x/../.uploads';

SKIP: {
    skip 'no C compiler', 4 if system('cc --version >/dev/null 2>&1') != 0;
    $t->write_file('p.c', 'int main(void) { return 0; }');
    my $hex = '00112233445566778899aabbccddeeff00112233';
    system('cc', '-g', "-Wl,--build-id=0x$hex", '-o', "$dir/p", "$dir/p.c") == 0
        or die $?;
    my $program = $t->read_file('p');
    my $sum = sha1_hex($program);
    chunks(packed($program));
    is state_of($sum, 'p', $sum)->{state}, 'ok', 'a program comes';
    my $id = '33221100-5544-7766-8899-aabbccddeeff';
    for ("code_id=$hex", "debug_id=$id", "debug_id=$id&code_id=$hex") {
        is_deeply [map { [@$_{qw(id symbolType)}] } @{ listed($_) }],
            [["p/elf-buildid-$hex/p", 'elf']], "... and is listed by $_";
    }
}

# --- bundles of scripts and source maps

my $bundle_page = '/api/0/organizations/acme/artifactbundle/assemble/';
my $lookup = '/api/0/projects/acme/web/artifact-lookup/';
my $script_id = 'ecabd945-b6dc-5376-ae84-ab686148470d';
my $bundle = "SYSB\2\0\0\0" . Test::Zip::zip(
    ['files/_/_/a.min.js', 'f()'], ['files/_/_/a.min.js.map', '{}'],
    ['manifest.json', encode_json({ files => {
        'files/_/_/a.min.js' => { type => 'minified_source', url => '~/a.min.js',
            headers => { 'debug-id' => $script_id, sourcemap => 'a.min.js.map' } },
        'files/_/_/a.min.js.map' => { type => 'source_map', url => '~/a.min.js.map',
            headers => { 'debug-id' => uc $script_id } } },
        release => 'web@1' })]);
my $bundle_sum = sha1_hex($bundle);

sub bundled {
    my ($body, %o) = @_;
    my $r;
    $t->wait_until('the bundle is assembled', sub {
        $r = $u->request('POST', $bundle_page, encode_json({
            checksum => sha1_hex($body), chunks => [sha1_hex($body)],
            projects => ['web'], %o }), @bearer);
        return ($r->{json}{state} // '') !~ /^(?:created|assembling)$/;
    });
    return $r->{json};
}
sub found {
    my $r = $u->request('GET', "$lookup?$_[0]", '', @bearer);
    return join ' ', map { "$_->{type} $_->{id} $_->{resolved_with}" } @{ $r->{json} };
}

is bundled($bundle)->{state}, 'not_found', 'a bundle is missing before it is sent';
chunks(packed($bundle));
is bundled($bundle, version => 'web@1', dist => '7')->{state}, 'ok', 'then it is there';
my $by_id = "bundle $bundle_sum debug-id";
my $by_release = "bundle $bundle_sum release";
is found("debug_id=$script_id"), $by_id, '... by a debug id of its files';
is found("debug_id=\U$script_id"), $by_id, '... in any case';
is found('release=web%401&dist=7'), $by_release, '... and by its release and dist';
is found("release=web%401&dist=7&debug_id=$script_id"), $by_id, '... or both';
is found($_), '', "nothing for $_"
    for 'release=web%401', 'release=web%402&dist=7', 'debug_id=../x', 'dist=7', '';
is bundled($bundle, version => 'web@2')->{state}, 'ok', 'the same bundle of another release';
is found('release=web%402'), $by_release, '... is found by that, too';

$r = $u->request('GET', "$lookup?debug_id=$script_id", '', 'Host: symbols.example',
                 @bearer);
my $url = $r->{json}[0]{url};
is $url, "http://symbols.example$lookup?download=$bundle_sum",
    'its URL begins as that of the page';
$r = $u->request('GET', $url =~ s{^http://[^/]+}{}r, '', @bearer);
ok $r->{status} == 200 && $r->{body} eq $bundle, 'and it is sent';
is $u->request('GET', "$lookup?download=" . 'a' x 40, '', @bearer)->{status}, 404,
    'another is not';
is $u->request('GET', "$lookup?debug_id=$script_id", '')->{status}, 401,
    'nor without a token';

for (['a release', version => 'x' x 251], ['a dist', dist => 'x' x 251]) {
    my ($what, @o) = @$_;
    my $state = bundled($bundle, @o);
    is $state->{state}, 'error', "$what of more bytes than Sentry's have";
    like $state->{detail}, qr/too long/, '... which would stay in memory';
}
is bundled($bundle, version => 'x' x 250)->{state}, 'ok', 'the longest one';

# release and dist are one text in memory, with a line feed between them
is bundled($bundle, version => 'a', dist => 'b')->{state}, 'ok', 'a release and a dist';
for ([version => "a\nb"], [version => 'a', dist => "\tb"]) {
    my $state = bundled($bundle, @$_);
    is $state->{state}, 'error', 'a control character in one';
    like $state->{detail}, qr/has a control character/, '... why';
}
is $u->request('POST', '/api/0/projects/acme/web/releases/',
    encode_json({ version => "a\nb" }), @bearer)->{status}, 400, '... nor is it a release';

# --- whether its files can be used is told, and costs no other file

my $pair_id = '11111111-b6dc-5376-ae84-ab686148470d';
my %good = (script => 'f()', map => '{"version":3,"sources":["a"],"names":[],'
    . '"mappings":"AAAA"}', ids => [$pair_id, $pair_id]);
for (['a good pair'],
     ['a map that is no JSON', qr{^1 file cannot be used: ~/a\.js\.map: .}, map => 'x'],
     ['a map that is cut, which is listed as a script', qr{^1 file cannot be used: ~/a\.js\.map: .},
        map => '{"version":3,"sour', type => 'minified_source', ids => [undef, undef]],
     ['a map whose mappings lead nowhere', qr{~/a\.js\.map: .*mappings},
        map => '{"version":3,"sources":[],"names":[],"mappings":"AAAA"}'],
     ['a script without its map', qr{~/a\.js: no source map has its debug id},
        ids => [$pair_id, undef]],
     ['a map without its script', qr{~/a\.js\.map: no script has its debug id},
        ids => [undef, $pair_id]],
     ['both with ids that differ', qr{^2 files cannot be used: },
        ids => [$pair_id, $pair_id =~ s/0d$/0e/r]],
     ['a map with another id in it', qr{~/a\.js\.map: has another debug id in it},
        map => '{"version":3,"sources":["a"],"names":[],"mappings":"AAAA",'
            . '"debugId":"00000000-0000-4000-8000-000000000000"}'],
     ['a script with another id in it', qr{~/a\.js: has another debug id in it},
        script => "f()\n//# debugId=00000000-0000-4000-8000-000000000000\n"]) {
    my ($name, $detail, %o) = @$_;
    %o = (%good, %o);
    my @of = map { { $_ ? (headers => { 'debug-id' => $_ }) : () } } @{ $o{ids} };
    my $body = "SYSB\2\0\0\0" . Test::Zip::zip(['a', $o{script}], ['b', $o{map}],
        ['manifest.json', encode_json({ name => $name, files => {
            a => { type => 'minified_source', url => '~/a.js', %{ $of[0] } },
            b => { type => $o{type} // 'source_map', url => '~/a.js.map', %{ $of[1] } } } })]);
    chunks(packed($body));
    my $state = bundled($body);
    is $state->{state}, 'ok', "$name is taken";
    $detail ? like $state->{detail}, $detail, '... and what is wrong is told'
        : is $state->{detail}, undef, '... and nothing is wrong';
}
like $t->helper_log, qr/the bundle \w{40} is taken, but 1 file cannot/, '... and logged';

my $broken = "SYSB\2\0\0\0" . Test::Zip::zip(['manifest.json', '{"files":']);
chunks(packed($broken));
my $json = bundled($broken);
is $json->{state}, 'error', 'a bundle whose manifest cannot be read';
like $json->{detail}, qr/^the bundle .*manifest/, '... is named with the reason';
unlink "$dir/uploads/_/hash-$bundle_sum/_.artifacts" or die $!;
is found("debug_id=$script_id"), '', 'one that is gone is not found';

# --- what cannot be

$state = state_of($sum, 'crash.pdb', @sums[0, 2]);
is $state->{state}, 'ok', 'what is done is known by its SHA-1';
my $other = 'a' x 40;
$state = state_of($other, 'crash.pdb', @sums[0, 1]);
is $state->{state}, 'error', 'chunks that make something else';
like $state->{detail}, qr/another SHA-1/, '... are an error with a reason';
$state = state_of($other, 'crash.pdb', @sums[0, 1]);
is $state->{state}, 'error', 'which is no memory: it is tried again';

my $text = "no debug file\n" x 100;
chunks(packed($text));
$state = state_of(sha1_hex($text), 'notes.txt', sha1_hex($text));
is $state->{state}, 'error', 'a file whose identity cannot be read';
like $state->{detail}, qr/notes\.txt is not a file whose identity/,
    '... is named with the reason';

# of which a client has no chunks to send
my $nothing = sha1_hex('');
is_deeply state_of($nothing, "/proguard/$uuid.txt"),
    { state => 'error', detail => 'the file is empty', missingChunks => [] }, 'an empty file';

for (['a folder', '/'], ['a hidden file', '.profile'], ['a control', "a\nb"],
     ['too long', 'x' x 300]) {
    my ($what, $name) = @$_;
    is state_of($sum, $name, @sums)->{state}, 'error', "a name that is $what";
}
for (['no list', 'x'], ['no SHA-1', ['zz']]) {
    my ($what, $list) = @$_;
    $r = $u->request('POST', $assemble, encode_json({ $sum =>
        { name => 'crash.pdb', chunks => $list } }), @bearer);
    my %states = map { $_ => 1 } qw(error not_found);
    ok $states{ $r->{json}{$sum}{state} }, "chunks that are $what";
}
is $u->request('POST', $assemble, '[1', @bearer)->{status}, 400, 'no JSON';
is $u->request('POST', $assemble, '', @bearer)->{status}, 400, 'no body';

is chunks(part('file_gzip', 'not gzip', $other))->{status}, 400,
    'a chunk that is not packed as its field says';
is chunks(part('file', '', $other))->{status}, 400, 'an empty one';
is chunks(map { part('file', "x$_", $other) } 1 .. 40)->{status}, 400,
    'more chunks than a request may have';
is chunks("--b\r\nContent-Disposition: form-data; name=\"x\"\r\n\r\ny\r\n")->{status},
    400, 'none';
is $u->request('POST', $send, 'x', @bearer)->{status}, 400, 'no form';
is chunks(part('file_gzip', memGzip("\0" x 20_000_000), $other))->{status},
    413, 'one that unpacks to more than "uploads.max_size" allows';

# --- an archive of mappings, as sentry-cli 2 sends it

my $dsyms = '/api/0/projects/acme/web/files/dsyms/';
sub mappings {
    my ($archive, @auth) = @_;
    return $u->request('POST', $dsyms, part('file', $archive, 'archive.zip')
        . "--b--\r\n", @form, @auth ? @auth : @bearer);
}
my $shrunk = "org.A -> a:\n    int b -> c\n";
my ($one, $two) = ('5c1d3f3a-0000-4000-8000-0123456789ab',
                   '5c1d3f3a-0000-4000-8000-0123456789ac');
$r = mappings(Test::Zip::zip(["proguard/$one.txt", $shrunk],
    ["proguard/$two.txt", $shrunk], ['proguard/manifest.json', '{}']));
is $r->{status}, 200, 'an archive of mappings' or diag explain $r;
is_deeply [map { [@$_{qw(uuid debugId symbolType cpuName)}] } @{ $r->{json} }],
    [map { [$_, $_, 'proguard', 'any'] } $one, $two], 'the files of it';
is $t->read_file('uploads/mapping.txt/' . uc($two =~ tr/-//dr) . '0/mapping.txt'),
    $shrunk, 'each is stored under its UUID';
is mappings(Test::Zip::zip(["proguard/$one.txt", "$shrunk# more\n"]))->{status},
    200, 'another one of a UUID';
like $t->read_file('uploads/mapping.txt/' . uc($one =~ tr/-//dr) . '0/mapping.txt'),
    qr/# more/, 'replaces it';
$r = mappings(Test::Zip::zip(['proguard/mapping.txt', $shrunk]));
is $r->{status}, 400, 'one without a UUID';
like $r->{body}, qr/needs a UUID in its name/, 'why';
is mappings('no archive')->{status}, 400, 'no archive';
is mappings('x', 'Authorization: Bearer wrong')->{status}, 401, 'no token';
is $u->request('POST', $dsyms, 'x', @bearer)->{status}, 400, 'no form of mappings';
is $u->request('POST', $dsyms =~ s/dsyms/proguard-artifact-releases/r, '{}',
    @bearer)->{status}, 201, 'the release of a mapping is accepted';

# --- files for try builds stay apart

my @try = ('Authorization: Bearer try0123456789abcdef');
$r = $u->request('POST', $assemble, encode_json({ $sum =>
    { name => 'crash.pdb', chunks => \@sums } }), @try);
is $r->{json}{$sum}{state}, 'not_found', 'chunks of others are not those of a try build';
# --- what leads to a bundle goes with it

my $more = "SYSB\2\0\0\0" . Test::Zip::zip(['files/_/_/b.js', 'g()'],
    ['manifest.json', encode_json({ files => { 'files/_/_/b.js' => {
        type => 'minified_source', url => '~/b.js' } } })]);
chunks(packed($more));
is bundled($more, version => 'web@2')->{state}, 'ok', 'another one of its release';
$t->stop_symcached;
$t->start_symcached($u->config);
my $gone = "$dir/uploads/.artifacts/*/$bundle_sum";
$t->wait_until('a pass has cleaned', sub { !(() = glob $gone) });
is join(' ', map { m{([^/]*)/[^/]*$} ? $1 =~ s/-.*//r : $_ }
    glob "$dir/uploads/.artifacts/{ecabd945,release}*/*"), 'release', '... leaves nothing behind';
is found('release=web%402'), 'bundle ' . sha1_hex($more) . ' release',
    '... and the other is still found';

ok $u->nothing_left, 'nothing is left of requests';

$t->finish;
done_testing;
