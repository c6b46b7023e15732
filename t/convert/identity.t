#!/usr/bin/env perl

# Every input of manifest.tsv: pdb2symcache --like-symbolic writes, byte for byte, what the
# reference writes (its digest is in the manifest, so that nothing but
# our own program is needed here), or refuses what the reference refuses.

use strict;
use warnings;

use FindBin qw($Bin);
use lib "$Bin/lib";
use Digest::SHA;
use Test::More;

use Corpus;

my (%per_kind, %same);
my $corpus = Corpus->new;

for my $input ($corpus->inputs) {
    my $name = "$input->{origin} $input->{path}";
    my $pdb = $corpus->pdb($input);

    SKIP: {
        skip "$name: " . $corpus->reason($input), 1 unless $pdb;

        my ($code, $err, $out) = $corpus->convert($pdb, '--like-symbolic');

        if ($input->{digest} eq 'refused') {
            ok($code != 0 && $code < 128 && $err ne '' && !$out,
               "$name: refused") or diag("exit $code, stderr: $err");
            last SKIP;
        }

        my $digest = $out
            ? Digest::SHA->new(256)->addfile($out)->hexdigest : 'nothing';
        my $size = $out ? -s $out : 0;

        is($digest, $input->{digest}, $name) or do {
            diag("exit $code, $size bytes, expected $input->{size}; $err");
            next;
        };

        my @kinds = split /,/, $input->{kinds};
        $per_kind{$_}++ for @kinds;
        $same{$input->{path}} = {map { $_ => 1 } @kinds}
            if $input->{origin} eq 'tree';
    }
}

my $kinds = join ' ', map { "$_:$per_kind{$_}" } sort keys %per_kind;
note("compared, by kind: $kinds");

# each kind of PDB has a committed input, or a test elsewhere

cmp_ok(scalar(keys %same), '>=', 40, 'committed inputs are many');

open my $f, '<', "$Bin/kinds.tsv" or die "kinds.tsv: $!";

while (<$f>) {
    next if /^#/;
    chomp;
    my ($kind, $mark, $input) = split /\t/;

    if ($mark =~ /\.t$/) {
        open my $t, '<', "$Bin/$mark" or die "$mark: $!";
        ok(scalar(grep { index($_, "'$input'") >= 0 } <$t>),
           "$kind: $mark, $input");
        next;
    }

    ok($same{$input} && $same{$input}{$mark}, "$kind: $input");
}

done_testing;
