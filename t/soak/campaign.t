#!/usr/bin/perl

# A random campaign against everything together, see Test::Soak: ten seconds
# of it, and as long as one wants with "make soak".
#
#   SOAK_SECONDS  of faults; without it five of seed 1 and five of a new one
#   SOAK_SEED     to repeat one
#   SOAK_KEYS     how many there are
#   SOAK_LIMIT    seconds in which each key has to be served then

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Soak;
use Test::Soak::Disk;
use Test::Symcache;

plan skip_all => 'needs zstd' if system('zstd -qV >/dev/null 2>&1') != 0;
my ($disk, $why) = Test::Soak::Disk::enter('96m');

my $long = $ENV{SOAK_SECONDS};
my $san = $Test::Symcache::san;
my $seconds = $long // 5;
my $rounds = 1 + int $seconds / 20;
my $keys = $ENV{SOAK_KEYS} // ($long && !$san ? 240 : 60);
# a slow machine is not what a test is to find
my $limit = $ENV{SOAK_LIMIT}
    // (!$long ? $Test::Symcache::patience : $san ? 20 : 5);

sub campaign {
    my ($seed) = @_;
    diag "SOAK_SEED=$seed";
    my $soak = Test::Soak->new(seed => $seed, keys => $keys, disk => $disk,
                               no_disk => $why, limit => $limit,
                               keep => $long);
    for my $n (1 .. $rounds) {
        # who is never killed is looked at for what it holds, and as long as
        # the clock is right for what it removes
        $soak->round(seconds => $seconds / $rounds, without => [
            ($n + $seed) % 2 ? qw(kill term near_kill) : (),
            2 * $n <= $rounds ? 'clock' : (),
            $n % 3 ? 'tier_away' : (),
        ]);
    }
    $soak->end;
    is scalar($soak->violations), 0, "seed $seed: no violation";
    diag $_ for $soak->violations;
    note $soak->table;
    $soak->clear;
}

campaign($_) for $ENV{SOAK_SEED}
    // ($long ? () : 1, 2 + int rand 1_000_000);

done_testing;
