#!/usr/bin/env perl

# What the second thread does, which there is for files of 2 MB and more.
# Entries that are read while they are decompressed: what becomes of them must
# be what becomes of the same ones that are not compressed; of damaged ones,
# what becomes of a file without entries.  Functions that are written while the
# next units are read: the output must be that of the same file when it has
# less than 2 MB.

use strict;
use warnings;

use FindBin qw($Bin);
use lib "$Bin/lib", "$Bin/../lib";
use Compress::Raw::Zlib;
use Test::File;
use Test::More;

use Corpus;

plan skip_all => 'no gcc or objcopy'
    if grep { system("which $_ >/dev/null 2>&1") != 0 } qw(gcc objcopy);

my $corpus = Corpus->new;
my $work = $corpus->work;


sub run {
    my ($command) = @_;
    system("cd '$work' && $command") == 0 or die "$command: $?";
}


# The SymCache of a file, or the exit code.

sub ours {
    my ($name) = @_;
    my ($code, $err, $out) = $corpus->convert("$work/$name");
    return $code == 0 ? slurp($out) : "exit code $code";
}


# Offset and size of the compressed section.

sub entries {
    my ($bytes) = @_;
    my ($at) = unpack 'x40 Q<', $bytes;
    my ($count, $names) = unpack 'x60 v2', $bytes;
    my @sections = map { [unpack 'V2 Q<4', substr $bytes, $at + 64 * $_, 64] }
        0 .. $count - 1;
    my $text = substr $bytes, $sections[$names][4], $sections[$names][5];
    my ($found) = grep {
        unpack('Z*', substr $text, $_->[0]) eq '.debug_info'
    } @sections;
    return @$found[4, 5];
}


# Functions before and behind 60,000 variables, and 2 MB of other data.

spew("$work/large.c", join "\n", 'char other[2 << 20] = {1};',
     'int first(int a) { return a + 1; }',
     (map { 'int v' . $_ * 7919 % 1_000_003 . '[' . ($_ * 31 % 977 + 1) . '];' }
          1 .. 60_000),
     'static inline int add(int a) { return a + v7919[0]; }',
     'int last(int a) { return add(a) * add(a + 1); }', '');
run('gcc -g -O2 -fno-common -fPIC -shared -Wl,--build-id -o plain large.c');
run('objcopy --compress-debug-sections=zlib plain packed');
run('objcopy --remove-section=.debug_info plain none');
my $packed = slurp("$work/packed");
my ($at, $size) = entries($packed);
cmp_ok($size, '>', 256 << 10, 'the section is large');

my ($whole, $none) = (ours('plain'), ours('none'));
like($whole, qr/large\.c/, 'a plain file has lines');
unlike($none, qr/large\.c/, 'one without entries has none');
is(ours('packed'), $whole, 'compressed entries are those of the plain file');
my $alone = "$work/alone.symcache";
my $program = $corpus->build . '/pdb2symcache';
run("'$program' --no-sandbox packed -o '$alone'");
is(slurp($alone), $whole, '... also without a sandbox');

# Where 64 bytes of damage are an error to zlib. Others become other data, and if
# that is more than is stated, it is cut there and read, as by the reference.

sub harmful {
    my ($bytes, $at, $size) = @_;
    for (my $offset = $size >> 1; $offset + 100 < $size; $offset += 64) {
        my $section = substr $bytes, $at, $size;
        substr($section, $offset, 64) = "\xff" x 64;
        my ($data, $stated) = (substr($section, 24), unpack 'x8 Q<', $section);
        my $inflate = Compress::Raw::Zlib::Inflate->new(-LimitOutput => 1);
        my ($status, $done, $out) = (Z_OK, 0);
        while (($status == Z_OK || $status == Z_BUF_ERROR) && $done < $stated) {
            $status = $inflate->inflate($data, $out);
            $done += length $out;
            $out = '';
        }
        return $offset if $status == Z_DATA_ERROR && $done < $stated;
    }
    die 'no damage is an error';
}


sub changed {
    my ($offset, $bytes) = @_;
    my $file = $packed;
    substr($file, $offset, length $bytes) = $bytes;
    spew("$work/changed", $file);
    return ours('changed');
}

my $stated = unpack 'Q<', substr $packed, $at + 8, 8;
my $sum = substr $packed, $at + $size - 4, 4;
is(changed($at + $size - 4, $sum ^ "\1\0\0\0"), $none,
   'a wrong checksum at the end: no entries');
is(changed($at + harmful($packed, $at, $size), "\xff" x 64), $none,
   'damage in the middle: no entries');
is(changed($at + 8, pack 'Q<', $stated + 100), $whole,
   'they end before their stated size: that counts');
is(changed($at + 8, pack 'Q<', $stated - 100), 'exit code 8',
   'they are cut at their stated size: damaged');


is(changed($at + 8, pack 'Q<', 0), $none, 'they are stated to be empty');
is(changed($at + 8, pack 'Q<', 1 << 60), $none,
   'they are stated to be more than they can: no entries');
