#!/usr/bin/perl

# t/symbolicated/cost.t with bodies that are as large as they may be.

use strict;
use warnings;

use FindBin;

$ENV{HOSTILE_MIB} //= 54;
exec $^X, "$FindBin::Bin/../symbolicated/cost.t" or die "exec: $!";
