#!/usr/bin/perl

# Debug information of Debian's packages: pdb2symcache --like-symbolic writes what
# the reference writes.  ELF_PACKAGES names others; each needs the distribution's
# archive.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Temp;
use FindBin qw($Bin);
use Test::More;

my $root = abs_path("$Bin/../..");
my $build = abs_path($ENV{SYMCACHE_BUILD} // "$root/build");
my $venv = "$build/reference";
my $work = File::Temp->newdir('symcache-elf-XXXXXX', DIR => $build);

my $why = `flock '$venv.lock' '$root/tools/corpus/reference-venv' '$venv' 2>&1`;
plan skip_all => $why if $? != 0;
plan skip_all => 'no apt-get' if system('apt-get --version >/dev/null 2>&1');

my @packages = split ' ', $ENV{ELF_PACKAGES}
    // 'libc6-dbg valgrind-dbg openjdk-17-dbg linux-image-cloud-amd64-dbg';


# What a package that has no files of its own depends on, or itself.

sub real_name {
    my ($name) = @_;
    my ($dep) = `apt-cache depends '$name' 2>/dev/null`
        =~ /Depends: (linux-image-\S+-dbg)/;
    return $dep // $name;
}

for my $package (map { real_name($_) } @packages) {
    my $folder = "$work/$package";

    SKIP: {
        mkdir $folder;
        skip "$package cannot be downloaded", 1
            if system("cd '$folder' && apt-get download '$package' >/dev/null"
                      . " 2>&1 && dpkg-deb -x *.deb . && rm *.deb") != 0;

        my @files = grep { -f && !-l } split /\n/,
            `find '$folder' -name '*.debug' -o -name 'vmlinux-*'`;
        my @wrong;
        for my $file (sort @files) {
            unlink "$work/ours", "$work/theirs";
            system("'$build/pdb2symcache' --like-symbolic '$file' -o '$work/ours' 2>/dev/null");
            system("'$venv/bin/python' '$root/tools/corpus/reference.py'"
                   . " convert '$file' '$work/theirs' 2>/dev/null");
            push @wrong, $file
                if -e "$work/ours" ? system('cmp', '-s', "$work/ours",
                                            "$work/theirs") != 0
                                   : -e "$work/theirs";
        }
        is_deeply(\@wrong, [], "$package: " . @files . ' files');
    }
    system('rm', '-rf', $folder);
}

done_testing;
