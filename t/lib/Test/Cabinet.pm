package Test::Cabinet;

# Writes cabinets that no tool at hand writes: LZX, several members, spanning
# flags.  The LZX stream consists of uncompressed blocks, which every decoder
# has to take.

use strict;
use warnings;

my $LZX21 = 0x1503;

# %o: type (0 = stored, else LZX), files and folders (counts in the header),
# flags, size (what the header says of the member).
sub cabinet {
    my ($data, %o) = @_;
    my $type = $o{lzx} ? $LZX21 : 0;
    my @blocks = $o{lzx} ? lzx_blocks($data) : stored_blocks($data);

    my $body = join '', map {
        pack('V v v', 0, length $_->[0], $_->[1]) . $_->[0]
    } @blocks;
    my $file = pack('V V v v v v', $o{size} // length $data, 0, 0, 0, 0, 0x20)
        . "debug/x.pdb\0";
    my $files = $file x ($o{files} // 1);
    my $folders = $o{folders} // 1;
    my $at = 36 + 8 * $folders;
    my $start = $at + length $files;
    my $folder = pack('V v v', $start, scalar @blocks, $type);

    return pack('a4 V V V V V C C v v v v v', 'MSCF', 0,
                $start + length $body, 0, $at, 0, 3, 1, $folders,
                $o{files} // 1, $o{flags} // 0, 0, 0)
        . $folder x $folders . $files . $body;
}

sub stored_blocks {
    my ($data) = @_;
    return map { [$_, length $_] } unpack '(a32768)*', $data;
}

# [packed bytes, unpacked length] for each 32 KiB of output.
sub lzx_blocks {
    my ($data) = @_;
    my @out;
    my $first = 1;

    for my $chunk (unpack '(a32768)*', $data) {
        my $n = length $chunk;
        my $bits = ($first ? '0' : '') . '011' . sprintf '%024b', $n;
        $bits .= '0' x (-length($bits) % 16);
        my $bytes = join '', map { pack 'v', oct "0b$_" }
            unpack '(a16)*', $bits;
        $bytes .= pack('V3', 1, 1, 1) . $chunk;
        $bytes .= "\0" if $n % 2;
        push @out, [$bytes, $n];
        $first = 0;
    }

    return @out;
}

1;
