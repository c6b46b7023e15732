#!/usr/bin/env perl

# While a disk takes its time with what was made, other transcoders run, but no
# more than may wait for that disk.  While it takes its time with an original,
# what was made of that is answered with already.

use strict;
use warnings;

use Fcntl qw(:flock);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

plan skip_all => 'not under a sanitizer' if $Test::Symcache::san;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};

# Syncs of the helper's threads wait for a lock on the file that $GATE names;
# those of originals on "$GATE.originals", and fail if that is not empty.
my $shim = $t->path('shim.so');
$t->write_file('shim.c', <<'C');
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

static int wait_at(const char *suffix)
{
    char name[4096];
    int gate = -1, fails = 0;

    snprintf(name, sizeof(name), "%s%s", getenv("GATE"), suffix);
    if (gettid() != getpid())
        gate = open(name, O_RDONLY);
    if (gate >= 0) {
        flock(gate, LOCK_SH);
        fails = lseek(gate, 0, SEEK_END) > 0;
        close(gate);
    }
    return fails;
}

int fsync(int fd)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");

    wait_at("");
    return real(fd);
}

int fdatasync(int fd)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");

    if (wait_at(".originals")) {
        errno = EIO;
        return -1;
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
$t->stop_symcached;

# An original over HTTP, which our converter reads first.

my $server = Test::ScriptedServer->new(log => $t->path('requests'),
                                       script => sub {
    my ($c, $req) = @_;
    $c->reply(200, {}, $pdb);
});
my $originals = $t->write_file('gate.originals', '');
open $lock, '<', $originals or die "$originals: $!";

sub start {
    my $config = $t->default_config($server->{url});
    $config->{stores}{default}{transcoders}[0]{command} =
        ["$Test::Symcache::build/pdb2symcache", '-pdb', '{pdb}'];
    $t->start_symcached($config, env => { LD_PRELOAD => $shim, GATE => $gate });
}

sub requests { scalar grep { $_->{path} =~ m{/\Q$_[0]\E$} } $server->requests }
sub download { $t->path("downloads/default/$_[0]/$id/$_[0]") }
sub uri { "/v1/$_[0]/default/$_[1]/$id?version=$_[2]&wait=60" }

sub symcache { $t->helper('GET', uri('symcache', $_[0], '9.0.0'))->{status} }

sub original { $t->helper('GET', uri('debuginfo', $_[0], '1.0.0'))->{status} }

start();
flock $lock, LOCK_EX or die "$originals: $!";
is symcache('a.pdb'), 200, 'a SymCache, whose original is not durable yet';
is states(), 'publishing', 'and which its job still waits for';
ok !-e download('a.pdb'), 'it is no download before';
is symcache('a.pdb'), 200, 'the SymCache is on disk';
is $t->metric('symcached_jobs_finished_total{outcome="published"}'), 1,
    'and the job is counted';
my $waits = $t->open_http($t->helper_socket, 'GET',
                          uri('debuginfo', 'a.pdb', '1.0.0'));
$t->wait_until('a lookup of the original waits', sub {
    ($t->helper_json('/v1/jobs')->{jobs}[0]{waiters} // 0) == 1
});
flock $lock, LOCK_UN or die "$originals: $!";
is $t->read_response($waits)->{status}, 200, 'for the one that is kept';
ok $t->read_file(download('a.pdb')) eq $pdb, 'as it was received';
is requests('a.pdb'), 1, 'once';
is $t->metric('symcached_jobs_finished_total{outcome="published"}'), 1,
    'it is the same job';

flock $lock, LOCK_EX or die "$originals: $!";
is symcache('d.pdb'), 200, 'a SymCache';
is unlink(glob $t->path('store/d.pdb/*/*.symcache')), 1, 'which is removed';
$waits = $t->open_http($t->helper_socket, 'GET',
                       uri('symcache', 'd.pdb', '9.0.0'));
$t->wait_until('a lookup of it waits', sub {
    ($t->helper_json('/v1/jobs')->{jobs}[0]{waiters} // 0) == 1
});
flock $lock, LOCK_UN or die "$originals: $!";
is $t->read_response($waits)->{status}, 200,
    'while its original is not durable: it is made again';
is requests('d.pdb'), 1, 'of that';

flock $lock, LOCK_EX or die "$originals: $!";
is symcache('b.pdb'), 200, 'a SymCache';
$t->stop_symcached('KILL');
flock $lock, LOCK_UN or die "$originals: $!";
my @left = glob $t->path('{store,downloads}/.tmp/run-*');
start();
is symcache('b.pdb'), 200, 'is there after a kill';
is requests('b.pdb'), 1, 'its original is not: nothing needs it';
is original('b.pdb'), 200, 'one that is wanted';
is requests('b.pdb'), 2, 'is received again';

$t->write_file('gate.originals', "fails\n");
is symcache('c.pdb'), 200, 'a SymCache';
$t->wait_until('the job ends', sub { states() eq '' });
ok !-e download('c.pdb'), 'no original: the disk has failed';
$t->wait_until('the first pass removes what the killed one left', sub {
    !grep { -e } @left;
});
like $t->helper_log,
    qr/job \S*c\.pdb\S*: the original cannot be kept \(5: Input/, 'which is told';

$t->finish;
done_testing;
