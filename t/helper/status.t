#!/usr/bin/env perl

# /v1/misses and /v1/status: the latest jobs without a file and why, the
# health of sources, and the object for the module's status page.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::Symcache;
use Test::ScriptedServer;

my $t = Test::Symcache->new;
my $guid = '0123456789ABCDEF0123456789ABCDEF1';

my $s = Test::ScriptedServer->new(log => $t->path('requests'),
    script => sub {
    my ($c, $req) = @_;
    return $c->reply(500, {}, "a\tb\n") if $req->{path} =~ /error/;
    $c->reply(404, {}, '');
});
$t->start_symcached({
    %{ $t->default_config($s->{url}) },
    cache => { retry_errors_after => '1h' },
});

sub ask {
    my ($name) = @_;
    return $t->helper('GET',
        "/v1/symcache/default/$name/$guid?version=9.0.0&wait=60");
}

sub status { $t->helper_json('/v1/status') }

is_deeply $t->helper_json('/v1/misses'), { misses => [] }, 'no miss yet';
my $first = status();
is delete $first->{version}, $t->helper_json('/version')->{version},
    'its version';
is delete $first->{started}, $t->metric('symcached_start_time_seconds'),
    'and when it started';
$t->wait_until('a look at the disks', sub { @{ status()->{disks} } });
is_deeply [map { join '|', @$_{qw(store path failure)} }
           @{ status()->{disks} }],
    ['default|' . $t->path('store') . '|', '|' . $t->path('downloads') . '|'],
    'a disk of each store, and that of the downloads';
delete $first->{disks};
$t->wait_until('it is ready', sub { status()->{not_ready} eq '' });
delete $first->{not_ready};
is_deeply $first, {
    state => 'answered', config_stale => '', uploads_not_ready => '',
    jobs => { draining => JSON::PP::false, queue => 10000, map { $_ => 0 }
        qw(total queued downloading transcoding waiters missing inquiries builds uploads_refused packed) },
    running => [], misses => [], symbolicated => [], tiers => [],
    tenants => [],
    sources => [{ name => 'upstream', type => 'http',
        health => 'not asked yet', failure => '', map { $_ => 0 }
            qw(not_asked_for found not_found unusable failed bytes failed_at
               failed_first)
    }],
}, 'a status with nothing in it';
my $r = $t->helper('GET', '/v1/status');
is Test::Symcache::header($r, 'Content-Type'), 'application/json', 'JSON';
is Test::Symcache::header($r, 'Content-Length'), length $r->{body},
    'and its length, without which the module does not take it';

