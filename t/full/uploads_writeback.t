#!/usr/bin/env perl

# An upload whose bytes the disk has lost, of which another program has got the
# report: it is not confirmed.  Needs root, and a loop device: the file system
# is larger than what it lies in.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Mount;
use Test::More;
use Test::Symcache;
use Test::Uploads;

plan skip_all => 'not under a sanitizer' if $Test::Symcache::san;
my ($fs, $mounted);
my $u = Test::Uploads->new(prepare => sub {
    my ($t) = @_;
    $fs = $t->path('fs');
    Test::Mount::small($t->path('small'), '100m');
    mkdir $fs or die $!;
    open my $image, '>', $t->path('small/image') or die $!;
    truncate $image, 64 << 20 or die $!;
    $mounted = system("mkfs.ext4 -q -O ^has_journal '@{[ $t->path('small/image') ]}' 2>/dev/null"
        . " && mount -o loop '@{[ $t->path('small/image') ]}' '$fs' 2>/dev/null") == 0;
});
my $t = $u->t;
plan skip_all => 'no ext4 in a loop device' if !$mounted;

# Before an upload is noted, symcached waits for the file $GATE.
my $shim = $t->path('shim.so');
$t->write_file('shim.c', <<'C');
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int mkostemp(char *path, int flags)
{
    int (*real)(char *, int) = (int (*)(char *, int))dlsym(RTLD_NEXT, "mkostemp");
    char waits[4096];

    snprintf(waits, sizeof(waits), "%s.waits", getenv("GATE"));
    close(open(waits, O_WRONLY | O_CREAT, 0644));
    while (access(getenv("GATE"), F_OK) != 0)
        usleep(1000);
    return real(path, flags);
}
C
plan skip_all => 'no C compiler'
    if system('cc', '-shared', '-fPIC', '-w', '-o', $shim, $t->path('shim.c'), '-ldl') != 0;

my $id = '0123456789ABCDEF0123456789ABCDEF0';
my $path = "libx.so/$id/libx.so.sym";
my $text = "MODULE Linux x86_64 $id libx.so\n" . join '', map {
    sprintf "PUBLIC %x 0 a_function_with_a_long_name_of_which_there_are_many_%d\n", $_ * 16, $_
} 1 .. 160_000;
my $config = $u->config;
$config->{uploads}{root} = "$fs/uploads";
$config->{uploads}{spool} = $t->path('uploads/.spool');
mkdir "$fs/uploads" or die $!;
$t->stop_symcached;
$t->start_symcached($config, env => { LD_PRELOAD => $shim, GATE => $t->path('gate') });

# What the file system notes of its own lies there by then: only the bytes of the
# file find no room.
$t->write_file('gate', '');
is $u->put($path, $text, @Test::Uploads::token)->{status}, 201, 'while there is room';
unlink "$fs/uploads/$path" or die $!;
system("sync -f '$fs' && fstrim '$fs'") == 0 or plan skip_all => 'no fstrim';
unlink $t->path('gate'), $t->path('gate.waits') or die $!;
my ($used) = qx{df -k --output=used '@{[ $t->path('small') ]}'} =~ /(\d+)/;
Test::Mount::again($t->path('small'), 'size=' . ($used + 64) . 'k');

my $s = $u->begin('PUT', "/symbols/$path", $text, @Test::Uploads::token);
$t->wait_until('it is about to be stored', sub { -e $t->path('gate.waits') });
isnt system("sync -f '$fs' 2>/dev/null"), 0, 'another program is told that the disk has failed';
Test::Mount::again($t->path('small'), 'size=100m'); # from now on it works
$t->write_file('gate', '');
like $u->read($s, 'PUT')->{status}, qr/^50[07]$/, 'the upload is not confirmed';
$t->stop_symcached;
system 'umount', $fs;
Test::Mount::gone($t->path('small'));

$t->finish;
done_testing;
