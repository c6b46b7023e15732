package Test::Wire;

# Messages of Protocol Buffers, as the wire has them.
#
#   my $bytes = number(1, 7) . field(2, 'text');
#   my @fields = fields($bytes);        # [1, 7], [2, 'text']

use strict;
use warnings;

use Exporter qw(import);

our @EXPORT_OK = qw(bytes field fields number varint);

sub varint {
    my ($n) = @_;
    my $out = '';
    for (; $n > 127; $n >>= 7) { $out .= chr($n & 127 | 128) }
    return $out . chr $n;
}

sub number { varint($_[0] << 3) . varint($_[1]) }
sub field { varint($_[0] << 3 | 2) . varint(length $_[1]) . $_[1] }

# The numbers of a packed field.
sub bytes {
    my ($text) = @_;
    my @n = (0);
    my $shift = 0;
    for my $byte (unpack 'C*', $text) {
        $n[-1] |= ($byte & 127) << $shift;
        $shift += 7;
        if ($byte < 128) { push @n, 0; $shift = 0 }
    }
    pop @n;
    return @n;
}

sub fields {
    my ($text) = @_;
    my @fields;
    my $read = sub {
        my ($n, $shift) = (0, 0);
        while (length $text) {
            my $b = ord substr $text, 0, 1, '';
            $n |= ($b & 127) << $shift;
            return $n if $b < 128;
            $shift += 7;
        }
        die "a message is cut short\n";
    };
    while (length $text) {
        my $tag = $read->();
        my $value = $read->();
        $value = substr $text, 0, $value, '' if ($tag & 7) == 2;
        push @fields, [$tag >> 3, $value];
    }
    return @fields;
}

1;
