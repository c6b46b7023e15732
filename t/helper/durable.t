#!/usr/bin/env perl

# Nothing partial is seen and nothing acknowledged is lost: when a disk reports
# failures, when the helper is killed before any of its steps on disk, and when
# two helpers and their cleaners work in the same folders.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use POSIX ();
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));

# The shim counts the helper's own steps on disk.  The file that $SHIM names
# has a word and a number: "fail CALL" makes that call fail, "kill N" ends the
# process before its step N; the number of steps is left in the file "$SHIM.n".
my $shim = $t->path('shim.so');
$t->write_file('shim.c', <<'C');
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int fails(const char *call)
{
    static int steps;
    char word[32] = "", what[32] = "", name[4096];
    const char *file = getenv("SHIM");
    FILE *f = file ? fopen(file, "re") : NULL;

    if (f == NULL)
        return 0;
    if (fscanf(f, "%31s %31s", word, what) < 2)
        word[0] = 0;
    fclose(f);
    steps++;
    if (strcmp(word, "kill") == 0 && atoi(what) == steps)
        kill(getpid(), SIGKILL);
    if (strcmp(word, "count") == 0) {
        snprintf(name, sizeof(name), "%s.n", file);
        f = fopen(name, "we");
        fprintf(f, "%d\n", steps);
        fclose(f);
    }
    return strcmp(word, "fail") == 0 && strcmp(what, call) == 0;
}

