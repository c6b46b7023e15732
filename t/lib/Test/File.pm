package Test::File;

# Whole files of tests that need no server (those that do: Test::Symcache's
# read_file() and write_file()).

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(slurp spew);

# The bytes of a file; dies when it cannot be read.

sub slurp {
    my ($file) = @_;
    open my $f, '<:raw', $file or die "$file: $!";
    local $/;
    return scalar <$f> // '';
}


# Writes a file and returns its name.

sub spew {
    my ($file, $bytes) = @_;
    open my $f, '>:raw', $file or die "$file: $!";
    print $f $bytes or die "$file: $!";
    close $f or die "$file: $!";
    return $file;
}


1;
