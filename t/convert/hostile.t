#!/usr/bin/env perl

# PDBs that ask for more work or memory than their size deserves
# (tools/corpus/hostile.py says how each does): converted or refused with a
# reason, in CPU time proportional to the size, never by a crash.

use strict;
use warnings;

use FindBin qw($Bin);
use lib "$Bin/lib";
use Test::More;

use Corpus;

my $corpus = Corpus->new;
my $data = $corpus->root . '/t/data/convert/hostile';

# a sanitizer makes memory slow

my $factor = $ENV{SYMCACHE_SAN} ? 10 : 2;

for my $file (sort glob "$data/*.pdb.zst") {
    my ($name) = $file =~ m{([^/]+)\.pdb\.zst$};
    my $pdb = $corpus->unpacked($file);
    my $size = -s $pdb;

    my @before = times;
    my ($code, $err, $out, $files) = $corpus->convert($pdb);
    my @after = times;
    my $cpu = $after[2] + $after[3] - $before[2] - $before[3];

    ok($code == 0 && $out || $code =~ /^[89]$/ && $err ne '' && !@$files,
       "$name: " . ($code == 0 ? 'converted' : 'refused')) or diag($err);
    cmp_ok($cpu, '<', $factor * (1 + $size / 1e6), "$name: $cpu s");

    next unless $out;
    system($corpus->build . '/symcachectl', 'verify', $out);
    is($?, 0, "$name: output verified");
}

done_testing;
