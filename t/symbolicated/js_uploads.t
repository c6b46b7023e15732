#!/usr/bin/env perl

# POST /symbolicate-js where sources of clients are not asked: bundles that were
# uploaded here answer.  Requests of the upload are those of sentry-cli
# (t/full/sentry_cli.t has the client itself); answers are those of Symbolicator
# 26.8.0 for the same files, but for how the map was found.

use strict;
use warnings;

use Digest::SHA qw(sha1_hex);
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::File qw(slurp);
use Test::More;
use Test::Symcache;
use Test::Uploads;
use Test::Zip;

my $u = Test::Uploads->new;
my $t = $u->t;
plan skip_all => 'no extended attributes here, so files have no digest'
    if !$t->has_attributes;
my $json = JSON::PP->new->canonical->utf8;
my $shop = $t->data('javascript/shop');
my $config = $u->config;
$config->{stores}{default}{transcoders}[0]{command} =
    ['pdb2symcache', '-pdb', '{pdb}'];
$t->stop_symcached;
$t->start_symcached($config);
$t->start_symbolicated;

my $id = 'ecabd945-b6dc-5376-ae84-ab686148470d';
my $page = 'https://cdn.example.com/js/x.js';

# A position of a build: [line, column, file, line, column, function], from 0.
sub place_of {
    my ($tool) = @_;
    my @peer = grep { defined $_->[2] && $_->[5] } @{ $json->decode(
        slurp("$shop/$tool.positions.json"))->{peer} };
    return $peer[@peer / 2];
}
my $place = place_of('terser');

