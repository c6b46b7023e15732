#!/usr/bin/env perl

# An index of uploads that cannot be read: a file that it may lead to is not
# called absent.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;
use Test::Uploads;

my $u = Test::Uploads->new(cache => { retry_errors_after => '1s' });
my $t = $u->t;
my $id = $Test::Symcache::key{'crash.pdb'};
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
sub head { $u->request('HEAD', "/symbols/crash.pdb/$id/crash.pdb", '', @Test::Uploads::token, @_)
    ->{status} }
sub ask { $t->helper('GET', "/v1/debuginfo/default/other.pdb/$id?version=1.0.0&wait=60")
    ->{status} }

is $u->put("crash.pdb/$id/crash.pdb", $pdb, @Test::Uploads::token)->{status}, 201, 'a PDB';
my $folder = $t->path("uploads/.index/$id");
rename $folder, "$folder.away" or die $!;
symlink $id, $folder or die $!; # it leads to itself
my @bearer = ('Authorization: Bearer 0123456789abcdef0123456789abcdef');
my $dsyms = '/api/0/projects/acme/web/files/dsyms/?debug_id=3249d99d-0c40-4931-8610-f4e4fb0b6936-1';
is $u->request('GET', $dsyms, '', @bearer)->{status}, 503, 'the files of a project: 503';
is ask(), 503, 'by another name, while the folder of its id cannot be read: 503';
unlink $folder or die $!;
rename "$folder.away", $folder or die $!;
$t->wait_until('it is found when it can', sub { ask() == 200 });
is @{ $u->request('GET', $dsyms, '', @bearer)->{json} }, 1, 'as is the file of the project';

# --- a file that cannot be looked at

my $file = "/api/0/projects/acme/web/files/dsyms/?id=crash.pdb/$id/crash.pdb";
is $u->request('GET', $file, '', @bearer)->{status}, 200, 'the file of the project';
rename $t->path('uploads/crash.pdb'), $t->path('away') or die $!;
is $u->request('GET', $file, '', @bearer)->{status}, 404, 'if it is gone: 404';
is head(), 404, '... and HEAD of its path';
symlink 'crash.pdb', $t->path('uploads/crash.pdb') or die $!;
is $u->request('GET', $file, '', @bearer)->{status}, 503, 'if its folder cannot be read: 503';
is head(), 503, '... and HEAD of its path';
unlink $t->path('uploads/crash.pdb') or die $!;
rename $t->path('away'), $t->path('uploads/crash.pdb') or die $!;

SKIP: {
    skip 'not under a sanitizer', 3 if $Test::Symcache::san;
    my $shim = $t->path('shim.so');
    $t->write_file('shim.c', <<'C');
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int without(const char *path, int flags, unsigned mode)
{
    if (strstr(path, "/uploads/crash.pdb/") != NULL && (flags & O_NOFOLLOW)) {
        errno = EMFILE;
        return -1;
    }
    return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

#define OPEN(name)                                                            \
    int name(const char *path, int flags, ...)                                \
    {                                                                         \
        va_list args;                                                         \
        unsigned mode;                                                        \
                                                                              \
        va_start(args, flags);                                                \
        mode = flags & O_CREAT ? va_arg(args, unsigned) : 0;                  \
        va_end(args);                                                         \
        return without(path, flags, mode);                                    \
    }

OPEN(open)
OPEN(open64)
C
    skip 'no C compiler', 3
        if system('cc', '-shared', '-fPIC', '-w', '-o', $shim, $t->path('shim.c')) != 0;
    $t->stop_symcached;
    $t->start_symcached($u->config, env => { LD_PRELOAD => $shim });
    is $u->request('GET', $dsyms, '', @bearer)->{status}, 503,
        'without a descriptor for a file, a list: 503';
    is head(), 200, '... HEAD knows its size';
    is head('Want-Repr-Digest: sha-256=1'), 503, '... and not its digest: 503';
}

# --- an entry that cannot be written

my $other = '0123456789ABCDEF0123456789ABCDEF0';
my $sym = "MODULE windows x86_64 $other one.pdb\nPUBLIC 1000 0 f\n";
my $config = $u->config;
$config->{stores}{default}{transcoders}[0]{inputs} = ['breakpad'];
$config->{cache}{clean_every} = '1s';
$t->stop_symcached;
$t->start_symcached($config);
sub whole { -e $t->path('uploads/.index/.whole-2') }
$t->wait_until('the index is whole', sub { whole() });
$t->write_file("uploads/.index/$other", ''); # in place of a folder
is $u->put("one.pdb/$other/one.sym", $sym, @Test::Uploads::token)->{status}, 201,
    'an upload whose entry cannot be written';
like $t->helper_log, qr{uploads: the index is not written: }, 'the log says so';
ok !whole(), 'and the index is not whole';
unlink $t->path("uploads/.index/$other") or die $!;
$t->wait_until('it is found by another name after the next pass', sub {
    $t->helper('GET', "/v1/symcache/default/two.pdb/$other?version=9.0.0&wait=60")
        ->{status} == 200 });
ok whole(), 'and then it is whole';

# --- files that a pass cannot see

SKIP: {
    skip 'not under a sanitizer', 1 if $Test::Symcache::san;
    my $shim = $t->path('pass.so');
    $t->write_file('pass.c', <<'C');
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int openat(int folder, const char *name, int flags, ...)
{
    int (*real)(int, const char *, int, ...) = dlsym(RTLD_NEXT, "openat");
    va_list args;
    unsigned mode;

    va_start(args, flags);
    mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(args, unsigned) : 0;
    va_end(args);
    if (strcmp(name, "one.sym") == 0 && access(getenv("FAULT"), F_OK) == 0) {
        errno = EMFILE;
        return -1;
    }
    return real(folder, name, flags, mode);
}
C
    skip 'no C compiler', 1
        if system('cc', '-D_GNU_SOURCE', '-shared', '-fPIC', '-w', '-o', $shim,
                  $t->path('pass.c')) != 0;
    $t->stop_symcached;
    unlink $t->path('uploads/.index/.whole-2') or die $!;
    $t->write_file('fault', '');
    $t->start_symcached($config, env => { LD_PRELOAD => $shim, FAULT => $t->path('fault') });
    $t->wait_until('the log says that a pass has not seen all', sub {
        $t->helper_log =~ /clean: not all files in .* \(24: / });
    ok !whole(), 'and the index is not whole';
    unlink $t->path('fault') or die $!;
    $t->wait_until('it is after the next pass', sub { whole() });
}

# --- lists of bundles of scripts

my $list = $t->path('uploads/.artifacts');
mkdir $list or die $!;
my $found = '/api/0/projects/acme/web/artifact-lookup/?release=web%401';
is_deeply $u->request('GET', $found, '', @bearer)->{json}, [], 'no bundle of a release';
rmdir $list or die $!;
symlink '.artifacts', $list or die $!;
is $u->request('GET', $found, '', @bearer)->{status}, 503, 'lists that cannot be read: 503';

$t->finish;
done_testing;
