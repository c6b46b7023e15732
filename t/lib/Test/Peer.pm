package Test::Peer;

# Programs of others that tools/peer installs into the build folder.

use strict;
use warnings;

use Test::More;
use Test::Symcache;

# Returns its folder.  Where it cannot be had, the test is skipped.
sub folder {
    my ($name) = @_;
    my $dir = "$Test::Symcache::build/$name";
    my $why = `flock '$dir.lock' '$Test::Symcache::top/tools/peer' '$name' '$dir' 2>&1`;
    chomp $why;
    plan skip_all => $why if $? != 0;
    return $dir;
}

1;
