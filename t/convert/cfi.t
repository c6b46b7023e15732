#!/usr/bin/env perl

# The text of call frame information is byte for byte that of the reference
# (t/data/cfi/README.md).

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use FindBin qw($Bin);
use lib "$Bin/../lib";
use Test::File;
use Test::More;

my $top = abs_path("$Bin/../..");
my $build = abs_path($ENV{SYMCACHE_BUILD} // "$top/build");
my $data = "$top/t/data/cfi";
my $dir = tempdir('cfi.XXXXXX', TMPDIR => 1, CLEANUP => 1);

# Unpacks a fixture, and returns its path.
sub unpacked {
    my ($name) = @_;
    return "$top/t/data/pdb/$name" unless -e "$data/$name.zst";
    system('zstd', '-qdf', "$data/$name.zst", '-o', "$dir/$name") == 0
        or die "zstd -d $name: $?";
    return "$dir/$name";
}

# Runs a program of the build; returns its exit code and standard error.
sub run {
    my ($program, @args) = @_;
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        open STDERR, '>', "$dir/stderr" or die;
        exec "$build/$program", @args;
        exit 127;
    }
    waitpid $pid, 0;
    return ($? >> 8, slurp("$dir/stderr"));
}

# Converts a file to text or a CfiCache; returns exit code, output, messages.
sub convert {
    my ($file, @options) = @_;
    unlink "$dir/out";
    my ($code, $said) = run('pdb2symcache', '--kind', 'cficache', $file,
        '-o', "$dir/out", @options);
    return ($code, -f "$dir/out" ? slurp("$dir/out") : undef, $said);
}

plan skip_all => 'no zstd' if system('zstd --version >/dev/null 2>&1') != 0;

for my $packed (glob "$data/*.cfi.zst") {
    my ($name) = $packed =~ m{([^/]+)\.cfi\.zst$};
    my $file = unpacked($name);
    my ($code, $text, $said) = convert($file, '--text');
    is $code, 0, "$name: text" or diag $said;
    ok $text eq slurp(unpacked("$name.cfi")), "$name: that of the reference";
    ($code, my $cache, $said) = convert($file);
    is $code, 0, "$name: CfiCache" or diag $said;
    is substr($cache, 0, 8), "SCFI\1\0\0\0", "$name: in format and version";
}

# entries of version 3, as gcc makes them in .eh_frame for RISC-V, too; the
# reference has the same text of both

SKIP: {
    my $cc = 'gcc -O1 -fPIC -shared -nostdlib -fasynchronous-unwind-tables';
    spew("$dir/f.c", "int g(int); int f(int a) { return g(a) + g(a + 1); }\n");
    skip 'gas has no versions of entries', 4
        if system("cd $dir && $cc -Wa,--gdwarf-cie-version=1 -o one.so f.c"
                  . " && $cc -Wa,--gdwarf-cie-version=3 -o three.so f.c"
                  . ' 2>/dev/null') != 0;
    my ($one) = (convert("$dir/one.so", '--text'))[1];
    like $one, qr/^STACK CFI INIT /m, 'version 1 of .eh_frame';
    my ($code, $three, $said) = convert("$dir/three.so", '--text');
    is $code, 0, 'version 3' or diag $said;
    is $three, $one, '... is read as version 1';

    # of S/390, as of all processors without an id, registers have no names
    my $elf = slurp("$dir/one.so");
    substr $elf, 18, 2, "\x16\0";
    spew("$dir/other.so", $elf);
    my $rest = join '', map { /^(STACK CFI INIT \S+ \S+) .*?( \.ra: .*)/ ? "$1$2\n" : () }
        split /\n/, $one;
    is +(convert("$dir/other.so", '--text'))[1], $rest,
        'an unknown processor: as the reference has it';
}

# letters of ARM64 in entries that all of a file's functions begin with: its
# return addresses are signed with key B, its stack has tags.  The reference
# refuses the file

SKIP: {
    my $cc = 'clang --target=aarch64-linux-gnu -O1 -fno-omit-frame-pointer'
        . ' -nostdlib -shared -fuse-ld=lld';
    skip 'no clang and lld for ARM64', 6
        if system("cd $dir && $cc -mbranch-protection=pac-ret -o a.so f.c"
                  . " && $cc -mbranch-protection=pac-ret+b-key -o b.so f.c"
                  . ' 2>/dev/null') != 0;
    my $rules = sub { $_[0] =~ s/^(STACK CFI (?:INIT )?)\w+/$1/mgr };
    my ($a) = (convert("$dir/a.so", '--text'))[1];
    like $a, qr/^STACK CFI .*x29: \.cfa/m, 'signed return addresses';
    my $elf = slurp("$dir/b.so");
    ok $elf =~ s/zRB\0/zRG\0/, 'key B is in the file';
    spew("$dir/g.so", $elf);
    for my $letter ('b', 'g') {
        my ($code, $text, $said) = convert("$dir/$letter.so", '--text');
        is $code, 0, "$letter.so" or diag $said;
        is $rules->($text), $rules->($a), '... has the same rules';
    }
}

