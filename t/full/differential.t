#!/usr/bin/perl

# t/symbolicated/differential.t at length: with all modules of t/data, and with
# other random numbers each time.

use strict;
use warnings;

use FindBin;

$ENV{DIFFERENTIAL_REQUESTS} //= 3000;
$ENV{SYMCACHE_SEED} //= time;
exec $^X, "$FindBin::Bin/../symbolicated/differential.t" or die "exec: $!";
