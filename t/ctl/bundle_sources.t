#!/usr/bin/env perl

# symcachectl bundle-sources: of an ELF file, a PDB and a portable PDB.

use strict;
use warnings;

use Cwd qw(getcwd);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Ctl;
use Test::File qw(slurp spew);
use Test::More;
use Test::Symcache;

plan skip_all => 'cc and readelf are needed'
    if system('{ command -v cc && command -v readelf; } >/dev/null 2>&1') != 0;

my $t = Test::Symcache->new;
my $ctl = Test::Ctl->new($t);
my $data = "$FindBin::Bin/../data";
my $dir = $t->dir;
my $home = getcwd();

# What is in a bundle, as our reader says.
sub dump_of {
    my ($bundle) = @_;
    my ($program, $cache) = ($t->program('pdb2symcache'), $t->path('cache'));
    system($program, $bundle, '-o', $cache) == 0 or return '';
    return $ctl->run('dump', $cache)->{out};
}

# --- a program

mkdir "$dir/$_" for qw(build build/lib out);
spew("$dir/build/main.c", slurp("$data/sourcebundle/ring/main.c"));
spew("$dir/build/lib/ring.h", slurp("$data/sourcebundle/ring/lib/ring.h"));
system("cd '$dir/build' && cc -g -Wl,--build-id -o ring main.c") == 0 or die;
my ($build) = `readelf -n '$dir/build/ring'` =~ /Build ID: ([0-9a-f]+)/ or die;
my @b = map { hex } substr($build, 0, 32) =~ /../g;
my $id = sprintf '%02x%02x%02x%02x-%02x%02x-%02x%02x-' . '%02x%02x-' . '%02x' x 6,
    @b[3, 2, 1, 0, 5, 4, 7, 6, 8 .. 15];

my $said = qr/ring: 2 of 2 source files are on this disk\n/;
$ctl->is($ctl->run('bundle-sources', '-o', "$dir/one", "$dir/build/ring"), 0,
    undef, $said, 'a program');
is substr(slurp("$dir/one"), 0, 12), "SYSB\2\0\0\0PK\3\4", 'it is a bundle';
my $dump = dump_of("$dir/one");
like $dump, qr/^id +\Q$id\E$/m, 'of this program';
my $lines = () = slurp("$dir/build/main.c") =~ /\n/g;
like $dump, qr{^  \Q$dir\E/build/main\.c, lines $lines$}m, 'with its sources';
like $dump, qr{^  \Q$dir\E/build/lib/ring\.h, lines \d+$}m, 'and headers';

$ctl->is($ctl->run('bundle-sources', '-o', "$dir/out", "$dir/build/ring"), 0,
    undef, $said, 'into a folder');
ok slurp("$dir/out/ring.src.zip") eq slurp("$dir/one"),
    'equal files make equal bytes';

# --- what it does not replace

$ctl->is($ctl->run('bundle-sources', '-o', "$dir/build/ring", "$dir/build/ring"), 3,
    undef, qr/ring: output: "\Q$dir\E\/build\/ring" is the input\n\z/, 'the input');
is substr(slurp("$dir/build/ring"), 0, 4), "\x7fELF", '... is as it was';
symlink 'one', "$dir/link" or die "symlink: $!";
$ctl->is($ctl->run('bundle-sources', '-o', "$dir/link", "$dir/build/ring"), 3,
    undef, qr/ring: output: ".*link" is not a regular file\n\z/, 'a link');
ok -l "$dir/link", '... is one still';

SKIP: {
    my $cli = $ENV{SENTRY_CLI} // 'sentry-cli';
    skip 'sentry-cli is not here (SENTRY_CLI)', 3
        if system("'$cli' --version >/dev/null 2>&1") != 0;
    my $check = `'$cli' debug-files check '$dir/one' 2>&1`;
    is $?, 0, 'sentry-cli reads it';
    like $check, qr/Debug ID: \Q$id\E\n +Code ID: +$build\n +Arch: +x86_64/,
        'of the same program';
    system("'$cli' debug-files bundle-sources -o '$dir/theirs' '$dir/build/ring'"
        . ' >/dev/null 2>&1');
    like dump_of("$dir/theirs/ring.src.zip"),
        qr{^  \Q$dir\E/build/main\.c, lines $lines$}m, 'and its own is read here';
}

