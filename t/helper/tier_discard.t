#!/usr/bin/perl

# An upload that replaces a file, or its removal, reaches the shared tier: what
# was made of the former file is served no more, whether the tier answers at
# that time or not, and is removed or replaced there.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::Symcache;
use Test::Tier;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $key = "crash.pdb/$id";
my $object = $t->path("tier/1/default/$key/v9.0.0.symcache");
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
mkdir $t->path($_) or die for qw(tier uploads uploads/.spool);

my $fleet = Test::Tier->new($t, sources => ['uploads'],
    tier => { type => 'filesystem', path => $t->path('tier') },
    more => { admin_listen => 'unix:' . $t->path('a.sock'),
              uploads => { root => $t->path('uploads') } });

# Uploads the PDB with another last byte each time, which belongs to no stream.
my $uploads = 0;
sub upload {
    my $body = $t->write_file('uploads/.spool/' . ++$uploads,
        substr($pdb, 0, -1) . chr $uploads);
    return $t->http($t->path('a.sock'), 'PUT',
        "/v1/uploads/$key/crash.pdb?force=1", 'Content-Length: 0',
        "X-Symcached-Body: $body")->{status};
}

# The notes of what the tier may still have.
sub notes { scalar grep { -e } glob $t->path("store$fleet->{n}/.discarded/*") }

sub wait_stored {
    my ($runs) = @_;
    $t->wait_until("the object of run $runs", sub {
        -e $object && $fleet->metric('queue{tier="fleet"}') == 0 && !notes() });
}

# Nothing more is removed until a reload.
sub wait_refused {
    $t->wait_until('the tier refuses', sub {
        $fleet->metric('breaker{tier="fleet",way="put"}') // 0 });
}

# Has it made the file, and not taken it?
sub is_made {
    my ($runs, $what) = @_;
    is $fleet->ask($key), 200, "$what: served";
    is $fleet->runs, $runs, "$what: made of the new file";
    is $fleet->metric('gets_total{result="hit"}'), 0, "$what: not taken";
}

# --- the tier answers

$fleet->machine;
is upload(), 201, 'uploaded';
is $fleet->ask($key), 200, 'made';
wait_stored(1);
is upload(), 201, 'replaced';
$t->wait_until('the object is removed', sub { !-e $object && !notes() });
is $fleet->metric('puts_total{result="removed"}') >= 1, 1, 'which is counted';
is_made(2, 'removed');
wait_stored(2);

is upload(), 201, 'replaced, and asked for at once';
is_made(3, 'at once');
wait_stored(3);
ok -e $object, 'the new object stays';

is $t->http($t->path('a.sock'), 'POST', "/v1/discard/$key/crash.pdb",
    'Content-Length: 0')->{status}, 200, 'the upload is removed';
$t->wait_until('and so is the object', sub { !-e $object && !notes() });
is $fleet->ask($key), 404, 'and nobody has it';

# --- the tier is away: the former object is not read, in this or the next life

is upload(), 201, 'uploaded again';
is $fleet->ask($key), 200, 'made';
wait_stored(4);
rename $t->path('tier'), $t->path('away') or die;
is upload(), 201, 'replaced while the tier is away';
is notes() >= 1, 1, 'which is noted';
wait_refused();
rename $t->path('away'), $t->path('tier') or die;
ok -e $object, 'the former object is there';
is_made(5, 'the tier is there again');
$t->reload_symcached($fleet->config); # closes the breaker
wait_stored(5);
rename $t->path('tier'), $t->path('away') or die;
is upload(), 201, 'replaced once more';
$fleet->restart;
wait_refused();
rename $t->path('away'), $t->path('tier') or die;
ok -e $object, 'the former object is there';
is_made(6, 'after a restart');
$t->reload_symcached($fleet->config);
wait_stored(6);

# nobody asks: the next life removes it all the same
rename $t->path('tier'), $t->path('away') or die;
is upload(), 201, 'replaced while the tier is away';
$t->stop_symcached;
rename $t->path('away'), $t->path('tier') or die;
ok -e $object, 'the former object is there';
$fleet->restart;
$t->wait_until('until symcached has started', sub { !-e $object && !notes() });

# --- a machine that may only read does not read it

is $fleet->ask($key), 200, 'made';
$t->wait_until('stored', sub { -e $object && !notes() });
$fleet->restart(read_only => JSON::PP::true());
is upload(), 201, 'replaced where nothing is written';
my $runs = $fleet->runs;
is_made($runs + 1, 'read_only');
ok -e $object, 'read_only: the object stays';

$t->finish;
done_testing;
