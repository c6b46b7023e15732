package Test::Form;

# Bodies of the type multipart/form-data.

use strict;
use warnings;

use Exporter 'import';
our @EXPORT = qw(form $form_type);

our $form_type = 'multipart/form-data; boundary=boundary0123456789';

# Parts are [name, content, file name or undef, further header lines].
sub form {
    my $body = '';
    for my $part (@_) {
        my ($name, $content, $file, @headers) = @$part;
        $body .= join "\r\n", '--boundary0123456789',
            qq(Content-Disposition: form-data; name="$name")
                . (defined $file ? qq(; filename="$file") : ''),
            @headers, '', $content, '';
    }
    return "$body--boundary0123456789--\r\n";
}

1;
