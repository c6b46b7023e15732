#!/usr/bin/env perl

# An upload whose length cannot be seen, as on a network file system that is in
# trouble, is a failure of this machine, and not an empty file of the client.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

plan skip_all => 'not under a sanitizer' if $Test::Symcache::san;
plan skip_all => 'no C compiler' if system('cc --version >/dev/null 2>&1') != 0;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};

# The call of lseek() with the number $FAULT fails.
$t->write_file('shim.c', <<'C');
#include <errno.h>
#include <stdlib.h>
#include <sys/types.h>

off_t lseek64(int, off_t, int);

off_t lseek(int fd, off_t at, int whence)
{
    static int calls;

    if (++calls == atoi(getenv("FAULT"))) {
        errno = ESTALE;
        return -1;
    }
    return lseek64(fd, at, whence);
}
C
my $shim = $t->path('shim.so');
system('cc', '-shared', '-fPIC', '-o', $shim, $t->path('shim.c')) == 0
    or die 'cc';

# What the process says of an upload.
sub take {
    my ($call) = @_;
    my %file = map { ($_ => $t->path($_)) } qw(report scratch out);
    $t->write_file($_, '') for keys %file;
    system('sh', '-c', 'in=$1 report=$2 scratch=$3 out=$4; shift 4;'
        . 'exec "$@" 3<$in 4>$report 5<>$scratch 6<>$out', 'sh',
        $t->data('pdb/crash.pdb'), @file{qw(report scratch out)},
        'env', "LD_PRELOAD=$shim", "FAULT=$call",
        "$Test::Symcache::build/symcached-sandboxed", qw(--upload file 10000000),
        'crash.pdb', $id, 'crash.pdb') == 0 or die "system: $?";
    return $t->read_file('report');
}

like take(0), qr/\Afile\t.*\nend\n\z/, 'a file';
my $call = 1;
for (my $said; ($said = take($call)) !~ /\Afile\t/ && $call < 20; $call++) {
    like $said, qr/\Arefuse\t500\t.*Stale file handle\n\z/, "call $call fails";
}
cmp_ok $call, '>', 3, 'calls were made';

$t->finish;
done_testing;
