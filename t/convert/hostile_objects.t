#!/usr/bin/env perl

# Object files that ask for much more work than they have bytes: each is
# refused for that, or for what is wrong with it, and none runs into the limit
# of time (which would be the same exit code with another text).

use strict;
use warnings;

use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::More;

use Corpus;

my $corpus = Corpus->new;


sub ends {
    my ($name, $bytes, $code, $text) = @_;
    my $file = $corpus->work . '/hostile.bin';
    open my $f, '>:raw', $file or die "$file: $!";
    print $f $bytes;
    close $f;
    my ($got, $err) = $corpus->convert($file);
    is($got, $code, "$name: exit code") or diag($err);
    like($err, $text, "$name: text") if $text;
}


sub leb128 {
    my ($n) = @_;
    my $bytes = '';
    do {
        my $more = $n >> 7;
        $bytes .= chr(($n & 127) | ($more ? 128 : 0));
        $n = $more;
    } while ($n);
    return $bytes;
}

sub part { return leb128(length $_[0]) . $_[0] }
sub wasm { return "\0asm\1\0\0\0" . join '', @_ }
sub macho {
    my ($count, @commands) = @_;
    my $commands = join '', @commands;
    return pack('V8', 0xfeedfacf, 0x01000007, 3, 6, $count,
                length $commands, 0, 0) . $commands;
}

my $work = qr/needs more work than a file of its size may/;

# 300,000 symbols with one name, or parts of it, of 8 MB

my $count = 300_000;
my $text = pack('V2 a16 Q<4 V4', 0x19, 152, '__TEXT', 0, 4096, 0, 0, 7, 5, 1, 0)
    . pack('a16 a16 Q<2 V8', '__text', '__TEXT', 0, 4096, 4096, (0) x 7);
my $table = 32 + 152 + 24;
my $symtab = pack('V6', 2, 24, $table, $count, $table + 16 * $count, 8 << 20);
my $name = '_' . 'a' x (8 << 20) . "\0";
ends('one name', macho(2, $text, $symtab)
     . pack('V C2 v Q<', 0, 15, 1, 0, 16) x $count . $name, 9, $work);
ends('parts of a name', macho(2, $text, $symtab)
     . join('', map { pack 'V C2 v Q<', $_, 15, 1, 0, 16 + $_ } 1 .. $count)
     . $name, 9, $work);

# 200,000 times a command of no length, for all the sections that there are

my $segment = pack('V2 a16 Q<4 V4', 0x19, 0, '__TEXT', (0) x 6, 0xffffffff, 0);
ends('one segment', macho(200_000, $segment . "\0" x (8 * 200_000)), 9, $work);

# 65,535 sections to be searched for 100,000 exports, of which each is in
# another one than that before

my $optional = pack('v x34 V x68 V V2', 0x20b, 512, 16, 0x10000000, 40)
    . "\0" x 120;
my $head = pack('a60 V a4 v2 V3 v2', 'MZ', 64, "PE\0\0", 0x8664, 65535, 0, 0, 0,
                length $optional, 0x2000);
my ($n, $at) = (100_000, 0x10000000 + 40);
my $raw = length($head . $optional) + 65535 * 40;
my $exports = pack('V2 v2 V7', 0, 0, 0, 0, $at + 10 * $n, 1, $n, $n, $at,
                   $at + 4 * $n, $at + 8 * $n)
    . pack('V*', 1 .. $n)
    . pack('V2', $at + 10 * $n, $at + 10 * $n + 0x01000000) x ($n / 2)
    . "\0\0" x $n
    . "name\0";
ends('sections and exports', $head . $optional
    . join('', map { pack 'a8 V2 x20 V', '.x', 1, 0x20000000 + $_, 0 }
           1 .. 65533)
    . join('', map { pack 'a8 V4 x12 V', '.e', length $exports, $_,
                     length $exports, $raw, 0 } 0x10000000, 0x11000000)
    . $exports, 9, $work);

# ELF: 8 MB of notes in 65,000 segments, of text in 60,000 symbol tables, and
# of a name in 60,000 sections


sub elf {
    my ($segments, $body, @sections) = @_;
    my $at = 64 + length($segments) + length $body;
    return pack('a4 C3 x9 v2 V Q<3 V v6', "\177ELF", 2, 1, 1, 3, 62, 1, 0, 64,
                $at, 0, 64, 56, length($segments) / 56, 64, scalar @sections, 1)
        . $segments . $body . join '', @sections;
}


sub section {
    my ($type, $offset, $size) = @_;
    return pack 'V2 x16 Q<2 V2 Q<2', 1, $type, $offset, $size, 1, 0, 1, 24;
}

