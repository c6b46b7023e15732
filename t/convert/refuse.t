#!/usr/bin/env perl

# What is not a PDB 7.0 or Breakpad text, or is damaged: each has its exit code and a
# sentence that names the file, nothing is written, and an output that
# was there before stays as it is.

use strict;
use warnings;

use FindBin qw($Bin);
use lib "$Bin/lib", "$Bin/../lib";
use POSIX qw(WNOHANG);
use Test::File;
use Test::More;
use Time::HiRes qw(time usleep);

use Corpus;

my $corpus = Corpus->new;
my $work = $corpus->work;
my $data = $corpus->root . '/t/data';

my $msf7 = "Microsoft C/C++ MSF 7.00\r\n\x1aDS\0\0\0";
my $good = slurp("$data/pdb/crash.pdb");


# Replaces bytes at an offset.

sub patched {
    my ($bytes, @patches) = @_;
    while (my ($at, $new) = splice @patches, 0, 2) {
        substr($bytes, $at, length $new) = $new;
    }
    return $bytes;
}


sub refused {
    my ($name, $bytes, $code, $text) = @_;

    my $pdb = spew("$work/some name.pdb", $bytes);
    my ($got, $err, $out, $files) = $corpus->convert($pdb);

    is($got, $code, "$name: exit code") or diag($err);
    like($err, qr/^pdb2symcache: \Q$pdb\E: .*$text/, "$name: reason");
    is(scalar(() = $err =~ /\n/g), 1, "$name: one line") or diag($err);
    is_deeply($files, [], "$name: nothing written");
}


# other kinds of files

my @others = (
    ['empty file', '', 3],
    ['PDB 2.0', "Microsoft C/C++ program database 2.00\r\n\x1aJG\0\0"
                . "\0" x 2000, 5, '2\.0'],
    ['MSFZ of version 1', "Microsoft MSFZ Container\r\n\x1aALD\0\0\1" . "\0" x 200, 6, 'version 1'],
    ['PE image', "MZ\x90\0\3\0\0\0" . "\0" x 1000, 3, 'PE image'],
    ['ELF of an unknown class', "\x7fELF\3\1\1\0" . "\0" x 1000, 8, 'class'],
    ['ELF without all of its header', "\x7fELF\2\1\1\0" . "\0" x 50, 8,
     'header'],
    ['ELF without its sections', "\x7fELF\2\1\1\0" . "\0" x 32
     . pack('Q<', 4096) . "\0" x 1000, 8, 'section headers'],
    ['HTML page', "<!DOCTYPE html><html><body>404</body></html>\n", 3, 'HTML'],
    ['cabinet', "MSCF\0\0\0\0" . "\0" x 100, 3, 'cabinet'],
    ['gzip', "\x1f\x8b\x08\0" . "\0" x 100, 3, 'gzip'],
    ['zstd', "\x28\xb5\x2f\xfd" . "\0" x 100, 3, 'zstd'],
    ['zip', "PK\3\4" . "\0" x 100, 3, 'zip'],
    ['text', "not found\n", 3, 'text'],
);

