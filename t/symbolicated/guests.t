#!/usr/bin/env perl

# Stores of clients' sources, all in one process: what is public is fetched and
# converted once for all scopes, what is private reaches no other scope by any
# way, one that hangs keeps nobody waiting, and stores outlive processes.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Encode qw(encode_utf8);
use IO::Uncompress::Gunzip qw(gunzip);
use Test::File qw(slurp spew);
use Test::Form;
use Test::More;
use Test::ScriptedServer;
use Test::Sentry;
use Test::Symcache;
use Time::HiRes qw(time);

my $scopes = 60;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical->utf8;
my $crash = slurp($t->data('pdb/crash.pdb'));
my $key = $Test::Symcache::key{'crash.pdb'};
my $cases = $t->data('minidump/cases/sym-linux-mini.sym');
my $sym = slurp(glob "$cases/*.sym");
my $sym_path = 'crash/C0BCC3F19827FE653058404B2831D9E60/crash.sym';

# Folders of one server: what all have, what one token gets, as long as nobody
# has taken the rights away, and what is another file than it should be.
my $denied = $t->path('denied');
my $server = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my ($folder, $path) = $req->{path} =~ m{^/([^/]+)/(.*)} or return $c->reply(404);
    if ($folder eq 'hang') {
        $t->wait_until('the end', sub { -e $t->path('end') });
        return $c->close;
    }
    return $c->reply(404) if $folder eq 'empty';
    if ($folder eq 'private') {
        my ($token) = ($req->{headers}{'x-token'} // '') =~ /^token-(\w+)$/;
        return $c->reply(403) if !defined $token || -e $denied;
        return $c->reply(404) if $token =~ /^\d+$/;
    }
    return $c->reply(200, {}, $crash) if $path eq "crash.pdb/$key/crash.pdb";
    return $c->reply(200, {}, $sym) if $path eq $sym_path;
    return $c->reply(404);
});
my $port = $server->port;
my $project = Test::Sentry->new($t, token => 's3cret');

my $config = {
    stores => { default => { root => $t->path('store') } },
    limits => { attempts => 1 },
    symbolication => { symbolicator => { sources => 'allow', tenants => {
        root => $t->path('tenants'),
        hosts => ["127.0.0.1:$port", $project->host] } } },
};
sub start { $t->start_symcached($config); $t->start_symbolicated }
sub stop { $t->stop_symbolicated; $t->stop_symcached }
start();

sub web { my ($folder, %more) = @_;
    return { type => 'http', id => $folder, url => "http://127.0.0.1:$port/$folder/",
             layout => { type => 'symstore' }, %more } }
sub private { my ($token, %more) = @_;
    return web('private', headers => { 'X-Token' => "token-$token" }, %more) }
sub public { return web('public', is_public => \1, @_) }
sub folders { return grep { m{/[0-9a-f]{32}$} } glob $t->path('tenants/*') }
sub asked { my ($folder) = @_;
    return grep { m{^/\Q$folder\E/.*crash\.pdb$} } map { $_->{path} } $server->requests }
sub guests { return $t->http($t->path('tenants/sock'), 'GET', $_[0])->{body} }
sub metric { my ($name) = @_; return guests('/metrics') =~ /^\Q$name\E (\d+)/m ? $1 : 0 }

our $context = 0;
sub post {
    my ($query, @sources) = @_;
    my $r = $t->post($t->symbolicated_socket, "/symbolicate?$query", $json->encode({
        stacktraces => [{ frames => [{ instruction_addr => '0x402913' }] }],
        modules => [{ type => 'pe', debug_file => 'crash.pdb', image_addr => '0x400000',
                      debug_id => '3249d99d-0c40-4931-8610-f4e4fb0b6936-1' }],
        sources => \@sources,
        options => { dif_candidates => \1, apply_source_context => $context ? \1 : \0 },
    }), 'Content-Type: application/json');
    my $body = $json->decode($r->{body});
    return $body->{modules} ? { %{ $body->{modules}[0] },
        function => $body->{stacktraces}[0]{frames}[0]{function} } : $body;
}
my $main = 'main(int, char**)';

# --- many scopes with a token each, and one public source