my $size = 8 << 20;
my ($none, $strings) = ("\0" x 64, section(3, 64, $size));
ends('notes', elf(pack('V2 Q<6', 4, 4, 64 + 56 * 65_000, 0, 0, $size - 8,
                       $size - 8, 4) x 65_000,
                  pack('V3', 0, 0, 7) x ($size / 12), $none, section(3, 0, 0)),
     0);
ends('symbol tables', elf('', "\0" . "\xc3\xa9" x ($size / 2 - 1) . "\0",
                          $none, $strings, (section(2, 64, 24)) x 60_000), 0);
ends('names of sections', elf('', "\0" . 'a' x ($size - 2) . "\0",
                              $none, $strings,
                              (section(1, 64, 24)) x 60_000), 0);

# DWARF: 500,000 attributes that take no bytes, in each of a million entries or
# 80,000 units; 80,000 units of one list of 800,000 files; and 80,000 calls of
# functions whose hashes are the same


sub dwarf {
    my (@parts) = @_;
    my $names = "\0.debug_info\0.debug_abbrev\0.debug_line\0.debug_ranges\0"
        . ".names\0";
    my $at = 64 + length $names;
    my @sections = ("\0" x 64, pack('V2 x16 Q<2 x8 Q< x8', 53, 3, 64,
                                    length $names, 1));
    for my $name (1, 13, 27, 39) {
        my $size = length($parts[@sections - 2] // '');
        push @sections, pack('V2 x16 Q<2 x8 Q< x8', $name, 1, $at, $size, 1);
        $at += $size;
    }
    return elf('', $names . join('', @parts), @sections);
}

sub unit { return pack('V v V C', 7 + length $_[0], 4, 0, 8) . $_[0] }
sub abbrev {
    my ($code, $tag, $children, @attributes) = @_;
    return pack 'C*', $code, $tag, $children, @attributes, 0, 0;
}

my ($external, $low, $high, $lines) = ([0x3f, 0x19], [0x11, 1], [0x12, 6],
                                       [0x10, 0x17]);
my @empty = (0x55, 0x19, (@$external) x 500_000); # ranges that are none
my $root = "\1" . pack 'Q<', 16;
ends('entries of empty attributes',
     dwarf(unit($root . "\2" x 1_000_000),
           abbrev(1, 0x11, 1, @$low) . abbrev(2, 0x2e, 0, @empty) . "\0"),
     9, $work);
ends('units of empty attributes',
     dwarf(unit($root) x 80_000, abbrev(1, 0x11, 0, @$low, @empty) . "\0"),
     9, $work);

my $header = pack('C6', 1, 1, 1, 0, 14, 1) . "\0" . "f\0\1\0\0" x 800_000
    . "\0";
ends('units of many files',
     dwarf(unit($root . pack 'V', 0) x 80_000,
           abbrev(1, 0x11, 0, @$low, @$lines) . "\0",
           pack('V v V', 6 + length $header, 4, length $header) . $header),
     9, $work);

# as much work as is allowed, and memory for one list only

ends('functions of one list of ranges',
     dwarf(unit($root . ("\2" . pack 'V', 0) x 120),
           abbrev(1, 0x11, 1, @$low) . abbrev(2, 0x2e, 0, 0x55, 0x17) . "\0",
           '', join('', map { pack 'Q<2', 4096 + 4 * $_, 4100 + 4 * $_ }
                        1 .. 500_000)), 0);

# multiples of what undoes the multiplication in the hash of a place
use integer;
no warnings 'portable';
my $inverse = 0x9E3779B97F4A7C15;
$inverse *= 2 - 0x9E3779B97F4A7C15 * $inverse for 1 .. 5;
my $calls = join '', map {
    "\3" . pack 'Q<2 V', $_ * $inverse & (1 << 55) - 1, 16, 16
} 1 .. 80_000;
no integer;
ends('calls of one hash',
     dwarf(unit($root . "\2" . pack('Q< V', 16, 16) . $calls),
           abbrev(1, 0x11, 1, @$low) . abbrev(2, 0x2e, 1, @$low, @$high)
           . abbrev(3, 0x1d, 0, 0x31, 0x14, @$low, @$high) . "\0"), 9, $work);

# counts of which there is nothing

my $huge = leb128(0xffffffff);
ends('functions', wasm("\3", part($huge), "\x0a", part($huge)), 8,
     qr/another size/);
ends('imports', wasm("\2", part($huge . "\0" x 400)), 8, qr/another size/);
ends('names', wasm("\0", part(part('name') . "\1" . part($huge))), 8,
     qr/cut off/);
ends('a type', wasm("\2", part("\1\0\0\1\x63" . "\x80" x 1_000_000)), 8,
     qr/another size/);

# a million functions are fine

ends('a million functions', wasm(
    "\3", part(leb128(1_000_000) . "\0" x 1_000_000),
    "\x0a", part(leb128(1_000_000) . "\2\0\x0b" x 1_000_000)), 0);

done_testing;
