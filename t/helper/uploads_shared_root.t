#!/usr/bin/env perl

# Machines that mount one folder of uploads: what another one stores just before
# a file gets its name stays.

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

# A file of libx.so gets its name only when the file $GATE is there; before,
# $GATE.waits is made.
my $shim = $t->path('shim.so');
$t->write_file('shim.c', <<'C');
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void wait_for_gate(const char *path)
{
    char waits[4096];

    if (strstr(path, "/uploads/libx.so/") == NULL)
        return;
    snprintf(waits, sizeof(waits), "%s.waits", getenv("GATE"));
    close(open(waits, O_WRONLY | O_CREAT, 0644));
    while (access(getenv("GATE"), F_OK) != 0)
        usleep(1000);
}

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *) =
        (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");

    wait_for_gate(to);
    return real(from, to);
}

int link(const char *from, const char *to)
{
    int (*real)(const char *, const char *) =
        (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "link");

    wait_for_gate(to);
    return real(from, to);
}
C
plan skip_all => 'no C compiler'
    if system('cc', '-shared', '-fPIC', '-w', '-o', $shim, $t->path('shim.c'), '-ldl') != 0;

my $id = '0123456789ABCDEF0123456789ABCDEF0';
my ($mine, $theirs) = map { "MODULE Linux x86_64 $id libx.so\nPUBLIC $_ 0 f\n" } 1000, 2000;
my $path = "libx.so/$id/libx.so.sym";
$t->stop_symcached;
$t->start_symcached($u->config, env => { LD_PRELOAD => $shim, GATE => $t->path('go') });
my $s = $u->begin('PUT', "/symbols/$path", $mine, @Test::Uploads::token);
$t->wait_until('it is about to get its name', sub { -e $t->path('go.waits') });
$t->write_file("uploads/$path", $theirs);
$t->write_file('go', '');
is $u->read($s, 'PUT')->{status}, 503, 'another machine has stored the file: come again';
is $t->read_file("uploads/$path"), $theirs, 'which is still there';
is $u->put($path, $mine, @Test::Uploads::token)->{status}, 409, 'and it is another one';
is $u->put("$path?force=1", $mine, @Test::Uploads::token)->{status}, 201, 'force=1 replaces it';
is $t->read_file("uploads/$path"), $mine, 'as always';

$t->finish;
done_testing;
