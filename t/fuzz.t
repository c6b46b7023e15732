#!/usr/bin/env perl

# Short runs of all fuzz targets: a bounded number of mutations of a few
# seeds each, and every input below fuzz/regress, which once crashed one.
# Long runs: fuzz/README.md.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Temp;
use FindBin qw($Bin);
use Test::More;

my $root = abs_path("$Bin/..");
my $build = abs_path($ENV{SYMCACHE_BUILD} // "$root/build");
my $work = File::Temp->newdir('symcache-fuzz-XXXXXX', TMPDIR => 1);

plan skip_all => 'no clang' if system('clang --version >/dev/null 2>&1') != 0;

# the compiler is there, but is its run-time library for fuzzing?

open my $f, '>', "$work/x.c" or die "x.c: $!";
print $f "int LLVMFuzzerTestOneInput(const char *p, long n) { return 0; }\n";
close $f;

plan skip_all => 'clang cannot link fuzz targets here'
    if system("clang -fsanitize=fuzzer,address,undefined -o $work/x $work/x.c"
              . ' >/dev/null 2>&1') != 0;

# outside of make's own variables: these are other objects of another compiler

delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL SAN)};

my $log = `make -s -j2 -C '$root' B='$build/fuzzing' SAN= fuzz 2>&1`;
is($?, 0, 'fuzz targets are built') or do { diag($log); done_testing; exit };

my $has_seeds = system("'$root/fuzz/seeds' '$work/seeds' '$root'/t/data/pdb/"
                       . 'crash.pdb >/dev/null 2>&1') == 0;
note('no seeds: fuzz/seeds needs python3') unless $has_seeds;

$ENV{ASAN_OPTIONS} = 'detect_leaks=1:allocator_may_return_null=1';

for my $source (sort glob "$root/fuzz/fuzz_*.c") {
    my ($target) = $source =~ m{([^/]+)\.c$};
    my $program = "$build/fuzzing/fuzz/$target";
    my @options = ('-timeout=5', '-rss_limit_mb=2048', '-seed=1',
                   "-artifact_prefix=$work/", '-max_len=4096');

    mkdir "$work/$target";
    my @corpus = grep { -d } "$work/$target", "$work/seeds/$target";
    my $output = `timeout 60 '$program' @options -max_total_time=1 -runs=20000 @corpus 2>&1`;
    ok($? == 0, "$target: bounded run")
        or diag(join "\n", (split /\n/, $output)[-30 .. -1]);

    my @regress = glob "$root/fuzz/regress/$target/*";
    next unless @regress;

    $output = `timeout 60 '$program' @options @regress 2>&1`;
    ok($? == 0, "$target: " . @regress . ' inputs that once crashed it')
        or diag($output);
}

done_testing;
