#!/usr/bin/env perl

# Uploads with warm=1: each kind that the store makes of a file is made, under
# the key by which clients ask, and no job looks for any other.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::DebugFile;
use Test::More;
use Test::Symcache;
use Test::Uploads;

plan skip_all => 'objcopy is needed'
    if system('{ command -v objcopy && command -v cc && command -v readelf; } >/dev/null 2>&1') != 0;

my $u = Test::Uploads->new;
my $t = $u->t;
my $dir = $t->dir;

my $config = $u->config;
$config->{stores}{default}{transcoders} = [map {
    my ($kind, $version, @inputs) = @$_;
    { version => $version, makes => $kind, inputs => \@inputs,
      command => [$t->program('pdb2symcache'), '--kind', $kind, '{pdb}'] }
} ['symcache', '9.0.0', 'pdb', 'elf'], ['ppdbcache', '1.0.0', 'portablepdb'],
    ['cficache', '1.0.0', 'elf', 'breakpad']];
$t->reload_symcached($config);

# Uploads a file, and waits until no job runs.  Returns the names of the files
# that were made.
sub warm {
    my ($path, $bytes) = @_;
    my $r = $u->put("$path?warm=1", $bytes);
    is $r->{status}, 201, "PUT $path" or diag $r->{raw};
    $t->wait_until('no job', sub { !$t->helper_json('/v1/jobs')->{total} });
    my @files = map { s{.*/}{}r } sort glob "$dir/store/*/*/*cache";
    Test::Symcache::remove_tree($_) for glob "$dir/store/[a-z]*";
    return "@files";
}

# The GUID is at the beginning of the stream "#Pdb" (portable PDB, section
# "#Pdb stream"); its first three fields are numbers.
my $portable = $t->read_file($t->data('ppdb/weave.pdb'));
$portable =~ /(....)....#Pdb\0/s or die;
my $id = uc join '', unpack('H*', pack 'N n n', unpack 'V v v',
    substr $portable, unpack('V', $1), 8),
    unpack('H*', substr $portable, 8 + unpack('V', $1), 8), 'FFFFFFFF';
is warm("weave.pdb/$id/weave.pdb", $portable), 'weave.pdb-v1.0.0.ppdbcache',
    'a PpdbCache of a portable PDB';

my $key = $Test::Symcache::key{'crash.pdb'};
is warm("crash.pdb/$key/crash.pdb", $t->read_file($t->data('pdb/crash.pdb'))),
    'crash.pdb-v9.0.0.symcache', 'a SymCache of a PDB';

# --- ELF: programs, and debug files in which .eh_frame is only named

my ($build, $debug_id) = Test::DebugFile::make($t->dir);

is warm("program/$debug_id/program.dbg", $t->read_file('program.debug')),
    'program-v9.0.0.symcache', 'a SymCache of a debug file, of its module';
$u->clear;
is warm("program/elf-buildid-$build/program", $t->read_file('stripped')),
    'program-v1.0.0.cficache program-v9.0.0.symcache',
    'both of a program that has symbols';
$u->clear;
is warm("_.debug/elf-buildid-sym-$build/_.debug", $t->read_file('program')),
    '', 'nothing of a file whose module is unknown';

is_deeply $t->helper_json('/v1/misses')->{misses}, [], 'no job was in vain';

$t->finish;
done_testing;
