#!/usr/bin/env perl

# Uploads on a disk that fails when it is synced: what is not known to be on it
# is not confirmed, and what has its name nevertheless is seen.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;
use Test::Uploads;
use Test::Zip;

plan skip_all => 'not under a sanitizer' if $Test::Symcache::san;
my $u = Test::Uploads->new;
my $t = $u->t;
my $dir = $t->dir;

# syncfs() fails when the path in $SHIM is there, fsync() of a list of a build that
# is written anew where $SHIM.fsync is, and access() of bundles where $SHIM.access is.
# There are no descriptors for the index where $SHIM.opendir is.
# The note that an upload is complete waits as long as $SHIM.setxattr is there, but
# not for ever: then it removes that.
my $shim = $t->path('shim.so');
$t->write_file('shim.c', <<'C');
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int syncfs(int fd)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "syncfs");
    char path[4096] = "";
    FILE *f = fopen(getenv("SHIM"), "re");

    if (f != NULL && fgets(path, sizeof(path), f) != NULL &&
        access(path, F_OK) == 0) {
        fclose(f);
        errno = EIO;
        return -1;
    }
    if (f != NULL)
        fclose(f);
    return real(fd);
}

static int is_there(const char *end)
{
    int (*real)(const char *, int) =
        (int (*)(const char *, int))dlsym(RTLD_NEXT, "access");
    char path[4096];

    snprintf(path, sizeof(path), "%s%s", getenv("SHIM"), end);
    return real(path, F_OK) == 0;
}

int fsync(int fd)
{
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
    char link[64], path[4096] = "";

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    if (is_there(".fsync") && readlink(link, path, sizeof(path) - 1) > 0 &&
        path[strlen(path) - 1] == '%') {
        errno = EIO;
        return -1;
    }
    return real(fd);
}

int access(const char *path, int mode)
{
    int (*real)(const char *, int) =
        (int (*)(const char *, int))dlsym(RTLD_NEXT, "access");

    if (strstr(path, "/_.artifacts") != NULL &&
        strstr(path, "/hash-aaaa") == NULL && is_there(".access")) {
        errno = EIO;
        return -1;
    }
    return real(path, mode);
}

DIR *opendir(const char *path)
{
    DIR *(*real)(const char *) = (DIR *(*)(const char *))dlsym(RTLD_NEXT, "opendir");

    char file[4096];

    if (strstr(path, "/.index/") != NULL && is_there(".opendir")) {
        snprintf(file, sizeof(file), "%s.waits", getenv("SHIM"));
        fclose(fopen(file, "we"));
        errno = EMFILE;
        return NULL;
    }
    return real(path);
}

int setxattr(const char *path, const char *name, const void *value, size_t size, int flags)
{
    int (*real)(const char *, const char *, const void *, size_t, int) =
        (int (*)(const char *, const char *, const void *, size_t, int))dlsym(RTLD_NEXT, "setxattr");
    char file[4096];
    int i;

    if (strcmp(name, "user.symcached.complete") == 0 && is_there(".setxattr")) {
        snprintf(file, sizeof(file), "%s.waits", getenv("SHIM"));
        fclose(fopen(file, "we"));
        for (i = 0; i < 500 && is_there(".setxattr"); i++)
            usleep(10000);
        snprintf(file, sizeof(file), "%s.setxattr", getenv("SHIM"));
        unlink(file);
    }
    return real(path, name, value, size, flags);
}
C
plan skip_all => 'no C compiler'
    if system('cc', '-shared', '-fPIC', '-w', '-o', $shim, $t->path('shim.c'), '-ldl') != 0;
$t->stop_symcached;
$t->start_symcached($u->config, env => { LD_PRELOAD => $shim, SHIM => $t->path('shim') });

# --- a file that has got its name

my $id = $Test::Symcache::key{'crash.pdb'};
my $path = "crash.pdb/$id/crash.pdb";
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my $other = $pdb; # the last page is not used
substr $other, -1, 1, chr(1 ^ ord substr $other, -1);
sub made { $t->metric('symcached_transcodes_total') }
sub ask { $t->helper('GET', "/v1/symcache/default/crash.pdb/$id?version=9.0.0&wait=60")->{status} }

is $u->put($path, $pdb, @Test::Uploads::token)->{status}, 201, 'a file';
is ask(), 200, 'a SymCache is made of it';
is made(), 1, 'once';
$t->write_file('shim', "$dir/uploads/.builds/%/%/9");
is $u->put("$path?force=1&build=9", $other, @Test::Uploads::token)->{status}, 500,
    'the disk fails after the file was replaced: 500';
is $t->read_file("uploads/$path"), $other, 'it has its name';
$t->write_file('shim', '');
$t->wait_until('what was known of it is dropped', sub {
    ask() == 200 && made() == 2 });
pass 'and a SymCache is made of the new one';
is_deeply [glob "$dir/uploads/.changing/*"], [], 'nothing is left to be done';

