#!/usr/bin/env perl

# symcached-sandboxed gets no memory: each allocation of a check fails in turn,
# also those of libseccomp, which then crashed or computed without end.  It says
# that it cannot check, and never that the file is unsound.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;

plan skip_all => 'no LD_PRELOAD under a sanitizer' if $Test::Symcache::san;
$t->write_file('shim.c', <<'C');
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);

static int fails(void *caller)
{
    static long count, at;
    Dl_info place;

    if (at == 0) {
        at = atol(getenv("FAIL_AT"));
    }
    if (!dladdr(caller, &place) || /* of the program, not of the C library */
        place.dli_fbase != (void *)(getauxval(AT_PHDR) & ~4095UL) ||
        ++count != at) {
        return 0;
    }
    write(2, "failed\n", 7);
    errno = ENOMEM;
    return 1;
}

#define FAILS fails(__builtin_return_address(0))

void *malloc(size_t size)
{
    return FAILS ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return FAILS ? NULL : __libc_calloc(count, size);
}

void *realloc(void *p, size_t size)
{
    return FAILS ? NULL : __libc_realloc(p, size);
}
C
my $shim = $t->path('shim.so');
plan skip_all => 'no C compiler'
    if system('cc', '-D_GNU_SOURCE', '-O1', '-shared', '-fPIC', '-w', '-o',
              $shim, $t->path('shim.c')) != 0;

my $file = $t->path('file');
system($t->program('pdb2symcache'), $t->data('pdb/crash.pdb'), '-o', $file) == 0
    or die 'pdb2symcache';

# The wait status, and whether an allocation has failed.

sub check {
    my ($n) = @_;
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        open STDERR, '>', $t->path('err');
        exec '/bin/sh', '-c', 'ulimit -t 5; exec env "$@" 3<"$0"', $file,
            "LD_PRELOAD=$shim", "FAIL_AT=$n", $t->program('symcached-sandboxed'),
            '--validate', $Test::Symcache::key{'crash.pdb'}, 'symcache' or exit 3;
    }
    waitpid $pid, 0;
    return ($?, $t->read_file('err') =~ /^failed$/m);
}

my ($n, %ends) = (0);
while (1) {
    my ($status, $failed) = check(++$n);
    if (!$failed) {
        is $status, 0, "the file is sound, with $n allocations";
        last;
    }
    push @{ $ends{$status} }, $n;
}
is_deeply [keys %ends], [2 << 8], 'else it cannot be checked'
    or diag explain \%ends;

$t->finish;
done_testing;