for my $other (@others) {
    my ($name, $bytes, $code, $text) = @$other;
    refused($name, $bytes, $code, $text // '');
}

refused('no DBI stream',
        slurp($corpus->unpacked("$data/convert/llvm/TypeServerTest.pdb.zst")),
        7, 'no symbols');

# truncated

for my $size (33, 56, 200, 4096, 100_000, length($good) / 2,
              length($good) - 4096, length($good) - 1)
{
    refused("first $size bytes", substr($good, 0, $size), 11, 'is truncated');
}

my $dll = slurp($corpus->unpacked("$data/convert/pe/mingw-2.dll.zst"));
refused("first $_ bytes of a PE image", substr($dll, 0, $_), 11, 'is truncated')
    for 20_000, length($dll) / 2, length($dll) - 1;

my $object = slurp($corpus->unpacked("$data/convert/macho/arm64.o.zst"));
refused("a Mach-O object without its last $_ bytes", substr($object, 0, -$_), 11,
        'ends before its symbols do') for 1, 200;

refused('more blocks than bytes',
        patched($good, 40 => pack('V', 0xFFFFFFFF)), 11, 'is truncated');

# the superblock: block size, number of blocks, directory size, its map

my @super = (
    ['block size 0', 32 => pack('V', 0)],
    ['block size 3000', 32 => pack('V', 3000)],
    ['block size 2**31', 32 => pack('V', 1 << 31)],
    ['no blocks', 40 => pack('V', 0)],
    ['directory of 4 GiB', 44 => pack('V', 0xFFFFFFFF)],
    ['empty directory', 44 => pack('V', 0)],
    ['directory map outside', 52 => pack('V', 0x7FFFFFFF)],
    ['directory map in the superblock', 52 => pack('V', 0)],
);

for my $case (@super) {
    my ($name, @patches) = @$case;
    refused($name, patched($good, @patches), 8, '');
}

# the directory: sizes and block numbers of streams

my ($bs, $dir_bytes, $map) = (unpack 'x32 V x8 V x4 V', $good);
my $dir = $bs * unpack 'V', substr($good, $map * $bs, 4);
my $streams = unpack 'V', substr($good, $dir, 4);

my @directory = (
    ['2**32 - 1 streams', $dir => pack('V', 0xFFFFFFFF)],
    ['no streams', $dir => pack('V', 0)],
    ['info stream of 4 GiB', $dir + 8 => pack('V', 0xFFFFFFFE)],
    ['nil info stream', $dir + 8 => pack('V', 0xFFFFFFFF)],
    ['nil types', $dir + 12 => pack('V', 0xFFFFFFFF)],
    ['block far outside', $dir + 4 + 4 * $streams => pack('V', 0x7FFFFFFF) x 8],
);

for my $case (@directory) {
    my ($name, @patches) = @$case;
    refused($name, patched($good, @patches), 8, '');
}

# every stream's first block replaced by bytes that mean nothing: no crash,
# and no output if it is refused

my $crashes = 0;

for my $block (0 .. length($good) / $bs - 1) {
    next if $block % 5;
    my $junk = join '', map { pack 'V', ($_ * 2654435761) & 0xFFFFFFFF }
        1 .. $bs / 4;
    my $pdb = spew("$work/junk.pdb", patched($good, $block * $bs, $junk));
    my ($code, $err, $out, $files) = $corpus->convert($pdb);

    $crashes++ if $code >= 128 || ($code != 0 && (@$files || $err eq ''));
    diag("block $block: exit $code, $err") if $code >= 128;
}

is($crashes, 0, 'no crash and no leftovers, whichever block is junk');

# Breakpad: the line and what is bad there; of a PDB 2.0, which has no key;
# children that belong to each of their parents again and again

my $module = 'MODULE Linux x86_64 000102030405060708090A0B0C0D0E0F';
my @sym = (
    ['bad FUNC record', "${module}0 a.so\nFUNC 10 x 0 f\n", 8,
     'line 2: bad FUNC record \(size\)'],
    ['bad line record', "${module}0 a.so\nFUNC 10 9 0 f\n10 9 1\n", 8,
     'line 3: bad line record \(number of the file\)'],
    ['a name that is not UTF-8', "${module}0 a.so\nFUNC 10 9 0 \xff\n", 8,
     'line 2: bad FUNC record \(not UTF-8\)'],
    ['unknown architecture', $module =~ s/x86_64/z80/r . "0 a.so\n", 8,
     'line 1: the architecture is unknown'],
    ['the id of a PDB 2.0', "MODULE windows x86 3C4A2B1F5 a.pdb\n", 8,
     'line 1: the debug id is that of a PDB 2.0'],
    ['inlined ranges without end', "${module}0 a.so\nFUNC 0 ffffffff 0 f\n"
     . 'INLINE 0 1 0 0' . join('', map { sprintf ' %x 10', $_ * 16 }
                               0 .. 19999) . "\n"
     . 'INLINE 1 1 0 0' . ' 0 fffffff' x 20000 . "\n", 9, 'more work'],
    ['inlined too deep', "${module}0 a.so\nFUNC 0 ffff 0 f\n"
     . join('', map { "INLINE $_ 1 0 0 0 ffff\n" } 0 .. 2999)
     . "0 ffff 1 0\n", 9, 'too deep'],
);

for my $case (@sym) {
    refused(@$case);
}

# fastlink: symbols are in the object files, publics are here

my $fast = slurp($corpus->unpacked(
    "$data/convert/generated/clang19-x64-O2.pdb.zst"));
my $feature = pack('V', 20140508);
my $at = index $fast, $feature;

cmp_ok($at, '>', 0, 'a feature code to change');
my $pdb = spew("$work/fast.pdb", patched($fast, $at, 'MINI'));
my ($code, $err, $out) = $corpus->convert($pdb);
is($code, 0, 'fastlink: what there is, is converted');
like($err, qr/fastlink/i, 'fastlink: and it is said that it is partial');
ok($out, 'fastlink: output');

# an output that exists survives a failure

my $old = spew("$work/old.symcache", 'old content');
my $bad = spew("$work/bad.pdb", substr($good, 0, 5000));
($code) = $corpus->convert($bad, '-o', $old);
is($code, 11, 'refused with -o');
is(slurp($old), 'old content', 'the old output is as it was');
is_deeply([grep { /old\.symcache./ } glob "$work/*"], [], 'no temporary file');

# only a regular file is replaced: not a link, a pipe or a device

my $pdb7 = spew("$work/good.pdb", $good);
symlink $old, "$work/link" or die "symlink: $!";
($code, $err) = $corpus->convert($pdb7, '-o', "$work/link");
is($code, 2, 'refused: output is a symbolic link');
like($err, qr/link" is not a regular file/, 'output is a link: reason');
ok(-l "$work/link", 'the link is still there');
is(slurp($old), 'old content', 'and what it points to');
is_deeply([grep { /link\../ } glob "$work/*"], [], 'no temporary file');

# nor is anything but a regular file replaced: devices, pipes, links

for my $kind (qw(fifo link)) {
    my $target = "$work/$kind.symcache";
    $kind eq 'fifo' ? system('mkfifo', $target)
                    : symlink('old.symcache', $target);
    my ($was) = (lstat $target)[1];
    ($code, $err) = $corpus->convert("$data/pdb/crash.pdb", '-o', $target);
    is($code, 2, "$kind as output: exit code");
    is((lstat $target)[1], $was, "$kind as output: still there");
    unlink $target;
}

is(slurp($old), 'old content', 'what the link names is as it was');

# nor is the input, under whatever name

my $input = spew("$work/input.pdb", $good);
link $input, "$work/hard.pdb" or die "link: $!";
symlink 'input.pdb', "$work/soft.pdb" or die "symlink: $!";
for (['by itself', $input, $input], ['by a hard link', $input, "$work/hard.pdb"],
     ['through a link', "$work/soft.pdb", $input]) {
    my ($how, $from, $to) = @$_;
    ($code, $err) = $corpus->convert($from, '-o', $to);
    is($code, 2, "the input is no output, $how");
    like($err, qr/output: "\Q$to\E" is the input$/, "$how: reason");
}
($code, $err) = $corpus->convert("$data/pdb/crash.pdb", '--image', $input, '-o', $input);
like($err, qr/input\.pdb" is the input$/, 'nor a file that is read beside it');
ok(slurp($input) eq $good, 'it is as it was');

# no such file, a directory, no arguments

($code, $err) = $corpus->convert("$work/nowhere.pdb");
is($code, 2, 'no such file');
like($err, qr/nowhere\.pdb.*No such file/, 'no such file: reason');
($code, $err) = $corpus->convert($work);
is($code, 2, 'a directory');
isnt($err, '', 'a directory: reason');

# an output that is not to be written: no room, or a limit of its size

for my $case (['a full disk', 'exec "$@" -o - >/dev/full', 2,
               'No space left on device'],
              ['a limit of size', 'ulimit -f 8 && exec "$@"', 2,
               'Disk quota exceeded'])
{
    my ($name, $shell, $want, $reason) = @$case;
    mkdir "$work/full";
    local $ENV{_NT_SYMCACHE_PATH} = "$work/full";
    my $said = `sh -c '$shell' sh @{[$corpus->build]}/pdb2symcache -pdb $pdb7 2>&1`;
    is($? >> 8, $want, "$name: exit code");
    like($said, qr/output cannot be written: $reason/, "$name: reason");
}

# that limit is below what a file of this size would have as scratch

{
    open my $f, '>:raw', "$work/large.pdb" or die $!;
    print $f slurp("$data/pdb/crash.pdb"), "\0" x (4 << 20);
    close $f or die $!;
    local $ENV{_NT_SYMCACHE_PATH} = "$work/full";
    my $said = `sh -c 'ulimit -f 2048 && exec "\$@"' sh @{[$corpus->build]}/pdb2symcache -pdb $work/large.pdb 2>&1`;
    is($?, 0, 'a limit between output and scratch') or diag($said);
}

# the parser is killed by somebody else, as the kernel does without memory

my $slow = $corpus->unpacked("$data/pdb/basic32.pd_");

sub killed_parser {
    my ($signal) = @_;
    my $pid = fork() // die "fork: $!";

    if ($pid == 0) {
        open STDERR, '>', "$work/killed.err";
        # Or the child may be the process that looks for leaks, without which
        # the converter waits for ever; and SIGSEGV would be the sanitizer's.
        $ENV{ASAN_OPTIONS} = join ':', $ENV{ASAN_OPTIONS} // (),
            'detect_leaks=0', 'handle_segv=0';
        exec $corpus->build . '/pdb2symcache', '-pdb', $slow,
            '-o', "$work/killed.symcache";
        exit 127;
    }
    my $end = time + 60;
    while (waitpid($pid, WNOHANG) == 0) {
        if (time > $end) {
            kill 'KILL', $pid;
            die "the converter does not end\n";
        }
        open my $f, '<', "/proc/$pid/task/$pid/children" or next;
        my ($child) = split ' ', <$f> // '';
        # before it is the parser it has our signals' handlers
        next unless $child && kill 0, $child;
        kill $signal, $child;
    }
    return $? >> 8;
}

for my $signal (qw(KILL TERM HUP INT SEGV)) {
    my $want = $signal eq 'SEGV' ? 8 : 75;
    my $got = 0;
    # now and then it is through before the signal comes
    for (1 .. 20) {
        unlink "$work/killed.symcache";
        $got = killed_parser($signal);
        last if $got != 0;
    }
    is($got, $want, "SIG$signal to the parser: exit code");
    like(slurp("$work/killed.err"), qr/parser \(/, "SIG$signal: reason");
    ok(!-e "$work/killed.symcache", "SIG$signal: nothing written");
    unlink "$work/killed.symcache";
}

# there is no address space for the input, which may be a sound one

SKIP: {
    skip 'no limit under a sanitizer', 2 if $ENV{SYMCACHE_SAN};
    my $file = spew("$work/large.pdb", $good);
    truncate $file, 1 << 32 or die "$file: $!";
    $corpus->memory_kb(1_000_000);
    my ($got, $err) = $corpus->convert($file);
    $corpus->memory_kb(0);
    unlink $file;
    is($got, 2, 'no memory to map the input: exit code');
    like($err, qr/: cannot be mapped: Cannot allocate memory\n\z/, 'reason');
}

# the input shrinks while it is read

my $big = slurp($corpus->unpacked("$data/pdb/basic32.pd_"));
my %codes;

for my $i (1 .. 20) {
    my $file = spew("$work/shrink.pdb", $big);
    my $truncator = fork() // die "fork: $!";

    if ($truncator == 0) {
        usleep(700 * $i);
        truncate $file, 8192 * $i;
        exit 0;
    }

    my ($got) = $corpus->convert($file);
    waitpid $truncator, 0;
    $codes{$got}++;
}

my @wrong = grep { $_ >= 128 } keys %codes;
is_deeply(\@wrong, [], 'no signal when the input shrinks')
    or diag(explain(\%codes));
note('exit codes with a shrinking input: ',
     join ', ', map { "$_ x$codes{$_}" } sort keys %codes);

done_testing;
