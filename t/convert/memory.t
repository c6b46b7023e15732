#!/usr/bin/env perl

# A parser that gets no memory: each allocation of pdb2symcache fails in turn.
# Whatever the file and the kind, it says that it needs more memory than there
# is, with the exit code for what is not the file's fault: the file is not called
# damaged, and nothing is written that lacks a part of it.  Where a limit is
# reached, that is the file's fault.

use strict;
use warnings;

use FindBin qw($Bin);
use lib "$Bin/lib", "$Bin/../lib";
use Test::File;
use Test::More;

use Corpus;

my $corpus = Corpus->new;
my $work = $corpus->work;
my $data = $corpus->root . '/t/data';
my $program = $corpus->build . '/pdb2symcache';
my $shim = "$work/shim.so";

plan skip_all => 'no LD_PRELOAD under a sanitizer' if $ENV{SYMCACHE_SAN};

plan skip_all => 'no C compiler'
    if system('cc', '-D_GNU_SOURCE', '-O1', '-shared', '-fPIC', '-w', '-o',
              $shim, $corpus->root . '/t/bin/failing_allocation.c') != 0;


# Runs the converter, with the nth allocation failing: exit code, whether it
# has failed, standard error, and what was written.

sub run {
    my ($n, @args) = @_;
    unlink "$work/out";
    my $pid = fork() // die "fork: $!";

    if ($pid == 0) {
        @ENV{qw(LD_PRELOAD FAIL_AT)} = ($shim, $n) if $n;
        open STDERR, '>', "$work/err";
        exec $program, @args, '-o', "$work/out";
        exit 127;
    }
    waitpid $pid, 0;
    my $code = $? & 127 ? 128 + ($? & 127) : $? >> 8;
    my $err = slurp("$work/err");
    my $failed = $err =~ s/^failed\n//;
    return ($code, $failed ? 1 : 0, $err,
            -e "$work/out" ? slurp("$work/out") : undef);
}


# Returns what was not as it must be when an allocation failed, and how many
# there are.

sub fail_each {
    my ($want, @args) = @_;
    my @wrong;

    for (my $n = 1;; $n++) {
        my ($code, $failed, $err, $out) = run($n, @args);
        if (!$failed) {
            push @wrong, "without a failure: exit code $code: $err"
                if $code || $out ne $want;
            return ($n - 1, @wrong);
        }
        push @wrong, "$n: exit code $code: $err"
            if $code != 75 || $err !~ /needs more memory than there is\n\z/
            || defined $out;
    }
}

for (
    ['pdb/crash_with_srcsrv.pdb', qw(symcache cficache breakpad sourcecache)],
    ['sourcebundle/ppdb-sourcelink-sample.pdb', qw(ppdbcache sourcecache)],
    ['convert/elf/tiny-5.so.zst', qw(symcache cficache codecache breakpad)],
    ['convert/macho/x86_64.dwarf.zst', qw(symcache cficache)],
    ['convert/pe/exports.dll.zst', qw(symcache cficache codecache)],
    ['convert/wasm/names.wasm.zst', qw(symcache)],
    ['convert/breakpad/inline-nested.sym', qw(symcache)],
    ['convert/symbfile/ranges.symbfile', qw(symcache)],
    ['sourcebundle/own/native.src.zip', qw(sourcecache)],
    ['jvm/sentry/resolving_inline/proguard.txt', qw(proguardcache)],
    ['javascript/shop/webpack.js', qw(jscache)],
) {
    my ($name, @kinds) = @$_;
    my $file = $corpus->unpacked("$data/$name");

    for my $kind (@kinds) {
        my @args = ('--no-sandbox', '--kind', $kind, $file);
        push @args, "$file.map" if $kind eq 'jscache';
        my ($code, undef, $err, $want) = run(0, @args);
        is $code, 0, "$name, $kind" or diag $err;
        my ($count, @wrong) = fail_each($want, @args);
        is_deeply \@wrong, [], "each of $count allocations fails";
    }
}

# the same parser in symcachectl, whose process has the sandbox too

my $links = "$data/sourcebundle/ppdb-sourcelink-sample.pdb";
my ($code, $failed, $err, $want) = run(0, '--kind', 'sourcecache', $links);
is $code, 0, 'with all of it, there is a SourceCache' or diag $err;
my @ends;

$program = $corpus->build . '/symcachectl';
for my $n (1 .. 100) {
    my ($ctl, $has_failed, undef, $out) =
        run($n, 'convert', '--kind', 'sourcecache', $links);
    push @ends, "$n: $ctl" if $has_failed
        ? $ctl == 0 || $ctl == 8 || defined $out
        : $ctl != 0 || $out ne $want;
}
is_deeply \@ends, [], 'symcachectl convert';
$program = $corpus->build . '/pdb2symcache';

# before the filter of system calls is whole

($code, $failed, $err) = run(1, "$data/pdb/crash_with_srcsrv.pdb");
is_deeply [$code, $failed], [75, 1], 'an allocation on the way to the sandbox';

# the process that checks the output, where libseccomp crashed or computed
# without end

my %ends;
mkdir "$work/made" or die $!;
for (my $n = 1;; $n++) {
    my $id = '3249D99D0C4049318610F4E4FB0B69361';
    unlink "$work/said";
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        @ENV{qw(_NT_SYMCACHE_PATH PDB2SYMCACHE_CHECK)} = ("$work/made", "9:$id");
        open STDERR, '>', "$work/err";
        exec '/bin/sh', '-c', 'ulimit -t 5; exec env "$@" 9>"$0"',
            "$work/said", "LD_PRELOAD=$shim", "FAIL_AT=$n", 'FAIL_FIRST=1',
            $program, '-pdb', "$data/pdb/crash.pdb";
        exit 127;
    }
    waitpid $pid, 0;
    my ($err, $said) = (slurp("$work/err"), slurp("$work/said"));
    if ($err !~ /^failed$/m) {
        is $?, 0, 'without a failure';
        like $said, qr/./, '... the output is said to be sound';
        last;
    }
    push @{ $ends{$?} }, "$n: $said";
}
is_deeply [grep { $_ & 127 || !($_ == 0 || $_ >> 8 == 2) } keys %ends], [],
    'one that checks its output and has no memory ends'
    or diag explain { map { $_ => scalar @{ $ends{$_} } } keys %ends };

# with a limit that is reached, and with one that is not

my $map = "$work/large.map";
spew("$work/large.js", "x = () => 1\n");
spew($map, '{"names": [], "sources": [], "mappings": "", "x": ['
    . ('0,' x 4_200_000) . '0]}');

sub limited {
    my ($limit, @env) = @_;
    my @command = ($program, qw(--kind jscache), "$work/large.js", $map);

    $program = '/bin/sh';
    my @ran = run(0, '-c', "ulimit $limit; exec env \"\$@\"", 'sh', @env,
                  @command);
    $program = $command[0];
    return @ran;
}

for ('-v 130000', '-d 100000') {
    ($code, undef, $err) = limited($_);
    is $code, 9, "ulimit $_";
    like $err, qr/large\.js: needs more memory than it may have\n\z/, 'the reason';
}
($code, $failed, $err) = limited('-v 4000000', "LD_PRELOAD=$shim", 'FAIL_AT=20');
is_deeply [$code, $failed], [75, 1], 'less than a limit allows';
like $err, qr/needs more memory than there is\n\z/, 'the reason';

done_testing;
