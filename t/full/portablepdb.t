#!/usr/bin/perl

# t/convert/portablepdb.t with all damaged files.

use strict;
use warnings;

use FindBin;

$ENV{PPDB_ALL} = 1;
exec $^X, "$FindBin::Bin/../convert/portablepdb.t" or die "exec: $!";
