#!/usr/bin/env perl

# Breakpad's text that pdb2symcache makes of a file says at each address what
# the file's SymCache says, once both are looked up: the SymCache is the
# reference library's, byte for byte (identity.t), and names are compared in the
# form of c++filt.  system/sym.t compares one with dump_syms.

use strict;
use warnings;

use FindBin qw($Bin);
use lib "$Bin/lib", "$Bin/../lib";
use Test::File;
use Test::More;

use Corpus;

my $corpus = Corpus->new;
my $work = $corpus->work;
my $build = $corpus->build;
my $data = $corpus->root . '/t/data';

plan skip_all => 'no c++filt' if system('c++filt --version >/dev/null 2>&1');

sub run {
    my (@command) = @_;
    return system("@command >$work/out 2>$work/err") == 0
        ? slurp("$work/out") : undef;
}

# What is found at these addresses, readable.  A name is that of a symbol alone
# as long as no line is known.
sub frames {
    my ($cache, $addresses) = @_;
    spew("$work/addresses", join '', map { "$_\n" } @$addresses);
    my $text = run("$build/symcachectl lookup $cache <$work/addresses"
        . ' | c++filt --no-verbose');
    return [split /^(?=0x)/m, $text // ''];
}

srand 7;
for my $file ("$data/pdb/crash.pdb", glob("$data/convert/elf/{gcc-5,clang-4,"
    . "gcc-lto,i386,aarch64,mips,powerpc64,stripped}.so.zst"),
    "$data/convert/macho/arm64.dylib.zst",
    "$data/convert/macho/x86_64.dwarf.zst",
    "$data/convert/pe/exports.dll.zst", "$data/convert/pe/mingw-2.dll.zst",
    "$data/convert/msvc/winpty-arm64.pdb.zst")
{
    my ($name) = $file =~ m{convert/(.*)|([^/]+)$};
    $name //= 'crash.pdb';
    my $input = $corpus->unpacked($file);
    my $made = run("$build/pdb2symcache -o $work/a.symcache $input");
    ok defined run("$build/pdb2symcache --kind breakpad -o $work/x.sym $input"),
        "$name: is written" or diag slurp("$work/err");
    ok defined run("$build/pdb2symcache -o $work/b.symcache $work/x.sym"),
        "$name: can be read" or diag slurp("$work/err");
    my @all = run("$build/symcachectl dump $work/a.symcache")
        =~ /^  (0x[0-9a-f]+)/mg;
    my @some = map { sprintf '%#x', hex($all[rand @all]) + int rand 3 } 1 .. 400;
    my ($wanted, $got) = map { frames("$work/$_.symcache", \@some) } 'a', 'b';
    s/^    \Kauto //m for @$wanted; # a return type, which dump_syms leaves out
    # a PUBLIC record does not say where its symbol ends, and of a function that
    # has lines, if only those of inlined calls, the rest is not found
    my $is_lineless = slurp("$work/x.sym") =~ /^FILE \d+ \?$/m
        ? qr/\A0x\w+\n    .* at \?:0\n\z/ : qr/\A(?!)/;
    my @other = grep { $wanted->[$_] !~ /not found/
        && $wanted->[$_] ne ($got->[$_] // '')
        && !($wanted->[$_] =~ $is_lineless && $got->[$_] =~ /not found/) } 0 .. $#$wanted;
    is scalar @other, 0, "$name: " . @some . ' addresses'
        or diag map { $wanted->[$_], $got->[$_] } grep { defined } @other[0 .. 2];
}

# The unwind information of a PDB for x64 is in its image.
mkdir "$work/alone" or die;
my $pdb = "$work/alone/attach_amd64.pdb";
spew($pdb, slurp($corpus->unpacked("$data/convert/msvc/attach_amd64.pdb.zst")));
my $image = $corpus->unpacked("$data/convert/msvc/attach_amd64.dll.zst");
my $other = $corpus->unpacked("$data/convert/pe/mingw-2.dll.zst");
run("$build/pdb2symcache --kind cficache --text -o $work/image.cfi $image");
my $stack = slurp("$work/image.cfi"); # the library's, byte for byte (cfi.t)

sub stack {
    my (@options) = @_;
    my $text = run("$build/pdb2symcache --kind breakpad @options -o - $pdb");
    return join '', map { "$_\n" } grep { /^STACK / } split /\n/, $text // '';
}
is stack(), '', 'a PDB for x64 alone';
like slurp("$work/err"), qr/note: there are no STACK records without the image/,
    'is told';
is stack("--image $image"), $stack, 'with its image';
is stack("--image $other"), '', 'with another one';
like slurp("$work/err"), qr/without the image of the module: the file beside it is not/,
    'is told';
is system("$build/pdb2symcache --kind breakpad --image $work/none -o - $pdb >$work/out 2>$work/err")
    >> 8, 2, 'one that is not there: exit code';
like slurp("$work/err"), qr{/none: cannot be opened: No such file}, '... and which';
spew("$work/alone/attach_amd64.dll", slurp($image));
is stack(), $stack, 'with its image beside it';
spew("$work/alone/attach_amd64.dll", substr slurp($image), 0, 20000);
is stack(), '', 'with half of it';

done_testing;
