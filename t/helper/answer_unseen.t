#!/usr/bin/env perl

# A client waits for a job, and then the disk does not let symcached look at the
# store: the answer says so, and so does the log.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::Symcache;

plan skip_all => 'not under a sanitizer' if $Test::Symcache::san;
plan skip_all => 'no C compiler' if system('cc --version >/dev/null 2>&1') != 0;

my $t = Test::Symcache->new;
my $key = "crash.pdb/$Test::Symcache::key{'crash.pdb'}";

# While there is the file $FAULT, symcached cannot read the folder of the key.
$t->write_file('shim.c', <<'C');
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct dirent *readdir(DIR *dir)
{
    struct dirent *(*real)(DIR *) = dlsym(RTLD_NEXT, "readdir");
    char fd[64], path[4096] = "";

    snprintf(fd, sizeof(fd), "/proc/self/fd/%d", dirfd(dir));
    if (access(getenv("FAULT"), F_OK) == 0 &&
        readlink(fd, path, sizeof(path) - 1) > 0 &&
        strstr(path, "/store/crash.pdb/") != NULL) {
        errno = EIO;
        return NULL;
    }
    return real(dir);
}
C
system('cc', '-shared', '-fPIC', '-o', $t->path('shim.so'), $t->path('shim.c')) == 0
    or die 'cc';

my $config = $t->default_config('http://127.0.0.1:1', gated => 1);
$config->{sources} = { upstream => { type => 'filesystem',
    path => $t->symbol_store('sym') } };
$t->start_symcached($config, env => { LD_PRELOAD => $t->path('shim.so'),
    FAULT => $t->path('fault') });
my $uri = "/v1/symcache/default/$key?version=9.0.0&wait=60";
my $s = $t->open_http($t->helper_socket, 'GET', $uri);
$t->wait_until('the transcoder runs', sub { $t->runs });
$t->write_file('fault', '');
$t->write_file('gate', '');
my $r = $t->read_response($s, 'GET');
is $r->{status}, 503, 'what was made cannot be seen';
like JSON::PP::decode_json($r->{body})->{detail}, qr/cannot be seen: Input\/output error/,
    '... the answer says';
like $t->helper_log, qr{\[error\] .*lookup default/\Q$key\E: answered 503, .*cannot be seen: Input/output error},
    '... and the log';
unlink $t->path('fault') or die $!;
is $t->helper('GET', $uri)->{status}, 200, 'later it is there';

$t->finish;
done_testing;
