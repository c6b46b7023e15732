#!/usr/bin/env perl

# POST /symbolicate-jvm: answers as Symbolicator 26.8.0 gave them to the same
# requests (t/data/jvm/README.md), by mappings and bundles in a folder of the
# layout unified and in a project of Sentry that the client names.

use strict;
use warnings;

use Encode qw(encode_utf8);
use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::File qw(slurp spew);
use Test::More;
use Test::ScriptedServer;
use Test::Sentry;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8->canonical;
my $data = "$FindBin::Bin/../data/jvm";
my $s = Test::Sentry->new($t, token => 's3cret');
my $n = 0;

sub uuid { sprintf '5c1d3f3a-0000-4000-8000-%012d', shift }

# Puts a file where both sources find it, and returns its module.
sub put {
    my ($type, $bytes) = @_;
    my $id = uuid(++$n);
    (my $hex = $id) =~ tr/-//d;
    my $folder = $t->path('symbols/' . substr($hex, 0, 2) . '/'
        . substr($hex, 2));
    make_path($folder);
    spew("$folder/" . ($type eq 'source' ? 'sourcebundle' : 'proguard'), $bytes);
    $s->add(type => $type eq 'source' ? 'sourcebundle' : 'proguard',
        debug_id => $id, data => $bytes);
    return { uuid => $id, type => $type };
}

my @cases;
for my $file ('random', 'random-2') {
    my @list = @{ $json->decode(slurp("$data/$file.json")) };
    push @cases, map { { name => "$file $_", %{ $list[$_] },
        modules => [put('proguard', encode_utf8($list[$_]{mapping}))] } }
        0 .. $#list;
}
for my $case (@{ $json->decode(slurp("$data/sentry/answers.json")) }) {
    push @cases, { %$case, modules => [map {
        put(/\.zip$/ ? 'source' : 'proguard', slurp("$data/sentry/$_"))
    } sort @{ $case->{files} }] };
}
my $html = put('proguard', "just text\n" x 100);

my $config = {
    stores => { default => { root => $t->path('store'), sources => ['local'],
        transcoders => [{ version => '9.0.0', inputs => ['pdb'],
            command => ['pdb2symcache', '{pdb}'] }] } },
    sources => { local => { type => 'filesystem', layout => 'unified',
        path => $t->path('symbols') } },
    symbolication => { symbolicator => { jvm => { requests => 2 } } } };
$t->start_symcached($config);
$t->start_symbolicated;

