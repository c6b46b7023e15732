#!/usr/bin/env perl

# An upload that replaces another, while symcached has no descriptor to look at
# what it has made of that: the upload is answered when this is gone.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;
use Test::Uploads;

plan skip_all => 'not under a sanitizer' if $Test::Symcache::san;
plan skip_all => 'no C compiler' if system('cc --version >/dev/null 2>&1') != 0;

my $u = Test::Uploads->new;
my $t = $u->t;
my $id = $Test::Symcache::key{'crash.pdb'};
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my $place = "crash.pdb/$id/crash.pdb";

# While there is a file $FAULT, a line is added to it for each folder of the
# store that cannot be opened.
$t->write_file('shim.c', <<'C');
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

DIR *opendir(const char *path)
{
    DIR *(*real)(const char *) =
        (DIR *(*)(const char *))dlsym(RTLD_NEXT, "opendir");
    int fd;

    if (strstr(path, "/store/crash.pdb/") == NULL ||
        (fd = open(getenv("FAULT"), O_WRONLY | O_APPEND)) < 0)
        return real(path);
    if (write(fd, "\n", 1) != 1)
        abort();
    close(fd);
    errno = EMFILE;
    return NULL;
}
C
my $shim = $t->path('shim.so');
system('cc', '-shared', '-fPIC', '-o', $shim, $t->path('shim.c'), '-ldl') == 0
    or die 'cc';
$t->stop_symcached;
$t->start_symcached($u->config, env => { LD_PRELOAD => $shim,
                                         FAULT => $t->path('fault') });
sub ask {
    return $t->helper('GET',
        "/v1/symcache/default/crash.pdb/$id?version=9.0.0&wait=60")->{status};
}
is $u->put($place, $pdb)->{status}, 201, 'a PDB';
is ask(), 200, 'a SymCache is made of it';
$t->write_file('fault', '');
my $s = $u->begin('PUT', "/symbols/$place?force=1", substr($pdb, 0, -1) . 'x',
                  @Test::Uploads::token);
$t->wait_until('it cannot be removed', sub { -s $t->path('fault') });
unlink $t->path('fault') or die $!;
is $u->read($s, 'PUT')->{status}, 201, 'another one in its place';
is ask(), 200, 'a SymCache';
is $t->runs, 2, 'is made of the new one';

$t->finish;
done_testing;
