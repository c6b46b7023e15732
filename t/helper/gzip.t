#!/usr/bin/env perl

# "gzip" of a store: <file>.gz beside each file, made after publication and at
# the next use, and never older than its file.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Uncompress::Gunzip qw(gunzip $GunzipError);
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $file = $t->path("store/crash.pdb/$id/crash.pdb-v9.0.0.symcache");
my $lookup = "/v1/symcache/default/crash.pdb/$id?version=9.0.0";

$t->symbol_store('symbols');
my %config = (
    stores => { default => {
        root => $t->path('store'),
        transcoders => [{ version => '9.0.0',
            command => [$t->program('pdb2symcache'), '-pdb', '{pdb}'] }],
        sources => ['local'],
    } },
    sources => { local => { type => 'filesystem',
        path => $t->path('symbols'), layout => 'symstore' } },
    cache => { clean_every => '1s' },
);

sub inflated {
    my ($name) = @_;
    my ($in, $out) = ($t->read_file("$name.gz"));
    gunzip \$in => \$out or die "$name.gz: $GunzipError";
    return $out;
}

sub mtime { (stat $_[0])[9] }
sub made { $t->metric('symcached_gzip_made_total') }

sub reload {
    my ($n) = @_;
    $t->write_helper_config(\%config);
    kill 'HUP', $t->{helper};
    $t->wait_until('reload', sub {
        $t->metric('symcached_reloads_total{result="ok"}') == $n });
}

sub wait_made {
    my ($n) = @_;
    $t->wait_until("$n copies", sub { made() == $n });
}

$t->start_symcached(\%config);

is $t->helper('GET', "$lookup&wait=60")->{status}, 200, 'published';
is $t->helper('GET', $lookup)->{status}, 200, 'used';
ok !-e "$file.gz", 'by default there is no copy';

# --- at the next use

my $store = $config{stores}{default};
$store->{gzip} = JSON::PP::true();
reload(1);
is $t->helper('GET', $lookup)->{status}, 200, 'used again';
wait_made(1);
is inflated($file), $t->read_file($file), 'the same bytes';
is mtime("$file.gz"), mtime($file), 'the same time';
cmp_ok -s "$file.gz", '<', -s $file, 'smaller';
is $t->metric('symcached_gzip_bytes_total'), -s "$file.gz", 'counted';
like unpack('H20', $t->read_file("$file.gz")), qr/^1f8b0800000000000/,
    'its header has no name and no time';

# --- a use moves both

my $then = time - 7200;
utime $then, $then, $file, "$file.gz" or die;
$t->helper('GET', $lookup);
cmp_ok mtime($file), '>', $then, 'a use sets the time of the file';
is mtime("$file.gz"), mtime($file), 'and that of the copy';
is made(), 1, 'it stays the same';

# --- a copy of another file

$t->write_file($file, 'replaced by an administrator');
utime $then, $then, "$file.gz" or die;
$t->wait_until('the cleaner has removed it', sub { !-e "$file.gz" });
pass 'one that is older than its file is removed';
$t->helper('GET', $lookup);
wait_made(2);
is inflated($file), 'replaced by an administrator', 'and made again';
utime $then, $then, "$file.gz" or die;
$t->helper('GET', $lookup);
wait_made(3);
is mtime("$file.gz"), mtime($file), 'one that is older is made again';

unlink $file or die;
$t->wait_until('the cleaner has removed it', sub { !-e "$file.gz" });
pass 'one without a file is removed';

# --- published anew: the former copy is gone before the file comes

$t->write_file("$file.gz", 'of a former file');
is $t->helper('GET', "$lookup&wait=60")->{status}, 200, 'published again';
wait_made(4);
is inflated($file), $t->read_file($file), 'has a copy of its own';

# --- with its file

utime 1, 1, $file or die;
$t->wait_until('the file is removed', sub { !-e $file });
ok !-e "$file.gz", 'its copy has gone before it';

# --- failure, without a cleaner that takes empty folders away

$config{cache}{clean_every} = '1h';
reload(2);
$t->write_file($file, 'x');
mkdir "$file.gz" or die;
$t->helper('GET', $lookup);
$t->wait_until('failure', sub {
    $t->metric('symcached_gzip_failed_total') == 1 });
like $t->helper_log, qr/\.gz" was not made: .*the file itself is served/,
    'a failure is logged';
rmdir "$file.gz" or die;

is $t->metric('symcached_gzip_skipped_total'), 0, 'none was skipped';

# --- a process that is killed, and too many that wait

# The pid of the process that compresses, or undef.
sub compressing {
    open my $fh, '<', "/proc/$t->{helper}/task/$t->{helper}/children"
        or return;
    for my $pid (split ' ', <$fh> // '') {
        return $pid if ($t->read_file("/proc/$pid/cmdline") // '')
            =~ /^symcached-sandboxed\0--gzip\0/;
    }
    return;
}

# A file that takes long, and a lookup of it.
sub put_large {
    truncate $t->write_file($file, ''), 8 << 30 or die;
    $t->helper('GET', $lookup);
    return $t->wait_until('it is compressed', \&compressing);
}

my $failed = $t->metric('symcached_gzip_failed_total');
my $pid = put_large();

for my $i (1 .. 1002) {
    my $key = sprintf 'q.pdb/%032X1', $i;
    $t->write_file("store/$key/q.pdb-v9.0.0.symcache", 'x');
    $t->helper('GET', "/v1/symcache/default/$key?version=9.0.0");
}
is $t->metric('symcached_gzip_skipped_total'), 2, 'a thousand wait at most';

kill 'KILL', $pid;
$t->wait_until('failure', sub {
    $t->metric('symcached_gzip_failed_total') == $failed + 1 });
ok !-e "$file.gz", 'a killed process leaves no copy';
like $t->helper_log, qr/\.gz" was not made: its process was killed/,
    'and a line in the log';
unlink $file or die;
$t->wait_until('the others', sub { made() > 10 });
pass 'the others are made, one after the other';

# finish() looks for what a running one and those that wait leave behind

$t->finish;
done_testing;