sub post {
    my ($request, $query) = @_;
    return $t->post($t->symbolicated_socket, '/symbolicate-jvm' . ($query // ''),
        ref $request ? $json->encode($request) : $request,
        'Content-Type: application/json');
}
sub answer {
    my ($case, @sources) = @_;
    my $r = post({ sources => \@sources, modules => $case->{modules},
        %{ $case->{request} } }, @sources ? '?scope=a' : '');
    is $r->{status}, 200, "$case->{name}: answered" or diag $r->{raw};
    return $json->decode($r->{body});
}

# One frame of the data comes to 557 frames; 512 is the limit here.
sub cut {
    my ($frames) = @_;
    my (%n, @kept);
    for (reverse @$frames) {
        unshift @kept, $_ if ++$n{ $_->{index} } <= 512;
    }
    return \@kept;
}
sub expected {
    my ($case) = @_;
    my $want = $json->decode($json->encode($case->{response}));
    $_->{frames} = cut($_->{frames}) for @{ $want->{stacktraces} };
    return { %$want, errors => [], status => 'completed' };
}

is_deeply answer($_), expected($_), $_->{name} for @cases;

# Frames that the compiler made go where a line is known, and count for nothing.
my $made = put('proguard', "a.B -> c:\n    void f():1:600 -> d\n"
    . "    # {\"id\":\"com.android.tools.r8.synthesized\"}\n    void g():7:7 -> d\n");
my $of = sub {
    return answer({ name => 'made by the compiler', modules => [$made],
        request => { stacktraces => [{ frames => [
            { function => 'd', module => 'c', index => 0, @_ }] }] } })
        ->{stacktraces}[0]{frames};
};
is_deeply [map { "$_->{function}:$_->{lineno}" } @{ $of->(lineno => 5) }], ['g:7'],
    'more frames that are dropped than one may become';

# --- errors

my ($case) = @cases;
my $missing = { uuid => uuid(999), type => 'proguard' };
my $got = answer({ %$case, modules => [$html, $missing, @{ $case->{modules} },
    { uuid => uuid(998), type => 'source' }] });
is_deeply $got->{errors}, [{ uuid => $html->{uuid}, type => 'invalid' },
    { uuid => $missing->{uuid}, type => 'missing' }],
    'what is no mapping, and what is not there; not that of sources';
is_deeply $got->{stacktraces}, expected($case)->{stacktraces},
    'other mappings answer';

# --- why

$got = $json->decode(post({ sources => [], %{ $case->{request} }, modules =>
    [$html, $missing, @{ $case->{modules} }] }, '?why=1')->{body});
is_deeply [map { "$_->{type} $_->{answer}" } @{ $got->{why} }[0, 1, 2]],
    ['proguard malformed', 'proguard not found', 'proguard found'],
    'what has become of each file' or diag explain $got->{why};
is $got->{why}[1]{uuid}, $missing->{uuid}, '... by its UUID';
is $got->{why}[1]{attempts}[0]{source}, 'local', '... and who was asked';

for (['{"sources":[]', 400, qr/^Failed to parse the request body as JSON: /],
    ['{}', 422, qr/missing field `sources`/],
    ['{"sources":[],"modules":[{"uuid":"x","type":"proguard"}]}', 422,
        qr/modules\[0\]\.uuid: invalid debug identifier/],
    ['{"sources":[],"modules":[{"uuid":"' . uuid(1) . '","type":"elf"}]}', 422,
        qr/modules\[0\]\.type: unknown variant/],
    ['{"sources":[],"stacktraces":[{"exception":null,"frames":[{"function":"a",'
        . '"module":"b"}]}]}', 422, qr/frames\[0\]: missing field `index`/]) {
    my ($body, $status, $text) = @$_;
    my $r = post($body);
    is $r->{status}, $status, "$body: refused";
    like $r->{body}, $text, 'and why';
}
my $r = post({ sources => [] });
is_deeply $json->decode($r->{body}), { status => 'completed', exceptions => [],
    stacktraces => [], classes => {}, errors => [] }, 'nothing, for nothing';
is $t->http($t->symbolicated_socket, 'GET', '/symbolicate-jvm')->{status}, 405,
    'only POST';

# --- the log says what was left out

my ($large) = grep { grep { @{ $_->{frames} } > 512 }
    @{ $_->{response}{stacktraces} } } @cases;
answer($large);
$t->wait_until('the log', sub {
    $t->symbolicated_log =~ /protocol=jvm status=200 .* left_out=frames$/m });
pass 'the log says that frames were left out';

# 300 such frames would be 153,600
my ($wide) = grep { my %n; $n{ $_->{index} }++ for @{ $_->[1]{frames} }; grep { $_ > 512 } values %n }
    map { [$large->{request}{stacktraces}[$_], $large->{response}{stacktraces}[$_]] }
    0 .. $#{ $large->{request}{stacktraces} };
my %times;
$times{ $_->{index} }++ for @{ $wide->[1]{frames} };
my ($one) = grep { ($times{ $_->{index} } // 0) > 512 } @{ $wide->[0]{frames} };
$got = post({ sources => [], modules => $large->{modules}, stacktraces => [{
    exception => $wide->[0]{exception}, frames => [map { { %$one, index => $_ } } 1 .. 300] }] });
is $got->{status}, 200, 'an answer of too many frames';
is scalar(() = $got->{body} =~ /"index":/g), 100_000, '... has 100,000 of them';

$t->stop_symbolicated;
$t->stop_symcached;

# --- a project that the client names

$config->{symbolication}{symbolicator} = { sources => 'allow', tenants => {
    root => $t->path('tenants'), count => 8, hosts => [$s->host] } };
$config->{stores}{default}{sources} = [];
$config->{stores}{default}{root} = $t->path('store2');
delete $config->{stores}{default}{sources};
delete $config->{sources};
delete $config->{stores}{default}{transcoders};
$t->start_symcached($config);
$t->start_symbolicated;
my $source = { type => 'sentry', id => 'sentry:project',
    url => $s->debug_files, token => 's3cret' };
for ($cases[0], $cases[31], @cases[60 .. 63]) {
    is_deeply answer($_, $source), expected($_), "a project of Sentry: $_->{name}"
        or diag $json->encode([$s->requests]);
}
is_deeply answer($cases[0])->{errors}, [{ uuid => $cases[0]{modules}[0]{uuid},
    type => 'missing' }], 'without a source nothing is looked for';
is_deeply answer($cases[0], { %$source, token => 'wrong' })->{errors},
    [{ uuid => $cases[0]{modules}[0]{uuid}, type => 'missing' }],
    'nor found with another token';
$t->stop_symbolicated;
$t->stop_symcached;

# --- a source that takes its time: the request goes on, and is polled

my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    $t->wait_until('the gate', sub { -e $t->path('gate') });
    $c->reply(200, {}, encode_utf8($json->decode(
        slurp("$data/random.json"))->[0]{mapping}));
});
$config = { stores => { default => { root => $t->path('store3'),
        sources => ['slow'], transcoders => [{ version => '9.0.0',
            inputs => ['pdb'], command => ['pdb2symcache', '{pdb}'] }] } },
    sources => { slow => { type => 'http', layout => 'unified',
        url => $web->url, internal => JSON::PP::true() } },
    symbolication => { symbolicator => { jvm => { requests => 1 } } } };
$t->start_symcached($config);
$t->start_symbolicated;
my $request = { sources => [],
    modules => [{ uuid => uuid(777), type => 'proguard' }],
    %{ $cases[0]{request} } };
my $pending = $json->decode(post($request, '?timeout=0')->{body});
is $pending->{status}, 'pending', 'it is pending';
is post($request)->{status}, 503, 'another one is too many';
spew($t->path('gate'), '');
is_deeply $json->decode($t->http($t->symbolicated_socket, 'GET',
    "/requests/$pending->{request_id}?timeout=30")->{body}),
    expected($cases[0]), 'and completed later';
cmp_ok $t->symbolicated_metric('symbolicated_mappings_total{outcome="found"}'),
    '>', 0, 'mappings are counted';
$t->stop_symbolicated;
$t->stop_symcached;

$config->{symbolication}{symbolicator}{jvm} = { enabled => JSON::PP::false() };
$t->start_symcached($config);
$t->start_symbolicated;
is post($request)->{status}, 404, 'it can be switched off';
is $t->stop_symbolicated, 0, 'symbolicated stops';
is $t->stop_symcached, 0, 'symcached stops';
$t->finish;
done_testing;