#define SHIM(type, name, params, args)                                  \
    type name params                                                    \
    {                                                                   \
        static type (*real) params;                                     \
        if (real == NULL)                                               \
            *(void **)&real = dlsym(RTLD_NEXT, #name);                  \
        if (fails(#name)) {                                             \
            errno = EIO;                                                \
            return -1;                                                  \
        }                                                               \
        return real args;                                               \
    }

SHIM(int, fsync, (int fd), (fd))
SHIM(int, rename, (const char *a, const char *b), (a, b))
SHIM(int, unlink, (const char *a), (a))
SHIM(int, mkdir, (const char *a, mode_t m), (a, m))
SHIM(int, fchmod, (int fd, mode_t m), (fd, m))
C

my $cc = system('cc', '-shared', '-fPIC', '-w', '-o', $shim,
    $t->path('shim.c'), '-ldl') == 0;
my $why = $Test::Symcache::san ? 'not under a sanitizer'
    : $cc ? undef : 'no C compiler';
my %env = (LD_PRELOAD => $shim, SHIM => $t->path('shim'));

# The transcoder copies the PDB, so that what is published is known.
sub config {
    my (%o) = @_;
    return {
        stores => { default => {
            root => $t->path('store'),
            transcoders => [{ version => '9.0.0', command =>
                ['/bin/sh', '-c', 'cp "$0" "$1/$(basename "$0")-v9.0.0.symcache"',
                 '{pdb}', '{out}'] }],
            sources => ['local'],
        } },
        sources => { local => { type => 'filesystem',
                                path => $t->path('sym') } },
        cache => { retry_errors_after => '1s', %o },
    };
}

sub lookup {
    my ($name, $socket) = @_;
    return $t->http($socket // $t->helper_socket, 'GET',
        "/v1/symcache/default/$name/$id?version=9.0.0&wait=60");
}

sub published { grep { !m{/\.} } glob $t->path('store/*/*/*') }

sub forget { $t->helper('POST', '/v1/forget/default/crash.pdb') }

my @names = map { "p$_.pdb" } 1 .. 60;
for my $name ('crash.pdb', @names) {
    $t->write_file("sym/$name/$id/$name", $pdb);
}
mkdir $t->path('store');
mkdir $t->path('downloads');

SKIP: {
    skip $why, 1 if $why;

    # a step that fails

    $t->write_file('shim', 'none 0');
    $t->start_symcached(config(), env => \%env);
    for my $call (qw(fsync rename mkdir fchmod)) {
        $t->write_file('shim', "fail $call");
        my $r = lookup('crash.pdb');
        is $r->{status}, 503, "$call fails: no answer that is final";
        ok Test::Symcache::header($r, 'Retry-After'), 'ask again';
        is_deeply [grep { /crash.*(?:absent|symcache)$/ } published()], [],
            'nothing is acknowledged, nor known'
            unless $call eq 'fsync';
        $t->write_file('shim', 'none 0');
        forget();
    }
    is lookup('crash.pdb')->{status}, 200, 'the disk is well again';
    ok $t->read_file("store/crash.pdb/$id/crash.pdb-v9.0.0.symcache") eq $pdb,
        'and the file is whole';
    $t->stop_symcached;

    # killed before each step of a job

    sub fresh {
        Test::Symcache::remove_tree($t->path($_)) for qw(store downloads);
        mkdir $t->path($_) for qw(store downloads);
    }

    fresh();
    $t->write_file('shim', 'count 0');
    $t->start_symcached(undef, env => \%env);
    is lookup('crash.pdb')->{status}, 200, 'a job';
    $t->stop_symcached;
    fresh();
    my $steps = $t->read_file('shim.n');
    cmp_ok $steps, '>', 10, 'has steps';

    # each takes over what the one before it left
    my ($killed, @partial, @lost) = 0;
    for my $step (1 .. $steps) {
        $t->write_file('shim', "kill $step");
        my $r = eval {
            $t->start_symcached(undef, env => \%env);
            lookup("p$step.pdb");
        };
        $killed++ unless $r && $r->{status};
        $t->stop_symcached('KILL');
        unlink $t->helper_socket if $step % 2;
        for my $file (published()) {
            push @partial, "$step: $file"
                unless ($t->read_file($file) // '') eq $pdb;
        }
        push @lost, $step if $r && $r->{status} == 200
            && !-e $t->path("store/p$step.pdb/$id/p$step.pdb-v9.0.0.symcache");
    }

    $t->write_file('shim', 'none 0');
    $t->start_symcached(undef, env => \%env);
    push @lost, grep { lookup("p$_.pdb")->{status} != 200 } 1 .. $steps;
    $t->wait_until('old work is gone', sub {
        2 == (() = map { glob $t->path("$_/.tmp/*") } qw(store downloads))
    });
    $t->stop_symcached;
    cmp_ok $killed, '>', 20, 'killed before most of them';
    is_deeply \@partial, [], 'nothing partial';
    is_deeply \@lost, [], 'nothing lost';
}

# two helpers and their cleaners, one of which is killed

Test::Symcache::remove_tree($t->path($_)) for qw(store downloads);
my $config = config(clean_every => '1s', max_unused_for => '1h', min_free => '1');
$t->start_symcached($config);
my $b = $t->path('b.sock');
my $b_config = $t->write_file('b.json', JSON::PP::encode_json({ %$config,
    listen => "unix:$b", downloads => $t->path('downloads') }));

sub start_b {
    my $pid = $t->spawn('b.out', { $t->sanitizer_env(0) },
        $t->program('symcached'), '-c', $b_config);
    $t->wait_until('it accepts', sub { Test::Symcache::connects($b) });
    return $pid;
}

splice @names, 30;
for my $round (1 .. 3) {
    my $pid = start_b();
    my %held;
    for my $name (@names) {
        my $uri = "/v1/symcache/default/$name/$id?version=9.0.0&wait=60";
        push @{ $held{$name} }, map { $t->open_http($_, 'GET', $uri) }
            $b, $t->helper_socket;
    }
    # at another moment in each round
    my $enough = 8 * ($round - 1);
    $t->wait_until('some are published',
        sub { (() = published()) >= $enough });
    $t->stop_pid($pid, 'KILL');

    my (@wrong, @other);
    for my $name (@names) {
        my ($theirs, $ours) = map { $t->read_response($_) } @{ $held{$name} };
        push @wrong, "$name: $ours->{status} $ours->{body}" unless $ours->{status} == 200;
        push @other, "$name: $theirs->{status} $theirs->{body}"
            unless $theirs->{status} == 200 || $theirs->{status} == 0;
        my $file = "store/$name/$id/$name-v9.0.0.symcache";
        push @wrong, $file unless ($t->read_file($file) // '') eq $pdb;
    }
    is_deeply \@wrong, [], "round $round: one that lives answers, whole files";
    is_deeply \@other, [], "round $round: the other answered, or was dead";
    # the cleaners may be quicker
    Test::Symcache::remove_tree((glob $t->path("store/p*.pdb")),
        { error => \my $ignored });
}
unlink $b;

# what the dead ones left goes when the next one starts
my $pid = start_b();
$t->wait_until('their work is gone', sub {
    2 >= (() = glob $t->path('store/.tmp/*'))
});
is $t->stop_pid($pid, 'TERM'), 0, 'stopped';

$t->finish;
done_testing;
