#!/usr/bin/perl

# t/system/reload.t for a minute.

use strict;
use warnings;

use FindBin;

$ENV{SYMCACHE_SOAK} //= 60;
exec $^X, "$FindBin::Bin/../system/reload.t" or die "exec: $!";