is(changed($at + 24, "\0\0"), $none, 'no header of zlib: no entries');
is(changed($at + 24, "\xf8\0"), $none,
   'a larger window than zlib has: no entries');

# Units of all sizes: functions of many are written together, those of one
# wait, and those of a large one are written on the way.

my @sizes = ((3) x 20, (90) x 4, 500, (40) x 5, 200, 7);
for my $unit (0 .. $#sizes) {
    spew("$work/unit$unit.c", "extern volatile int v; int f_${unit}_0(int);\n"
        . "static inline int u(int a) { return a * 3 + v; }\n"
        . "static inline int t$unit(int a) {\n int i, s = u(a);\n"
        . " for (i = 0; i < a; i++) s += u(v) ^ s;\n return s; }\n"
        . join '', map { "int f_${unit}_$_(int a) {\n if (a > v)\n"
        . "  return t$unit(a + $_);\n return u(a); }\n" } 1 .. $sizes[$unit]);
}
spew("$work/v.c", 'volatile int v;');
run('gcc -g -O2 -fPIC -shared -Wl,--build-id -o units unit*.c v.c');
cmp_ok(-s "$work/units", '<', 2 << 20, 'a file of less than 2 MB');
cmp_ok((entries(slurp("$work/units")))[1], '>', 256 << 10,
       'with enough entries for another thread');
$whole = ours('units');
run('cp units padded && truncate -s 3M padded');
is(ours('padded'), $whole, 'functions that another thread writes');
run("'$program' --no-sandbox padded -o '$alone'");
is(slurp($alone), $whole, '... also without a sandbox');
SKIP: {
    my $limit = 'ulimit -S -s 4000000';
    skip 'stacks cannot be so large here', 1
        if system("$limit 2>/dev/null") != 0;
    is(system("cd '$work' && $limit && '$program' padded -o stack"), 0,
       '... whose stack is not as large as the limit of stacks, 4 GB');
}
my @functions = qx('@{[$corpus->build]}/symcachectl' dump '$alone');
is((grep { /\bf_\d+_\d+$/ } @functions), eval(join '+', @sizes),
   'all functions are there');

# Damaged entries, here at places that a generator of numbers gives: the same
# failure, or the same of what is left.

my $state = 1;
my $units = slurp("$work/units");
my ($start, $length) = entries($units);

sub number { return ($state = ($state * 1103515245 + 12345) % 2**31) >> 8 }

for my $round (1 .. 16) {
    my $file = $units;
    for (1 .. $round % 3 + 1) {
        substr($file, $start + number() % $length, 1) = chr(number() % 256);
    }
    my @made;
    for my $end ('', "\0" x (2 << 20)) {
        spew("$work/damaged", $file . $end);
        my ($code, $err, $out) = $corpus->convert("$work/damaged");
        push @made, [$code, $err, $code == 0 ? slurp($out) : ''];
    }
    is_deeply($made[1], $made[0],
              "damage $round: exit code $made[0][0], with a thread too");
}

# What cannot be written counts before a later entry that cannot be read.  A
# unit with a function in which 5000 calls are inlined into each other, 300,000
# bytes of variables, and an entry of no known kind.  Abbreviations: 1 is a
# unit, 2 a function, 3 an inlined call, 4 a variable.

sub unit {
    my ($entries) = @_;
    $entries = pack('vVCCQ<V', 4, 0, 8, 1, 0x1000, 0x1000) . $entries . "\0";
    return pack('V', length $entries) . $entries;
}

my @code = (0x11, 0x01, 0x12, 0x06, 0, 0); # low_pc, and the size as high_pc
spew("$work/abbrev", pack 'C*', 1, 0x11, 1, @code, 2, 0x2e, 1, @code,
     3, 0x1d, 1, @code, 4, 0x34, 0, 0x1c, 0x0b, 0, 0, 0);
my $range = pack 'Q<V', 0x1000, 0x1000;
spew("$work/info", unit("\2$range" . "\3$range" x 5000 . "\0" x 5001)
     . unit("\4\1" x 150_000) . unit("\x4d"));
run('gcc -fPIC -shared -Wl,--build-id -o v v.c');
run('objcopy --add-section .debug_info=info --add-section '
    . '.debug_abbrev=abbrev v bad');
is(ours('bad'), 'exit code 9', 'calls are nested too deep before damage');
run('truncate -s 3M bad');
is(ours('bad'), 'exit code 9', '... which another thread finds out');

# As deep as is allowed, on a stack that was meant to be small.

spew("$work/info", unit("\2$range" . "\3$range" x 1990 . "\0" x 1991));
run('objcopy --add-section .debug_info=info --add-section '
    . '.debug_abbrev=abbrev v deep');
is(system("cd '$work' && ulimit -S -s 256 && '$program' deep -o stack"), 0,
   'calls that are nested so deep need more stack than 256 KB');

done_testing;
