#!/usr/bin/perl

# Names, files, lines and inlined calls of 30 -dbg packages of Debian, of which
# some have passed dwz, and of programs of split DWARF, at 10,000 addresses each,
# beside gdb, addr2line and llvm-symbolizer: bench/names knows a class for each
# difference.  NAMES_PACKAGES names others.

use strict;
use warnings;

use Cwd qw(abs_path);
use FindBin qw($Bin);
use Test::More;

my $root = abs_path("$Bin/../..");
local $ENV{SYMCACHE_BUILD} =
    abs_path($ENV{SYMCACHE_BUILD} // "$root/build");

for my $tool (qw(python3 apt-get gdb addr2line dwz c++filt)) {
    plan skip_all => "no $tool" if system("$tool --version >/dev/null 2>&1");
}

my @packages = split ' ', $ENV{NAMES_PACKAGES} // '';
my $out = qx('$root/bench/names' @packages 2>&1);
is $?, 0, 'every difference has a class' or diag $out;
unlike $out, qr/: 0 found/, 'names are found everywhere';
note $out;

done_testing;
