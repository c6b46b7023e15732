package Test::Network;

# Machines with addresses of their own, each in a network namespace, on a
# bridge to which the test has a link, too.  All of it goes with the test's
# process.  To use the module starts the test again in there, or skips it.
#
#   use Test::Network;
#   Test::Network::join('db', '10.0.0.1');
#   $t->{under} = [Test::Network::under('db')];   # for Test::Symcache
#   Test::Network::unplug('db');

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use Test::More ();

our $self = '10.0.0.100';

sub ip {
    my (@words) = @_;
    system('ip', @words) == 0 or die "ip @words: $?\n";
}

sub import {
    if (!$ENV{SYMCACHE_T_NETWORK}) {
        my @unshare = qw(unshare --net --mount --propagation private);
        Test::More::plan(skip_all => 'network namespaces need root, '
                . 'unshare(1) and ip(8) (package iproute2)')
            if $> != 0 || system("@unshare ip link >/dev/null 2>&1") != 0;
        $ENV{SYMCACHE_T_NETWORK} = 1;
        exec @unshare, $^X, '-I' . abs_path(dirname(__FILE__) . '/..'), $0
            or die "unshare: $!";
    }
    mkdir '/run/netns';
    system('mount', '-t', 'tmpfs', 'tmpfs', '/run/netns') == 0
        or die "mount: $?\n";
    ip(qw(link set lo up));
    ip(qw(link add bridge type bridge));
    ip(qw(addr add), "$self/24", qw(dev bridge));
    ip(qw(link set bridge up));
}

sub join {
    my ($name, $address) = @_;
    ip(qw(netns add), $name);
    ip(qw(link add), "to-$name", qw(type veth peer name eth0 netns), $name);
    ip(qw(link set), "to-$name", qw(master bridge up));
    for ([qw(addr add), "$address/24", qw(dev eth0)], [qw(link set eth0 up)],
         [qw(link set lo up)]) {
        ip('-n', $name, @$_);
    }
}

# The words before a program that is to run at a machine.
sub under { (qw(ip netns exec), $_[0]) }

# The cable of a machine.
sub unplug { ip(qw(link set), "to-$_[0]", 'down') }
sub plug   { ip(qw(link set), "to-$_[0]", 'up') }

1;
