#!/usr/bin/env perl

# Every input of manifest.tsv: pdb2symcache writes, byte for byte, what the
# reference writes (its digest is in the manifest, so that nothing but
# our own program is needed here), or refuses what the reference refuses.

use strict;
use warnings;

use FindBin qw($Bin);
use lib "$Bin/lib";
use Digest::SHA;
use Test::More;

use Corpus;

my %per_kind;
my $corpus = Corpus->new;

for my $input ($corpus->inputs) {
    my $name = "$input->{origin} $input->{path}";
    my $pdb = $corpus->pdb($input);

    SKIP: {
        skip "$name: " . $corpus->reason($input), 1 unless $pdb;

        my ($code, $err, $out) = $corpus->convert($pdb);

        if ($input->{digest} eq 'refused') {
            ok($code != 0 && $code < 128 && $err ne '' && !$out,
               "$name: refused") or diag("exit $code, stderr: $err");
            last SKIP;
        }

        my $digest = $out
            ? Digest::SHA->new(256)->addfile($out)->hexdigest : 'nothing';
        my $size = $out ? -s $out : 0;

        is($digest, $input->{digest}, $name)
            or diag("exit $code, $size bytes, expected $input->{size}; $err");

        $per_kind{$_}++ for split /,/, $input->{kinds};
    }
}

my $kinds = join ' ', map { "$_:$per_kind{$_}" } sort keys %per_kind;
note("compared, by kind: $kinds");

for my $kind (qw(x86 x64 arm64 msvc-19.00 msvc-19.15 msvc-19.24 clang-19
                 rust incremental trampolines omap stripped publics-only
                 blocks-512 blocks-1024 blocks-32768 ages-differ template
                 lambda operator anonymous functions-without-lines folded
                 separated columns utf8-paths cross-module ltcg srcsrv
                 no-sections))
{
    ok($per_kind{$kind}, "some input is $kind");
}

done_testing;