sub request {
    my (%o) = @_;
    my $r = $t->post($t->symbolicated_socket, '/symbolicate-js',
        $json->encode({ source => { id => 'x', token => 'y',
            url => 'http://127.0.0.1:1/' }, stacktraces => [{ frames => [{
            abs_path => $page, lineno => $place->[0] + 1, colno => $place->[1] + 1,
            function => '<given>' }] }], %o }), 'Content-Type: application/json');
    return $r->{status} == 200 ? $json->decode($r->{body}) : $r;
}
sub by_id {
    return request(modules => [{ type => 'sourcemap', code_file => $page,
        debug_id => $_[0] // $id }]);
}
sub file_of {
    my ($answer) = @_;
    my $f = $answer->{stacktraces}[0]{frames}[0];
    return join ' ', $f->{data}{symbolicated} ? "$f->{filename}:$f->{lineno}:"
        . "$f->{colno} $f->{function}" : '-', $f->{data}{resolved_with} // (),
        $answer->{errors} ? $answer->{errors}[0]{type} : ();
}
sub wanted {
    my ($how) = @_;
    return "$place->[2]:" . ($place->[3] + 1) . ':' . ($place->[4] + 1)
        . " $place->[5] $how";
}

# A build, under the names that it has in a browser.
sub bundle {
    my ($tool, $debug_id, $map) = @_;
    my @headers = $debug_id
        ? (headers => { 'debug-id' => $debug_id, sourcemap => 'x.js.map' })
        : (headers => { Sourcemap => 'x.js.map' });
    return "SYSB\2\0\0\0" . Test::Zip::zip(
        ['files/_/_/js/x.js', slurp("$shop/$tool.js")],
        ['files/_/_/js/x.js.map', $map // slurp("$shop/$tool.js.map")],
        ['manifest.json', $json->encode({ files => {
            'files/_/_/js/x.js' => { type => 'minified_source',
                url => '~/js/x.js', @headers },
            'files/_/_/js/x.js.map' => { type => 'source_map',
                url => '~/js/x.js.map', $debug_id ? (headers => {
                    'debug-id' => $debug_id }) : () } } })]);
}

is file_of(by_id()), '- scraping_disabled', 'before an upload there is nothing';
is file_of(by_id()), '- scraping_disabled', '... which is remembered';

my $terser = bundle('terser', $id);
is $u->send_bundle($terser)->{state}, 'ok', 'a bundle comes' ;
my $got = by_id();
is file_of($got), wanted('debug-id'), '... and is found at once, by debug id'
    or diag explain $got;
is_deeply $got->{stacktraces}[0]{frames}[0]{data}{sourcemap_origin}, { bundled => [
    'sentry://project_debug_file/' . sha1_hex($terser), { source_map => {
        abs_path => 'https://cdn.example.com/js/x.js.map', debug_id => $id } }] },
    '... which is told';

# A trace as text has no debug ids, so the command is told them.
my $shown = $t->write_file('trace', sprintf "Error: x\n    at f (%s?v=1:%d:%d)\n",
    $page, $place->[0] + 1, $place->[1] + 1);
my @by_id = ($t->program('symcachectl'), 'symbolicate', '--socket',
    'unix:' . $t->symbolicated_socket, '--debug-id');
for ([$id => 1], ["other.js=${\('0' x 32)},/js/x.js=$id" => 1], ["y.js=$id" => 0]) {
    my ($ids, $is_found) = @$_;
    my $out = qx(@by_id '$ids' '$shown' 2>&1);
    my $place = "$place->[2]:" . ($place->[3] + 1) . ':' . ($place->[4] + 1);
    is $out =~ /\Q$place\E/ ? 1 : 0, $is_found, "--debug-id $ids" or diag $out;
}
like qx(@by_id 'x.js=' '$shown' 2>&1), qr/--debug-id is \[NAME=\]ID, with commas between: x\.js=/,
    '--debug-id without an id';

# A private method has one hash in a trace.
my $private = 'ecabd945-b6dc-5376-ae84-ab686148470e';
my ($guard) = grep { ($_->[5] // '') =~ /##guard/ } @{ $json->decode(
    slurp("$shop/esbuild.positions.json"))->{peer} };
is $u->send_bundle(bundle('esbuild', $private))->{state}, 'ok', 'a bundle with a private method';
my $hashed = $t->write_file('private', sprintf "Error: x\n    at f (%s:%d:%d)\n",
    $page, $guard->[0] + 1, $guard->[1] + 1);
like qx(@by_id '$private' '$hashed' 2>&1), qr/at Cart\._Cart\.#guard /, 'its name has one hash';
is file_of(request(release => 'web@1')), '- scraping_disabled',
    'not by a release that it is not of';

is $u->send_bundle($terser, version => 'web@1', dist => '7')->{state}, 'ok',
    'it comes again, for a release';
is file_of(request(release => 'web@1', dist => '7')), wanted('release'),
    '... by which it is found then';
is file_of(request(release => 'web@1')), '- scraping_disabled',
    '... but not without its dist';
is file_of(by_id('00000000-0000-4000-8000-000000000000')), '- scraping_disabled',
    'another debug id has nothing';

# Of two builds of a release the newer one counts.
is file_of(request(release => 'web@2')), '- scraping_disabled', 'a release has nothing';
is $u->send_bundle(bundle('terser'), version => 'web@2')->{state}, 'ok',
    'then a build';
is file_of(request(release => 'web@2')), wanted('release'), '... which is found';
is $u->send_bundle(bundle('esbuild'), version => 'web@2')->{state}, 'ok',
    'then another one';
$place = place_of('esbuild');
is file_of(request(release => 'web@2')), wanted('release'),
    '... which is used instead';

# Single files, as "sentry-cli sourcemaps upload FILE" sends them: a bundle each.
sub single {
    my ($entry, $text) = @_;
    return "SYSB\2\0\0\0" . Test::Zip::zip(['f', $text], ['manifest.json',
        $json->encode({ files => { f => $entry } })]);
}
my $one = '00112233-4455-4677-8899-aabbccddeeff';
for my $file ([minified_source => 'x.js', 'esbuild.js', sourcemap => 'x.js.map'],
              [source_map => 'x.js.map', 'esbuild.js.map']) {
    my ($type, $name, $from, @headers) = @$file;
    is $u->send_bundle(single({ type => $type, url => "~/js/$name",
        headers => { 'debug-id' => $one, @headers } }, slurp("$shop/$from")),
        version => 'web@3')->{state}, 'ok', "$name comes alone";
}
is file_of(request(release => 'web@3')), wanted('release'),
    '... and both are found by release';
is file_of(by_id($one)), wanted('debug-id'), '... and by debug id';

# symcachectl asks for the files of a release, and why there are none.
my $trace = $t->write_file('trace', "    at f ($page:" . ($place->[0] + 1) . ':'
    . ($place->[1] + 1) . ")\n");
my @command = ($t->program('symcachectl'), 'symbolicate', '--socket',
    'unix:' . $t->symbolicated_socket);
like qx(@command --release web\@2 '$trace'), qr/\Q$place->[2]\E:\d+:\d+\)$/,
    'symcachectl --release';
my $said = qx(@command --release web\@9 --why '$trace' 2>&1);
like $said, qr/^\s+minified_source: not found\n\s+list release-\w{64} \(release "web\@9" without a dist\): not found\n/m,
    '--why' or diag $said;
like $said, qr{no source map of these scripts in release "web\@9" without a dist, under paths such as "~/js/x\.js": },
    '... and which release and path that is';
$said = qx(@command --release web\@1 --dist 8 --why '$trace' 2>&1);
like $said, qr/^\s+list release-\w{64} \(release "web\@1", dist "8"\): not found\n/m, '... and dist';
my $alone = single({ type => 'minified_source', url => '~/js/x.js',
    headers => { sourcemap => 'x.js.map' } }, slurp("$shop/terser.js"));
is $u->send_bundle($alone, version => 'web@5')->{state}, 'ok', 'a script comes without its map';
$said = qx(@command --release web\@5 --why '$trace' 2>&1);
is_deeply [$said =~ s/.*source_map: //rs =~ /^\s+(entry .*)/mg],
    [map { "entry $_/js/x.js.map in sentry://project_debug_file/" . sha1_hex($alone)
        . ': not found' } 'https://cdn.example.com', '~'],
    '... for which its bundle is asked once by each name' or diag $said;
is $u->send_bundle(bundle('terser', undef, '{"version":3,"sources":[],"mappings":"ACAA"}'),
    version => 'web@4')->{state}, 'ok', 'a damaged map comes';
like qx(@command --release web\@4 '$trace' 2>&1),
    qr{^symcachectl: \Q$page\E: its source map is malformed: https://cdn\.example\.com/js/x\.js\.map\nsymcachectl: no frame was found: a source map is malformed$}m,
    '... of which symcachectl does not say that it is missing';
my ($row) = map { $json->decode($_) }
    qx(@command --release web\@2 --why --json '$trace');
is $row->{why}[0]{answer}, 'found', '--why --json';

# What became of frames is counted: mapped ones, and such without a script.
sub frames_of {
    my ($outcome) = @_;
    my $page = $t->http($t->symbolicated_socket, 'GET', '/metrics')->{body};
    return $page =~ /^symbolicated_script_frames_total\{outcome="$outcome"\} (\d+)$/m
        ? $1 : undef;
}
my %before = map { $_ => frames_of($_) } qw(mapped missing_source);
cmp_ok $before{mapped}, '>', 0, 'frames were mapped';
request(release => 'web@2');
request(release => 'web@9');
is frames_of($_), $before{$_} + 1, "another one: $_" for sort keys %before;

is $t->stop_symbolicated, 0, 'symbolicated stops';
is $t->stop_symcached, 0, 'symcached stops';
$t->finish;
done_testing;
