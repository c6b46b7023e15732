package Test::DebugFile;

# An ELF program and its debug file, in which .eh_frame is only named, made by
# cc and objcopy in a folder: program, program.debug and stripped.

use strict;
use warnings;

use Test::File qw(spew);

# Returns the build id, and the debug id that is made of it.
sub make {
    my ($dir) = @_;
    spew("$dir/a.c", "int f(int x) { return x ? x * f(x - 1) : 1; }\n"
        . "int main(int argc, char **argv) { return f(argc); }\n");
    system("cd $dir && cc -O1 -g -Wl,--build-id a.c -o program"
        . ' && objcopy --only-keep-debug program program.debug'
        . ' && objcopy --strip-debug program stripped') == 0 or die;
    my ($build) = `readelf -n $dir/program` =~ /Build ID: ([0-9a-f]+)/ or die;
    my @b = map { hex } substr($build, 0, 32) =~ /../g;
    return $build, join('', map { sprintf '%02X', $_ }
        @b[3, 2, 1, 0, 5, 4, 7, 6, 8 .. 15]) . '0';
}

1;
