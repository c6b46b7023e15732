#!/usr/bin/env perl

# Names of functions are those that addr2line tells, of programs that are
# compiled here: a function of which gcc has put a part that runs rarely
# elsewhere has one name, what dwz has put into a common file has names, and so
# has a stripped program with .gnu_debugdata.
# --like-symbolic has the reference library's names.

use strict;
use warnings;

use Compress::Zlib ();
use Cwd qw(abs_path);
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use FindBin qw($Bin);
use lib "$Bin/../lib";
use Test::File;
use Test::More;

my $build = abs_path($ENV{SYMCACHE_BUILD} // "$Bin/../../build");
my $dir = tempdir('names.XXXXXX', TMPDIR => 1, CLEANUP => 1);

for my $tool (qw(g++ addr2line dwz readelf c++filt)) {
    plan skip_all => "no $tool" if system("$tool --version >/dev/null 2>&1");
}

sub run {
    my ($command) = @_;
    my $out = qx(cd $dir && $command);
    die "$command: $?" if $?;
    return $out;
}

spew("$dir/shape.h", <<'EOF');
#include <map>
#include <string>
#include <vector>
#include <cstdio>
inline __attribute__((always_inline)) int twice(int x)
{ return x * 2 + (x > 100 ? x / 7 : 0); }
struct Shape {
    std::string name; std::vector<int> v;
    int area() const { int s = 0; for (int x : v) s += twice(x); return s; }
};
EOF
for ('a', 'b') {
    spew("$dir/$_.cc", <<"EOF");
#include "shape.h"
int main(int argc, char **argv)
{
    std::vector<Shape> all; std::map<std::string, int> m; int n = 0;
    for (int i = 0; i < argc; i++) {
        Shape s; s.name = argv[i]; s.v.push_back(argc * i); all.push_back(s);
    }
    for (auto &s : all) n += s.area();
    m[argv[0]] = n;
    printf("$_ %d %zu\\n", n, m.size());
    return n > 3;
}
EOF
    run("g++ -O2 -g -Wl,--build-id -o $_ $_.cc");
    run("cp $_ $_.whole");
}
run('dwz -m common.debug a b');

# The start and size of the code.
sub code {
    my ($file) = @_;
    my ($start, $size) = run("readelf -SW $file")
        =~ /\.text\s+PROGBITS\s+(\w+)\s+\w+\s+(\w+)/ or die;
    return (hex $start, hex $size);
}

# Names at addresses, without what they are nested in and their arguments.
sub base {
    my ($name) = @_;
    return $name =~ s/[<(].*//r =~ s/.*(?:::| )//r;
}

sub by_addr2line {
    my ($file, @at) = @_;
    spew("$dir/at", join '', map { "$_\n" } @at);
    my (%names, $at);
    my @lines = split /\n/, run("addr2line -afiCe $file <at");
    while (defined(my $line = shift @lines)) {
        if ($line =~ /^0x0*(\w+)/) {
            $at = "0x$1";
            $names{$at} = '';
            next;
        }
        shift @lines; # file and line
        $names{$at} .= base($line) . "\n" if $line ne '??';
    }
    return \%names;
}

sub ours {
    my ($file, $options, @at) = @_;
    run("$build/pdb2symcache $options -o out $file");
    spew("$dir/at", join '', map { "$_\n" } @at);
    my (%names, $at);
    for (split /\n/, run("$build/symcachectl lookup out <at | c++filt")) {
        if (/^0x(\w+)/) {
            $at = "0x$1";
            $names{$at} = '';
        } elsif (/^    (?!not found)(.*?)(?: at [^ ]*)?(?: \(inlined\))?$/) {
            $names{$at} .= base($1) . "\n";
        }
    }
    return \%names;
}

# Addresses at which something is found, and of them those with other names.
sub compare {
    my ($file, $options) = @_;
    my ($start, $size) = code($file);
    my @at = map { sprintf '0x%x', $start + int rand $size } 1 .. 2000;
    my ($got, $wanted) = (ours($file, $options // '', @at),
                          by_addr2line($file, @at));
    my @found = grep { $got->{$_} ne '' } sort keys %$got;
    my @other = grep { $got->{$_} ne $wanted->{$_} } @found;
    return (scalar @found, map { "$_: $got->{$_} not $wanted->{$_}" } @other);
}

srand 11;
ok run('readelf -SW a') =~ /gnu_debugaltlink/, 'dwz has made a common file';
ok run('readelf -sW a.whole') =~ / main\.cold$/m, 'main has a part elsewhere';

for my $file ('a.whole', 'b.whole', 'a', 'b') {
    my ($n, @other) = compare($file);
    cmp_ok $n, '>', 1000, "$file: names at $n addresses";
    # binutils takes the symbol of the part where its line table has a gap
    @other = grep { !/: main\n not main\.cold\n/ } @other;
    # and 2.42, asked for the first time about an inlined call, may name the
    # caller twice
    @other = grep { !/: printf\nmain\n not main\nmain\n/ } @other;
    is scalar @other, 0, "$file: are those of addr2line"
        or diag @other[0 .. ($#other > 3 ? 3 : $#other)];
}

# --- where the common file is looked for

my ($start, $size) = code('a');
my @some = map { sprintf '0x%x', $start + int rand $size } 1 .. 300;
my $whole = ours('a', '', @some);

sub has_names {
    my ($what, $options) = @_;
    is_deeply ours('a', $options, @some), $whole, $what;
}

make_path("$dir/.dwz", "$dir/other");
run('mv common.debug .dwz/');
has_names('in a folder .dwz beside it', '');
run('cp a large && head -c 1100000 /dev/zero >>large');
is_deeply ours('large', '', @some), $whole,
    '... also if names of sections are far from the end, as with lld';
run('mv .dwz/common.debug other/name');
has_names('where --altlink says', '--altlink other/name');
my $missing = ours('a', '', @some);
isnt join('', @{$missing}{@some}), join('', @{$whole}{@some}),
    'nowhere: names are missing';
run('cp b.whole common.debug');
is_deeply ours('a', '', @some), $missing, 'one with another build id is none';
run('head -c 3000 other/name >common.debug');
ok ours('a', '', @some), 'a truncated one does not fail the file';
unlink "$dir/common.debug";

# A file must not name any other file of this machine.
my $evil = slurp("$dir/a") =~ s{common\.debug\0}{other/name\0\0\0}r;
spew("$dir/evil", $evil);
is_deeply ours('evil', '', @some), $missing, 'another folder is not looked into';
run('cp other/name common.debug');

# --- lines behind those of a removed function whose address is set twice, as gcc
# does it: in a package of Debian, 7 of 100 addresses had none

spew("$dir/twice.s", <<'EOF');
        .globl f, g, h
        .text
g:      nop; nop; nop; ret
h:      nop; nop; nop; ret              # in the middle of a row
f:      nop; nop; nop; nop; nop; nop; nop; ret
        .section .debug_abbrev
        .uleb128 1, 0x11
        .byte 1
        .uleb128 0x10, 0x17, 0x11, 0x01, 0x12, 0x07, 0x03, 0x08, 0, 0
        .uleb128 2, 0x2e
        .byte 0
        .uleb128 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0, 0
        .byte 0
        .section .debug_info
        .long 2f - 1f
1:      .short 4
        .long .debug_abbrev
        .byte 8
        .uleb128 1
        .long .debug_line
        .quad g, 16
        .asciz "f.c"
        .uleb128 2
        .asciz "f"
        .quad f, 8
        .uleb128 2
        .asciz "g"
        .quad g, 4
        .uleb128 2
        .asciz "h"
        .quad h, 4
        .byte 0
2:      .section .debug_line
        .long 4f - 3f
3:      .short 4
        .long 6f - 5f
5:      .byte 1, 1, 1, 0xfb, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0
        .asciz "f.c"
        .byte 0, 0, 0, 0
6:      .byte 0, 9, 2           # a removed function
        .quad 0
        .byte 2, 4, 1           # a row 4 bytes behind its begin
        .byte 0, 9, 2
        .quad 0
        .byte 0, 1, 1           # the end of the sequence
        .byte 0, 9, 2
        .quad f
        .byte 3, 10, 1, 2, 8, 0, 1, 1
        .byte 0, 9, 2
        .quad g
        .byte 3, 20, 1, 2, 8, 0, 1, 1
4:
EOF
run('gcc -shared -nostdlib -Wl,--build-id -o twice twice.s');
my %twice = reverse run('nm twice') =~ /^0*([0-9a-f]+) T ([fgh])$/mg;
for my $name ('f', 'g', 'h') {
    my ($line) = run("addr2line -e twice 0x$twice{$name}") =~ /:(\d+)/;
    run("$build/pdb2symcache -o out twice");
    like run("$build/symcachectl lookup out 0x$twice{$name}"),
        qr/^    $name at \S*f\.c:$line$/m, "$name has the line of addr2line";
}

# --- dwz of DWARF 5 has another section, and its file no build id.  Neither gdb
# 13 nor addr2line 2.40 reads that, so the same program without dwz is asked for

sub everything {
    my ($file, @options) = @_;
    run("$build/pdb2symcache @options -o out $file");
    my ($head, @text) = split /\n/, run("$build/symcachectl dump out");
    return join "\n", grep { !/^(?:id|debug|guid|name)/i } @text[1 .. $#text];
}

SKIP: {
    run("g++ -O2 -g -gdwarf-5 -Wl,--build-id -o five.$_ $_.cc"
        . " && cp five.$_ five.$_.whole") for 'a', 'b';
    skip 'this dwz does not write DWARF 5', 4
        if system("cd $dir && dwz --dwarf-5 -m five.common five.a five.b"
                  . ' >/dev/null 2>&1') != 0
           || run('readelf -SW five.a') !~ /debug_sup/;
    is everything('five.a'), everything('five.a.whole'),
        'DWARF 5: the file of .debug_sup beside it';
    run('mv five.common other/five');
    isnt everything('five.a'), everything('five.a.whole'),
        'without it, names are missing';
    is everything('five.a', '--altlink other/five'),
        everything('five.a.whole'), '--altlink names it';
    my $without = everything('five.a', '--altlink /nowhere');
    my $bytes = slurp("$dir/other/five");
    my $at = rindex $bytes, substr(slurp("$dir/five.a"),
        index(slurp("$dir/five.a"), "five.common\0") + 13, 20);
    substr($bytes, $at, 1) ^= "\x01" if $at >= 0;
    spew("$dir/five.common", $bytes);
    is everything('five.a'), $without, 'one with another checksum is none';
}

# --- .gnu_debugdata: made as gdb's manual says; the names are those of nm

SKIP: {
    skip 'no xz', 4 if system('xz --version >/dev/null 2>&1') != 0;
    run(q{nm -D --format=posix --defined-only a.whole | cut -d' ' -f1 | sort >dyn
          nm --format=posix --defined-only a.whole |
              awk '$2 ~ /[TtD]/ {print $1}' | sort | comm -13 dyn - >keep
          objcopy --only-keep-debug a.whole mini.full
          objcopy -S --keep-symbols=keep mini.full mini 2>/dev/null
          xz -kf mini
          strip -o stripped a.whole
          objcopy --add-section .gnu_debugdata=mini.xz stripped packed});
    my %at = reverse run('nm a.whole') =~ /^0*([0-9a-f]+) [Tt] (\S+)$/mg;
    my %code = map { $_ => "0x$at{$_}" } grep { /^(?:main|_Z)/ } keys %at;
    my $named = sub {
        my ($got) = @_;
        return [grep { index($got->{$code{$_}} // '', base(
            run("c++filt $_") =~ s/\n//r)) >= 0 } sort keys %code];
    };
    is_deeply $named->(ours('stripped', '', sort values %code)), [],
        'a stripped program has no names of its own';
    is_deeply $named->(ours('packed', '', sort values %code)),
        [sort keys %code], '.gnu_debugdata has the names of nm';
    is_deeply $named->(ours('packed', '--like-symbolic', sort values %code)),
        [], '--like-symbolic does not read it';
    my $whole = slurp("$dir/mini.xz");
    spew("$dir/mini.cut", substr $whole, 0, length($whole) / 2);
    run('objcopy --add-section .gnu_debugdata=mini.cut stripped cut');
    is_deeply $named->(ours('cut', '', sort values %code)), [],
        'one that is damaged does not fail the file';
}

# --- the reference library's names

like join('', values %{ ours('a.whole', '--like-symbolic', @some) }),
    qr/^main\.cold$/m, '--like-symbolic: main is called as its part';
run("$build/pdb2symcache --like-symbolic -o one a");
unlink "$dir/common.debug";
run("$build/pdb2symcache --like-symbolic -o two a");
is slurp("$dir/one"), slurp("$dir/two"), 'and no common file is read';
run("$build/symcachectl convert --like-symbolic -o three a");
is slurp("$dir/three"), slurp("$dir/two"), 'symcachectl convert has the option';

# --- Go: functions of its assembly have symbols that end with ".abi0", which
# Go's own tools and gdb leave out.  The unit is one of C with Go's language.

spew("$dir/asm.c", <<'EOF');
int pkg_f(int a) { return a + 1; }
int main(void) { return pkg_f(0); }
EOF
run('gcc -g -dA -S asm.c');
for ('DW_LANG_C', 'DW_LANG_Go') {
    my $text = slurp("$dir/asm.s") =~ s/\bpkg_f\b(?!")/pkg.f.abi0/gr;
    $text =~ s/0x1d(\s+# DW_AT_language)/0x16$1/ or die if /Go/;
    spew("$dir/unit.s", $text);
    run('gcc -o unit unit.s');
    my ($address) = run('nm unit') =~ /^0*(\w+) T pkg\.f\.abi0$/m or die;
    for my $option ('', '--like-symbolic') {
        run("$build/pdb2symcache $option -o unit.symc unit");
        my ($name) = run("$build/symcachectl lookup unit.symc 0x$address")
            =~ /^\s+(\S+) at/m or die;
        is $name, /Go/ && !$option ? 'pkg_f' : 'pkg.f.abi0', "$_ $option";
    }
}

# --- a symbol without a size, as that of _fini, which is the last one of most
# programs, does not go beyond its section: data has no function

{
    run("$build/pdb2symcache -o bound.symc a.whole");
    run("$build/pdb2symcache --like-symbolic -o free.symc a.whole");
    my ($start, $size) = map { hex } run('readelf -SW a.whole')
        =~ /\.fini\s+PROGBITS\s+(\w+)\s+\w+\s+(\w+)/ or die;
    my ($data) = map { hex } run('readelf -SW a.whole')
        =~ /\.data\s+PROGBITS\s+(\w+)/ or die;
    my @at = map { sprintf '0x%x', $_ } $start, $start + $size - 1,
        $start + $size, $data;
    is_deeply [run("$build/symcachectl lookup bound.symc @at") =~ /^    (\w+(?: found)?)/mg],
        ['_fini', '_fini', 'not found', 'not found'], '_fini ends';
    is_deeply [run("$build/symcachectl lookup free.symc @at") =~ /^    (\w+(?: found)?)/mg],
        [('_fini') x 4], '... as it does not in the reference';
}

# --- 32-bit ARM: the symbol of a function in Thumb code is its address plus one

SKIP: {
    skip 'no clang for ARM, or no llvm-symbolizer', 3
        if system("cd $dir && clang --target=armv7a-linux-gnueabihf -mthumb -O1"
                  . ' -g -ffreestanding -c -o thumb.o -x c - 2>/dev/null <<EOF
int pad(int a) { return a; }
static inline __attribute__((always_inline)) int in(int a) { return a * a; }
int f(int a) { return in(a) ^ 5; }
int g(int a) { return a % 10 + f(a); }
EOF') != 0 || system('llvm-symbolizer --version >/dev/null 2>&1') != 0;
    my %at = reverse run('readelf -sW thumb.o')
        =~ /: ([0-9a-f]+) +\d+ FUNC +GLOBAL +\S+ +\d+ ([fg])$/mg;
    my ($f, $g) = map { hex $at{$_} // die } 'f', 'g';
    is $f & 1, 1, 'the symbol of a Thumb function is odd';
    run("$build/pdb2symcache -o thumb.symc thumb.o");
    my (@got, @wanted);
    for my $address (grep { $_ % 2 == 0 } $f - 1 .. $g + 6) {
        my $hex = sprintf '0x%x', $address;
        push @wanted, join ' ', $hex,
            run("llvm-symbolizer -e thumb.o $hex") =~ /^\S*?([^\/\n]+?)(?::\d+)?$/mg;
        push @got, join ' ', $hex, map { s/^.*\///r }
            run("$build/symcachectl lookup thumb.symc $hex")
                =~ /^    (\S+) at (\S+)/mg;
    }
    is_deeply \@got, \@wanted, 'all of the function has its lines and calls';
    run("strip -g -o thumb.bare thumb.o 2>/dev/null || llvm-strip -g -o thumb.bare thumb.o");
    run("$build/pdb2symcache -o thumb.symc thumb.bare");
    like run(sprintf "$build/symcachectl lookup thumb.symc 0x%x", $g - 1),
        qr/^    g at /m, 'its first instruction belongs to it, too';
}

# --- Objects and kernel modules, whose DWARF waits for a linker: names are those
# of nm, and a range of another function is none.  gcc's were called damaged.

for my $cc (qw(gcc clang)) {
    SKIP: {
        my $made = $cc eq 'gcc' || system('clang --version >/dev/null 2>&1') == 0;
        spew("$dir/module.c", <<'EOF');
int (*hook)(int);
static inline int in(int a) { return a > 3 ? hook(a) : 0; }
int init_module(void) { return in(5) + in(2); }
__attribute__((section(".text.unlikely"), cold, noinline)) int far(int a) { return hook(a); }
int use(int a) { return in(a) * (a ? far(a) : 1); }
EOF
        skip "no $cc, or not of x86-64 or arm64", 3
            if !$made || run('uname -m') !~ /^(?:x86_64|aarch64)$/;
        run("$cc -O2 -g -ffreestanding -c -o module.o module.c");
        run("$build/pdb2symcache -o module.symc module.o");
        my %at = run('nm module.o') =~ /^0*(\w+) T (init_module|use)$/mg;
        is scalar keys %at, 2, "$cc: an object with two functions";
        is_deeply [map { run("$build/symcachectl lookup module.symc 0x$_") =~ /^    (\S+) at /mg }
                sort keys %at], [map { $at{$_} } sort keys %at], '... has their names';
        is run("$build/pdb2symcache --kind cficache --text -o - module.o"), '',
            '... and no unwind information without addresses';
    }
}

# --- PE: names in DWARF and exports of x64 are those of the source, as nm
# prints them; the reference takes an underscore off them.

if (system('zstd --version >/dev/null 2>&1') == 0
        && qx(objdump -i) =~ /^pei-x86-64$/m) {
    run("zstd -qdf $Bin/../data/convert/pe/mingw-2.dll.zst -o mingw.dll");
    no warnings 'portable';    # addresses have 64 bits
    my ($base) = run('objdump -p mingw.dll') =~ /^ImageBase\s+(\w+)/m or die;
    my %theirs = map { /^(\w+) [Tt] (_\w+)$/ ? (hex($1) - hex($base), $2) : () }
        split /\n/, run('nm mingw.dll');
    my %named;
    for my $option ('', '--like-symbolic') {
        run("$build/pdb2symcache $option -o mingw.symc mingw.dll");
        spew("$dir/addresses", join '', map { sprintf "0x%x\n", $_ } sort keys %theirs);
        my $address;
        for (split /\n/, run("$build/symcachectl lookup mingw.symc <addresses")) {
            $address = hex $1 if /^0x(\w+)/;
            # the last of a chain is the function itself
            $named{$option}{$address} = $1 if /^\s+(\S+) at/;
        }
    }
    # symbols of the same address have several names, and thunks none here
    my @known = grep { ($named{''}{$_} // '') eq $theirs{$_} } keys %theirs;
    cmp_ok scalar @known, '>', 20, 'mingw.dll: ' . @known . ' names with an underscore are those of nm';
    is_deeply [grep { "_$named{''}{$_}" eq $theirs{$_} } grep { $named{''}{$_} } keys %theirs],
        [], '... and none lacks it';
    is_deeply [map { "_$named{'--like-symbolic'}{$_}" } sort @known],
        [map { $theirs{$_} } sort @known], '... which it does with --like-symbolic';
    my %all = reverse %theirs;
    is $named{''}{ $all{_CRT_INIT} // '' }, '_CRT_INIT', '... also one of C';

    # The same image as one for x86: names in DWARF are those of the source
    # there, too, as nm has them less the linker's underscore, and only those
    # of exports are decorated.
    my $dll = slurp("$dir/mingw.dll");
    substr $dll, unpack('V', substr $dll, 60, 4) + 4, 2, pack 'v', 0x14c;
    spew("$dir/mingw86.dll", $dll);
    my @made = map {
        run("$build/pdb2symcache -o mingw.symc $_");
        [run("$build/symcachectl dump mingw.symc") =~ /^  0x\w+ cp*\b .*/mg];
    } 'mingw.dll', 'mingw86.dll';
    cmp_ok scalar(grep { / _(?!Z)/ } @{ $made[0] }), '>', 5, 'functions of C with an underscore';
    is_deeply $made[1], $made[0], '... have it on x86, too';
    run("zstd -qdf $Bin/../data/convert/pe/exports.dll.zst -o exports.dll");
    $dll = slurp("$dir/exports.dll") =~ s/\0\K_Z5nakedv\0/_naked\@12\0/gr;
    substr $dll, unpack('V', substr $dll, 60, 4) + 4, 2, pack 'v', 0x14c;
    spew("$dir/exports.dll", $dll);
    run("$build/pdb2symcache -o exports.symc exports.dll");
    like run("$build/symcachectl dump exports.symc"), qr/ public naked$/m, 'an export of stdcall';
    spew("$dir/exports.dll", $dll =~ s/\0\K_naked\@12\0/_\xffaked\@12\0/r);
    is system("$build/pdb2symcache -o $dir/exports.symc $dir/exports.dll 2>$dir/error"), 0,
        '... one whose name is not UTF-8 is none' or diag slurp("$dir/error");
}

# --- PDB: the same of functions without a type.  The name is in the file as it
# is; one for x86 has the reference's names, whose underscores are decorations.

if (system('zstd --version >/dev/null 2>&1') == 0) {
    my $msvc = "$Bin/../data/convert/msvc";
    run("zstd -qdf $msvc/$_.pdb.zst -o $_.pdb") for qw(attach_amd64 run_code_on_dllmain_x86);
    my $name = '__scrt_is_nonwritable_in_current_image$filt$0';
    like slurp("$dir/attach_amd64.pdb"), qr/\0\Q$name\E\0/, "attach_amd64.pdb has $name";
    for (['', $name], ['--like-symbolic', substr $name, 1]) {
        my ($option, $expected) = @$_;
        run("$build/pdb2symcache $option -o pdb.symc attach_amd64.pdb");
        like run("$build/symcachectl dump pdb.symc"), qr/(?<!\w)\Q$expected\E(?!\w)/,
            "... it is $expected with \"$option\"";
    }
    # std::exception's deleting destructor, which has no lines; dump_syms 2.3.9
    # has line 90 there.  The reference drops what is inlined.
    for (['', qr/^\s+std::exception::\S+\(\) at .*:90 \(inlined\)\n\s+std::exception::.* at \?:0$/m],
         ['--like-symbolic', qr/^0x10ba\n\s+std::exception::.* at \?:0\n\z/]) {
        run("$build/pdb2symcache $_->[0] -o pdb.symc attach_amd64.pdb");
        like run("$build/symcachectl lookup pdb.symc 0x10ba"), $_->[1],
            "calls inlined into a function without lines: \"$_->[0]\"";
    }
    my @made = map {
        run("$build/pdb2symcache $_ -o pdb.symc run_code_on_dllmain_x86.pdb");
        +{ map { /^  0x(\w+ \S+ \S.*)/ ? ($1 => 1) : () }
            grep { !/ at / } split /\n/, run("$build/symcachectl dump pdb.symc") };
    } '', '--like-symbolic';
    cmp_ok scalar keys %{ $made[0] }, '>', 50, 'functions of a PDB for x86';
    is_deeply $made[0], $made[1], '... have the names of the reference';

    # Zig gives types of arrays a name, which the reference takes for more sizes
    run("zstd -qdf $Bin/../data/convert/generated/clang19-x64-O2.pdb.zst -o arrays.pdb");
    (my $named = slurp("$dir/arrays.pdb")) =~ s/(\x0e\0\x03\x15.{10})\0\xf1/$1a\0/gs;
    spew("$dir/named.pdb", $named);
    for (['', 1], ['--like-symbolic', '']) {
        my ($option, $is_same) = @$_;
        my @texts = map { run("$build/pdb2symcache $option -o pdb.symc $_.pdb");
                          run("$build/symcachectl dump pdb.symc") } qw(arrays named);
        is $texts[0] eq $texts[1], $is_same, "arrays whose types have names: \"$option\"";
    }
}

# --- sections of DWARF that are compressed as Go's linker does it in Mach-O and
# PE files: each is written over itself, as what it becomes is smaller.

sub zdebug { 'ZLIB' . pack('Q>', length $_[0]) . Compress::Zlib::compress($_[0]) }

sub zdebug_macho {
    my ($file) = @_;
    while ($file =~ /__(debug_\w+)\0*__DWARF\0{9}/g) {
        my ($at, $name) = ($-[0], "__z$1");
        my ($size, $offset) = unpack 'Q<L<', substr $file, $at + 40, 12;
        my $packed = zdebug(substr $file, $offset, $size);
        substr($file, $at, 16) = pack 'a16', $name;
        substr($file, $at + 40, 8) = pack 'Q<', length $packed;
        substr($file, $offset, length $packed) = $packed;
        pos($file) = $at + 80;
    }
    return $file;
}

sub zdebug_pe {
    my ($file) = @_;
    my $pe = unpack 'L<', substr $file, 0x3c, 4;
    my ($count, $symbols, $number, $optional) =
        unpack 'x6 S< x4 L<2 S<', substr $file, $pe, 24;
    my $strings = $symbols + 18 * $number;
    for my $at (map { $pe + 24 + $optional + 40 * $_ } 0 .. $count - 1) {
        my ($index) = substr($file, $at, 8) =~ m{^/(\d+)} or next;
        my ($name) = substr($file, $strings + $index) =~ /^\.(debug_\w+)\0/ or next;
        my ($size, $offset) = unpack 'x8 L< x8 L<', substr $file, $at, 24;
        my $packed = zdebug(substr $file, $offset, $size);
        substr($file, $at, 12) = pack 'a8 L<', '/' . (length($file) - $strings), length $packed;
        substr($file, $offset, length $packed) = $packed;
        $file .= ".z$name\0";
    }
    substr($file, $strings, 4) = pack 'L<', length($file) - $strings;
    return $file;
}

if (system('zstd --version >/dev/null 2>&1') == 0) {
    for (['macho/x86_64.dwarf', \&zdebug_macho], ['pe/mingw-5.dll', \&zdebug_pe]) {
        my ($name, $pack) = @$_;
        run("zstd -qdf $Bin/../data/convert/$name.zst -o plain");
        spew("$dir/packed", $pack->(slurp("$dir/plain")));
        my @texts = map { run("$build/pdb2symcache -o packed.symc $_");
                          run("$build/symcachectl dump packed.symc") } qw(plain packed);
        cmp_ok scalar(() = $texts[0] =~ /inlined/g), '>', 10, "$name has inlined functions";
        is $texts[1], $texts[0], '... also with sections that are compressed';
        is run("$build/pdb2symcache --kind cficache --text -o - packed"),
            run("$build/pdb2symcache --kind cficache --text -o - plain"),
            '... and the same unwind information';
        (my $cut = slurp("$dir/packed")) =~ s/(ZLIB.{12}).{8}/$1 . "\xff" x 8/gse;
        spew("$dir/cut", $cut);
        run("$build/pdb2symcache -o cut.symc cut");
        unlike run("$build/symcachectl dump cut.symc"), qr/inlined/, '... but for damaged ones';
    }
}

# --- functions in assembly, of which LLVM's assembler tells a label only

if (system('clang --version >/dev/null 2>&1') == 0) {
    spew("$dir/add.S", <<'END');
    .text
    .globl add
    .type add, %function
add:
    nop
again:
    nop
    ret
    .size add, . - add
    .section .note.GNU-stack, "", %progbits
END
    run('clang -g -shared -nostdlib -o add.so add.S');
    my ($at, $size) = map { hex } run('nm -S add.so') =~ /^(\w+) (\w+) T add$/m or die;
    my @at = map { sprintf '0x%x', $_ } $at, $at + $size - 1;
    for (['', [5, 8]], ['--like-symbolic', [0, 0]]) {
        my ($option, $lines) = @$_;
        run("$build/pdb2symcache $option -o add.symc add.so");
        is_deeply [run("$build/symcachectl lookup add.symc @at") =~ / add at .*:(\d+)$/mg],
            $lines, "lines of a function in assembly: \"$option\"";
    }

    # with -gline-tables-only, LLVM has no entries of functions without inlined
    # calls
    spew("$dir/tables.c", <<'END');
static inline __attribute__((always_inline)) int inner(int x)
{
    return x * x;
}
int with_calls(int x) { return inner(x) + 1; }
int without_calls(int x)
{
    return x + 1;
}
END
    run('clang -O1 -gline-tables-only -shared -fPIC -nostdlib -o tables.so tables.c');
    unlike run('readelf --debug-dump=info tables.so'), qr/without_calls/,
        'a function without an entry';
    my %at = map { /^(\w+) T (\w+)$/ ? ($2 => '0x' . $1) : () }
        split /\n/, run('nm tables.so');
    for (['', 8], ['--like-symbolic', 0]) {
        my ($option, $line) = @$_;
        run("$build/pdb2symcache $option -o tables.symc tables.so");
        like run("$build/symcachectl lookup tables.symc $at{without_calls}"),
            qr/ without_calls at .*:$line$/m, "... has lines: \"$option\"";
    }
    like run("$build/symcachectl lookup tables.symc $at{with_calls}"),
        qr/ inner at .*:3 \(inlined\)\n.* with_calls at .*:5$/,
        '... and one with an entry its inlined calls';
}

# a function in assembly between two others has no line of the first of them

spew("$dir/between.c", <<'END');
int first(int x)
{
    return x + 1;
}
__asm__(".globl between\n.type between, %function\nbetween: nop\n.size between, . - between");
int last(int x)
{
    return x + 2;
}
END
run("gcc -g -O0 -shared -fPIC -nostdlib -o between.so between.c && $build/pdb2symcache -o between.symc between.so");
my ($between) = run('nm between.so') =~ /^(\w+) T between$/m or die;
like run("$build/symcachectl lookup between.symc 0x$between"), qr/ between at \?:0$/m,
    'assembly between functions';

done_testing;
