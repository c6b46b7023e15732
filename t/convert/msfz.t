#!/usr/bin/env perl

# A compressed PDB (MSFZ) becomes the SymCache of the PDB that was compressed,
# however it was compressed, and what is damaged is refused with its place.
# Containers are made by t/lib/Test/Msfz.pm, from the public description, and one
# by pdbtool of microsoft/pdb-rs.

use strict;
use warnings;

use FindBin qw($Bin);
use lib "$Bin/lib", "$Bin/../lib";
use Test::File;
use Test::More;
use Test::Msfz;

use Corpus;

my $corpus = Corpus->new;
my $work = $corpus->work;
my $data = $corpus->root . '/t/data';

sub converted {
    my ($bytes) = @_;
    my ($code, $err, $out, $files) =
        $corpus->convert(spew("$work/x.pdb", $bytes));
    return ($code, $err, @$files == 1 ? slurp($files->[0]) : undef);
}

my %forms = (
    'zstd' => {},
    'deflate' => { packed => 2 },
    'no compression' => { packed => 0 },
    'many small chunks' => { chunk => 5000 },
    'chunks in reverse' => { chunk => 50_000, backwards => 1 },
    'streams in parts' => { chunk => 100_000, split => 777 },
    'one stream plain' => { plain => 3 },
    'one stream plain, in parts' => { plain => 3, split => 1000 },
);

for my $pdb ("$data/pdb/crash.pdb", "$data/pdb/omap_stretched.pdb",
    $corpus->unpacked("$data/convert/derived/blocks512.pdb.zst"),
    $corpus->unpacked("$data/convert/msvc/winpty-arm64.pdb.zst"))
{
    my ($name) = $pdb =~ m{([^/]+)$};
    my $bytes = slurp($pdb);
    my (undef, undef, $wanted) = converted($bytes);
    my @streams = msf_streams($bytes);
    ok defined $wanted, "$name: is converted";
    for (sort keys %forms) {
        my ($code, $err, $got) = converted(msfz(\@streams, %{ $forms{$_} }));
        ok defined $got && $got eq $wanted, "$name, $_: the same SymCache"
            or diag "$code $err";
    }
}

my $of_pdbtool = slurp("$data/convert/msfz/gnu-ld.pdb");
my $pdb = slurp($corpus->unpacked("$data/convert/generated/gnu-ld.pdb.zst"));
is_deeply [converted($of_pdbtool)], [converted($pdb)], 'one made by pdbtool';

# --- what is damaged

my @streams = msf_streams(slurp("$data/pdb/crash.pdb"));
my $good = msfz(\@streams, chunk => 300_000);

sub patched {
    my ($at, $bytes) = @_;
    my $bad = $good;
    substr($bad, $at, length $bytes) = $bytes;
    return $bad;
}

sub refused {
    my ($name, $bytes, $wanted, $text) = @_;
    my ($code, $err, $got) = converted($bytes);
    is $code, $wanted, "$name: exit code" or diag $err;
    like $err, $text, "$name: reason";
    is $got, undef, "$name: nothing written";
}

my ($dir, $table) = unpack 'Q<2', substr $good, 40, 16;
my ($nstreams, undef, $dir_packed) = unpack 'V3', substr $good, 56, 12;
my $row = sub { patched($table + $_[0], $_[1]) };

refused('another version', patched(32, pack 'Q<', 7), 6, qr/version 7/);
refused('another compression', patched(60, pack 'V', 3), 6, qr/compression 3/);
refused('no stream', patched(56, pack 'V', 0), 8, qr/directory of 0 streams/);
refused('more streams', patched(56, pack 'V', $nstreams + 1), 8,
        qr/the directory ends in stream $nstreams/);
refused('more streams than bytes', patched(56, pack 'V', 0x40000000), 8,
        qr/directory of 1073741824 streams/);
refused('directory behind the end', patched(40, pack 'Q<', 1 << 40), 11,
        qr/truncated.*would be at 1099511627776/);
refused('directory of another size', patched(68, pack 'V', 100_000), 8,
        qr/does not unpack to 100000 bytes/);
refused('directory too large', patched(68, pack 'V', 1 << 28), 9,
        qr/directory of 268435456 bytes/);
refused('chunks behind the end', patched(48, pack 'Q<', 1 << 40), 11,
        qr/table of chunks/);
refused('another number of chunks', patched(72, pack 'V', 2), 8,
        qr/table of 2 chunks/);
refused('empty chunk', $row->(16, pack 'V', 0), 8, qr/chunk 0 of 0 bytes/);
refused('large chunk', $row->(16, pack 'V', 1 << 31), 8,
        qr/chunk 0 of 2147483648 bytes/);
refused('smaller chunk', $row->(16, pack 'V', 200_000), 8, qr/damaged/);
refused('chunk behind the end', $row->(20, pack 'Q<', 1 << 40), 11,
        qr/chunk 1 would be at/);
refused('chunk of other data', $row->(20, pack 'Q<', 80), 8,
        qr/does not unpack/);
refused('first half', substr($good, 0, length($good) / 2), 11, qr/truncated/);
refused('header alone', substr($good, 0, 40), 11, qr/truncated/);

# A part of a chunk that is used twice makes a small file large.
my $overlap = msfz([@streams], packed => 0, chunk => 1 << 21);
my ($at) = unpack 'Q<', substr $overlap, 40, 8;
$at += 4 while unpack('V', substr $overlap, $at, 4) =~ /^(?:0|4294967295)$/;
my $next = $at + 12;
$next += 4 while unpack('V', substr $overlap, $next, 4) =~ /^(?:0|4294967295)$/;
substr($overlap, $next + 4, 8) = substr $overlap, $at + 4, 8;
refused('overlap', $overlap, 8, qr/parts of streams overlap/);

# Zeros compress more than a PDB does.
refused('a bomb', msfz(["\0" x 60_000_000, ('') x 5], chunk => 1 << 24), 9,
        qr/more than 200 times as large/);

done_testing;
