package Test::Msfz;

# Writes compressed PDBs, by the description of MSFZ (docs/pdb/msfz.md of
# microsoft/pdb-rs), and reads the streams of ordinary ones.

use strict;
use warnings;

use Compress::Raw::Zlib;
use Exporter 'import';
use Test::File;

our @EXPORT = qw(msf_streams msfz);

my $magic = "Microsoft MSFZ Container\r\n\x1aALD\0\0";

# The streams of a PDB, undef for a nil one.
sub msf_streams {
    my ($pdb) = @_;
    my ($bs, undef, $nblocks, $size, undef, $map) =
        unpack 'V6', substr $pdb, 32, 24;
    my $blocks = sub { int(($_[0] + $bs - 1) / $bs) };
    my $read = sub { join '', map { substr $pdb, $_ * $bs, $bs } @_ };

    my @maps = unpack 'V*', substr $pdb, 52, 4 * $blocks->(4 * $blocks->($size));
    my @dir = unpack "V" . $blocks->($size), $read->(@maps);
    my @all = unpack 'V*', substr $read->(@dir), 0, $size;
    my @sizes = splice @all, 1, $all[0];
    shift @all;
    return map {
        $_ == 0xFFFFFFFF ? undef
            : substr $read->(splice @all, 0, $blocks->($_)), 0, $_
    } @sizes;
}

sub zstd {
    my ($data) = @_;
    my $file = "/tmp/msfz-$$.tmp";
    spew($file, $data);
    my $packed = qx(zstd -qc $file);
    unlink $file;
    die 'zstd' if $? != 0;
    return $packed;
}

sub deflate {
    my ($data) = @_;
    my ($z) = Compress::Raw::Zlib::Deflate->new(-WindowBits => -15,
                                                -AppendOutput => 1);
    my $packed = '';
    $z->deflate($data, $packed);
    $z->flush($packed);
    return $packed;
}

my @pack = (sub { $_[0] }, \&zstd, \&deflate);

# A container with these streams.  chunk: bytes in each; packed: how chunks and
# directory are compressed (0, 1 zstd, 2 deflate); plain: a stream that is not
# compressed; split: it and others consist of parts of this size; order: of the
# chunks in the file.
sub msfz {
    my ($streams, %opt) = @_;
    my ($chunk, $how) = ($opt{chunk} // 1 << 20, $opt{packed} // 1);
    my $all = join '', map { $_ // '' }
        map { $_ == ($opt{plain} // -1) ? '' : $streams->[$_] }
        0 .. $#$streams;
    my (@chunks, $at);
    for ($at = 0; $at < length $all; $at += $chunk) {
        push @chunks, substr $all, $at, $chunk;
    }
    my @packed = map { $pack[$how]->($_) } @chunks;
    my $file = $magic . "\0" x 48;
    my $table = '';
    my @at;
    for my $i ($opt{backwards} ? reverse 0 .. $#chunks : 0 .. $#chunks) {
        $at[$i] = length $file;
        $file .= $packed[$i];
    }
    $table .= pack 'Q<V3', $at[$_], $how, length $packed[$_], length $chunks[$_]
        for 0 .. $#chunks;

    my ($dir, $pos) = ('', 0);
    for my $i (0 .. $#$streams) {
        my $stream = $streams->[$i];
        if (!defined $stream) {
            $dir .= pack 'V', 0xFFFFFFFF;
            next;
        }
        my $is_plain = $i == ($opt{plain} // -1);
        my $place = length $file;
        $file .= $stream if $is_plain;
        for (my $in = 0; $in < length $stream;) {
            my $n = length($stream) - $in;
            $n = $opt{split} if $opt{split} && $n > $opt{split};
            $dir .= $is_plain ? pack 'VQ<', $n, $place + $in
                : pack 'V3', $n, $pos % $chunk,
                             0x80000000 | int($pos / $chunk);
            $in += $n;
            $pos += $n if !$is_plain;
        }
        $dir .= pack 'V', 0;
    }
    my $dir_packed = $pack[$how]->($dir);
    my ($dir_at, $table_at) =
        (length $file, length($file) + length $dir_packed);
    $file .= $dir_packed . $table;
    substr($file, 32, 48) = pack 'Q<3V6', 0, $dir_at, $table_at,
        scalar @$streams, $how, length $dir_packed, length $dir,
        scalar @chunks, length $table;
    return $file;
}

1;