is ask('a&lt;b.pdb')->{status}, 404, 'a miss';
my $m = $t->helper_json('/v1/misses')->{misses};
is scalar(@$m), 1, 'is remembered';
is $m->[0]{outcome}, 'notfound', 'with its outcome';
is $m->[0]{key}, "a&lt;b.pdb/$guid", 'key';
is $m->[0]{version}, '9.0.0', 'version';
is $m->[0]{store}, 'default', 'store';
like $m->[0]{reason}, qr/^upstream: not found \([^;]*404[^;]*$/, 'and reason';
cmp_ok abs(time - $m->[0]{time}), '<', 60, 'and time';
is status()->{sources}[0]{health}, 'ok', 'health: ok';
is_deeply status()->{misses}, $m, 'the status has it, too';

ask('a&lt;b.pdb');
is scalar(@{ $t->helper_json('/v1/misses')->{misses} }), 1,
    'what a negative entry answers is no new one';

is ask('error.pdb')->{status}, 503, 'a failure';
is $t->helper_json('/v1/misses')->{misses}[0]{outcome}, 'error',
    'is the newest';
is $t->helper_json('/v1/sources')->{sources}[0]{health}, 'failing',
    'health: failing';
is_deeply status()->{misses}, $t->helper_json('/v1/misses')->{misses},
    'misses, as there';
my ($source) = @{ status()->{sources} };
like $source->{failure}, qr/500/, 'the failure of a source';
cmp_ok abs(time - $source->{failed_at}), '<', 60, 'and its time';

ask("m$_.pdb") for 1 .. 25;
$m = $t->helper_json('/v1/misses')->{misses};
is scalar(@$m), 20, 'the latest twenty';
is $m->[0]{key}, "m25.pdb/$guid", 'newest first';
is scalar(@{ status()->{misses} }), 20, 'in the status, too';

my $long = '%C3%A9' x 100;
ask("$long.pdb");
is status()->{misses}[0]{key}, "\x{e9}" x 100 . ".pdb/$guid",
    'a long name';

is $t->helper('GET', '/v1/status?x=1')->{status}, 400, 'no query';
is $t->helper('POST', '/v1/misses')->{status}, 405, 'no POST';

# --- a host that wants a pause

$s->stop;
$s = Test::ScriptedServer->new(log => $t->path('requests'), script => sub {
    $_[0]->reply(429, { 'Retry-After' => 300 }, '');
});
my $paused = $t->default_config($s->{url});
$paused->{cache} = { retry_errors_after => '1h' };
$t->write_helper_config($paused);
kill 'HUP', $t->{helper};
$t->wait_until('reload', sub {
    $t->metric('symcached_reloads_total{result="ok"}') == 1 });
ask('pause.pdb');
is $t->helper_json('/v1/sources')->{sources}[0]{health}, 'left alone',
    'health: left alone';
cmp_ok status()->{sources}[0]{not_asked_for}, '>', 200, 'and for how long';

# --- what runs

$t->stop_symcached;
unlink $t->path('gate'); # of the configuration before
$t->start_symcached({
    %{ $t->default_config($s->{url}, gated => 1) },
    limits => { queue => 7 },
    cache => { clean_every => '1s', min_free => undef },
    sources => { map { $_ => { type => 'filesystem',
        path => $t->symbol_store('symbols') } } 'upstream', 1 .. 59 },
});
my $key = $Test::Symcache::key{'crash.pdb'};
is scalar(@{ $t->helper_json('/v1/sources')->{sources} }), 60, 'many sources';
is scalar(@{ status()->{sources} }), 40, 'of which the status has the first';
$t->helper('GET', "/v1/symcache/default/crash.pdb/$key?version=9.0.0");
$t->wait_until('it is transcoded', sub {
    my ($job) = @{ status()->{running} };
    return $job && $job->{state} eq 'transcoding';
});
my $status = status();
my ($job) = @{ $status->{running} };
ok delete $job->{ms} >= 0, 'the milliseconds of a job';
is_deeply $job, { store => 'default', key => "crash.pdb/$key",
    version => '9.0.0', state => 'transcoding', source => '', waiters => 0,
    upgrade => JSON::PP::false() }, 'a job that runs';
is_deeply $status->{jobs}, { total => 1, queued => 0, downloading => 0,
    queue => 7,
    transcoding => 1, waiters => 0, missing => 0, inquiries => 0,
    builds => 0, uploads_refused => 0, packed => 0, draining => JSON::PP::false() },
    'is counted';
$t->write_file('gate', '');
$t->wait_until('its end', sub { !@{ status()->{running} } });

# --- disks, by what the kernel and the pass of cleaning say

my $disk = $t->wait_until('its file is counted', sub {
    my ($disk) = @{ status()->{disks} };
    return $disk->{files} && $disk;
});
my ($blocks, $unit) = split ' ', qx(stat -f -c '%b %S' '@{[ $t->path('store') ]}');
is $disk->{size}, $blocks * $unit, 'the size of its disk';
cmp_ok $disk->{free}, '>', 0, 'free bytes';
cmp_ok $disk->{free}, '<=', $disk->{size}, 'no more than that';
is $disk->{kept}, int($blocks / 100) * 5 * $unit, 'cache.min_free of it, 5%';
is $disk->{$_},
    $t->metric(qq(symcached_store_$_\{store="default",kind="symcache"})),
    "$_, as in the metrics" for qw(files bytes);
cmp_ok abs(time - $disk->{counted}), '<', 60, 'when that was counted';
my $config = $t->default_config($s->{url});
$t->write_helper_config({ %$config, cache => { min_free => '1024t' } });
kill 'HUP', $t->{helper};
$t->wait_until('there is no room', sub {
    my $status = status();
    my ($disk) = @{ $status->{disks} };
    return $status->{not_ready} eq 'no-room' && $disk->{kept} == 2 ** 50
        && $disk->{failure} eq 'No space left on device';
});

$s->stop;
$t->finish;
done_testing;
