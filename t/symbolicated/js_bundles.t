#!/usr/bin/env perl

# POST /symbolicate-js: scripts and source maps in artifact bundles, which a
# project of Sentry has.  Answers are those of Symbolicator 26.8.0 for the same
# files outside of a bundle, but for how the map was found.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Uncompress::Gunzip qw(gunzip);
use JSON::PP ();
use Test::File qw(slurp);
use Test::More;
use Test::Sentry;
use Test::Symcache;
use Test::Zip;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical->utf8;
my $data = $t->data('javascript');
my $s = Test::Sentry->new($t, token => 's3cret');
plan skip_all => 'no extended attributes here, so files have no digest'
    if !$t->has_attributes;
my $config = $s->config;
$t->start_symcached($config);
my $pid = $t->start_symbolicated;

sub request { $s->symbolicate_js(@_) }

# Files: name in the archive => [entry of the manifest, text].
sub bundle {
    my ($files, %attributes) = @_;
    my %entries = map { $_ => $files->{$_}[0] } keys %$files;
    return "SYSB\2\0\0\0" . Test::Zip::zip(
        (map { [$_, $files->{$_}[1]] } sort keys %$files),
        ['manifest.json', $json->encode({ files => \%entries, %attributes })]);
}

gunzip("$data/peer.json.gz" => \my $peer) or die;
$peer = $json->decode($peer);

