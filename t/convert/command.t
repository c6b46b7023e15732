#!/usr/bin/env perl

# The forms of pdb2symcache's command line give one and the same file, which is
# the reference's with --like-symbolic: the plain one of people, and that of
# transcoders.

use strict;
use warnings;

use Cwd qw(abs_path);
use Digest::SHA;
use Fcntl qw(F_SETFD);
use FindBin qw($Bin);
use File::Temp qw(tempdir);
use Test::More;

my $top = abs_path("$Bin/../..");
my $program = abs_path($ENV{SYMCACHE_BUILD} // "$top/build") . '/pdb2symcache';
my $pdb = "$top/t/data/pdb/crash.pdb";

# what symbolic makes of it
my ($oracle) = map { (split /\t/)[5] =~ /(\w+)/ }
    grep { m{\tt/data/pdb/crash\.pdb\t} } do {
        open my $f, '<', "$top/t/convert/manifest.tsv" or die;
        <$f>;
    };
my $dir = tempdir('sc.XXXXXX', TMPDIR => 1, CLEANUP => 1);

chdir $dir or die "$dir: $!";

sub sha256 { Digest::SHA->new(256)->addfile($_[0], 'b')->hexdigest }

# Runs it with the environment given, and returns exit code and both outputs.
sub run {
    my ($env, @args) = @_;
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        delete $ENV{_NT_SYMCACHE_PATH};
        %ENV = (%ENV, %$env);
        open STDOUT, '>', 'stdout' or die;
        open STDERR, '>', 'stderr' or die;
        exec $program, '--like-symbolic', @args;
        exit 127;
    }
    waitpid $pid, 0;
    my $code = $? >> 8;
    local $/;
    open my $f, '<', 'stderr' or die;
    return ($code, scalar(<$f>) // '');
}

my $file = 'crash.pdb-v9.0.0.symcache';

is_deeply [run({}, $pdb)], [0, ''], 'FILE';
is sha256($file), $oracle, 'the file in this folder';
is_deeply [run({}, $pdb, '-o', 'own')], [0, ''], 'FILE -o OUT';
is sha256('own'), $oracle, 'the file with its name';
is_deeply [run({}, '-o', '-', $pdb)], [0, ''], 'in any order';
is sha256('stdout'), $oracle, 'standard output';

unlink $file or die "$file: $!";
mkdir 'root' or die;
is_deeply [run({ _NT_SYMCACHE_PATH => 'root' }, $pdb)], [0, ''],
    'FILE beside _NT_SYMCACHE_PATH';
ok -f $file, 'which is for transcoders';
is_deeply [run({ _NT_SYMCACHE_PATH => 'root' }, '-pdb', $pdb)], [0, ''], '-pdb';
my ($made) = glob "root/crash.pdb/*/$file";
is sha256($made), $oracle, 'the file in its place under the root';

for (
    [qr/no FILE/],
    [qr/second FILE/, $pdb, $pdb],
    [qr/neither -o nor _NT_SYMCACHE_PATH/, '-pdb', $pdb],
    [qr/unknown option/, '-frob', $pdb],
) {
    my ($re, @args) = @$_;
    my ($code, $text) = run({}, @args);
    is $code, 1, "usage: @args";
    like $text, $re, 'says what is wrong';
}

# What is written is on the disk, but for a caller that sees to that itself.
SKIP: {
    my $shim = "$dir/shim.so";
    open my $c, '>', 'shim.c' or die;
    print $c "#include <unistd.h>\n",
        "int fsync(int fd) { write(2, \"fsync\\n\", 6); return 0; }\n";
    close $c;
    skip 'no C compiler', 3
        if system('cc', '-shared', '-fPIC', '-w', '-o', $shim, 'shim.c') != 0;
    skip 'no LD_PRELOAD under a sanitizer', 3
        if grep { /libasan/ } `ldd $program`;

    is_deeply [run({ LD_PRELOAD => $shim }, $pdb)], [0, "fsync\n" x 2],
        'the file is synced, and then its folder';
    mkdir 'work' or die;
    is_deeply [run({ LD_PRELOAD => $shim, PDB2SYMCACHE_WORK => 'yes',
                     _NT_SYMCACHE_PATH => 'work' }, '-pdb', $pdb)],
        [0, ''], 'PDB2SYMCACHE_WORK: it is not';
    is sha256("work/$file"), $oracle, 'and it lies in that folder';
}

# It checks what it wrote, if its caller has a descriptor to be told at.
sub told {
    my ($id) = @_;
    open my $f, '+>', 'told' or die "told: $!";
    fcntl $f, F_SETFD, 0 or die "told: $!";
    is_deeply [run({ PDB2SYMCACHE_WORK => 'yes', _NT_SYMCACHE_PATH => 'work',
                     PDB2SYMCACHE_CHECK => fileno($f) . ":$id" },
                   '-pdb', $pdb)], [0, ''], "$id: done";
    seek $f, 0, 0;    # whose place the writer has moved
    return scalar <$f> // '';
}

my $id = '3249D99D0C4049318610F4E4FB0B69361';
mkdir 'work';
is told($id), "sound\n", 'it is sound';
is told('4' . substr $id, 1), '', 'it is of another PDB: nothing is said';
is told('no id'), '', 'nothing can be compared: nothing is said';
is_deeply [run({ PDB2SYMCACHE_WORK => 'yes', _NT_SYMCACHE_PATH => 'work',
                 PDB2SYMCACHE_CHECK => "999:$id" }, '-pdb', $pdb)],
    [0, ''], 'there is nobody to be told';

chdir '/';
done_testing;
