#!/usr/bin/env perl

# ELF files of the compilers and linkers at hand, with many flags: pdb2symcache
# writes what the reference writes, and refuses what it refuses.  What a
# separate or compressed file becomes must be the same as that of the file that
# it was made from, for which no reference is needed.

use strict;
use warnings;

use FindBin qw($Bin);
use lib "$Bin/lib", "$Bin/../lib";
use Digest::SHA;
use Test::File;
use Test::More;

use Corpus;

my $corpus = Corpus->new;
my $root = $corpus->root;
my $venv = $corpus->build . '/reference';
my $work = $corpus->work;

my $why = `flock '$venv.lock' '$root/tools/corpus/reference-venv' '$venv' 2>&1`;
chomp $why;
my $has_reference = $? == 0;
note("no reference: $why") unless $has_reference;

my $python = "$venv/bin/python $root/tools/corpus/reference.py";
my %has = map { $_ => system("$_ --version >/dev/null 2>&1") == 0 }
    qw(gcc g++ clang clang++ dwz objcopy strip ld.gold ld.lld);
my $flags = "-g -w -std=c++17 -ffreestanding -fno-exceptions -fno-rtti"
    . " '-D__declspec(x)=' -shared -fPIC -nostdlib";


sub digest { return Digest::SHA->new(256)->addfile($_[0])->hexdigest }

# Converts a file; returns the digest of the SymCache, or "refused".

sub ours {
    my ($file) = @_;
    my ($code, $err, $out) = $corpus->convert($file, '--like-symbolic');
    return $out ? digest($out) : $err ne '' ? 'refused' : "exit $code";
}


sub is_as_reference {
    my ($file, $name) = @_;

    SKIP: {
        skip "$name: $why", 1 unless $has_reference;
        unlink "$work/reference";
        system("$python convert '$file' '$work/reference' 2>/dev/null");
        is(ours($file), $? == 0 ? digest("$work/reference") : 'refused', $name);
    }
}


# Builds a library; returns its file, or undef if the compiler cannot.

sub library {
    my ($name, $command) = @_;
    my $file = "$work/$name.so";
    return system("cd '$root/tools/corpus/src' && $command $flags -o '$file'"
                  . " shapes.cpp second.cpp >/dev/null 2>&1") == 0
        ? $file : undef;
}

my @matrix = (map({ "-O2 -gdwarf-$_" } 2 .. 5), '-O0', '-O3 -gdwarf-4');
push @matrix, '-O2 -g1', '-O2 -fdebug-types-section', '-O2 -flto', '-O2 -gz',
    '-O2 -gsplit-dwarf', '-O2 -gdwarf64 -gdwarf-5', '-O2 -gline-tables-only',
    '-O2 -ffunction-sections -Wl,--gc-sections',
    '-O2 -ffunction-sections -Wl,--gc-sections -fuse-ld=gold',
    '-O2 -ffunction-sections -Wl,--gc-sections -fuse-ld=lld',
    '-O2 -Wl,--build-id=none', '-O2 -freorder-blocks-and-partition';

my $built = 0;

for my $cc (qw(g++ clang++)) {
    SKIP: {
        skip "no $cc", scalar @matrix unless $has{$cc};

        for my $f (@matrix) {
            my $file = library('matrix', "$cc $f");

            SKIP: {
                skip "$cc has no $f", 1 unless $file;
                $built++;
                is_as_reference($file, "$cc $f");
            }
        }
    }
}

cmp_ok($built, '>', 0, 'there is a compiler') if $has{'g++'};

# so many abbreviations that those of the first unit are forgotten before the
# last one refers to it

SKIP: {
    skip 'no g++', 2 unless $has{'g++'};
    my $src = "$root/tools/corpus/src";
    skip 'cannot be assembled', 2
        if system("cd '$work' && gcc -c '$src/origin.s' '$src/caller.s'"
                  . " && g++ $flags -O2 -c '$src/shapes.cpp' && g++ $flags"
                  . " -Wl,-z,muldefs -o many.so origin.o" . ' shapes.o' x 50
                  . ' caller.o >/dev/null 2>&1') != 0;
    my ($out) = ($corpus->convert("$work/many.so"))[2];
    like(slurp($out), qr/name_from_another_unit/, 'a name of a unit before');
    is_as_reference("$work/many.so", 'many abbreviations');
}

# the same information in another form

my $plain = $has{'g++'} ? library('plain', 'g++ -O2') : undef;
my @forms = (
    ['companion', 'objcopy', 'objcopy --only-keep-debug IN OUT'],
    ['zlib', 'objcopy', 'objcopy --compress-debug-sections=zlib IN OUT'],
    ['zlib of older tools', 'objcopy',
     'objcopy --compress-debug-sections=zlib-gnu IN OUT'],
    ['zstd', 'objcopy', 'objcopy --compress-debug-sections=zstd IN OUT'],
    ['dwz', 'dwz', 'dwz -o OUT IN'],
);

SKIP: {
    skip 'no g++', scalar @forms unless $plain;
    my $expected = ours($plain);
    like($expected, qr/^[0-9a-f]{64}$/, 'a library is converted');

    for my $form (@forms) {
        my ($name, $program, $command) = @$form;

        SKIP: {
            skip "no $program", 1 unless $has{$program};
            $command =~ s/IN/'$plain'/;
            $command =~ s/OUT/'$work\/form'/;
            unlink "$work/form";
            skip "$program cannot make it", 1
                if system("$command >/dev/null 2>&1") != 0;
            is(ours("$work/form"), $expected, $name);
        }
    }
}

# units whose special opcodes advance otherwise: 13 lines instead of 14

SKIP: {
    skip 'no g++', 1 unless $plain;
    my $bytes = slurp($plain);
    my $at = rindex($bytes, "\xfb\x0e\x0d\0\1\1\1\1");
    skip 'its programs have other numbers', 1 if $at < 0;
    substr($bytes, $at + 1, 1) = chr 13;
    spew("$work/other.so", $bytes);
    is_as_reference("$work/other.so", 'units with other special opcodes');
}

# random changes of one, which both must convert alike or refuse; here ours
# may be stricter

SKIP: {
    my $changes = $ENV{SYMCACHE_CHANGES} // 20;
    skip 'no library, or no reference', 1 unless $plain && $has_reference;

    my $seed = $ENV{SYMCACHE_SEED} // 1;
    note("SYMCACHE_SEED=$seed");
    srand $seed;

    my $bytes = slurp($plain);
    my (%count, @wrong);
    for my $n (1 .. $changes) {
        my $changed = $bytes;
        my $at = int rand length $bytes;
        substr($changed, $at, 1) = chr int rand 256;
        open my $f, '>:raw', "$work/changed" or die "changed: $!";
        print $f $changed;
        close $f;
        unlink "$work/reference";
        system("$python convert '$work/changed' '$work/reference' 2>/dev/null");
        my $theirs = $? == 0 ? digest("$work/reference") : 'refused';
        my $mine = ours("$work/changed");
        $count{$mine eq $theirs ? 'same' : 'other'}++;
        push @wrong, "change $n at $at: $mine, and not $theirs"
            if $mine ne $theirs && $mine ne 'refused';
    }
    is_deeply(\@wrong, [], 'changed files are converted alike');
    note(join ', ', map { "$_: $count{$_}" } sort keys %count);
}

done_testing;
