#!/usr/bin/perl

# Clients from PyPI before nginx, with conf-examples/symbols.conf: pystack and
# memray ask a debuginfod for the lines of a library that was stripped, and
# volatility3 a symbol server for a PDB.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Copy qw(copy);
use File::Path qw(make_path);
use JSON::PP qw(decode_json);
use Test::Example;
use Test::More;
use Test::Peer;
use Test::Symcache;

for my $program (qw(cc objcopy strip)) {
    grep { -x "$_/$program" } split /:/, $ENV{PATH}
        or plan skip_all => "$program is not installed";
}
my $bin = Test::Peer::folder('clients-pypi') . '/bin';
my $t = Test::Symcache->new;
my $dir = $t->dir;

# --- a library without its debug information, and who uses it

my $build = '5e1f0c7a9b3d48260e75c1a4f2896bd03d51e7f4';
$t->write_file('n.c', <<'C');
#include <stdlib.h>
#include <unistd.h>

void *volatile kept;

static void allocate(void)
{
    kept = malloc(123456);
}

int work(int ready)
{
    allocate();
    close(ready);
    return ready < 0 ? 0 : pause();
}
C
my $folder = "symbols/_.debug/elf-buildid-sym-$build";
make_path($t->path($folder));
for my $c ("cc -g -O0 -shared -fPIC -Wl,--build-id=0x$build -o full.so n.c",
           "objcopy --only-keep-debug full.so '$folder/_.debug'",
           'strip -o n.so full.so')
{
    system("cd $dir && $c") == 0 or die "$c: $?";
}

# memray's reports are pages: its reader says the same
my %script = (
    'use_memray.py' => <<'PY',
import ctypes
import sys
import memray

with memray.Tracker(sys.argv[2], native_traces=True):
    ctypes.CDLL(sys.argv[1]).work(-1)
for record in memray.FileReader(sys.argv[2]).get_high_watermark_allocation_records():
    if record.size == 123456:
        print(record.native_stack_trace()[:2])
PY
    # its child waits in the library, and may be looked at by others
    'use_pystack.py' => <<'PY',
import ctypes
import os
import subprocess
import sys

ready, done = os.pipe()
child = os.fork()
if child == 0:
    ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(2 ** 64 - 1), 0, 0, 0)
    ctypes.CDLL(sys.argv[1]).work(done)
os.close(done)
os.read(ready, 1)
subprocess.run([sys.argv[2], "remote", "--native-all", str(child)])
os.kill(child, 9)
os.waitpid(child, 0)
PY
    # it has no option for the server
    'use_volatility.py' => <<'PY',
import runpy
import sys
from volatility3.framework import constants

constants.SYMBOL_SERVER_URL = sys.argv.pop(1)
runpy.run_module("volatility3.framework.symbols.windows.pdbconv", run_name="__main__")
PY
);
$t->write_file("bin/$_", $script{$_}) for keys %script;

# --- the server

# volatility3 knows the types of Windows' own PDBs only: this one has none
my ($pdb, $key) = ('basic32-min.pdb', '878E82E5E282481B88FCBBA2CFF8C7F12');
make_path($t->path("symbols/$pdb/$key"));
copy($t->data("pdb/$pdb"), $t->path("symbols/$pdb/$key")) or die $!;
my $config = $t->default_config('http://127.0.0.1:1');
$config->{sources} = { upstream => { type => 'filesystem',
                                     path => $t->path('symbols') } };
$config->{downloads} = $t->path('downloads');
$t->start_symcached($config);
my $port = Test::Symcache::free_port();
Test::Example::start($t, 'symbols.conf', address => "127.0.0.1:$port", put => {
    'listen 80;' => "listen 127.0.0.1:$port;",
    '/var/cache/symcached/downloads' => $t->path('downloads') });
my $server = "http://127.0.0.1:$port/symbols";

delete @ENV{grep { /_proxy$/i } keys %ENV};
my $homes = 0;

# What a command says, in a home of its own.
sub says {
    my ($urls, @command) = @_;
    my $home = $t->path('home' . $homes++);
    mkdir $home or die "$home: $!";
    local @ENV{qw(HOME TMPDIR XDG_CACHE_HOME DEBUGINFOD_CACHE_PATH)} =
        ($home, $home, $home, "$home/debuginfod");
    local $ENV{DEBUGINFOD_URLS} = $urls;
    return scalar qx(cd '$home' && @command 2>&1 </dev/null);
}

sub asked {
    my ($path) = @_;
    return scalar(() = $t->access_log =~ m{"GET /symbols/\Q$path\E \S+" 200}g);
}

my $library = "$bin/python $dir/bin";
for (
    ['memray', "$library/use_memray.py $dir/n.so memray.bin",
     qr{\('allocate', '\S*/n\.c', 8\), \('work', '\S*/n\.c', 13\)}],
    ['pystack', "$library/use_pystack.py $dir/n.so $bin/pystack",
     qr{File "\S*/n\.c", line 15, in work}],
) {
    my ($name, $command, $wanted) = @$_;
    my $before = asked("buildid/$build/debuginfo");
    unlike says('', $command), $wanted, "$name: without a server";
    my $said = says($server, $command);
    # a process of another is not everywhere to be looked at
    SKIP: {
        skip "$name: no ptrace", 2 if $said =~ /Operation not permitted/;
        like $said, $wanted, '- and with it: function and line';
        is asked("buildid/$build/debuginfo"), $before + 1, '- asked for once';
    }
}

# --- volatility3: of a PDB the same that it says of the file itself

sub converted {
    my ($what, @options) = @_;
    my $out = $t->path("$what.json");
    my $said = says('', "$bin/python $dir/bin/use_volatility.py $server",
                    '-o', $out, @options);
    my $json = eval { decode_json($t->read_file("$what.json")) };
    is ref $json, 'HASH', "volatility3: $what" or diag $said;
    return $json->{symbols};
}

my $local = converted('local', '-f', $t->data("pdb/$pdb"));
my $fetched = converted('fetched', '-p', $pdb, '-g', $key);
cmp_ok keys %$fetched, '>', 100, '- it has symbols';
is_deeply $fetched, $local, '- the same as of the file itself';
cmp_ok asked("$pdb/$key/$pdb"), '>', 0, '- from this server';

$t->stop_nginx;
$t->stop_symcached;
$t->finish;
done_testing;
