#!/usr/bin/perl

# An upload that replaces a file, or its removal, reaches the shared tier: what
# was made of the former file is served no more, whether it can be removed there
# at that time or not, and is removed or replaced.

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

# --- a machine that may only read: the former object is not read, in this life
# or another

is upload(), 201, 'uploaded again';
is $fleet->ask($key), 200, 'made';
wait_stored(4);
$fleet->restart(read_only => JSON::PP::true());
is upload(), 201, 'replaced where nothing is removed';
is notes() >= 1, 1, 'which is noted';
is_made(5, 'read_only');
ok -e $object, 'read_only: the former object is there';
unlink $fleet->file or die;
$fleet->restart(read_only => JSON::PP::true());
is_made(6, 'after a restart');
ok -e $object, 'and it still is';

# nobody asks: a life that may write removes it
$fleet->restart;
$t->wait_until('removed', sub { !-e $object && !notes() });

# somebody asks at once
unlink $fleet->file or die;
is_made(7, 'removed');
wait_stored(7);
$fleet->restart(read_only => JSON::PP::true());
is upload(), 201, 'replaced where nothing is removed';
$fleet->restart;
is_made(8, 'at once');
wait_stored(8);

$t->finish;
done_testing;