# --- files that are not there, or are no text

unlink "$dir/build/lib/ring.h";
$ctl->is($ctl->run('bundle-sources', '-o', "$dir/less", "$dir/build/ring"), 0,
    undef, qr{^symcachectl: \Q$dir\E/build/lib/ring\.h: is not there\n.*: 1 of 2 }s,
    'one is not there');
spew("$dir/build/main.c", "\xff");
$ctl->is($ctl->run('bundle-sources', '-o', "$dir/none", "$dir/build/ring"), 1,
    undef, qr{main\.c: is not UTF-8\n.*: 0 of 2 .*: there is no bundle\n}s,
    'none is left');
is_deeply [glob "$dir/none*"], [], 'nothing is written';
system("strip -o '$dir/stripped' '$dir/build/ring'") == 0 or die;
$ctl->is($ctl->run('bundle-sources', '-o', "$dir/none", "$dir/stripped"), 1,
    undef, qr{stripped: names no source files, .*: there is no bundle\n},
    'a stripped program');

# --- paths of Windows, which are names of files here

my $main = 'c:\projects\breakpad-tools\windows\crash\main.cpp';
my $class = 'C:\dev\symbolic\symbolic-testutils\fixtures'
    . '\ppdb-sourcelink-sample\src\Class1.cs';
chdir $dir or die;
spew("$dir/$main", "int main()\r\n");
spew("$dir/$class", "class Class1 {\n");
$ctl->is($ctl->run('bundle-sources', '-o', $dir, "$data/pdb/crash.pdb",
        "$data/sourcebundle/ppdb-sourcelink-sample.pdb"), 0, undef,
    qr/crash\.pdb: 1 of \d+ source.*sample\.pdb: 1 of \d+ source/s,
    'a PDB and a portable PDB');
chdir $home;
$dump = dump_of("$dir/crash.src.zip");
like $dump, qr/^id +3249d99d-0c40-4931-8610-f4e4fb0b6936$/m, 'of the PDB';
like $dump, qr/^  \Q$main\E, lines 1$/m, 'its source';
like dump_of("$dir/ppdb-sourcelink-sample.src.zip"),
    qr/^id +ccbcacce-dca5-467b-ae40-59282ce78bce\nfiles\n  \Q$class\E, lines 1$/m,
    'of the portable PDB';

# --- usage

$ctl->is($ctl->run('bundle-sources', "$dir/one"), 2, undef, qr/no -o/, 'no -o');
$ctl->is($ctl->run('bundle-sources', '-o', "$dir/x", 'a', 'b'), 2, undef,
    qr/-o is not a folder for several bundles/, 'several into a file');
mkdir "$dir/build/$_" for qw(more out);
spew("$dir/build/main.c", slurp("$data/sourcebundle/ring/main.c"));
spew("$dir/build/more/ring.so", 'no debug file');
system("cp '$dir/build/ring' '$dir/build/more/ring.dbg'") == 0 or die;
$ctl->is($ctl->run('bundle-sources', '-o', "$dir/build/out", map { "$dir/build/$_" }
        qw(more/ring.so ring more/ring.dbg)), 2, undef,
    qr{/more/ring\.so: .*/ring: 1 of 2 source.*/more/ring\.dbg: its bundle would replace that of a file before it}s,
    'a bundle is not replaced by that of the next file');
spew("$dir/te\nxt", 'no debug file');
$ctl->is($ctl->run(@$_, '-o', "$dir/x", "$dir/te\nxt"), 1, undef,
    qr/te\\x0axt: is text, not a debug file\n\z/, "@$_: no debug file")
    for ['bundle-sources'], ['convert'], ['symbfile', 'make'];

$t->finish;
done_testing;