sub tool {
    my ($tool, %o) = @_;
    my $map = $tool eq 'esbuild-nocontent' ? 'maps' : 'js';
    my %files = ("files/_/_/js/$tool.js" => [{ type => 'minified_source',
        url => "~/js/$tool.js", %{ $o{script} // {} } },
        slurp("$data/shop/$tool.js")]);
    $files{"files/_/_/$map/$tool.js.map"} = [{ type => 'source_map',
        url => "~/$map/$tool.js.map", %{ $o{map} // {} } },
        slurp("$data/shop/$tool.js.map")] if -e "$data/shop/$tool.js.map";
    return bundle(\%files);
}

# How a map in a bundle is told.
sub bundled {
    my ($answer, $id, $how, %key) = @_;
    for my $frame (map { @{ $_->{frames} } }
            map { @{ $answer->{$_} // [] } } qw(stacktraces raw_stacktraces)) {
        my $d = $frame->{data};
        $d->{resolved_with} = $how if $d->{resolved_with};
        next if !ref $d->{sourcemap_origin};
        $d->{sourcemap_origin} = { bundled => [
            "sentry://project_debug_file/$id", { source_map => {
                abs_path => $d->{sourcemap}, %key } }] };
    }
    return $answer;
}

# --- by release and URL

for my $tool (sort keys %$peer) {
    $s->store('artifacts', []);
    $s->artifact('', tool($tool), id => "of-$tool", bundle => 1);
    my $got = request($peer->{$tool}{request}, scope => $tool);
    my $wanted = bundled($json->decode($json->encode($peer->{$tool}{answer})),
        "of-$tool", 'index');
    delete @$_{qw(reason details)} for @{ $got->{scraping_attempts} },
        @{ $wanted->{scraping_attempts} };
    is_deeply $got, $wanted, "$tool: the answer, out of a bundle"
        or diag explain $got;
}
# --- by debug id, wherever the files are

my $id = 'ecabd945-b6dc-5376-ae84-ab686148470d';
my %terser = (%{ $peer->{terser}{request} });
my $elsewhere = 'https://elsewhere.example/x.js';
my %by_id = (modules => [{ type => 'sourcemap', code_file => $elsewhere,
    debug_id => $id }], stacktraces => [{ frames => [{ lineno => 1, colno => 224,
    abs_path => $elsewhere }] }]);
$s->store('artifacts', []);
$s->artifact('', tool('terser', map { $_ => { headers => { 'debug-id' => uc $id },
    url => "~/no/$_" } } qw(script map)), id => 7, bundle => 1,
    debug_ids => [$id]);
my $frame = request(\%by_id, scope => 'ids')->{stacktraces}[0]{frames}[0];
is $frame->{filename}, 'src/money.js', 'a script and its map are found by debug id';
is_deeply [@{ $frame->{data} }{qw(resolved_with sourcemap_origin)}], ['debug-id',
    { bundled => ['sentry://project_debug_file/7', { source_map => {
        abs_path => 'https://elsewhere.example/terser.js.map',
        debug_id => $id } }] }], '... and how';
is request({ %by_id, modules => [{ %{ $by_id{modules}[0] },
    debug_id => $id =~ s/0d$/0e/r }] }, scope => 'ids')->{errors}[0]{type},
    'scraping_disabled', 'by another one they are not';

# A map in a script is read once, though many scripts have its debug id.
$s->store('artifacts', []);
$s->artifact('', bundle({ a => [{ type => 'minified_source', url => '~/a.js',
    headers => { 'debug-id' => $id } }, "f()\n//# sourceMappingURL=data:;base64,"
    . 'A' x 2**21] }), id => 8, bundle => 1, debug_ids => [$id]);
my @names = map { "https://a.example/$_.js" } 1 .. 500;
my $before = $t->processor_time($pid);
my $many = request({ modules => [map { +{ type => 'sourcemap', code_file => $_,
    debug_id => $id } } @names], stacktraces => [{ frames => [map { +{
    lineno => 1, colno => 1, abs_path => $_ } } @names] }] }, scope => 'many');
is $many->{status}, 'completed', 'a script of 500 names with a map in it';
is $many->{stacktraces}[0]{frames}[499]{context_line}, 'f()', '... is found';
cmp_ok $t->processor_time($pid) - $before, '<', $ENV{SYMCACHE_SAN} ? 30 : 3,
    '... which takes no long time';

# --- which of several bundles

my @frames = (stacktraces => [{ frames => [{ lineno => 1, colno => 224,
    abs_path => 'https://cdn.example.com/js/terser.js' }] }], release => 'r1');
my $other = $json->encode({ version => 3, sources => ['other.js'], names => [],
    mappings => 'AAAA', sourcesContent => ['x'] });
my $wrong = bundle({ a => [{ type => 'minified_source', url => '~/js/terser.js',
        headers => { SourceMap => 'terser.js.map' } }, 'f()' . ' ' x 300],
    b => [{ type => 'source_map', url => '~/js/terser.js.map' }, $other] });

sub file_of {
    my ($name, %bundles) = @_;
    $s->store('artifacts', []);
    $s->artifact('', $bundles{$_}, id => $_, bundle => 1) for keys %bundles;
    my $got = request({ @frames }, scope => $name);
    my $f = $got->{stacktraces}[0]{frames}[0];
    return join ' ', $f->{filename} // '-',
        $got->{errors} ? $got->{errors}[0]{type} : ();
}
my $right = tool('terser');
is file_of('nine', 9 => $right, 10 => $wrong), 'src/money.js',
    'the last one by the text of its id';
is file_of('ten', 9 => $wrong, 10 => $right), 'other.js', '... and no other one';
is file_of('damaged', 1 => $right, 2 => "SYSB\2\0\0\0no archive", 3 => 'what?'),
    'src/money.js', 'those that cannot be read are passed over';
is file_of('none', 2 => "SYSB\2\0\0\0no archive"), '- scraping_disabled',
    'there may be no other one';
is file_of('both', 5 => bundle({ a => [{ type => 'minified_source',
    url => '~/js/terser.js' }, slurp("$data/shop/terser.js")] }), 6 => bundle({
    a => [{ type => 'source_map', url => '~/js/terser.js.map' },
        slurp("$data/shop/terser.js.map")] })), 'src/money.js',
    'a script in one and its map in another';
is file_of('data', 5 => bundle({ a => [{ type => 'minified_source',
    url => '~/js/terser.js', headers => { sourcemap => 'data:x;base64,!' } },
    'f()'] })), '- missing_source', 'a script whose map cannot be read';

# The URL itself counts before its path, in whichever bundle.
is file_of('url', 2 => $right, 1 => bundle({ a => [{ type => 'minified_source',
    url => 'https://cdn.example.com/js/terser.js', headers => {
        sourcemap => 'other.map' } }, 'f()' . ' ' x 300], b => [{
    type => 'source_map', url => '~/js/other.map' }, $other] })), 'other.js',
    'the URL itself comes before its path';

# The answer of Symbolicator for such names: the map of a file has no scheme.
$s->store('artifacts', []);
$s->artifact('', bundle({
    a => [{ type => 'minified_source', url => '~/a/terser.js' },
        slurp("$data/shop/terser.js")],
    b => [{ type => 'source_map', url => '~/a/terser.js.map' },
        slurp("$data/shop/terser.js.map")] }), id => 6, bundle => 1);
is_deeply [map { "$_->{url} $_->{status}" } @{ request({ platform => 'javascript',
    release => '1', modules => [], scraping => { enabled => JSON::PP::false(),
        allowed_origins => [], headers => {} }, stacktraces => [{ frames => [
        { abs_path => 'file:///a/terser.js', lineno => 1, colno => 475 }] }],
    }, scope => 'file')->{scraping_attempts} }],
    ['/a/terser.js.map not_attempted', 'file:///a/terser.js not_attempted'],
    'files of a file URL, which are in a bundle';

# --- why

sub why {
    my ($body, %o) = @_;
    my $r = request($body, %o, query => '&why=1');
    return map { $_->{why} } @{ $r->{stacktraces}[0]{frames} };
}
sub asked {
    my ($why, $type) = @_;
    my ($file) = grep { $_->{type} eq $type } @$why;
    return [map { "$_->{what}: $_->{answer}" } @{ $file->{asked} }];
}
$s->store('artifacts', []);
$s->artifact('', $right, id => 4, bundle => 1);
$s->artifact('', 'what?', id => 5, bundle => 1);
my ($why) = why({ @frames }, scope => 'why');
is_deeply asked($why, 'minified_source'), ['list: found', 'bundle: failed',
    'entry: not found', 'entry: found'], 'what was asked for a script, in order'
    or diag explain $why;
is_deeply [map { $_->{key} } grep { $_->{what} eq 'entry' }
    map { @{ $_->{asked} // [] } } $why->[0]],
    ['https://cdn.example.com/js/terser.js', '~/js/terser.js'], '... by which keys';
is_deeply asked($why, 'source_map'), ['bundle: failed', 'entry: not found',
    'entry: found'], '... for its map, without another list';
is_deeply [map { "$_->{type} $_->{answer}" } @$why], ['minified_source found',
    'source_map found', 'jscache found'], '... and what has become of all';
ok !request({ @frames }, scope => 'why')->{stacktraces}[0]{frames}[0]{why},
    'nobody is told who does not ask';

($why) = why({ @frames, source => { id => 'x', token => 'wrong',
    url => $s->artifact_lookup } }, scope => 'wrong');
my ($list) = grep { $_->{what} eq 'list' } @{ $why->[0]{asked} };
is $list->{answer}, 'failed', 'a source that refuses the token';
like $list->{attempts}[0]{detail}, qr/\b401\b/, '... says so: 401'
    or diag explain $why;
unlike $json->encode($why), qr/\Q@{[$t->path('')]}\E/,
    '... and nothing of the folders here';
is asked($why, 'minified_source')->[-1], 'web: disabled', '... and then the web';

# --- a source that gets no store is no absence

is $t->stop_symcached, 0, 'symcached stops';
my $refused = request({ @frames }, scope => 'another');
is $refused->{status}, 503, 'a source that gets no store' or diag explain $refused;
like $refused->{body}, qr/no store/, '... is told loudly';
is $t->stop_symbolicated, 0, 'symbolicated stops';
$t->finish;
done_testing;
