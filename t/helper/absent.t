#!/usr/bin/env perl

# What is known to be absent, for how long, and what never becomes a final 404.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};

sub header { Test::Symcache::header(@_) }

sub lookup {
    my ($pdb, $store, $version) = @_;
    return $t->helper('GET', sprintf '/v1/symcache/%s/%s/%s?version=%s&wait=60',
        $store // 'default', $pdb, $id, $version // '9.0.0');
}

sub jobs { $t->metric('symcached_jobs_started_total') }
sub entry { $t->path("$_[0]/$_[1]/$id/$_[1]-v9.0.0.absent") }
sub reason { header($_[0], 'X-Symcache-Reason') }

# A transcoder that fails as the file "how" says.
my $transcoder = $t->write_file('transcoder', <<'SH');
#!/bin/sh
. "$(dirname "$0")/how"
SH
chmod 0755, $transcoder;

sub how { $t->write_file('how', "$_[0]\n") }

my %store = (transcoders => [{ version => '9.0.0',
                               command => [$transcoder, '{pdb}'] }]);
my %cache = (retry_misses_after => '1h', retry_malformed_after => '2h',
             retry_errors_after => '50s');
my $config = {
    stores => {
        default => { %store, root => $t->path('store'),
                     sources => ['local', 'second'] },
        down => { %store, root => $t->path('down'),
                  sources => ['local', 'dead', 'second'] },
        limited => { %store, root => $t->path('limited'),
                     sources => ['some'] },
    },
    sources => {
        local => { type => 'filesystem', path => $t->path('sym') },
        second => { type => 'filesystem', path => $t->path('sym2') },
        some => { type => 'filesystem', path => $t->path('sym'),
                  only => '^NT' },
        dead => { type => 'http', internal => JSON::PP::true(),
                  url => 'http://127.0.0.1:' . $t->free_port . '/s' },
    },
    limits => { download_time => '5s' },
    cache => \%cache,
};

$t->symbol_store('sym');
mkdir $t->path('sym2');
how('echo "bad stream 7" >&2; exit 3');
$t->start_symcached($config);

# what is left of a time: on a busy machine seconds may be gone of it
sub near {
    my ($got, $want, $name) = @_;
    ok $got <= $want && $got > $want - 60, $name
        or diag "got $got, wanted $want";
}

# not found anywhere

my $r = lookup('nope.pdb');
is $r->{status}, 404, 'no source has it';
is reason($r), 'notfound', 'reason';
near(header($r, 'X-Symcache-Valid'), 3600, 'for retry_misses_after');
ok !header($r, 'Retry-After'), 'final';
my $detail = JSON::PP::decode_json($r->{body})->{detail};
like $detail, qr{local: \S+sym/nope\.pdb/\S+ not found.*second: \S+sym2/},
    'the text names the places';
like $t->absence(entry('store', 'nope.pdb')),
    qr/\Anotfound \d+ [0-9a-f]{16}\n.*local: .*\n\z/, 'the entry on disk';
my $jobs = jobs();
is lookup('nope.pdb')->{status}, 404, 'asked again';
is jobs(), $jobs, 'without a job';
like $t->helper_log, qr/key=nope\.pdb\S* outcome=notfound .*, looked in local: \S+ not found \(.*\); second: /,
    'the log line says where it looked';

is reason(lookup('other.pdb', 'limited')), 'notfound',
    'a source that "only" keeps out is not asked';
unlike $t->helper_log, qr/limited key=other\.pdb.* some:/, 'really not';

Test::Symcache::remove_tree($t->path('store/.tmp'));
is reason(lookup('nope2.pdb')), 'notfound', 'the work folder vanished';
ok $t->absence(entry('store', 'nope2.pdb')), 'and is made again for an entry';
ok !-e $t->path('store/nope2.pdb'), 'which needs no folder of its own';

# malformed

$r = lookup('crash.pdb');
is $r->{status}, 404, 'the transcoder failed on it';
is reason($r), 'malformed', 'reason';
near(header($r, 'X-Symcache-Valid'), 7200, 'for retry_malformed_after');
like JSON::PP::decode_json($r->{body})->{detail}, qr/\b3\b.*bad stream 7/,
    'the text has the exit code and stderr';
like $t->read_file(entry('store', 'crash.pdb')), qr/\Amalformed \d+ [0-9a-f]{16}\n/,
    'the entry on disk';
ok !-e $t->path("downloads/default/crash.pdb/$id/crash.pdb"),
    'the PDB is not kept';

# forget

is $t->helper('POST', "/v1/forget/default/crash.pdb/$id")->{body} =~ /\b1\b/,
    1, 'forget one key';
how('cp "$1" "$_NT_SYMCACHE_PATH/crash.pdb-v9.0.0.symcache"');
is lookup('crash.pdb')->{status}, 200, 'then it is tried again';
ok !$t->absence(entry('store', 'crash.pdb')), 'and no entry is left';
is $t->helper('POST', '/v1/forget/default/NOPE.pdb')->{body} =~ /\b1\b/, 1,
    'forget all ids of a name';
$jobs = jobs();
is lookup('nope.pdb')->{status}, 404, 'looked for again';
is jobs(), $jobs + 1, 'by a job';

# could not be told

for my $pdb ('nope.pdb', 'gone.pdb') {
    $r = lookup($pdb, 'down');
    is $r->{status}, 503, 'one source fails, others do not have it: no 404';
    ok header($r, 'Retry-After') <= 50 && header($r, 'Retry-After') > 40,
        'for retry_errors_after';
    is reason($r), 'error', 'which is the reason';
    ok !$t->absence(entry('down', $pdb)), 'nothing on disk';
    like $t->helper_log,
        qr/key=\Q$pdb\E\S* outcome=error .*, looked in dead: \S+ failed \(.*; local: \S+ not found /,
        'the log line has what failed first';
}
$jobs = jobs();
is lookup('nope.pdb', 'down')->{status}, 503, 'asked again';
is jobs(), $jobs, 'without a job';
is $t->metric('symcached_failures_remembered'), 2, 'two are remembered';
my ($known) = @{ $t->helper_json("/v1/why/down/nope.pdb/$id")->{transcoders} };
is $known->{blocked}, 'error', 'why says so';
$t->helper('POST', "/v1/forget/down/nope.pdb/$id");
is $t->metric('symcached_failures_remembered'), 1, 'forget drops it';

# garbage in a source

my $wrong = $t->path("sym2/wrong.pdb/$id");
Test::Symcache::make_path($wrong);
for (['text/html', '<html>not found</html>'], ['nothing', ''],
     ['a PDB that is cut off',
      substr($t->read_file($t->data('pdb/crash.pdb')), 0, 5000)],
     ['another PDB', $t->read_file($t->data('pdb/basic32-min.pdb'))]) {
    my ($name, $content) = @$_;
    $t->write_file("$wrong/wrong.pdb", $content);
    $r = lookup('wrong.pdb');
    is $r->{status}, 503, "no 404 for $name";
    $t->helper('POST', '/v1/forget/default/wrong.pdb');
}

# an entry that is none, of a release that had a file for each

my $n = 0;
for (['empty', ''], ['cut off', 'notfou'], ['a NUL', "notfound\0 1\n"],
     ['no time', "notfound x\n"], ['from the future',
      sprintf "notfound %d\nx\n", time + 100000],
     ['too old', sprintf "notfound %d\nx\n", time - 3601],
     ['another word', sprintf "timeout %d\nx\n", time]) {
    my ($name, $content) = @$_;
    my $odd = 'odd' . ++$n . '.pdb';
    $t->write_file(entry('store', $odd), $content);
    $jobs = jobs();
    is lookup($odd)->{status}, 404, "entry: $name";
    is jobs(), $jobs + 1, 'is looked for again';
}
$t->write_file(entry('store', 'set.pdb'),
    sprintf "notfound %d\nby hand\n" . "\0" x 100000, time - 3000);
$jobs = jobs();
$r = lookup('set.pdb');
is $r->{status}, 404, 'an entry in force';
cmp_ok header($r, 'X-Symcache-Valid'), '<=', 600, 'for what is left of it';
is jobs(), $jobs, 'without a job';

# a usable older file

my $old = $t->path("store/old.pdb/$id/old.pdb-v8.0.0.symcache");
$t->write_file($old, 'old');
$r = lookup('old.pdb');
is $r->{status}, 200, 'an older version is served at once';
is header($r, 'X-Symcache-Version'), '8.0.0', 'with its version';
$t->wait_until('the upgrade failed', sub {
    $t->absence(entry('store', 'old.pdb'))
});
$jobs = jobs();
is lookup('old.pdb')->{status}, 200, 'and after an upgrade that failed';
is jobs(), $jobs, 'which is not tried at each hit';
is $t->read_file($old), 'old', 'the file is untouched';
like $t->helper_json("/v1/why/default/old.pdb/$id")->{next},
    qr/^the next request is served from disk; in \d+ s .* newer file$/,
    'and why tells that it is served';
is $t->metric('symcached_upgrades_started_total'), 1, 'one upgrade';
is $t->metric('symcached_lookups_total{answer="stale"}'), 1, 'one was stale';
is $t->helper('GET', "/v1/symcache/default/old.pdb/$id"
    . '?version=9.0.0&exceeds=8.0.0&wait=60')->{status}, 304,
    'nothing newer can be had for who has the older one';

Test::Symcache::make_path($t->path("sym2/up.pdb/$id"));
$t->write_file("store/up.pdb/$id/up.pdb-v8.0.0.symcache", 'old');
require File::Copy;
File::Copy::copy($t->data('pdb/crash.pdb'), $t->path("sym2/up.pdb/$id/up.pdb"));
how('cp "$1" "$_NT_SYMCACHE_PATH/up.pdb-v9.0.0.symcache"');
is header(lookup('up.pdb'), 'X-Symcache-Version'), '8.0.0', 'an older file';
$t->wait_until('the upgrade', sub {
    header(lookup('up.pdb'), 'X-Symcache-Version') eq '9.0.0'
});
pass 'is upgraded in the background';
$t->wait_until('the end of its job', sub {
    $t->metric('symcached_jobs_finished_total{outcome="published"}') == 2
});

# a file that may be there, and whose folder cannot be read

my $folder = $t->path('store/up.pdb');
Test::Symcache::remove_tree($t->path('sym2/up.pdb'));
Test::Symcache::remove_tree($t->path('downloads/default/up.pdb'));
rename $folder, "$folder.away" or die;
symlink 'up.pdb', $folder or die;
$jobs = jobs();
$r = lookup('up.pdb');
is "$r->{status} " . reason($r), '503 error', 'a folder that cannot be read';
like JSON::PP::decode_json($r->{body})->{detail}, qr/symbolic links/, 'why';
ok header($r, 'Retry-After') <= 5, 'to be asked again soon';
is jobs(), $jobs, 'it is not looked for elsewhere';
like $t->helper_log,
    qr{\[error\] .*lookup default/up\.pdb\S+: answered 503, .*be seen: Too many},
    'and the log says so';
unlink $folder or die;
rename "$folder.away", $folder or die;
is lookup('up.pdb')->{status}, 200, 'until it can be';

# restart

$t->stop_symcached;
how('exit 1');
$t->start_symcached;
$jobs = jobs();
is reason(lookup('nope.pdb')), 'notfound', 'absence survives a restart';
is jobs(), $jobs, 'without a job';
$t->write_file(entry('store', 'crash2.pdb'),
    sprintf "malformed %d\nx\n", time - 100);
is reason(lookup('crash2.pdb')), 'notfound',
    'what was malformed is tried again after a restart';
is jobs(), $jobs + 1, 'by a job';

# other sources

sub reload { $t->reload_symcached($config) }

how('cp "$1" "$_NT_SYMCACHE_PATH/$(basename "$1")-v9.0.0.symcache"');
my $third = $t->path("sym3/nope.pdb/$id/nope.pdb");
$t->write_file($third, $t->read_file($t->data('pdb/crash.pdb')));
is reason(lookup('nope.pdb')), 'notfound', 'a miss';
$config->{cache}{retry_errors_after} = '49s';
$config->{sources}{dead}{headers} = { Authorization => 'another' };
$jobs = jobs();
reload();
is reason(lookup('nope.pdb')), 'notfound', 'is believed after a reload';
is jobs(), $jobs, 'without a job';
$config->{sources}{third} = { type => 'filesystem', path => $t->path('sym3') };
push @{ $config->{stores}{default}{sources} }, 'third';
reload();
is lookup('nope.pdb')->{status}, 200, 'but not when there is a new source';
my $now = $t->path('sym4');
is reason(lookup('other.pdb')), 'notfound', 'another miss';
$t->write_file("$now/other.pdb/$id/other.pdb",
    $t->read_file($t->data('pdb/crash.pdb')));
$config->{sources}{third}{path} = $now;
reload();
is lookup('other.pdb')->{status}, 200, 'nor when a source looks elsewhere';

$t->finish;
done_testing;
