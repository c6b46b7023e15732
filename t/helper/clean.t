#!/usr/bin/env perl

# What is removed when it was not used for long, and what never is.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $day = 86400;

# A file that was used so many seconds ago.
sub used {
    my ($name, $age, $size) = @_;
    my $file = $t->write_file($name, 'x' x ($size // 10));
    utime time - $age, time - $age, $file or die;
    return $file;
}

sub removed {
    my ($reason) = @_;
    return $t->metric("symcached_cleaned_files_total{reason=\"$reason\"}");
}

sub passes { $t->metric('symcached_clean_passes_total{result="ok"}') }

# The command: exit code, JSON report.
sub clean {
    my (@options) = @_;
    my %env = $t->sanitizer_env(0);
    my $env = join ' ', map { "$_='$env{$_}'" } sort keys %env;
    my $text = qx(env $env $Test::Symcache::build/symcached --clean --json @options);
    return ($? >> 8, $text eq '' ? undef : JSON::PP::decode_json($text));
}

my @old = map { used(@$_) } (
    ["store/a.pdb/$id/a.pdb-v9.0.0.symcache", 7 * $day + 60],
    ["store/a.pdb/$id/a.pdb-v9.0.0.symcache.gz", 7 * $day + 60],
    ["store/b.pdb/$id/b.pdb-v9.0.0.absent", $day + 60],
    ["store/b.pdb/${id}0/b.pdb-v9.0.0.symcache", 30 * $day],
    ['store/a.exe/5AB380779000/a.exe-v9.0.0.symcache', 30 * $day],
    ["store/a.pdb/$id/a.pdb-v1.0.0.ppdbcache", 7 * $day + 60],
    ["store/a.pdb/$id/a.pdb-v1.0.0.ppdbcache.gz", 7 * $day + 60],
    ["store/b.pdb/$id/b.pdb-v1.0.0.ppdbcache.absent", $day + 60],
    ["downloads/default/a.pdb/$id/a.pdb", $day + 60],
    ["downloads/former/a.pdb/$id/a.pdb", $day + 60],
);
my @kept = map { used(@$_) } (
    ["store/a.pdb/${id}0/a.pdb-v9.0.0.symcache", 7 * $day - 600],
    ["store/c.pdb/$id/c.pdb-v9.0.0.absent", $day - 600],
    ["store/a.pdb/${id}0/a.pdb-v1.0.0.ppdbcache", 7 * $day - 600],
    ["store/c.pdb/$id/c.pdb-v1.0.0.ppdbcache.absent", $day - 600],
    ["downloads/default/c.pdb/$id/c.pdb", $day - 600],
    # none of ours
    ["store/a.pdb/$id/a.pdb", 30 * $day],
    ["store/a.pdb/$id/b.pdb-v9.0.0.symcache", 30 * $day],
    ["store/A.pdb/$id/A.pdb-v9.0.0.symcache", 30 * $day],
    ['store/README', 30 * $day],
    ['store/.hidden', 30 * $day],
    ["store/a.pdb/$id/deeper/a.pdb-v9.0.0.symcache", 30 * $day],
    # kinds and ids of which nothing is made yet
    ["store/a.pdb/$id/a.pdb-v9.0.0.symcache.absent", 30 * $day],
    ["store/a.pdb/$id/a.pdb-v1.0.0.laterkind", 30 * $day],
    ["store/a.pdb/$id/a.pdb-v1.0.0.laterkind.absent", 30 * $day],
    ['store/a.exe/5AB380779000/a.exe-v1.0.0.laterkind', 30 * $day],
    ['store/_/buildid-93ac61ec5a8eb139/_-v9.0.0.symcache', 30 * $day],
    ["downloads/default/a.pdb/$id/other.pdb", 30 * $day],
);

my $outside = used('outside/x/y-v9.0.0.symcache', 30 * $day);
symlink $t->path('outside'), $t->path('store/link') or die;
used("store/m.pdb/$id$_/m.pdb-v9.0.0.symcache", 30 * $day)
    for map { sprintf '%X', $_ } 1 .. 600;

my $config = {
    stores => { default => { root => $t->path('store') } },
    cache => { clean_every => '1s' },
};

# the command, which may run while there is no helper

my $file = $t->write_helper_config($config);
my ($code, $report) = clean('--dry-run', '-c', $file);
is $code, 0, 'the command';
is $report->{removed}{unused}{files}, 608, 'would remove what is old';
is $report->{removed}{expired}{files}, 2, 'and entries that are over';
is_deeply [grep { !-e } @old], [], 'and has not';
($code) = clean('-c', $t->path('none'), '2>/dev/null');
is $code, 1, 'no configuration';
($code) = clean('--bogus', '2>/dev/null');
is $code, 2, 'a wrong option';
for my $command (qw(clean tier transcoders)) {
    my $usage = qx($Test::Symcache::build/symcached --$command --help);
    is $?, 0, "--$command --help";
    like $usage, qr/^usage: symcached --$command /, '... on standard output';
}

SKIP: {
    skip 'needs root and setpriv(1)', 3
        if $> != 0 || system('setpriv --reuid=nobody --clear-groups true 2>/dev/null') != 0;
    mkdir $t->path("store/$_"), 0700 or die $! for qw(lost+found unread.pdb);
    my $command = "$Test::Symcache::build/symcached --clean --json --dry-run -c $file";
    is JSON::PP::decode_json(qx(setpriv --reuid=nobody --clear-groups $command))->{failed},
        1, 'a folder that cannot be read is counted';
    like scalar qx(setpriv --reuid=nobody --clear-groups @{[$command =~ s/--json//r]}),
        qr{^could not be removed or read: 1; first: /\S+/store/unread\.pdb: Permission denied$}m,
        '... and named';
    rmdir $t->path("store/$_") or die $! for qw(lost+found unread.pdb);
    my $broken = qx(strace -f -o /dev/null -e inject=getdents64:error=EIO:when=3+ $command 2>/dev/null);
    skip 'needs strace(1)', 1 if $? != 0 || $Test::Symcache::san;
    cmp_ok JSON::PP::decode_json($broken)->{failed}, '>', 0,
        'and one whose rest cannot be';
}

SKIP: {
    skip 'needs script(1) for a terminal', 2
        if system('script --version >/dev/null 2>&1') != 0;
    my $command = "$Test::Symcache::build/symcached --clean --dry-run -c $file";
    my $screen = qx(script -qec '$command' /dev/null </dev/null);
    like $screen, qr/default +symcache +\[#+\] 100 % 4 files/,
        'a bar on a terminal';
    like $screen, qr/would remove \(not used for long\): 608 files, 5\.9 KiB/,
        'and a summary';
}

# the helper

$t->start_symcached;
$t->wait_until('a pass', sub { (passes() // 0) > 0 });

is removed('unused'), 608, 'what was not used for long';
is removed('expired'), 2, 'and what is not believed any more';
is_deeply [grep { -e } @old], [], 'is gone';
is_deeply [grep { !-e } @kept], [], 'everything else is there';
ok -e $outside, 'links are not followed';
ok !-d $t->path('store/m.pdb'), 'empty folders go';
ok !-d $t->path("store/b.pdb/$id"), 'with those above them';
ok -d $t->path('store'), 'the root stays';
is $t->metric('symcached_cleaned_bytes_total{reason="unused"}'), 6080,
    'bytes are counted';
$t->wait_until('logged', sub { $t->helper_log
    =~ /\] \d+: clean files=610 bytes=6100 ms=\d+/ });
is $t->metric('symcached_store_files{store="default",kind="symcache"}'), 4,
    'files that are left are shown';
is $t->metric('symcached_store_bytes{store="default",kind="downloads"}'), 10,
    'and bytes';

# a store that comes and goes

sub reload { $t->reload_symcached($config) }

my $brief = 'symcached_store_files{store="brief",kind="symcache"}';
$config->{stores}{brief} = { root => $t->path('brief') };
reload();
$t->wait_until('a pass shows it', sub { defined $t->metric($brief) });
delete $config->{stores}{brief};
$config->{cache}{clean_every} = '1h';
reload();
is $t->metric($brief), undef, 'a store that is gone is not shown';
is $t->metric('symcached_store_files{store="default",kind="symcache"}'), 4,
    'the others are, before the next pass';
$config->{cache}{clean_every} = '1s';
reload();

# reloads do not put a pass off: the next one comes though there is no second
# between two of them

$config->{cache}{clean_every} = '3s';
reload();
my $done = passes();
my $reloads = 0;
$t->wait_until('a pass among reloads', sub {
    reload();
    $reloads++;
    passes() > $done + 1;
});
cmp_ok $reloads, '>', 1, 'a pass comes, however often it is reloaded';
$config->{cache}{clean_every} = '1s';
reload();

# a hit keeps a file

# so that the block that an extended attribute may need is little beside it
my $large = 40_000;

my ($hit) = map { used(@$_) }
    ["store/h.pdb/$id/h.pdb-v9.0.0.symcache", 6 * $day, $large];
is $t->helper('GET', "/v1/symcache/default/h.pdb/$id?version=9.0.0")
    ->{status}, 200, 'a hit';
my $touched = (stat $hit)[9];
cmp_ok time - $touched, '<', 600, 'is the last use of the file';
utime time - 1800, time - 1800, $hit;
is $t->helper('GET', "/v1/symcache/default/h.pdb/$id?version=9.0.0")
    ->{status}, 200, 'a hit within the hour';
cmp_ok time - (stat $hit)[9], '>=', 1800, 'is not noted';

# the size of a store

used("store/s$_.pdb/$id/s$_.pdb-v9.0.0.symcache", $_ * 3600, $large) for 1 .. 9;
used("downloads/default/s1.pdb/$id/s1.pdb", 1800, $large);
my $block = (stat $hit)[12] * 512;
$config->{cache}{max_size} = '' . 5.5 * $block;
$t->write_helper_config($config);
kill 'HUP', $t->{helper};
$t->wait_until('a pass by size', sub { removed('max_size') == 11 });
ok !-e $t->path("downloads/default/s1.pdb/$id/s1.pdb"), 'downloads go first';
is_deeply [grep { -e $t->path("store/s$_.pdb") } 1 .. 9], [1 .. 4],
    'then what was not used for longest';
ok -e $hit, 'what was used last stays';

# the size of its downloads

used("downloads/default/s$_.pdb/$id/s$_.pdb", $_ * 3600, $large) for 1 .. 3;
$config->{cache}{max_size} = '0';
$config->{cache}{downloads_max_size} = '' . 2 * $block;
$t->write_helper_config($config);
kill 'HUP', $t->{helper};
$t->wait_until('a pass by size of the downloads',
    sub { removed('max_size') == 12 });
is_deeply [grep { -e $t->path("downloads/default/s$_.pdb") } 1 .. 3], [1, 2],
    'the oldest download goes, and nothing else';

# whatever is taken away, and a pass is none the worse

for my $gone ('store', 'downloads') {
    Test::Symcache::remove_tree($t->path($gone));
    my $before = passes();
    $t->wait_until("$gone is gone", sub { passes() > $before + 1 });
    is $t->metric('symcached_clean_failed'), 0, "$gone is gone"
        or diag $t->helper_log;
}
is $t->metric('symcached_clean_passes_total{result="failed"}'), 0,
    'no pass failed';

# a pass that is killed is told as what it is, and the next one comes

sub evicting {
    open my $fh, '<', "/proc/$t->{helper}/task/$t->{helper}/children" or return;
    return grep {
        ($t->read_file("/proc/$_/cmdline") // '') =~ /\0--evict\0all\0/
    } split ' ', <$fh> // '';
}
mkdir $t->path("store/m$_.pdb") for 1 .. 3000;
$t->wait_until('a pass is killed', sub {
    mkdir $t->path("store/m$_.pdb") for 1 .. 3000; # empty folders go
    kill 'KILL', $_ for evicting();
    return $t->metric('symcached_clean_passes_total{result="failed"}') > 0;
});
# a thread writes the log
$t->wait_until('a pass that was killed is told', sub { $t->helper_log =~
    /\[error\] \d+: clean: the pass ended with signal 9 \(Killed\), and another one begins in its time$/m });
my $before = passes();
ok $t->wait_until('another pass', sub { passes() > $before }), 'and another one';

$t->finish;
done_testing;
