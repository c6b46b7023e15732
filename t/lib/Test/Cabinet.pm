package Test::Cabinet;

# Writes cabinets that no tool at hand writes: LZX, several members, sets of
# several cabinets, as 7z and cabextract read them.  The LZX stream consists of uncompressed blocks, which every decoder
# has to take.

use strict;
use warnings;

use Compress::Zlib ();

my $LZX21 = 0x1503;

# %o: lzx, mszip (otherwise stored), files and folders (counts in the header),
# flags, size (what the header says of the member).
sub cabinet {
    my ($data, %o) = @_;
    return whole(size => length $data, %o, type => type(%o),
                 blocks => [blocks($data, %o)]);
}

# One cabinet for each of the names, which together have the member; every two
# share a block.  %o as above, and for each cabinet `change`, a hash of what is
# to be different there: set, index, next, reserve (bytes).
sub set {
    my ($data, $names, %o) = @_;
    my @blocks = blocks($data, %o);
    my $share = 0;
    $share += length $_->[0] for @blocks;
    $share = 1 + int $share / @$names;

    my @set;
    for my $i (0 .. $#$names) {
        my $last = $i == $#$names;
        my %part = (
            size => length $data, type => type(%o), set => 7, index => $i,
            ($i > 0 ? (previous => $names->[$i - 1]) : ()),
            ($last ? () : (next => $names->[$i + 1])),
            member => $i == 0 ? 0xfffe : $last ? 0xfffd : 0xffff,
            blocks => $last ? \@blocks : cut($share, \@blocks),
            %{ $o{change}{$i} // {} });
        push @set, whole(%part);
    }
    return @set;
}

# Takes that many bytes of the blocks, and ends inside of one.
sub cut {
    my ($n, $blocks) = @_;
    my @taken;
    while (length $blocks->[0][0] < $n) {
        push @taken, shift @$blocks;
        $n -= length $taken[-1][0];
    }
    my ($bytes, $size) = @{ shift @$blocks };
    $n-- if $n == length $bytes;
    unshift @$blocks, [substr($bytes, $n), $size];
    return [@taken, [substr($bytes, 0, $n), 0]];
}

sub whole {
    my (%o) = @_;
    my $body = join '', map { block(@$_) } @{ $o{blocks} };
    my $file = pack('V V v v v v', $o{size}, 0, $o{member} // 0, 0, 0, 0x20)
        . "debug/x.pdb\0";
    my $files = $file x ($o{files} // 1);
    my $folders = $o{folders} // 1;
    my $flags = $o{flags} // (defined $o{previous} ? 1 : 0)
        | (defined $o{next} ? 2 : 0) | ($o{reserve} ? 4 : 0);
    my $names = $o{reserve} ? pack("v C C x$o{reserve}", $o{reserve}, 0, 0) : '';
    $names .= "$_\0disk\0" for grep { defined } @o{qw(previous next)};
    my $at = 36 + length($names) + 8 * $folders;
    my $start = $at + length $files;
    my $folder = pack('V v v', $start, scalar @{ $o{blocks} }, $o{type});

    return pack('a4 V V V V V C C v v v v v', 'MSCF', 0,
                $start + length $body, 0, $at, 0, 3, 1, $folders,
                $o{files} // 1, $flags, $o{set} // 0, $o{index} // 0)
        . $names . $folder x $folders . $files . $body;
}

sub block {
    my ($bytes, $size) = @_;
    my $sizes = pack 'v v', length $bytes, $size;
    my $rest = length($bytes) % 4;
    my $sum = $rest ? hex unpack 'H*', substr $bytes, -$rest : 0;
    $sum ^= $_ for unpack 'V*',
        substr($bytes, 0, length($bytes) - $rest) . $sizes;
    return pack('V', $sum) . $sizes . $bytes;
}

sub type {
    my (%o) = @_;
    return $o{lzx} ? $LZX21 : $o{mszip} ? 1 : 0;
}

# [packed bytes, unpacked length] for each 32 KiB of output.
sub blocks {
    my ($data, %o) = @_;
    return $o{lzx} ? lzx_blocks($data)
        : $o{mszip} ? mszip_blocks($data) : stored_blocks($data);
}

sub stored_blocks {
    my ($data) = @_;
    return map { [$_, length $_] } unpack '(a32768)*', $data;
}

# Each as if there were none before it.
sub mszip_blocks {
    my ($data) = @_;
    my @out;
    for my $chunk (unpack '(a32768)*', $data) {
        my ($z) = Compress::Zlib::deflateInit(
            -WindowBits => -Compress::Zlib::MAX_WBITS());
        my ($packed) = $z->deflate($chunk);
        push @out, ['CK' . $packed . ($z->flush)[0], length $chunk];
    }
    return @out;
}

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
