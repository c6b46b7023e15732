#!/usr/bin/env perl

# PDBs that are larger than the memory of a transcoder: limits are for what a
# process has of its own, and not for the file that it maps; and a file of a
# folder is not copied.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::SparsePdb;
use Test::Symcache;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $id = $Test::Symcache::key{'crash.pdb'};
my $path = "crash.pdb/$id/crash.pdb";
my $size = 256 << 20;

$t->write_file("files/$path", '');
Test::SparsePdb::spread($t->data('pdb/crash.pdb'), "$dir/files/$path", $size,
    time - 86400);
plan skip_all => 'no sparse files here'
    if Test::SparsePdb::on_disk("$dir/files") > $size / 8;

$t->start_symcached({
    stores => { default => { root => "$dir/store", sources => ['local'],
        transcoders => [{ version => '9.0.0',
            command => [$t->program('pdb2symcache'), '-pdb', '{pdb}'] }] } },
    sources => { local => { type => 'filesystem', path => "$dir/files" } },
    limits => { transcode_memory => '64m' },
});

my $r = $t->helper('GET',
    "/v1/symcache/default/crash.pdb/$id?version=9.0.0&wait=60");
is $r->{status}, 200, 'a SymCache of a PDB of four times that memory'
    or diag $t->helper_log;
$t->fill_store('expected', $t->data('pdb/crash.pdb'));
my $made = "crash.pdb/$id/crash.pdb-v9.0.0.symcache";
is $t->sha256($t->read_file("store/$made")),
    $t->sha256($t->read_file("expected/$made")),
    'is that of the PDB whose blocks lie together';

$t->finish;
done_testing;
