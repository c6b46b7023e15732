package Test::SparsePdb;

# A PDB whose blocks lie far apart in a sparse file: as large as one wants, with
# the streams of a small one, and hardly anything on the disk.
#
#   Test::SparsePdb::spread($t->data('pdb/crash.pdb'), $to, 12 * 2 ** 30);
#
# The numbers of blocks are in the superblock, the directory and its map (LLVM,
# "The MSF File Format").

use strict;
use warnings;

use Fcntl qw(SEEK_SET);
use Test::File qw(slurp);

# $size is rounded up to a block.  The file is given the mtime $mtime, if any.
sub spread {
    my ($from, $to, $size, $mtime) = @_;
    my $old = slurp($from);
    my ($block, undef, $n, $directory_size, undef, $map_at) =
        unpack 'x32 V6', $old;
    my $total = int(($size + $block - 1) / $block);
    my $at = sub { substr $old, $_[0] * $block, $block };

    # Superblock and free block maps stay; of each interval the blocks 1 and 2
    # are reserved for maps.
    my $new = sub {
        my ($i) = @_;
        return $i if $i < 3;
        my $j = int($i * ($total - 1) / ($n - 1));
        $j += 2 if $j % $block == 1 || $j % $block == 2;
        return $j;
    };
    my @directory_blocks = unpack 'V' . blocks($directory_size, $block),
        $at->($map_at);
    my $directory = substr join('', map { $at->($_) } @directory_blocks), 0,
        $directory_size;
    my ($streams) = unpack 'V', $directory;
    my @numbers = unpack 'V*', $directory;
    $_ = $new->($_) for @numbers[1 + $streams .. $#numbers];
    my $moved = pack 'V*', @numbers;

    open my $f, '>:raw', $to or die "$to: $!";
    my $put = sub {
        my ($i, $bytes) = @_;
        sysseek $f, $i * $block, SEEK_SET or die "$to: $!";
        (syswrite($f, $bytes) // -1) == length $bytes or die "$to: $!";
    };
    $put->($new->($_), $at->($_)) for 0 .. $n - 1;
    $put->(0, substr($old, 0, 40) . pack('V4', $total, $directory_size, 0,
        $new->($map_at)));
    $put->($new->($map_at), pack 'V*', map { $new->($_) } @directory_blocks);
    for my $i (0 .. $#directory_blocks) {
        $put->($new->($directory_blocks[$i]),
            substr $moved, $i * $block, $block);
    }
    truncate $f, $total * $block or die "$to: $!";
    close $f or die "$to: $!";
    utime $mtime, $mtime, $to if defined $mtime;
}

sub blocks { int(($_[0] + $_[1] - 1) / $_[1]) }

# The bytes that files and folders take on the disk.
sub on_disk {
    my ($kib) = qx(du -sk '$_[0]') =~ /^(\d+)/;
    return 1024 * $kib;
}

1;
