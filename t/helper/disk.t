#!/usr/bin/env perl

# A full disk and one that is read-only: nothing final, nothing partial.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

# mounts of its own, which go with the process
if (!$ENV{SYMCACHE_T_MOUNTS}) {
    my @unshare = qw(unshare --mount --propagation private);
    plan skip_all => 'needs root and unshare(1) for a small file system'
        if $> != 0 || system("@unshare true 2>/dev/null") != 0;
    $ENV{SYMCACHE_T_MOUNTS} = 1;
    exec @unshare, $^X, "-I$FindBin::Bin/../lib", $0 or die "unshare: $!";
}

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};

sub lookup {
    return $t->helper('GET',
        "/v1/symcache/default/crash.pdb/$id?version=9.0.0&wait=60");
}

sub forget { $t->helper('POST', '/v1/forget/default/crash.pdb') }

sub files { grep { !m{/\.} } glob $t->path('store/*/*/*') }

mkdir $t->path('store');
plan skip_all => 'cannot mount a file system'
    if system('mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs',
        $t->path('store')) != 0;

my $config = $t->default_config('http://127.0.0.1:1');
$config->{sources} = { upstream => { type => 'filesystem',
                                     path => $t->path('sym') } };
$t->symbol_store('sym');
$t->start_symcached($config);

# not enough room: the transcoder fails and leaves nothing

$t->write_file('store/filler', 'x' x (1000 * 1024));
my $r = lookup();
is $r->{status}, 503, 'a full disk is no reason of the PDB';
ok Test::Symcache::header($r, 'Retry-After'), 'ask again';
like $r->{body}, qr/disk of the store is full/, 'which is said';
is_deeply [files()], [], 'nothing is published';

# no room at all, not even for an entry

open my $fh, '>>', $t->path('store/filler') or die;
1 while syswrite $fh, 'x' x 4096;
close $fh;
forget();
is lookup()->{status}, 503, 'no block left';

# read-only

unlink $t->path('store/filler');
system('mount', '-o', 'remount,ro', $t->path('store')) == 0 or die;
forget();
is lookup()->{status}, 503, 'read-only';
is_deeply [files()], [], 'nothing is published';

# and again

system('mount', '-o', 'remount,rw,size=8m', $t->path('store')) == 0 or die;
forget();
is lookup()->{status}, 200, 'room again: it succeeds';
system('mount', '-o', 'remount,ro', $t->path('store')) == 0 or die;
is lookup()->{status}, 200, 'what is published is served read-only';
system('mount', '-o', 'remount,rw', $t->path('store')) == 0 or die;

is $t->stop_symcached, 0, 'stopped';
system('umount', $t->path('store')) == 0 or diag 'not unmounted';
$t->finish;
done_testing;