# --- a disk that takes its time to note that an upload is complete

$t->write_file('shim.setxattr', '');
my $c = $u->begin('PUT', "/symbols/slow.pdb/$id/slow.pdb", $pdb, @Test::Uploads::token);
$t->wait_until('the note is written', sub { -e $t->path('shim.waits') });
is $t->helper('GET', '/healthz')->{status}, 200, 'while the disk waits, others are answered';
ok unlink($t->path('shim.setxattr')), '... at once';
is $u->read($c)->{status}, 201, 'and then the upload is';
is_deeply [glob "$dir/uploads/.changing/*"], [], '... of which nothing is left to be done';

$t->write_file('shim.setxattr', '');
unlink $t->path('shim.waits');
$c = $u->begin('PUT', "/symbols/stop.pdb/$id/stop.pdb", $pdb, @Test::Uploads::token);
$t->wait_until('the note is written', sub { -e $t->path('shim.waits') });
kill 'TERM', $t->{helper};
is $u->read($c)->{status}, 201, 'a stop meanwhile: the upload is stored nevertheless';
unlink $t->path('shim.setxattr');
is $t->stop_symcached, 0, '... and symcached ends';
ok -f "$dir/uploads/stop.pdb/$id/stop.pdb", '... with the file';
$t->start_symcached($u->config, env => { LD_PRELOAD => $shim, SHIM => $t->path('shim') });
ok $t->wait_until('the next process', sub { !(() = glob "$dir/uploads/.changing/*") }), '... of which the next one leaves nothing to be done';

# --- what clients do not see yet is not confirmed

$path = "crash.pdb/$id/crash.pdb";
ask();
my ($made) = glob $t->path("store/crash.pdb/$id/*");
ok $made, 'a SymCache is there';
$t->write_file('shim.opendir', '');
unlink $t->path('shim.waits');
$c = $u->begin('PUT', "/symbols/$path?force=1", $pdb, @Test::Uploads::token);
$t->wait_until('the index is looked at', sub { -e $t->path('shim.waits') });
is $t->read_file("uploads/$path"), $pdb, 'the file is replaced';
kill 'TERM', $t->{helper};
is $u->read($c)->{status}, 503, 'a stop before the SymCache of the former file is removed: to be sent again';
is $t->stop_symcached, 0, '... and symcached ends';
unlink $t->path('shim.opendir') or die $!;
$t->start_symcached($u->config, env => { LD_PRELOAD => $shim, SHIM => $t->path('shim') });
ok $t->wait_until('the next process', sub { !(() = glob "$dir/uploads/.changing/*") }), '... and the next one removes it';
is $u->put("$path?force=1", $pdb, @Test::Uploads::token)->{status}, 200, 'which has the file';
is ask(), 200, 'and makes another one of it';
is made(), 1, '... once';

# --- the list of a build is written anew as a file that is sent again is on it

$path = "other.pdb/$id/other.pdb";
my $list = "$dir/uploads/.builds/%/%/10";
is $u->put("$path?build=10", $pdb, @Test::Uploads::token)->{status}, 201,
    'a file of a build';
my $before = $t->read_file($list);
$t->write_file('shim.fsync', '');
is $u->put("$path?build=10", $pdb, @Test::Uploads::token)->{status}, 500,
    'a list that may not be on the disk: 500';
is $t->read_file($list), $before, 'and the former one stays';
unlink "$dir/shim.fsync";
is $u->put("$path?build=10", $pdb, @Test::Uploads::token)->{status}, 200,
    'later it is 200';

# --- a bundle of scripts, whose lists are written after it has its name

my $bundle = "SYSB\2\0\0\0" . Test::Zip::zip(['manifest.json', <<'JSON'],
{"files": {"files/_/_/app.js": {"type": "minified_source", "url": "~/app.js"}}}
JSON
    ['files/_/_/app.js', "f();\n"]);
$t->write_file('shim', "$dir/uploads/.artifacts");
my $state = $u->send_bundle($bundle, version => 'web@1');
is $state->{state}, 'error', 'lists that may not be on the disk are not confirmed'
    or diag explain $state;
$t->write_file('shim', '');
is $u->send_bundle($bundle, version => 'web@1')->{state}, 'ok', 'sent again, they are';

# --- a pass of cleaning, where bundles cannot be looked at

my ($entry) = glob "$dir/uploads/.artifacts/release-*/*";
my $stale = 'uploads/.artifacts/' . (split '/', $entry)[-2] . '/' . 'a' x 40;
$u->{cache}{clean_every} = '1s';
$t->write_file('shim.access', '');
$t->stop_symcached;
$t->start_symcached($u->config, env => { LD_PRELOAD => $shim, SHIM => $t->path('shim') });
for my $pass (1, 2) {
    $t->write_file($stale, '');
    $t->wait_until("pass $pass", sub { !-e $t->path($stale) });
}
ok -e $entry, 'what leads to a bundle that may be there stays';

$t->finish;
done_testing;
