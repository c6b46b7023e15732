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

sub inflated {
    my ($name) = @_;
    my ($in, $out) = ($t->read_file("$name.gz"));
    gunzip \$in => \$out or die "$name.gz: $GunzipError";
    return $out;
}

sub mtime { (stat $_[0])[9] }
sub made { $t->metric('symcached_gzip_made_total') }

sub wait_made {
    my ($n) = @_;
    $t->wait_until("$n sidecars", sub { made() == $n });
}

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
$t->start_symcached(\%config);

is $t->helper('GET', "$lookup&wait=60")->{status}, 200, 'published';
is $t->helper('GET', $lookup)->{status}, 200, 'used';
ok !-e "$file.gz", 'by default there is no sidecar';

# --- at the next use

my $store = $config{stores}{default};
$store->{gzip} = JSON::PP::true();
$t->write_helper_config(\%config);
kill 'HUP', $t->{helper};
$t->wait_until('reload', sub {
    $t->metric('symcached_reloads_total{result="ok"}') == 1 });
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
is mtime("$file.gz"), mtime($file), 'and that of the sidecar';
is made(), 1, 'it stays the same';

# --- a sidecar of another file

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

# --- published anew: the former sidecar is gone before the file comes

$t->write_file("$file.gz", 'of a former file');
is $t->helper('GET', "$lookup&wait=60")->{status}, 200, 'published again';
wait_made(4);
is inflated($file), $t->read_file($file), 'has a sidecar of its own';

# --- with its file

utime 1, 1, $file or die;
$t->wait_until('the file is removed', sub { !-e $file });
ok !-e "$file.gz", 'its sidecar has gone before it';

# --- failure

$t->write_file($file, 'x');
mkdir "$file.gz" or die;
$t->helper('GET', $lookup);
$t->wait_until('failure', sub {
    $t->metric('symcached_gzip_failed_total') == 1 });
like $t->helper_log, qr/\.gz" was not made: .*the file itself is served/,
    'a failure is logged';
rmdir "$file.gz" or die;

is $t->metric('symcached_gzip_skipped_total'), 0, 'none was skipped';

$t->finish;
done_testing;
