#!/usr/bin/env perl

# Files that are sent again, or replaced, just while a pass of cleaning removes
# them: what the client was told is there stays.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;
use Test::Uploads;

plan skip_all => 'not under a sanitizer' if $Test::Symcache::san;
my $u = Test::Uploads->new;
my $t = $u->t;
my $dir = $t->dir;

# A text is removed, in a pass of cleaning or from the folder of a tier, only when
# the file $GATE is there; before, its path is in $GATE.waits.
my $shim = $t->path('shim.so');
$t->write_file('shim.c', <<'C');
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void wait_for_gate(const char *name)
{
    const char *gate = getenv("GATE"), *end = strstr(name, ".sym");
    char waits[4096], made[4096];
    FILE *f;

    if (gate == NULL || end == NULL || end[4] != '\0')
        return;
    snprintf(waits, sizeof(waits), "%s.waits", gate);
    snprintf(made, sizeof(made), "%s.made", gate);
    f = fopen(made, "w");
    fputs(name, f);
    fclose(f);
    rename(made, waits);
    while (access(gate, F_OK) != 0)
        usleep(1000);
}

int unlinkat(int dir, const char *name, int flags)
{
    int (*real)(int, const char *, int) =
        (int (*)(int, const char *, int))dlsym(RTLD_NEXT, "unlinkat");

    if (flags == 0)
        wait_for_gate(name);
    return real(dir, name, flags);
}

int unlink(const char *name)
{
    int (*real)(const char *) =
        (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");

    if (strstr(name, "/tier/uploads/lib") != NULL)
        wait_for_gate(name);
    return real(name);
}
C
plan skip_all => 'no C compiler'
    if system('cc', '-shared', '-fPIC', '-w', '-o', $shim, $t->path('shim.c'), '-ldl') != 0;

my $id = '0123456789ABCDEF0123456789ABCDEF0';
my @texts = map { "MODULE Linux x86_64 $id libx.so\nPUBLIC $_ 0 f\n" } 1000, 2000;
my $config = $u->config;
$config->{cache}{clean_every} = '1s';
my %env = (LD_PRELOAD => $shim, GATE => $t->path('gate'));

sub start {
    $t->stop_symcached;
    unlink $t->path('gate'), $t->path('gate.waits');
    $t->start_symcached($config, env => \%env);
}

for my $case (['', 'sent again', $texts[0]], ['?force=1', 'replaced', $texts[1]]) {
    my ($query, $what, $text) = @$case;
    my $name = "lib$what.so" =~ s/ //r;
    my $path = "$name/$id/$name.sym";
    $_ =~ s/libx\.so/$name/ for my ($first, $second) = ($texts[0], $text);
    start();
    is $u->put("$path?expires=1s", $first, @Test::Uploads::token)->{status}, 201,
        "$what: a file that expires";
    $t->wait_until('it is being removed', sub { -e $t->path('gate.waits') });
    my $s = $u->begin('PUT', "/symbols/$path$query", $second, @Test::Uploads::token);
    $t->wait_until('it gets its name', sub { glob "$dir/uploads/.changing/*" });
    $t->write_file('gate', '');
    like $u->read($s, 'PUT')->{status}, qr/^20[01]$/, "$what: meanwhile it is stored";
    $t->wait_until('the pass has ended', sub {
        $t->helper_log =~ /clean uploads files=\d+ bytes=\d+/ });
    is eval { $t->read_file("uploads/$path") }, $second, "$what: and is there";
}

# --- with a tier, from which files go first, one after the other

mkdir $t->path('tier') or die $!;
$config->{tiers} = { fleet => { type => 'filesystem', path => $t->path('tier') } };
$config->{stores}{default}{tier} = 'fleet';
start();
sub text { $texts[0] =~ s/libx\.so/$_[0]/r }
sub path { "$_[0]/$id/$_[0].sym" }
sub put { my ($name, $query) = @_;
    $u->put(path($name) . ($query // ''), text($name), @Test::Uploads::token)->{status} }
sub state_of { my ($name) = @_; join ' ', map { -e $t->path("$_/" . path($name)) ? $_ : () }
    'uploads', 'tier/uploads' }

my @names = qw(liba libb);
is put($_, '?expires=1s'), 201, "$_: a file that expires" for @names;
$t->wait_until('one is being removed', sub { -e $t->path('gate.waits') });
my ($going) = $t->read_file('gate.waits') =~ m{/(lib[ab])/};
my ($next) = grep { $_ ne $going } @names;
like put($next), qr/^20[01]$/, 'the next one is sent again';
isnt put($going), 200, 'that one is not there';
$t->write_file('gate', '');
$t->wait_until('it is sent again', sub { put($going) =~ /^20[01]$/ });
is put('libc', '?expires=1s'), 201, 'one more expires';
$t->wait_until('it has been removed', sub { state_of('libc') eq '' });
is state_of($_), 'uploads tier/uploads', "$_ is there, and in the tier" for $next, $going;

$t->finish;
done_testing;
