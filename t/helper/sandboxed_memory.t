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
my $shim = $t->path('shim.so');
plan skip_all => 'no C compiler'
    if system('cc', '-D_GNU_SOURCE', '-O1', '-shared', '-fPIC', '-w', '-o',
              $shim, "$Test::Symcache::top/t/bin/failing_allocation.c") != 0;

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
