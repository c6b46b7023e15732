#!/usr/bin/env perl

# More uploads at a time than are worked on: they wait for their turn, and of
# too many some are told to come again.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;
use Test::Uploads;

my $u = Test::Uploads->new;
my $t = $u->t;

sub begin {
    my ($i) = @_;
    my $id = sprintf '%032X0', $i;
    return $u->begin('PUT', "/symbols/m$i.pdb/$id/m$i.sym",
        "MODULE windows x86 $id m$i.pdb\n", @Test::Uploads::token);
}

# Sends all of these at a time.  Returns those that are told to come again.
sub send_all {
    my @connections = map { begin($_) } @_;
    my @statuses = map { $u->read($_)->{status} } @connections;
    is scalar(grep { $_ != 201 && $_ != 503 } @statuses), 0,
        @_ . ' at a time: stored, or told to come again';
    my @again = @_[grep { $statuses[$_] == 503 } 0 .. $#_];
    return @again;
}

sub busy { $t->metric('symcached_uploads_refused_total{reason="busy"}') }

is scalar(send_all(1 .. 60)), 0, 'all of 60 are stored';
is busy(), 0, '... as counted';
my @again = send_all(61 .. 200);
is busy(), @again, 'of 140 those that are too many are counted';
push @again, send_all(splice @again, 0, 60) while @again;
is scalar(split ' ', $u->stored), 200, 'all are stored in the end';

# --- what waits at a reload

my @connections = map { begin($_) } 201 .. 230;
$t->reload_symcached({ %{ $u->config },
    uploads => { %{ $u->config->{uploads} }, max_size => '1k' } });
is scalar(grep { $u->read($_)->{status} == 201 } @connections), 30,
    'is stored after it';

# --- clients that go while they wait

close $_ for map { begin($_) } 231 .. 290;
is $u->read(begin(291))->{status}, 201, 'one that comes after them is stored';

# --- and what waits at a stop

@connections = map { begin($_) } 301 .. 360;
$t->stop_symcached;
my %seen = map { $u->read($_)->{status} => 1 } @connections;
is_deeply [grep { !/^(?:201|50[23])$/ } keys %seen], [], 'each is answered';

$t->finish;
done_testing;
