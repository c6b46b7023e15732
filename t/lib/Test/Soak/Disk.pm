package Test::Soak::Disk;

# A small file system for the store of a campaign, in a mount namespace of its
# own, so that it goes with the processes in it: as root, or where a user may
# make namespaces.
#
#   my ($dir, $why) = Test::Soak::Disk::enter('96m');
#
# starts the test again in there; $dir is undef where that is not permitted,
# and $why says so.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Temp ();

sub enter {
    my ($size) = @_;
    return $ENV{SOAK_DISK} if $ENV{SOAK_DISK};

    my $dir = File::Temp::tempdir('sc-disk.XXXXXX', TMPDIR => 1);
    my @root = $> == 0 ? () : qw(--user --map-root-user);
    my @command = ('unshare', @root, qw(--mount --propagation private
        sh -c), 'mount -t tmpfs -o "size=$0,mode=0755" tmpfs "$1" && shift && '
        . 'exec "$@"', $size, $dir);
    my $group = $) + 0;
    push @command, qw(unshare --user), "--map-user=$>", "--map-group=$group"
        if $> != 0;

    my $why = qx(@{[join ' ', map { quotemeta } @command, 'true']} 2>&1);
    if ($? != 0) {
        rmdir $dir;
        chomp $why;
        return (undef, $why);
    }
    $ENV{SOAK_DISK} = $dir;
    my $lib = abs_path(dirname(__FILE__) . '/../..');
    system @command, $^X, "-I$lib", $0, @ARGV;
    rmdir $dir;
    exit($? & 127 ? 1 : $? >> 8);
}

1;
