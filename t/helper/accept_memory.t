#!/usr/bin/env perl

# A connection for which there is no memory is closed, or its request is refused:
# symcached goes on.  Allocations 10 to 14 are left out: without one of them
# libevent 2.1.12 itself dies.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

plan skip_all => 'not under a sanitizer' if $Test::Symcache::san;
plan skip_all => 'another libevent' if qx(pkg-config --modversion libevent) !~ /^2\.1\.12/;
plan skip_all => 'no C compiler' if system('cc --version >/dev/null 2>&1') != 0;

my $t = Test::Symcache->new;

# Of the allocations behind an accepted connection, the one has no memory whose
# number the file COUNT has.
$t->write_file('shim.c', <<'C');
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);

static int left;

static int fails(void)
{
    if (left == 0 || --left > 0) {
        return 0;
    }
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }

void *calloc(size_t n, size_t size)
{
    return fails() ? NULL : __libc_calloc(n, size);
}

int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
    int (*real)(int, struct sockaddr *, socklen_t *, int) =
        dlsym(RTLD_NEXT, "accept4");
    int connection = real(fd, address, size, flags), n = 0;
    FILE *file = connection != -1 ? fopen(getenv("COUNT"), "r") : NULL;

    if (file != NULL) {
        n = fscanf(file, "%d", &n) == 1 ? n : 0;
        fclose(file);
        left = n;
    }
    return connection;
}
C
my $shim = $t->path('shim.so');
system('cc', '-D_GNU_SOURCE', '-w', '-shared', '-fPIC', '-o', $shim, $t->path('shim.c')) == 0
    or die 'cc';
$t->start_symcached($t->default_config('http://127.0.0.1:1'),
    env => { LD_PRELOAD => $shim, COUNT => $t->path('count') });

local $SIG{PIPE} = 'IGNORE';
my @numbers = (1 .. 9, 15 .. 19);
my $ends = 0;
for my $n (@numbers) {
    $t->write_file('count', $n);
    my $s = Test::Symcache::connect_to($t->helper_socket) or last;
    syswrite $s, "GET /healthz HTTP/1.0\r\n\r\n";
    my $answer = do { local $/; <$s> } // '';
    $ends++ if $answer eq '' || $answer =~ m{^HTTP/1\.\d (?:200|503) };
}
is $ends, @numbers, 'connections are closed or answered';
unlink $t->path('count');
is $t->helper('GET', '/healthz')->{status}, 200, 'and later ones answered';

$t->finish;
done_testing;
