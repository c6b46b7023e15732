#!/usr/bin/env perl

# Split DWARF: a program of which the compiler has put the debug information
# into .dwo files becomes the SymCache of the same program without that, by
# these files or by a package of them (.dwp), of both versions.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Path qw(make_path);
use File::Temp qw(tempdir);
use FindBin qw($Bin);
use lib "$Bin/../lib";
use Test::File;
use Test::More;

my $build = abs_path($ENV{SYMCACHE_BUILD} // "$Bin/../../build");
my $dir = tempdir('split.XXXXXX', TMPDIR => 1, CLEANUP => 1);

sub have {
    my ($tool) = @_;
    return system("$tool --version >/dev/null 2>&1") == 0;
}

my @compilers = grep { have($_) } qw(g++ clang++);
my ($llvm_dwp) = grep { have($_) } qw(llvm-dwp llvm-dwp-19 llvm-dwp-14);
plan skip_all => 'no compiler with -gsplit-dwarf'
    if !@compilers || !have('objcopy');

sub run {
    my ($command) = @_;
    my $out = qx(cd $dir && $command);
    die "$command: $?" if $?;
    return $out;
}

spew("$dir/shape.h", <<'C');
#include <map>
#include <string>
#include <vector>
inline __attribute__((always_inline)) int twice(int x)
{ return x * 2 + (x > 100 ? x / 7 : 0); }
struct Shape {
    std::string name; std::vector<int> v;
    int area() const { int s = 0; for (int x : v) s += twice(x); return s; }
};
int other(Shape &s);
C
make_path("$dir/part");
spew("$dir/a.cc", <<'C');
#include "shape.h"
int main(int argc, char **argv)
{
    std::vector<Shape> all; int n = 0;
    for (int i = 0; i < argc; i++) {
        Shape s; s.name = argv[i]; s.v.push_back(argc * i); all.push_back(s);
    }
    for (auto &s : all) n += s.area() + other(s);
    return n > 3;
}
C
spew("$dir/part/a.cc", <<'C');
#include "../shape.h"
int other(Shape &s)
{
    std::map<std::string, int> m;
    m[s.name] = s.area();
    if (m.size() > 3) throw 3;
    return m.begin()->second;
}
C

# The whole content of a SymCache but whose it is, and what was said.
sub converted {
    my ($file, @options) = @_;
    my $said = qx(cd $dir && $build/pdb2symcache @options -o out $file 2>&1);
    is $?, 0, "$file is converted" or diag $said;
    my $text = run("$build/symcachectl dump out");
    $text =~ s/\b[0-9A-F]{8}-?(?:[0-9A-F]{4}-?){3}[0-9A-F]{12}\S*/ID/i;
    return ($text, $said);
}

# Two source files have the same name, and so their .dwo files.
sub compile {
    my ($compiler, $name, $flags) = @_;
    run("$compiler -O2 -g $flags -c a.cc -o a.o &&"
        . " $compiler -O2 -g $flags -c part/a.cc -o part/a.o &&"
        . " $compiler -Wl,--build-id a.o part/a.o -o $name");
}

sub package_of {
    my ($tool, $name) = @_;
    return 0 if system("cd $dir && timeout 20 $tool -e prog -o $name"
                       . ' >/dev/null 2>&1') != 0;
    return -s "$dir/$name";
}

for my $compiler (@compilers) {
    for my $version (4, 5) {
        my $what = "$compiler, DWARF $version";
        compile($compiler, 'whole', "-gdwarf-$version");
        compile($compiler, 'prog', "-gdwarf-$version -gsplit-dwarf");
        run("objcopy -O binary -j .text $_ $_.text") for 'whole', 'prog';
        is slurp("$dir/prog.text"), slurp("$dir/whole.text"),
            "$what: both programs have the same code" or next;

        my ($whole) = converted('whole');
        like $whole, qr/twice/, "$what: inlined functions are there";
        my ($beside, $said) = converted('prog');
        ok $beside eq $whole, "$what: by .dwo files beside it";
        is $said, '', "$what: nothing is missing";

        # llvm-dwp takes for ever on DWARF 5 of gcc 12, and dwp of binutils
        # crashes on DWARF 5
        my @packages = grep { defined }
            ($llvm_dwp && ($compiler ne 'g++' || $version < 5) ? $llvm_dwp
                                                               : undef,
             $version < 5 && have('dwp') ? 'dwp' : undef);
        for my $tool (@packages) {
            SKIP: {
                skip "$tool does not make a package", 3
                    if !package_of($tool, 'pack.dwp');
                make_path("$dir/alone");
                run('cp prog pack.dwp alone/ && rm -f alone/prog.dwp');
                my ($by) = converted('alone/prog', '--dwp', 'pack.dwp');
                ok $by eq $whole, "$what: by the package of $tool";
                run('mv alone/pack.dwp alone/prog.dwp');
                my ($found) = converted('alone/prog');
                ok $found eq $whole, 'PROGRAM.dwp beside it is found';
                run('objcopy --only-keep-debug prog alone/prog.debug');
                my ($debug) = converted('alone/prog.debug');
                ok $debug eq $whole, 'and of PROGRAM.debug';
                run('rm -r alone');
            }
        }

        # nothing in them says whose they are
        my ($one) = grep { -e "$dir/$_" } 'pack.dwp', 'a.dwo', 'prog-a.dwo';
        my $upload = "$build/symcachectl upload --url http://localhost:9/";
        like scalar qx($upload $dir/$one 2>&1),
            qr/refused: .* (?:without a build id|needs a UUID in its name)/,
            "$what: no upload takes $one";

        # a tree of builds that was moved
        run('rm -rf moved && mkdir -p moved/deep/part && mv *.dwo moved/deep &&'
            . ' mv part/*.dwo moved/deep/part');
        my ($lacking, $note) = converted('prog');
        unlike $lacking, qr/twice/,
            "$what: without them, inlined calls are missing";
        like $lacking, qr{^ *0x\w+ main at \S+/a\.cc:[1-9]}m, '... and no line';
        like $note, qr/calls are missing .* "a\.dwo" is the first of 2$/,
            'and it is said so';
        my ($moved) = converted('prog', '--dwp', 'moved/deep');
        ok $moved eq $whole, '--dwp names a folder';
        run('mkdir -p build && cp -r prog moved/deep/* build/');
        ($moved) = converted('build/prog');
        ok $moved eq $whole, 'and so does the folder of the program';
        my ($like, $silent) = converted('build/prog', '--like-symbolic');
        my ($none) = converted('prog', '--like-symbolic');
        ok $like eq $none && $silent eq '', '--like-symbolic reads none';

        # damage costs what is in the damaged file
        my ($dwo) = glob "$dir/build/*.dwo";
        my $bytes = slurp($dwo);
        for my $size (0, 40, length($bytes) / 3, length($bytes) - 100) {
            spew($dwo, substr $bytes, 0, $size);
            my ($part, $said) = converted('build/prog');
            like $part, qr/_Z5otherR5Shape|other\(/,
                "one .dwo cut to $size bytes: functions of the other";
        }
        spew($dwo, slurp((glob "$dir/moved/deep/part/*.dwo")[0]));
        (undef, $said) = converted('build/prog');
        like $said, qr/is the first of 1$/, 'a .dwo of another unit is none';
        run('rm -rf build moved');

        # types in units of their own, which others refer to by a signature
        for my $split ('', '-gsplit-dwarf') {
            compile($compiler, 'typed', "-gdwarf-$version -fdebug-types-section $split");
            run('objcopy -O binary -j .text typed typed.text');
            is slurp("$dir/typed.text"), slurp("$dir/whole.text"),
                "$what: the same code with units of types" or next;
            like run('readelf -SW typed a.o'), qr/ \.debug_types(?:\.dwo)? .* \.debug_types| \.group .* \.group/s,
                'which are there';
            my ($typed) = converted('typed');
            ok $typed eq $whole, "$what: no name is lost by units of types, $split";
        }
        for my $tool (@packages) {
            SKIP: {
                run('cp typed prog');
                skip "$tool does not make a package of units of types", 1
                    if !package_of($tool, 'pack.dwp');
                make_path("$dir/alone");
                run('cp prog alone/');
                my ($by) = converted('alone/prog', '--dwp', 'pack.dwp');
                ok $by eq $whole, "$what: nor by the package of $tool";
                run('rm -r alone');
            }
        }
    }
}

done_testing;
