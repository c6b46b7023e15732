#!/usr/bin/env perl

# The source "sentry": which files it has is asked by debug id and code id, and
# they are fetched by their ids there.

use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Clock;
use Test::DebugFile;
use Test::More;
use Test::Sentry;
use Test::SourceCase;
use Test::Symcache;

my $t = Test::Symcache->new;
my $s = Test::Sentry->new($t, token => 's3cret');
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $basic = $t->read_file($t->data('pdb/basic32.pd_'));
my %key = %Test::Symcache::key;
my $debug_id = '3249d99d-0c40-4931-8610-f4e4fb0b6936-1';
my $list = "list debug_id=$debug_id";

my $case = Test::SourceCase->new($t,
    downloads => $t->path('downloads'),
    limits => { attempts => 1 },
    sources => { sentry => { type => 'sentry', url => $s->debug_files,
        token => 's3cret', internal => JSON::PP::true() } });
my $place = 'sentry://project_debug_file';

sub forget {
    my ($name) = @_;
    $t->helper('POST', "/v1/forget/default/$name");
    unlink glob $t->path('store/*/*/*.symcache');
    unlink glob $t->path('downloads/default/*/*/*');
}
# and forgets the lists
sub restart { $t->stop_symcached; $t->start_symcached(undef) }
sub since { my ($n) = @_; my @all = $s->requests; @all[$n .. $#all] }

# --- a file

my $r = $case->ask('crash.pdb');
is $r->{status}, 404, 'a file that the project does not have';
is_deeply $r->{places}, [[$s->debug_files, 'not found',
    'the list has no such file']], 'is in no list';
my $n = () = $s->requests;
is $n, 1, 'which was asked for once';
is $case->ask('crash.pdb')->{status}, 404, 'the absence is remembered';
is scalar(() = $s->requests), 1, 'for the key';

my $bad = $s->add(type => 'pdb', data => $basic, debug_id => $debug_id);
my $id = $s->add(type => 'pdb', data => $crash, debug_id => $debug_id);
$s->add(type => 'proguard', data => 'x', debug_id => $debug_id);
$s->add(type => 'of-2030', data => 'x', debug_id => $debug_id);
forget('crash.pdb');
$r = $case->ask('crash.pdb');
is $r->{status}, 200, 'it is found as soon as its absence is forgotten'
    or diag explain $r, [$s->requests];
is_deeply [since($n)], [$list, "file $bad", "file $id"],
    'the list is asked for anew, and the files of the type one after another';
is_deeply [map { "$_->[0] $_->[1]" } @{ $r->{places} }[-2, -1]],
    ["$place/$bad unusable", "$place/$id found"], 'each is an attempt';
is $t->read_file("downloads/default/crash.pdb/$key{'crash.pdb'}/crash.pdb"),
    $crash, 'and the original lies among the downloads';

$n = () = $s->requests;
forget('crash.pdb');
is $case->ask('crash.pdb')->{status}, 200, 'what the list has';
is_deeply [since($n)], ["file $bad", "file $id"], 'is remembered for an hour';

# --- a list in pages

{
    my %of = (type => 'pdb', debug_id => $debug_id);
    my @bad = map { $s->add(%of, data => 'x') } 1 .. 3;
    my $wanted = $s->add(%of, data => $crash);
    my $files = $s->load('files');
    my $later = sub { my ($n) = @_; [grep { "$_->{id}" > $n } @$files] };
    $s->store('files', $later->($id));
    $s->answer(per_page => 2);
    restart();
    forget('crash.pdb');
    $n = () = $s->requests;
    $r = $case->ask('crash.pdb');
    is $r->{status}, 200, 'a file of a later page';
    is_deeply [since($n)], [$list, "$list&cursor=2%3A1%3A0",
        "$list&cursor=2%3A2%3A0", map { "file $_" } @bad, $wanted],
        'the pages are asked for first, of the host that is configured';
    $s->answer(lines => 1);
    restart();
    forget('crash.pdb');
    $n = () = $s->requests;
    is $case->ask('crash.pdb')->{status}, 200, 'the same where each link has a line';
    is_deeply [since($n)], [$list, "$list&cursor=2%3A1%3A0",
        "$list&cursor=2%3A2%3A0", map { "file $_" } @bad, $wanted], '... of its own';
    $s->answer(inner => 1000);
    restart();
    forget('crash.pdb');
    is $case->ask('crash.pdb')->{status}, 200, '... and where its URL is long';

    $s->store('files', $later->($wanted));
    $s->add(%of, type => 'macho', data => 'x') for 1 .. 66;
    $s->answer(per_page => 40);
    restart();
    forget('crash.pdb');
    $r = $case->ask('crash.pdb');
    is $r->{status}, 503, 'a list that is too long is no absence';
    is_deeply $r->{places}, [[$s->debug_files, 'failed',
        'the list is too long to be read']], '... and the reason is told';
    $s->store('files', $files);
    restart();
    forget('crash.pdb');
    is $case->ask('crash.pdb')->{status}, 200, 'what the list has';
}

# --- failures are no absences

for (['list', 429], ['list', 500], ['list', 404], ['list', 403],
     ['file', 429], ['file', 500], ['file', 403]) {
    my ($what, $status) = @$_;
    $s->answer($what, $status);
    forget('crash.pdb') if $what eq 'file';
    my $name = $what eq 'list' ? 'basic32.pdb' : 'crash.pdb';
    my $r = $case->ask($name, $key{$name});
    is $r->{status}, 503, "$status of a $what is a failure"
        or diag explain $r;
    $s->answer($what, undef);
    $t->wait_until('it is asked again', sub {
        my $why = $t->helper_json("/v1/why/default/$name/$key{$name}");
        return !grep { $_->{blocked} } @{ $why->{transcoders} };
    });
}
$s->answer(file => 404);
forget('crash.pdb');
is $case->ask('crash.pdb')->{status}, 404, '404 of all files is an absence';
$s->answer(file => undef);

# --- both halves of a module

SKIP: {
    skip 'objcopy and cc are needed', 3
        if system('{ command -v objcopy && command -v cc; } >/dev/null 2>&1') != 0;
    my ($build, $elf_id) = Test::DebugFile::make($t->dir);
    my ($p) = map { lc } $elf_id =~ /^(\w{32})/;
    my $dashed = join '-', unpack 'A8A4A4A4A12', $p;
    my %ids = (type => 'elf', debug_id => $dashed, code_id => $build);
    my $program = $s->add(%ids, data => $t->read_file('stripped'),
        features => ['symtab', 'unwind']);
    my $debug = $s->add(%ids, data => $t->read_file('program.debug'),
        features => ['symtab', 'debug']);
    $n = () = $s->requests;
    my $r = $t->helper('GET', "/v1/debuginfo/default/_/buildid-$build"
        . '?version=1.0.0&wait=60');
    is $r->{status}, 200, 'a debug file by build id';
    is_deeply [since($n)], ["list code_id=$build", "file $debug"],
        'the half with debug information comes first';
    $n = () = $s->requests;
    $t->helper('GET', "/v1/executable/default/_/buildid-$build"
        . '?version=1.0.0&wait=60');
    is_deeply [since($n)], ["file $program"], 'and for a program the other';
}

# --- a file at a URL below its own

my $url = $s->artifact_lookup . '?download=1';
my $hash = 'hash-' . sha256_hex($s->debug_files . '?id=' . $id);
$r = $t->helper('GET', "/v1/source/default/127.0.0.1/$hash?version=1.0.0"
    . '&wait=60&url=' . $s->debug_files . "?id=$id");
is $r->{status}, 200, 'a URL below that of the project';
$hash = 'hash-' . sha256_hex($url);
$r = $t->helper('GET', "/v1/source/default/127.0.0.1/$hash?version=1.0.0"
    . "&wait=60&url=$url");
is $r->{status}, 404, 'one beside it';
is_deeply [grep { /artifact/ } $s->requests], [], 'is not asked for';
is $t->stop_symcached, 0, 'symcached stops';

# --- a file that is replaced while the list is remembered

SKIP: {
    my $clock = Test::Clock->new($t) or skip Test::Clock::why(), 5;
    $t->start_symcached(undef, env => $clock->env(all => 1));
    forget('crash.pdb');
    is $case->ask('crash.pdb')->{status}, 200, 'what the list has';
    $s->store('files', []);
    unlink glob $t->path('project/*.file');
    my $new = $s->add(type => 'pdb', data => $crash, debug_id => $debug_id);
    forget('crash.pdb');
    is $case->ask('crash.pdb')->{status}, 404, '... is gone';
    $clock->set(61);
    forget('crash.pdb');
    $n = () = $s->requests;
    is $case->ask('crash.pdb')->{status}, 200,
        '... and a minute later what is in its place is found';
    is_deeply [(since($n))[-2, -1]], [$list, "file $new"],
        '... by another list';
    is $t->stop_symcached, 0, 'symcached stops';
}

# --- cookies, and what the configuration refuses

my $config = $case->{config};
$config->{sources}{sentry} = { type => 'sentry', url => $s->debug_files,
    cookies => 'session=x; a=b', internal => JSON::PP::true() };
$t->start_symcached($config);
forget('crash.pdb');
$case->ask('crash.pdb');
my ($last) = reverse $s->{server}->requests;
is $last->{headers}{cookie}, 'session=x; a=b', 'cookies';
is $last->{headers}{authorization}, undef, 'and no token';
is $t->stop_symcached, 0, 'symcached stops';

sub refused {
    my ($keys, $reason, $name) = @_;
    $config->{sources}{sentry} = { type => 'sentry', %$keys };
    $t->write_helper_config($config);
    my $out = qx(@{[$t->program('symcached')]} -t -c @{[
        $t->path('symcached.json')]} 2>&1);
    like $out, qr/sources\.sentry\b.*\Q$reason/, $name;
}
refused({ url => $s->debug_files, token => 'a', cookies => 'b' },
    '"token" and "cookies" exclude each other', 'two credentials');
refused({ url => 'ftp://a/b' }, '"url" is not a URL of http or https', 'a URL');
refused({ token => 'a' }, '"url" is missing', 'no URL');
$t->finish;
done_testing;
