#!/usr/bin/env perl

# One job for each key however many ask: waits, deadlines, queue, clients that
# go away, and what a published file looks like.  No nginx here.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $crash = "default/crash.pdb/$Test::Symcache::key{'crash.pdb'}";
my $basic = "default/basic32.pdb/$Test::Symcache::key{'basic32.pdb'}";

sub header { Test::Symcache::header(@_) }

sub lookup {
    my ($key, $query) = @_;
    return $t->helper('GET', "/v1/symcache/$key?version=9.0.0" . ($query // ''));
}

sub hold {
    my ($key, $query) = @_;
    return $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/$key?version=9.0.0" . ($query // '&wait=60'));
}

sub config {
    my (%o) = @_;
    my $c = $t->default_config('http://127.0.0.1:1', gated => 1, %o);
    $c->{sources} = { upstream => { type => 'filesystem',
                                    path => $t->path('sym') } };
    return $c;
}

$t->symbol_store('sym');
$t->start_symcached(config(limits => { queue => 1, transcodes => 1 }));

# many ask for one key

my $r = lookup($crash);
is $r->{status}, 202, 'a lookup without wait starts a job';
is header($r, 'Retry-After'), 1, 'and is told when to ask again';
is $r->{body}, '', 'without a body';

my @held = map { hold($crash) } 1 .. 20;
$t->wait_until('20 waiters', sub { $t->metric('symcached_waiters') == 20 });
$t->wait_until('the transcoder runs', sub { $t->runs == 1 });
is $t->metric('symcached_jobs_started_total'), 1, 'one job for all';

my $jobs = $t->helper_json('/v1/jobs');
is scalar @{ $jobs->{jobs} }, 1, '/v1/jobs shows it';
is $jobs->{jobs}[0]{waiters}, 20, 'with its waiters';
is $jobs->{jobs}[0]{state}, 'transcoding', 'and its state';
is $jobs->{jobs}[0]{version}, '9.0.0', 'and the version it makes';

$r = lookup($crash, '&wait=1');
is $r->{status}, 202, 'a wait that ran out is told to ask again';

# a client that goes away

close pop @held;
$t->wait_until('one waiter less', sub {
    $t->metric('symcached_waiters') == 19
});
is $t->metric('symcached_lookups_aborted_total'), 1, 'the abort is counted';
is $t->metric('symcached_jobs_transcoding'), 1, 'the job goes on';

# a client that has not read what was sent before: its close is a reset

my $both = Test::Symcache::connect_to($t->helper_socket);
syswrite $both, "GET /healthz HTTP/1.1\r\nHost: l\r\n\r\n"
    . "GET /v1/symcache/$crash?version=9.0.0&wait=60 HTTP/1.1\r\n"
    . "Host: l\r\n\r\n";
$t->wait_until('its waiter', sub { $t->metric('symcached_waiters') == 20 });
close $both;
$t->wait_until('its end', sub { $t->metric('symcached_waiters') == 19 });

# bytes behind a held request are not for us

my $more_bytes = hold($crash);
$t->wait_until('its waiter', sub { $t->metric('symcached_waiters') == 20 });
syswrite $more_bytes, "GET /healthz HTTP/1.1\r\nHost: l\r\n\r\n";
is $t->read_response($more_bytes)->{status}, 0,
    'bytes behind a held request end it';

# queue

is lookup($basic)->{status}, 202, 'another key waits for the only slot';
$t->wait_until('it is queued', sub {
    my $j = $t->helper_json('/v1/jobs');
    grep { $_->{state} =~ /transcoder slot/ } @{ $j->{jobs} };
});
my $more = 'default/more.pdb/' . '1' x 33;
$r = lookup($more, '&wait=5');
is $r->{status}, 503, 'a full queue refuses';
cmp_ok header($r, 'Retry-After'), '>', 0, 'with Retry-After';
is JSON::PP::decode_json($r->{body})->{error}, 'queue-full', 'and says why';
is $t->metric('symcached_jobs_refused_total'), 1, 'and counts it';
is lookup($crash)->{status}, 202, 'a key with a job is not refused';

# the end

$t->write_file('gate', '');
my @answers = map { $t->read_response($_) } @held;
is scalar(grep { $_->{status} == 200 } @answers), 19, 'all held get 200';
my %path = map { (header($_, 'X-Symcache-Path') // '') => 1 } @answers;
is_deeply [keys %path],
    [ 'crash.pdb/3249D99D0C4049318610F4E4FB0B69361/'
      . 'crash.pdb-v9.0.0.symcache' ], 'with the path below the root';
is header($answers[0], 'X-Symcache-Version'), '9.0.0', 'and the version';
is $answers[0]{body}, '', 'and no body';

my $file = $t->path('store/' . (keys %path)[0]);
like $t->read_file($file), qr/^(?:SYMC|CMYS)/, 'it is a SymCache';
is sprintf('%o', (stat $file)[2] & 07777), '644', 'that nginx can read';

is lookup($crash)->{status}, 200, 'the next lookup is a hit';
$t->wait_until('the cabinet is done', sub { lookup($basic)->{status} == 200 });
is $t->runs, 2, 'two transcoders ran in all';

like $t->helper_log,
    qr/\[info\].* job store=default key=crash\.pdb\/3249D99D0C4049318610F4E4FB0B69361 outcome=published version=9\.0\.0 source=upstream bytes=1019904 symcache_bytes=\d+ download_ms=\d+ transcode_ms=\d+ total_ms=\d+ waiters=19$/m,
    'one log line tells of the job';

# a second transcode needs no download

unlink $file or die;
unlink glob $t->path('sym/crash.pdb/*/*');
is lookup($crash, '&wait=60')->{status}, 200,
    'made again from the downloaded PDB';
is $t->metric('symcached_downloads_reused_total'), 1, 'which is counted';

# folders vanish at any time

Test::Symcache::remove_tree($t->path('store/crash.pdb'));
is lookup($crash, '&wait=60')->{status}, 200, 'a folder that went is made anew';

$t->wait_until('nobody else removes them',
    sub { !map { glob $t->path("$_/.tmp/*/*") } qw(store downloads) });
Test::Symcache::remove_tree($t->path('store/.tmp'));
Test::Symcache::remove_tree($t->path('downloads'));
Test::Symcache::remove_tree($t->path('store/basic32.pdb'));
is lookup($basic, '&wait=60')->{status}, 200, 'even the work folders may go';

$t->finish;
done_testing;
