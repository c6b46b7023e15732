#!/usr/bin/env perl

# The reference itself, where it can be installed: that the digests of
# manifest.tsv are those of its output, that symcachectl lookup finds in it
# what the reference does, and that pdb2symcache --like-symbolic writes the same
# for PDBs with a random change and for random Breakpad files, of which nobody
# has committed a digest.

use strict;
use warnings;

use FindBin qw($Bin);
use lib "$Bin/lib";
use Digest::SHA;
use Test::More;

use Corpus;

my $corpus = Corpus->new;
my $root = $corpus->root;
my $venv = $corpus->build . '/reference';

my $why = `flock '$venv.lock' '$root/tools/corpus/reference-venv' '$venv' 2>&1`;
chomp $why;
plan skip_all => $why if $? != 0;

my $python = "$venv/bin/python $root/tools/corpus/reference.py";
my $work = $corpus->work;


sub reference {
    my ($pdb) = @_;
    my $out = "$work/reference";
    unlink $out;
    system("$python convert '$pdb' '$out' 2>$work/reference.err");
    return $? == 0 ? $out : undef;
}


sub digest { return Digest::SHA->new(256)->addfile($_[0])->hexdigest }


# the digests, for a part of the inputs

my @inputs = grep { $_->{origin} eq 'tree' } $corpus->inputs;

for my $i (grep { $_ % 8 == 0 } 0 .. $#inputs) {
    my $input = $inputs[$i];
    my $out = reference($corpus->pdb($input));
    is($out ? digest($out) : 'refused', $input->{digest}, $input->{path});
}

# what is found in them at starts, ends and middles of ranges and around them

my $ctl = $corpus->build . '/symcachectl';

for my $i (grep { $_ % 8 == 4 } 0 .. $#inputs) {
    my $input = $inputs[$i];
    my $cache = reference($corpus->pdb($input)) or next;
    my @sample = `$python sample '$cache' 300`;
    my ($addresses, $theirs, $depth) = ("$work/addresses", '', 0);

    open my $f, '>', $addresses or die "$addresses: $!";
    print $f @sample, "0\n", "ffffffff\n";
    close $f;

    for (`$python lookup '$cache' - <'$addresses'`) {
        chomp;
        my ($address, $frame, $function, $file, $line) = split /\t/;
        $theirs =~ s/(?=\n\z)/ (inlined)/ if $frame > 0;
        $theirs .= "$address\n" if $frame == 0;
        $theirs .= $function eq '-' ? "    not found\n"
            : "    $function at " . ($file eq '-' ? '?' : $file)
                . ":$line\n";
    }

    my $ours = `'$ctl' lookup '$cache' <'$addresses'`;
    ok($ours eq $theirs, "$input->{path}: lookups at " . @sample
       . ' addresses') or diag("ours:\n$ours\ntheirs:\n$theirs");
}

# Do both make the same of a file?  $name is what is said of it otherwise.

my (%count, @wrong);


sub compare {
    my ($file, $name) = @_;
    my $theirs = reference($file);
    my ($code, $err, $ours) = $corpus->convert($file, '--like-symbolic');

    if ($theirs && $ours) {
        $count{same}++, return if digest($theirs) eq digest($ours);
        push @wrong, "$name: output differs";

    } elsif ($theirs) {
        # stricter than the reference: allowed, if there is a reason
        $count{'only ours refuses'}++;
        push @wrong, "$name: exit $code without a reason"
            if $code == 0 || $code >= 128 || $err eq '';

    } elsif ($ours) {
        $count{'only theirs refuses'}++;

    } else {
        $count{'both refuse'}++;
    }
}


# random changes: bytes of one block, chosen by a seed that is printed

my $seed = $ENV{SYMCACHE_SEED} // 1;
note("SYMCACHE_SEED=$seed");
srand $seed;

my @victims = map { "$root/t/data/convert/generated/$_.pdb.zst" }
    qw(clang14-x86-O0 clang19-x64-O2 clang19-arm64-O2 lto folded);

# Compares a file of which a few bytes are others, from $first on and before
# $end.

sub compare_changed {
    my ($n, $victim, $first, $end) = @_;
    open my $f, '<:raw', $victim or die "$victim: $!";
    my $bytes = do { local $/; <$f> };
    close $f;

    my $at = $first + int rand($end->(length $bytes) - $first);
    substr($bytes, $at + $_, 1) = chr int rand 256 for 0 .. int rand 4;

    my $changed = "$work/changed";
    open $f, '>:raw', $changed or die "$changed: $!";
    print $f $bytes;
    close $f;

    compare($changed, "change $n at $at of $victim");
}

for my $n (1 .. 60) {
    compare_changed($n, $corpus->unpacked($victims[$n % @victims]), 4096,
                    sub { $_[0] - 4096 });
}

is_deeply(\@wrong, [], 'changed PDBs are converted alike');
note(join ', ', map { "$_: $count{$_}" } sort keys %count);
cmp_ok($count{same} // 0, '>', 20, 'most changes are converted by both');

# the same in the headers of object files

%count = ();
@victims = map { "$root/t/data/convert/$_.zst" }
    qw(macho/arm64.dylib macho/x86_64.dwarf macho/i386.o pe/exports.dll
       pe/mingw-5.dll);
for my $n (1 .. 60) {
    compare_changed($n, $corpus->unpacked($victims[$n % @victims]), 0,
                    sub { 1500 });
}

is_deeply(\@wrong, [], 'changed object files are converted alike');
note(join ', ', map { "$_: $count{$_}" } sort keys %count);
cmp_ok($count{same} // 0, '>', 30, 'most changes are converted by both');

# and in the names of symbols, of which one that is not UTF-8 ends the list

%count = ();
@victims = map { $corpus->unpacked("$root/t/data/convert/macho/$_.zst") }
    qw(arm64.dylib x86_64.dylib arm64.o x86_64.o);
for my $n (1 .. 48) {
    my $victim = $victims[$n % @victims];
    open my $f, '<:raw', $victim or die "$victim: $!";
    read $f, my $start, 4096;
    my ($offset, $size) = $start =~ /\x02\0\0\0\x18\0\0\0.{8}(.{4})(.{4})/s
        or die "$victim: no symbols";
    ($offset, $size) = map { unpack 'V', $_ } $offset, $size;
    compare_changed($n, $victim, $offset, sub { $offset + $size - 5 });
}

is_deeply(\@wrong, [], 'changed names are converted alike');
note(join ', ', map { "$_: $count{$_}" } sort keys %count);
cmp_ok($count{same} // 0, '>', 40, 'most changes are converted by both');

# Breakpad records at random: overlapping, nested, out of order.  Here nobody
# is stricter.

%count = ();

for my $n (1 .. 60) {
    my $sym = "$work/random.sym";
    system("$root/tools/corpus/breakpad.py", 'random', "$seed$n", $sym) == 0
        or die 'breakpad.py';
    compare($sym, "random $n");
}

is_deeply(\@wrong, [], 'random Breakpad files are converted alike');
note(join ', ', map { "$_: $count{$_}" } sort keys %count);
cmp_ok($count{same} // 0, '>', 40, 'most of them are converted by both');
ok(!$count{"only $_ refuses"}, "none is refused by $_ alone")
    for 'ours', 'theirs';

done_testing;
