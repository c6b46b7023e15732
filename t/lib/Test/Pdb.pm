package Test::Pdb;

# A PDB with other named streams, as "link /SOURCELINK:" and pdbstr.exe make it.
#
#   my $pdb = Test::Pdb::with_streams(slurp('crash.pdb'), srcsrv => $text,
#       sourcelink => $json);
#
# A stream that has the name already is replaced.  LLVM documents "The MSF File
# Format" and "The PDB Info Stream".

use strict;
use warnings;

sub blocks { my ($size, $block) = @_; return int(($size + $block - 1) / $block) }

sub read_streams {
    my ($file) = @_;
    my ($block, undef, undef, $size, undef, $map) = unpack 'x32 V6', $file;
    my $at = sub { join '', map { substr $file, $_ * $block, $block } @_ };
    my @directory = unpack 'V' . blocks($size, $block), $at->($map);
    my @words = unpack 'V*', substr $at->(@directory), 0, $size;
    my $n = shift @words;
    my @sizes = map { $_ == 0xffffffff ? 0 : $_ } splice @words, 0, $n;
    return $block, map { my @list = splice @words, 0, blocks($_, $block);
        substr $at->(@list), 0, $_ } @sizes;
}

sub write_streams {
    my ($block, @streams) = @_;
    my @blocks = ('') x 3;    # the superblock and both maps of free blocks
    my $add = sub {
        my @numbers = map { scalar(@blocks) + $_ }
            0 .. blocks(length $_[0], $block) - 1;
        push @blocks, $_[0] =~ /\G(.{1,$block})/gs;
        return @numbers;
    };
    my @numbers = map { $add->($_) } @streams;
    my $directory = pack 'V*', scalar(@streams), (map { length } @streams), @numbers;
    my $map = pack 'V*', $add->($directory);
    my ($map_at) = $add->($map);
    die 'too large' if @blocks >= $block || length $map > $block;
    $blocks[0] = "Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0" . pack 'V6', $block, 1,
        scalar(@blocks), length $directory, 0, $map_at;
    return join '', map { $_ . "\0" x ($block - length) } @blocks;
}

sub with_streams {
    my ($file, %add) = @_;
    my ($block, @streams) = read_streams($file);
    my ($head, $names) = unpack 'a28 V/a', $streams[1];
    my @rest = unpack 'V*', substr $streams[1], 32 + length $names;
    my ($count, $room, $present) = splice @rest, 0, 3;
    splice @rest, 0, $present;
    splice @rest, 0, 1 + $rest[0];    # deleted ones
    my %stream;
    for (1 .. $count) {
        my ($offset, $number) = splice @rest, 0, 2;
        $stream{ unpack "x$offset Z*", $names } = $number;
    }
    for (sort keys %add) {
        $stream{$_} //= scalar @streams;
        $streams[ $stream{$_} ] = $add{$_};
    }
    my ($text, $pairs) = ('', '');
    for (sort keys %stream) {
        $pairs .= pack 'VV', length $text, $stream{$_};
        $text .= "$_\0";
    }
    my $n = keys %stream;
    $streams[1] = $head . pack('V/a', $text)
        . pack('V5', $n, 2 * $n + 1, 1, (1 << $n) - 1, 0) . $pairs
        . pack 'V*', @rest;
    return write_streams($block, @streams);
}

1;
