#!/usr/bin/env perl

# While a disk takes its time with what was made, other transcoders run, but no
# more than may wait for that disk.

use strict;
use warnings;

use Fcntl qw(:flock);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

plan skip_all => 'not under a sanitizer' if $Test::Symcache::san;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};

# Syncs of the helper's threads wait for a lock on the file that $GATE names.
my $shim = $t->path('shim.so');
$t->write_file('shim.c', <<'C');
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

int fsync(int fd)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    int gate = gettid() != getpid() ? open(getenv("GATE"), O_RDONLY) : -1;

    if (gate >= 0) {
        flock(gate, LOCK_SH);
        close(gate);
    }
    return real(fd);
}
C
plan skip_all => 'no C compiler'
    unless system('cc', '-shared', '-fPIC', '-w', '-o', $shim,
                  $t->path('shim.c'), '-ldl') == 0;

my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my @names = map { "p$_.pdb" } 1 .. 12;
$t->write_file("sym/$_/$id/$_", $pdb) for @names;
my $gate = $t->write_file('gate', '');
open my $lock, '<', $gate or die "$gate: $!";
flock $lock, LOCK_EX or die "$gate: $!";

my $config = $t->default_config('http://127.0.0.1:1',
                                limits => { transcodes => 1 });
$config->{sources} = {
    local => { type => 'filesystem', path => $t->path('sym') },
};
$config->{stores}{default}{sources} = ['local'];
$t->start_symcached($config, env => { LD_PRELOAD => $shim, GATE => $gate });

my @asked = map {
    $t->open_http($t->helper_socket, 'GET',
                  "/v1/symcache/default/$_/$id?version=9.0.0&wait=60")
} @names;

sub states {
    return join ', ', sort map { $_->{state} }
        @{ $t->helper_json('/v1/jobs')->{jobs} };
}

my $want = join ', ', ('publishing') x 9, ('waits for a transcoder slot') x 3;
$t->wait_until('nine results wait for the disk', sub { states() eq $want });
is $t->metric('symcached_transcodes_total'), 9, 'nine runs, and no more';
is_deeply [glob $t->path('store/*/*/*')], [], 'nothing is seen of them';

flock $lock, LOCK_UN or die "$gate: $!";
is $t->read_response($_)->{status}, 200, 'answered when the disk goes on'
    for @asked;
is $t->metric('symcached_transcodes_total'), 12, 'all were made';

$t->finish;
done_testing;
