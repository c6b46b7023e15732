#!/usr/bin/env perl

# PDBs that ask for more work or memory than their size deserves
# (tools/corpus/hostile.py says how each does): converted or refused with a
# reason, in a second of CPU time and 24 bytes of memory for each byte at most,
# never by a crash, and never because memory ran out.

use strict;
use warnings;

use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::More;

use Corpus;

my $corpus = Corpus->new;
my $data = $corpus->root . '/t/data/convert/hostile';

# a sanitizer makes memory slow, and its shadow is terabytes

my $factor = $ENV{SYMCACHE_SAN} ? 10 : 1;

for my $file (sort glob "$data/*.pdb.zst") {
    my ($name) = $file =~ m{([^/]+)\.pdb\.zst$};
    my $pdb = $corpus->unpacked($file);
    my $size = -s $pdb;

    $corpus->memory_kb(49152 + int(24 * $size / 1024))
        unless $ENV{SYMCACHE_SAN};
    my @before = times;
    my ($code, $err, $out, $files) = $corpus->convert($pdb);
    my @after = times;
    my $cpu = $after[2] + $after[3] - $before[2] - $before[3];

    ok($code == 0 && $out || $code =~ /^[89]$/ && $err ne '' && !@$files,
       "$name: " . ($code == 0 ? 'converted' : 'refused')) or diag($err);
    unlike($err, qr/memory/, "$name: memory was enough");
    cmp_ok($cpu, '<', $factor * (0.2 + $size / 1e6), "$name: $cpu s");

    next unless $out;
    system($corpus->build . '/symcachectl', 'verify', $out);
    is($?, 0, "$name: output verified");
}

done_testing;
