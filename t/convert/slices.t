#!/usr/bin/env perl

# Fat Mach-O files: an image is chosen by architecture or UUID, and becomes
# what the reference makes of the same one; otherwise what there is is listed.

use strict;
use warnings;

use FindBin qw($Bin);
use lib "$Bin/lib";
use Digest::SHA;
use Test::More;

use Corpus;

my $corpus = Corpus->new;
my $fat = $corpus->root . '/t/data/convert/macho/fat.dwarf';
my $archive = $corpus->unpacked(
    $corpus->root . '/t/data/convert/macho/fat-archive.zst');
my $out = $corpus->work . '/slice';

# as llvm-dwarfdump --uuid prints them
my %id = (x86_64 => '4C4C4429-5555-3144-A1EB-1F03CB7B5573',
          arm64 => '4C4C4489-5555-3144-A180-69A34E2AD5E1');

# of the reference's output
my %digest = (
    'fat x86_64' =>
        'a423d06e21b2172a0355fe0b867524f3935e7144407fad849e965dae663ebb8e',
    'fat arm64' =>
        '7ed6b0915e1dbc831cf5ede1e94dc92725ada384e32aa3c97a7525a0d8db8488',
    'archive x86_64' =>
        '51f732bd9979fce370224ba4681231dab630db7c2679f141dd065725a849ab40',
);


# Exit code, standard error, digest of the output.

sub run {
    my ($program, @arguments) = @_;
    unlink $out;
    my $command = join ' ', map { "'$_'" } $corpus->build . "/$program",
        @arguments;
    my $err = `$command 2>&1`;
    my $digest = -e $out ? Digest::SHA->new(256)->addfile($out)->hexdigest
        : 'nothing';
    return ($? >> 8, $err, $digest);
}

for my $program ('pdb2symcache', 'symcachectl') {
    my @command = $program eq 'symcachectl' ? 'convert' : ();
    my @run = ($program, @command, '-o', $out);
    my ($code, $err, $digest) = run(@run, $fat);

    is($code, 1, "$program: several images");
    is($digest, 'nothing', '... of which none is taken');
    for (sort keys %id) {
        (my $hex = $id{$_}) =~ s/-//g;
        like($err, qr/\b$_ $hex\b/, "... $_ is listed");
    }

    for (sort keys %id) {
        ($code, $err, $digest) = run(@run, '--arch', $_, $fat);
        is($digest, $digest{"fat $_"}, "$program: --arch $_") or diag($err);
        ($code, $err, $digest) = run(@run, '--id', $id{$_}, $fat);
        is($digest, $digest{"fat $_"}, "$program: --id of $_") or diag($err);
    }

    ($code, $err, $digest) = run(@run, '--arch', 'x86_64', $archive);
    is($digest, $digest{'archive x86_64'}, "$program: --arch") or diag($err);
    ($code, $err, $digest) = run(@run, '--id', $id{x86_64}, $archive);
    is($digest, $digest{'archive x86_64'}, "$program: --id") or diag($err);
    ($code, $err, $digest) = run(@run, '--arch', 'arm64', $archive);
    like($err, qr/library of objects/, "$program: an archive");
    is($digest, 'nothing', '... is not converted');
    ($code, $err) = run(@run, '--arch', 'x86_64', '--id', $id{arm64}, $fat);
    like($err, qr/no such image, but/, "$program: none of both");
    ($code, $err) = run(@run, '--id', 'zz', $fat);
    like($err, qr/no such image, but/, "$program: no id");
    ($code, $err) = run(@run, '--arch', 'x86',
                        $corpus->root . '/t/data/pdb/crash.pdb');
    like($err, qr/not a Mach-O file/, "$program: a PDB has one only");
}

done_testing;
