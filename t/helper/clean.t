#!/usr/bin/env perl

# What is removed when it was not used for long, and what never is.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $day = 86400;

# A file that was used so many seconds ago.
sub used {
    my ($name, $age) = @_;
    my $file = $t->write_file($name, 'x' x 10);
    utime time - $age, time - $age, $file or die;
    return $file;
}

my @old = map { used(@$_) } (
    ["store/a.pdb/$id/a.pdb-v9.0.0.symcache", 7 * $day + 60],
    ["store/a.pdb/$id/a.pdb-v9.0.0.symcache.gz", 7 * $day + 60],
    ["store/b.pdb/$id/b.pdb-v9.0.0.absent", $day + 60],
    ["store/b.pdb/${id}0/b.pdb-v9.0.0.symcache", 30 * $day],
    ["downloads/default/a.pdb/$id/a.pdb", $day + 60],
);
my @kept = map { used(@$_) } (
    ["store/a.pdb/${id}0/a.pdb-v9.0.0.symcache", 7 * $day - 600],
    ["store/c.pdb/$id/c.pdb-v9.0.0.absent", $day - 600],
    ["downloads/default/c.pdb/$id/c.pdb", $day - 600],
    # none of ours
    ["store/a.pdb/$id/a.pdb", 30 * $day],
    ["store/a.pdb/$id/b.pdb-v9.0.0.symcache", 30 * $day],
    ["store/A.pdb/$id/A.pdb-v9.0.0.symcache", 30 * $day],
    ['store/README', 30 * $day],
    ['store/.hidden', 30 * $day],
    ["store/a.pdb/$id/deeper/a.pdb-v9.0.0.symcache", 30 * $day],
    ["downloads/default/a.pdb/$id/other.pdb", 30 * $day],
);

my $outside = used('outside/x/y-v9.0.0.symcache', 30 * $day);
symlink $t->path('outside'), $t->path('store/link') or die;
used("store/m.pdb/$id$_/m.pdb-v9.0.0.symcache", 30 * $day)
    for map { sprintf '%X', $_ } 1 .. 600;

$t->start_symcached({
    stores => { default => { root => $t->path('store') } },
    cache => { clean_every => '1s' },
});
$t->wait_until('a pass', sub {
    ($t->metric('symcached_cleaned_files_total') // 0) == 605
        && $t->helper_log =~ /\] \d+: clean files=/;
});

is_deeply [grep { -e } @old], [], 'what was not used for long is gone';
is_deeply [grep { !-e } @kept], [], 'everything else is there';
ok -e $outside, 'links are not followed';
ok !-d $t->path('store/m.pdb'), 'empty folders go';
ok !-d $t->path("store/b.pdb"), 'with the one above them';
ok -d $t->path('store'), 'the root stays';
is $t->metric('symcached_cleaned_bytes_total'), 6050, 'bytes are counted';

# a hit keeps a file

my ($hit) = map { used(@$_) }
    ["store/h.pdb/$id/h.pdb-v9.0.0.symcache", 6 * $day];
is $t->helper('GET', "/v1/symcache/default/h.pdb/$id?version=9.0.0")
    ->{status}, 200, 'a hit';
cmp_ok time - (stat $hit)[9], '<', 600, 'is the last use of the file';

$t->finish;
done_testing;
