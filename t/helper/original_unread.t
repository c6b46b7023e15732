#!/usr/bin/env perl

# An original that was looked at and that symcached itself then cannot open, as
# it has no descriptor left, or that has become another file in the source's
# folder meanwhile; and what a transcoder has made and symcached cannot look at:
# the lookup fails for a while, nothing is called absent, and symcached goes on.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;

# While there is a file $FAULT, the format of an original in a work folder
# cannot be read; if it has something in it, this becomes the original first; if
# that is "output", what is in a folder of a job cannot be read instead.
my $shim = $t->path('shim.so');
$t->write_file('shim.c', <<'C');
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int open(const char *path, int flags, ...)
{
    int (*real)(const char *, int, ...) =
        (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    const char *name = strrchr(path, '/'), *run = strstr(path, "/run-");
    char text[64] = "";
    va_list args;
    mode_t mode;
    ssize_t n;
    int fd;

    va_start(args, flags);
    mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, mode_t) : 0;
    va_end(args);
    if (run == NULL || name == run)
        return real(path, flags, mode);
    if ((fd = real(getenv("FAULT"), O_RDONLY)) < 0)
        return real(path, flags, mode);
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (strcmp(text, "output") == 0) {
        if (flags == (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) {
            errno = EMFILE;
            return -1;
        }
    } else if (strcmp(name, "/weave.pdb") == 0 &&
               flags == (O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {
        if (n <= 0) {
            errno = EMFILE;
            return -1;
        }
        fd = real(path, O_WRONLY | O_TRUNC);
        n = write(fd, text, n);
        close(fd);
    }
    return real(path, flags, mode);
}
C
plan skip_all => 'not under a sanitizer' if $Test::Symcache::san;
plan skip_all => 'no C compiler'
    if system('cc', '-shared', '-fPIC', '-w', '-o', $shim, $t->path('shim.c'),
              '-ldl') != 0;

my $pdb = $t->read_file($t->data('ppdb/weave.pdb'));
my $id = '6022E78B4BF44D048F9E21D7790ECE60FFFFFFFF';
my $original = "sym/weave.pdb/$id/weave.pdb";
my $config = $t->default_config('http://127.0.0.1:1',
                                cache => { retry_errors_after => '1s' });
$config->{sources} = { local => { type => 'filesystem',
                                  path => $t->path('sym') } };
$config->{stores}{default}{sources} = ['local'];
$config->{stores}{default}{transcoders} = [
    { version => '1.0.0', makes => 'ppdbcache',
      command => [$t->program('pdb2symcache'), '-pdb', '{pdb}'] }];
$t->write_file($original, $pdb);
$t->start_symcached($config,
    env => { LD_PRELOAD => $shim, FAULT => $t->path('fault') });

sub ask {
    return $t->helper('GET', "/v1/ppdbcache/default/weave.pdb/$id"
        . '?version=1.0.0&wait=60');
}

for (['', 'Too many open files', 'one that cannot be opened'],
     ['another file', 'a file of another format', 'one that was replaced'],
     ['output', 'be looked at: Too many open files', 'output that cannot be read']) {
    my ($text, $why, $name) = @$_;
    $t->write_file('fault', $text);
    my $r = ask();
    is $r->{status}, 503, "$name: is tried again";
    $t->wait_until('the log', sub { $t->helper_log =~ /\Q$why\E/ });
    unlink $t->path('fault');
    $t->write_file($original, $pdb);
    is $t->helper('POST', '/v1/forget/default/weave.pdb')->{status}, 200,
        'forgotten';
    is ask()->{status}, 200, 'and is there afterwards';
    unlink glob $t->path("store/weave.pdb/$id/*");
    unlink glob $t->path("downloads/*/weave.pdb/$id/*");
}
is $t->stop_symcached, 0, 'the same process, to the end';
$t->finish;
done_testing;