# an offset of a CFA that is an expression, as GCC has it behind functions with
# SVE: the rule stays.  The reference refuses the file

SKIP: {
    spew("$dir/offset.s", <<'ASM');
f:      .cfi_startproc
        .cfi_def_cfa_offset 16
        nop
        .cfi_escape 0x0f, 2, 0x77, 8
        nop
        .cfi_def_cfa_offset 24
        nop
        .cfi_endproc
g:      .cfi_startproc
        .cfi_def_cfa_offset 32
        nop
        .cfi_endproc
ASM
    skip 'no assembler for x86-64', 2
        if system("cd $dir && gcc -m64 -shared -nostdlib -o offset.so offset.s"
                  . ' 2>/dev/null') != 0;
    my ($code, $text, $said) = convert("$dir/offset.so", '--text');
    is $code, 0, 'an offset of an expression' or diag $said;
    is_deeply [$text =~ /^STACK CFI INIT \w+ \w+ \.cfa: (.*?) \.ra/mg],
        ['$rsp 16 +', '$rsp 32 +'], '... and the next function';
}

# what a Breakpad file may have, and what it may not

my $module = "MODULE windows x86 A1A2A3A4B1B2C1C2D1D2E1E2E3E4E5E61 app.pdb\n";

for (['STACK CFI INIT 500 10  .cfa: $rsp 8 +   .ra: 1  ',
      'STACK CFI INIT 500 10 .cfa: $rsp 8 +   .ra: 1', 'blanks'],
     ["STACK CFI 500 .cfa: 1\nSTACK CFI INIT 0 1 .cfa: 2\nSTACK CFI x",
      'STACK CFI INIT 0 1 .cfa: 2', 'rows that are left out'],
     ["STACK CFI INIT 0 1 .cfa: 2\nPUBLIC 1 0 f\nSTACK CFI 0 .cfa: 3",
      'STACK CFI INIT 0 1 .cfa: 2', 'a row behind something else'],
     ['STACK WIN 4 A B C D E F 0A 0 7 $eip', # the flag is 1
      'STACK WIN 4 a b c d e f a 0 1 $eip', 'STACK WIN']) {
    my ($in, $out, $what) = @$_;
    spew("$dir/in.sym", "$module$in\n");
    my ($code, $text) = convert("$dir/in.sym", '--text');
    is $text, "$out\n", $what;
}
for (['STACK CFI INIT 500 .cfa: $rsp 8 +', 'no size'],
     ['STACK WIN 4 1 1 10000 0 0 0 0 0 0 0', 'a prolog of 64 KiB'],
     ["STACK CFI INIT 500 10 \xFF: 1", 'no UTF-8']) {
    my ($in, $what) = @$_;
    spew("$dir/in.sym", "$module$in\n");
    my ($code, $text, $said) = convert("$dir/in.sym");
    is $code, 8, "refused: $what";
    like $said, qr/line 2: bad STACK/, 'with its line';
}

# where there is none

my ($code, undef, $said) = convert(unpacked('cfi_chained_loop.exe'));
is $code, 8, 'unwind information without end is refused';
($code, undef, $said) = convert("$top/t/data/ppdb/weave.pdb");
is $code, 3, 'a portable PDB has no CFI';
like $said, qr/without call frame information/, 'and is said to have none';
is((run('pdb2symcache', '--text', "$dir/in.sym"))[0], 1,
    'text is of CfiCaches alone');

# the other program, and the names of files

spew("$dir/in.sym", "${module}STACK CFI INIT 0 1 .cfa: 2\n");
chdir $dir or die "$dir: $!";
is((run('symcachectl', qw(convert --kind cficache in.sym)))[0], 0,
    'symcachectl convert');
is substr(slurp('in.sym-v1.0.0.cficache'), 0, 4), 'SCFI', 'a CfiCache';
is((run('symcachectl', qw(convert --kind cficache --text in.sym)))[0], 0,
    'symcachectl convert --text');
is slurp('in.sym.cfi'), "STACK CFI INIT 0 1 .cfa: 2\n", 'the text';
is((run('symcachectl', qw(convert --kind cfi in.sym)))[0], 2,
    'no such kind');
chdir $top;

done_testing;
