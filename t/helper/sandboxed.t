#!/usr/bin/env perl

# symcached-sandboxed: where symcached finds it (and a transcoder in ../bin),
# that it keeps the one with which it started, and what such a process has.

use strict;
use warnings;

use File::Copy qw(cp);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $build = $Test::Symcache::build;
my $sbin = $t->path('opt/sbin');
my $libexec = $t->path('opt/libexec/ngx_symcache');

$t->symbol_store('symbols');
my $config = $t->write_helper_config({
    stores => { default => {
        root => $t->path('store'),
        gzip => JSON::PP::true(),
        transcoders => [{ version => '9.0.0',
            command => ['pdb2symcache', '-pdb', '{pdb}'] }],
        sources => ['local'],
    } },
    sources => { local => { type => 'filesystem',
        path => $t->path('symbols'), layout => 'symstore' } },
});
mkdir $t->path($_) for qw(opt opt/bin opt/sbin opt/libexec opt/libexec/ngx_symcache);
cp("$build/symcached", "$sbin/symcached") or die;
cp("$build/pdb2symcache", $t->path('opt/bin/pdb2symcache')) or die;

sub lookup {
    return $t->helper('GET',
        "/v1/symcache/default/crash.pdb/$id?version=9.0.0&wait=60");
}

# --- where it is looked for

my $pid = $t->spawn('none.out', { $t->sanitizer_env(0) }, "$sbin/symcached",
    '-c', $config);
waitpid $pid, 0;
is $? >> 8, 71, 'without the program there is no start';
like $t->read_file('none.out'),
    qr{symcached-sandboxed is neither beside symcached nor in \.\./libexec/},
    'and that is told';

SKIP: {
    my @bare = ('unshare', '-m', 'sh', '-c', 'mount -t tmpfs none /proc && exec "$@"', 'sh');
    skip 'a sanitizer needs /proc', 2 if $Test::Symcache::san;
    skip 'no mount namespace', 2
        if system("@bare[0 .. 3] 'mount -t tmpfs none /proc' 2>/dev/null") != 0;
    $pid = $t->spawn('bare.out', { $t->sanitizer_env(0) }, @bare,
        "$build/symcached", '-c', $config);
    waitpid $pid, 0;
    is $? >> 8, 71, 'nor without /proc';
    like $t->read_file('bare.out'),
        qr{symcached-sandboxed cannot be found: /proc is not mounted},
        'of which the line tells, and not of the program';
}

cp("$build/symcached-sandboxed", "$libexec/symcached-sandboxed") or die;
{
    local $Test::Symcache::build = $sbin;
    $t->start_symcached;
}
is lookup()->{status}, 200, 'the place of "make install"';
# who asked is answered before the original and the gzip file are there
$t->wait_until('the job ends',
               sub { !@{ $t->helper_json('/v1/jobs')->{jobs} } });
$t->wait_until('its gzip file', sub {
    -e $t->path("store/crash.pdb/$id/crash.pdb-v9.0.0.symcache.gz");
});

# --- another version is installed while the helper runs

unlink "$libexec/symcached-sandboxed" or die;
$t->write_file('opt/libexec/ngx_symcache/symcached-sandboxed',
    "#!/bin/sh\nexit 1\n");
chmod 0755, "$libexec/symcached-sandboxed";
Test::Symcache::remove_tree($t->path($_)) for qw(store/crash.pdb downloads);
is lookup()->{status}, 200, 'a helper keeps the program it started with';

# --- what a process has: one that compresses a file that takes long

my $file = $t->path("store/crash.pdb/$id/crash.pdb-v9.0.0.symcache");
$t->wait_until('its gzip file', sub { -e "$file.gz" });
unlink "$file.gz" or die;
truncate $file, 8 << 30 or die;
lookup();

my $child;
$t->wait_until('a process in its sandbox', sub {
    my $of = "/proc/$t->{helper}/task/$t->{helper}/children";
    ($child) = grep {
        ($t->read_file("/proc/$_/cmdline") // '')
            =~ /^symcached-sandboxed\0--gzip\0/
            && ($t->read_file("/proc/$_/status") // '') =~ /^Seccomp:\t2$/m
    } split ' ', $t->read_file($of);
    return $child;
});
my $status = $t->read_file("/proc/$child/status");
like $status, qr/^Name:\tsymcached-sandb$/m, 'its name';
like $status, qr/^NoNewPrivs:\t1$/m, 'it gains no privileges';
is $t->read_file("/proc/$child/environ"), '', 'it has no environment';
my %fd = map { m{(\d+)$} => readlink } glob "/proc/$child/fd/*";
is_deeply [sort keys %fd], [0 .. 4], 'five descriptors:';
is $fd{0}, '/dev/null', 'nothing to read';
like $fd{1}, qr/^pipe:/, 'a pipe for its words';
is $fd{2}, $fd{1}, 'of both kinds';
is $fd{3}, $file, 'the file';
like $fd{4}, qr{/store/\.tmp/}, 'and the new one';
like $t->read_file("/proc/$child/limits"),
    qr/^Max open files +0 +0 /m, 'it can open no other';

$t->finish;
done_testing;
