#!/usr/bin/env perl

# A signal for a process that the helper has just started is none for the
# helper, not even while it has the helper's handlers still.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use POSIX ();
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
$t->symbol_store('sym');
my $config = $t->default_config('', cache => { retry_errors_after => '1s' });
$config->{sources}{upstream} = { type => 'filesystem',
                                 path => $t->path('sym') };
my $helper = $t->start_symcached($config);

# As soon as there is a child, it gets a signal.
my $killer = fork() // die "fork: $!";
if ($killer == 0) {
    my %seen;
    my $parent = getppid;
    open my $fh, '<', "/proc/$helper/task/$helper/children" or die;
    while (getppid == $parent) {
        seek $fh, 0, 0;
        for my $pid (split ' ', <$fh> // '') {
            kill((qw(TERM INT HUP))[$pid % 3], $pid) if !$seen{$pid}++;
        }
    }
    POSIX::_exit(0);
}

my $key = $Test::Symcache::key{'crash.pdb'};
my %status;
for my $i (1 .. 60) {
    my $r = $t->helper('GET',
        "/v1/symcache/default/none$i.pdb/$key?version=9.0.0&wait=20");
    $status{ $r ? $r->{status} : 'refused' }++;
}
$t->stop_pid($killer, 'KILL');

is_deeply [grep { !/^(?:404|503)$/ } keys %status], [],
    'each lookup is answered';
is $t->{helper} && kill(0, $helper), 1, 'the helper runs';
unlike $t->helper_log, qr/signal \d+ received/, 'it was not told to stop';
is $t->metric('symcached_reloads_total{result="ok"}'), 0, 'nor to reload';
is $t->helper('GET', "/v1/symcache/default/crash.pdb/$key"
              . '?version=9.0.0&wait=20')->{status}, 200, 'and makes files';

$t->finish;
done_testing;