my $began = time;
for my $n (1 .. $scopes) {
    my $m = post("scope=$n", $n % 2 ? (private($n), public()) : (public(), private($n)));
    next if $n > 1 && $n < $scopes && ($m->{function} // '') eq $main;
    is $m->{function}, $main, "scope $n";
    is_deeply [map { "$_->{source} $_->{download}{status}" } @{ $m->{candidates} }],
        [('private notfound') x ($n % 2 * 2), 'public notfound', 'public ok'],
        'the places in the order of the list, packed ones first'
        or diag explain $m->{candidates};
}
diag sprintf '%d scopes in turn: %.1f ms each', $scopes, (time - $began) / $scopes * 1000;
is scalar(asked('public')), 1, 'one download';
{
    # source code is looked for in what has been downloaded
    local $context = 1;
    my @places = map { $_->{location} } @{ post('scope=1', public())->{candidates} };
    is_deeply [grep { !m{^http://127} && $_ ne 'No object files listed on this source' }
        @places], [], 'places of the source, and none of this machine';
    cmp_ok scalar(grep { /^No object/ } @places), '<=', 1, 'one says that there is none';
}
is metric('symcached_jobs_finished_total{outcome="published"}'), 1, 'one conversion';
is scalar(folders()), 1 + $scopes, 'a store for what is public, and one for each scope';
ok((grep { $_ eq '/private/' . "crash.pdb/$key/crash.pdb" } asked('private')) >= $scopes / 2,
    'each token was used');

# --- a public source is what it is for whoever names it

is post('scope=evil', web('empty', is_public => \1))->{debug_status}, 'missing',
    'another public source does not have what the first one gave';
is post('scope=x', public(layout => { type => 'ssqp' }))->{debug_status}, 'missing',
    'nor does its place in other words';

# --- what is private reaches nobody else: here with the same list and the same
# token, when the source does not let it be fetched any more

my $m = post('scope=a', private('a'), public());
is $m->{function}, $main, 'a private file';
is $m->{candidates}[0]{source}, 'private', 'of the private source';

my $dump = slurp("$cases/dump.dmp");
my @breakpad = web('private', headers => { 'X-Token' => 'token-a' },
    layout => { type => 'native' }, filters => { filetypes => ['breakpad'] });
sub unwind_status { my ($scope) = @_;
    my $r = $t->post($t->symbolicated_socket, "/minidump?scope=$scope",
        form(['upload_file_minidump', $dump, 'dump'], ['sources', $json->encode(\@breakpad)]),
        "Content-Type: $form_type");
    return $json->decode($r->{body})->{modules}[0]{unwind_status} }

gunzip($t->data('javascript/peer.json.gz') => \my $peer) or die;
my $js = $json->decode($peer)->{esbuild};
$project->artifact("~/js/$_", slurp($t->data("javascript/shop/$_")), id => $_)
    for 'esbuild.js', 'esbuild.js.map';
sub js_functions { my ($scope) = @_;
    my $r = $t->post($t->symbolicated_socket, "/symbolicate-js?scope=$scope",
        $json->encode({ source => { id => 'x', token => 's3cret',
            url => $project->artifact_lookup }, %{ $js->{request} } }),
        'Content-Type: application/json');
    return scalar grep { $_->{data}{symbolicated} } map { @{ $_->{frames} } }
        @{ $json->decode($r->{body})->{stacktraces} } }

my ($jvm) = @{ $json->decode(slurp($t->data('jvm/random.json'))) };
my $uuid = '5c1d3f3a-0000-4000-8000-000000000001';
$project->add(type => 'proguard', debug_id => $uuid, data => encode_utf8($jvm->{mapping}));
sub jvm_errors { my ($scope) = @_;
    my $r = $t->post($t->symbolicated_socket, "/symbolicate-jvm?scope=$scope",
        $json->encode({ sources => [{ type => 'sentry', id => 'p',
                url => $project->debug_files, token => 's3cret' }],
            modules => [{ uuid => $uuid, type => 'proguard' }], %{ $jvm->{request} } }),
        'Content-Type: application/json');
    return scalar @{ $json->decode($r->{body})->{errors} } }

is unwind_status('a'), 'found', 'minidumps: a private file, which has the CFI';
SKIP: {
    skip 'no extended attributes here, so files have no digest', 1 if !$t->has_attributes;
    cmp_ok js_functions('a'), '>', 0, 'JavaScript: a private file';
}
is jvm_errors('a'), 0, 'the JVM: a private file';

spew($denied, '');
$project->answer($_ => 403) for qw(list file lookup artifact);
my $list = [private('a'), public()];
$m = post('scope=b', private('a'));
is $m->{debug_status}, 'fetching_failed', 'another scope: no module';
ok !(grep { $_->{download}{status} eq 'ok' } @{ $m->{candidates} }), 'no candidate';
is_deeply [map { $_->{download}{status} } @{ $m->{candidates} }],
    [('noperm') x @{ $m->{candidates} }], 'but what the source says to this scope';
is post('scope=a', private('other'))->{debug_status}, 'fetching_failed', 'nor with another token';
is post('', private('a'))->{debug_status}, 'fetching_failed', 'nor without a scope';
is post('scope=b', private('a', is_public => \1))->{debug_status}, 'fetching_failed',
    'nor by calling it public';
is unwind_status('b'), 'fetching_failed', 'minidumps: nothing';
is js_functions('b'), 0, 'JavaScript: nothing';
is jvm_errors('b'), 1, 'the JVM: nothing';
is post('scope=a', @$list)->{function}, $main, 'whose it is has it still';
is unwind_status('a'), 'found', 'and minidumps have';
is jvm_errors('a'), 0, 'and the JVM';
is scalar(grep { -e "$_/store/crash.pdb/$key/crash.pdb-v9.0.0.symcache" } folders()), 2,
    'the file is in the public store, and in that of one scope';

# --- one that hangs keeps nobody else waiting

sub hanging {
    return scalar grep { $_->{scope} eq 'hang' && $_->{jobs}{downloading} == 1 }
        @{ $json->decode(guests('/v1/jobs'))->{tenants} };
}
{
    my $n = 20;
    post('scope=hang&timeout=0', web('hang', headers => { 'X-N' => "$_" })) for 1 .. $n;
    $t->wait_until('all of them hang', sub { hanging() == $n });
    my (@ms, $others);
    for my $i (1 .. 30) {
        my $start = time;
        $others += post("scope=new$i", public(), private("n$i"))->{function} eq $main;
        push @ms, (time - $start) * 1000;
    }
    @ms = sort { $a <=> $b } @ms;
    diag sprintf 'beside %d downloads that hang: p50 %.1f ms, p99 %.1f ms', $n, @ms[15, 29];
    is $others, 30, 'others are answered';
    is hanging(), $n, 'while these hang';
    spew($t->path('end'), '');
}

# --- the process

# (without a shell, whose arguments would be found, too; its guard is younger)
sub helpers {
    open my $pgrep, '-|', 'pgrep', '-o', '-f', '--', '--guests ' . $t->path('tenants') . ' ' or die;
    return map { /(\d+)/ } <$pgrep>;
}
my @helpers = helpers();
is scalar(@helpers), 1, 'one process has all stores';
unlink $denied;
my $published = scalar asked('public');
kill 'KILL', @helpers;
is post('scope=1', private(1), public())->{function}, $main,
    'it is killed: a request waits until it is there again';
is scalar(asked('public')), $published, 'and finds what there was';
$t->wait_until('the log tells it', sub {
    $t->helper_log =~ /the helper of clients' sources ended with signal 9 \(Killed\), and is started again in 1 s$/m });
unlike $t->helper_log, qr/store "none"/, 'no warning of its own configuration';

my @before = folders();
stop();
is_deeply [folders()], \@before, 'stores outlive symcached';
start();
is post('scope=1', private(1), public())->{function}, $main, 'and are used again';
is scalar(asked('public')), $published, 'without a download';
$t->reload_symcached($config);
is post('scope=1', private(1), public())->{function}, $main, 'also after a reload';
is scalar(asked('public')), $published, 'without a download';
kill 'KILL', helpers();
is post('scope=1', private(1), public())->{function}, $main, 'and when it is killed then';
is scalar(asked('public')), $published, 'without a download: its folder is the one it was';
sub stale { return grep { 1 < (() = glob "$_/store/.tmp/run-*") } folders() }
cmp_ok scalar(stale()), '>', 0, 'it left what was unfinished';
$t->wait_until('that goes, though there are no jobs', sub { !stale() });

# --- an operator removes stores

system('rm', '-rf', folders()) == 0 or die;
is post('scope=1', private(1), public())->{function}, $main, 'removed stores are made again';
is scalar(folders()), 2, 'those that are asked for';
is scalar(() = $t->helper_log =~ /\[warn\].* tenant \w+: somebody has removed /g), 2,
    'the log tells it';

# --- folders of the release before, which had names of a key that is gone

stop();
unlink $t->path('tenants/.key') or die;
my $old = $t->path('tenants/' . '0123456789abcdef' x 2);
mkdir $_ for $old, "$old/store", $t->path('tenants/other');
spew("$old/sock", '');
start();
$t->wait_until('they are removed', sub { !-e $old && !folders() });
ok -d $t->path('tenants/other'), 'and nothing else';
is post('scope=1', private(1), public())->{function}, $main, 'and made again';

$t->stop_symbolicated;
$t->finish;
done_testing;
