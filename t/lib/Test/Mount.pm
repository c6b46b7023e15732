package Test::Mount;

# Small file systems for a test, in a mount namespace of its own, so that they
# go with the process.  To use the module starts the test again in there, or
# skips it.
#
#   use Test::Mount;
#   Test::Mount::small($t->path('store'), '1m');

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use Test::More ();

sub import {
    return if $ENV{SYMCACHE_T_MOUNTS};
    my @unshare = qw(unshare --mount --propagation private);
    Test::More::plan(skip_all =>
            'needs root and unshare(1) for a small file system')
        if $> != 0 || system("@unshare true 2>/dev/null") != 0;
    $ENV{SYMCACHE_T_MOUNTS} = 1;
    exec @unshare, $^X, '-I' . abs_path(dirname(__FILE__) . '/..'), $0
        or die "unshare: $!";
}

# Makes the directory and mounts a file system of that size there.
sub small {
    my ($dir, $size) = @_;
    mkdir $dir;
    Test::More::plan(skip_all => 'cannot mount a file system')
        if system('mount', '-t', 'tmpfs', '-o', "size=$size", 'tmpfs', $dir)
            != 0;
}

# Changes options of the file system that is mounted there.
sub again {
    my ($dir, $options) = @_;
    system('mount', '-o', "remount,$options", $dir) == 0
        or die "not mounted again: $dir";
}

sub gone {
    my ($dir) = @_;
    system('umount', $dir) == 0 or Test::More::diag("not unmounted: $dir");
}

1;
