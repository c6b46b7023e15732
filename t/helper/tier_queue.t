#!/usr/bin/perl

# The queue of what is to be stored in a tier has a limit: 1000 files wait, and
# more are counted as dropped.

use strict;
use warnings;

use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;
use Test::Tier;

my ($limit, $more) = (1000, 7); # docs/fleet.md
my $t = Test::Symcache->new;
my $fleet = Test::Tier->new($t,
    tier => { type => 'filesystem', path => $t->path('unmounted') });

$fleet->machine;
is $fleet->ask($fleet->{key}), 200, 'a file is made';
$fleet->wait_metric('breaker{tier="fleet",way="put"}', 1);
$fleet->wait_metric('queue{tier="fleet"}', 1);
my $plain = $t->read_file($fleet->file);

# files that were on the disk before the tier, and are used again
my $old = time - 7200;
my $id = $Test::Symcache::key{'crash.pdb'};
my @status;
for my $n (2 .. $limit + $more) {
    my $dir = $t->path("store1/file$n.pdb/$id");
    my $file = "$dir/file$n.pdb-v9.0.0.symcache";
    make_path($dir);
    $t->write_file($file, $plain);
    utime $old, $old, $file or die "$file: $!";
    my $status = $fleet->ask("file$n.pdb/$id");
    push @status, "file$n: $status" if $status != 200;
    is $fleet->metric('dropped_total'), 0, 'none is dropped of 1000'
        if $n == $limit;
}
is_deeply \@status, [], 'all are served meanwhile';

# one may be under way again when a pause is over; it comes back
$fleet->wait_metric('dropped_total', $more);
$fleet->wait_metric('queue{tier="fleet"}', $limit);
my ($tier) = @{ $t->helper_json('/v1/status')->{tiers} };
cmp_ok $tier->{queue}, '<=', $limit, 'the status has the same number';
is $fleet->metric('puts_total{result="failed"}'), 0, 'those that wait are not given up';

$t->finish;
done_testing;
