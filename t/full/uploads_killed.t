#!/usr/bin/env perl

# t/helper/uploads_killed.t with 200 files.

use strict;
use warnings;

use FindBin;

our $files = 200;
my $test = "$FindBin::Bin/../helper/uploads_killed.t";
do $test or die $@ || "$test: $!";
