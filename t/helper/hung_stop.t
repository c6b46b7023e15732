#!/usr/bin/env perl

# SIGTERM while something hangs: a process that looks into a directory, or
# the disk of the store.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Mount;
use Test::Fuse;
use Test::More;
use Test::SourceCase;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::SourceCase::id;
my $fuse = Test::Fuse->new($t->path('net'), {}, hang => $t->path('hang'));

sub case {
    return Test::SourceCase->new($t, sources => {
        net => { type => 'filesystem', path => $t->path('net') } });
}

sub begin {
    return $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/default/$_[0].pdb/$id?version=9.0.0&wait=60");
}

case();
$fuse->hang;
my $held = begin('e');
$t->wait_until('the lookup hangs', sub { $fuse->waiting });
my ($pid) = $fuse->waiting;
is $t->stop_symcached, 0, 'stopped while a process hangs';
is $t->read_response($held)->{status}, 503, 'who waits is answered';
ok !-e $t->helper_socket, 'the socket is gone';
ok -e "/proc/$pid", 'the process is not';
$fuse->release;
$t->wait_until('it ends', sub { !-e "/proc/$pid" });

# The converter tells the id of a PDB where it lies: that no thread of symcached
# looks into a share that hangs, since no process ends before its threads.

my $config = $t->default_config('http://127.0.0.1:9/');
$config->{sources} = { upstream => { type => 'filesystem',
                                     path => $t->path('net') } };
$config->{stores}{default}{transcoders}[0]{command} =
    [$t->program('pdb2symcache'), '-pdb', '{pdb}'];
$t->start_symcached($config);
$fuse->hang;
$held = begin('e');
$t->wait_until('the lookup hangs', sub { $fuse->waiting });

is $t->stop_symcached, 0, 'symcached is stopped';
is $t->read_response($held)->{status}, 503, 'who waits is answered';
$fuse->release;

# --- stop while the loop itself waits, for the disk of the store

$fuse->stop;

case();
my $dead = Test::Fuse->new($t->path('store/far.pdb'), {},
                           hang => $t->path('hang.store'));
$dead->pause;
$held = begin('far');
$t->wait_until('the loop hangs', sub {
    ($t->read_file("/proc/$t->{helper}/wchan") // '') =~ /request_wait/;
});
is $t->stop_symcached, 0, 'stopped all the same';
like $t->helper_log, qr/not stopped within/, 'which is logged';
$dead->stop;
$t->start_symcached;
$t->wait_until('the work that was left is removed',
               sub { 2 == map { glob $t->path("$_/.tmp/*") }
                         qw(store downloads) });

$t->finish;
done_testing;
