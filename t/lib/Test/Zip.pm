package Test::Zip;

# Zip archives of any kind, honest and hostile, as APPNOTE.TXT of PKWARE
# describes them.
#
#   Test::Zip::zip(['a/1/a', $bytes], ['b/2/b', $bytes, method => 0]);
#
# Options of a member: method (8, or 0 for stored), flags, mode (of Unix), size,
# crc, packed (bytes in the archive), zip64 (1: sizes in an extra field).
# $base bytes are in front of the archive, and counted.

use strict;
use warnings;

our $base = 0;

use Compress::Raw::Zlib qw(crc32 Z_OK WANT_GZIP MAX_WBITS);

sub deflate {
    my ($bytes) = @_;
    my ($d) = Compress::Raw::Zlib::Deflate->new(-WindowBits => -MAX_WBITS(),
                                                -AppendOutput => 1);
    my $out = '';
    $d->deflate($bytes, $out) == Z_OK or die;
    $d->flush($out) == Z_OK or die;
    return $out;
}

sub zip {
    my (@members) = @_;
    my ($body, $directory) = ('', '');
    for (@members) {
        my ($name, $bytes, %o) = @$_;
        my $method = $o{method} // 8;
        my $packed = $o{packed} // ($method == 8 ? deflate($bytes) : $bytes);
        my $size = $o{size} // length $bytes;
        my ($short, $long, $extra) = ($size, length $packed, '');
        if ($o{zip64}) {
            $extra = pack 'v v Q< Q<', 1, 16, $size, length $packed;
            $short = $long = 0xffffffff;
        }
        my $head = pack 'v v v v v V V V v v', $o{zip64} ? 45 : 20,
            $o{flags} // 0, $method, 0, 0x21, $o{crc} // crc32($bytes),
            $long, $short, length $name, length $extra;
        $directory .= "PK\1\2" . pack('v', 3 << 8 | 20) . $head
            . pack('v v v V V', 0, 0, 0, ($o{mode} // 0100644) << 16,
                   $base + length $body) . $name . $extra;
        $body .= "PK\3\4$head$name$extra$packed";
    }
    my $n = @members;
    my $end = '';
    if ($n > 0xfffe) { # the end record of ZIP64, and where that is
        $end = "PK\6\6" . pack('Q< v v V V Q< Q< Q< Q<', 44, 45, 45, 0, 0, $n, $n,
                length $directory, $base + length $body)
            . "PK\6\7" . pack 'V Q< V', 0,
                $base + length($body) + length $directory, 1;
        $n = 0xffff;
    }
    return $body . $directory . $end . "PK\5\6" . pack 'v v v v V V v', 0, 0, $n,
        $n, length $directory, $base + length $body, 0;
}

# The body of a form with an archive, and its Content-Type.
sub form {
    my ($name, $zip, @fields) = @_;
    my $body = '';
    my $b = 'b0undary';
    while (my ($field, $value) = splice @fields, 0, 2) {
        $body .= "--$b\r\nContent-Disposition: form-data; name=\"$field\"\r\n"
            . "\r\n$value\r\n";
    }
    $body .= "--$b\r\nContent-Disposition: form-data; name=\"$name\"; "
        . "filename=\"x.zip\"\r\nContent-Type: application/zip\r\n\r\n"
        . "$zip\r\n" if defined $zip;
    return ("$body--$b--\r\n", "Content-Type: multipart/form-data; boundary=$b");
}

1;
