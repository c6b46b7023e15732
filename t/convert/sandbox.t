#!/usr/bin/env perl

# The process of pdb2symcache that parses: caught in the middle of its work
# (its output is a pipe that nobody reads), it must be without privileges,
# under a filter, within limits, and hold no descriptor but those it needs.
# Then a library loaded into it tries from inside what a captured parser
# would; every call that the filter refuses is in t/unit/sandbox.c.

use strict;
use warnings;

use FindBin qw($Bin);
use lib "$Bin/lib", "$Bin/../lib";
use Test::File;
use Test::More;
use Time::HiRes qw(time usleep);

use Corpus;

plan skip_all => 'no /proc' unless -r '/proc/self/status';

my $corpus = Corpus->new;
my $pdb = $corpus->unpacked($corpus->root . '/t/data/pdb/basic32.pd_');


# A file of a process; empty when that has ended.

sub shown { eval { slurp($_[0]) } // "" }


sub status {
    my ($pid) = @_;
    return shown("/proc/$pid/status") =~ /^(\w+):\s+(.*)$/mg;
}


# All descendants of a process and itself.

sub tree {
    my ($pid) = @_;
    return ($pid, map { tree($_) } split ' ',
            shown("/proc/$pid/task/$pid/children"));
}


pipe my $from, my $to or die "pipe: $!";
my $pid = fork() // die "fork: $!";

if ($pid == 0) {
    open STDOUT, '>&', $to or die "dup: $!";
    close $to;
    close $from;
    exec $corpus->build . '/pdb2symcache', '-pdb', $pdb, '-o', '-';
    exit 127;
}

close $to;

my ($parser, %status);
my $deadline = time + 20;

while (time < $deadline && !$parser) {
    for my $p (tree($pid)) {
        %status = status($p);
        next if ($status{Seccomp} // 0) != 2;
        next if ($status{State} // '') !~ /^S/;
        next if shown("/proc/$p/wchan") !~ /pipe/
            && shown("/proc/$p/syscall") !~ /^1 /;
        $parser = $p;
        last;
    }
    usleep(2000);
}

ok($parser, 'a process under a seccomp filter is writing') or do {
    kill 'KILL', $pid;
    waitpid $pid, 0;
    done_testing;
    exit;
};

%status = status($parser);
is($status{Seccomp}, 2, 'seccomp: filter');
is($status{NoNewPrivs}, 1, 'no new privileges');

my $limits = shown("/proc/$parser/limits");

for my $limit ('Max processes', 'Max file size', 'Max address space',
               'Max cpu time')
{
    SKIP: {
        skip "$limit: not under a sanitizer", 1
            if $ENV{SYMCACHE_SAN} && $limit eq 'Max address space';
        my ($soft) = $limits =~ /^\Q$limit\E\s+(\S+)/m;
        isnt($soft // 'missing', 'unlimited', "$limit is limited");
        note("$limit: $soft");
    }
}

my @open = map { readlink($_) // () } glob "/proc/$parser/fd/*";
my @wrong = grep {
    $_ ne $pdb && !/^pipe:/ && $_ ne '/dev/null' && !m{^/dev/pts/}
        && !m{^/dev/tty} && !/^anon_inode/
        && $_ ne "/proc/$parser/statm" # its own size
} @open;

# and what the test was started with, it inherits

my %inherited = map { (readlink($_) // '') => 1 } glob "/proc/$$/fd/*";
@wrong = grep { !$inherited{$_} } @wrong;
is_deeply(\@wrong, [], 'no descriptor but those it needs')
    or diag(explain(\@open));

# let it finish

my $size = 0;
while (my $n = sysread $from, my $buffer, 65536) { $size += $n }
waitpid $pid, 0;
is($?, 0, 'and it still ends well');
cmp_ok($size, '>', 1_000_000, 'with its whole output');

# from inside, when the first bytes of the output are written

SKIP: {
    skip 'a sanitizer wants to be loaded first', 3 if $ENV{SYMCACHE_SAN};

    my $source = $corpus->work . '/captured.c';
    my $library = $corpus->work . '/captured.so';

    open my $f, '>', $source or die "$source: $!";
    print $f <<'C';
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void tell(const char *what, long rc)
{
    char text[100];
    int n = snprintf(text, sizeof(text), "captured: %s: %s\n", what,
                     rc == -1 && (errno == EPERM || errno == EACCES)
                         ? "refused" : "done");
    syscall(SYS_write, 2, text, n);
}

ssize_t write(int fd, const void *data, size_t size)
{
    static int tried;
    struct stat st;
    char link[16];
    char *argv[] = {"true", NULL};

    if (!tried++) {
        tell("open", open("/etc/passwd", O_RDONLY));
        tell("create", open("captured", O_CREAT | O_WRONLY, 0600));
        tell("stat", stat("/etc/shadow", &st));
        tell("look", fstatat(AT_FDCWD, "/etc/shadow", &st, AT_EMPTY_PATH));
        tell("link", readlink("/proc/self/exe", link, sizeof(link)));
        tell("inet", socket(AF_INET, SOCK_STREAM, 0));
        tell("unix", socket(AF_UNIX, SOCK_STREAM, 0));
        tell("exec", execv("/bin/true", argv));
        tell("kill", kill(getppid(), 0));
    }
    return syscall(SYS_write, fd, data, size);
}
C
    close $f or die "$source: $!";

    is(system('cc', '-shared', '-fPIC', '-w', '-o', $library, $source), 0,
       'a library to load into it');
    my $program = $corpus->build . '/pdb2symcache';
    my $said = `LD_PRELOAD='$library' '$program' -pdb '$pdb' -o - 2>&1 >/dev/null`;
    is($said, join('', map { "captured: $_: refused\n" }
                   qw(open create stat look link inet unix exec kill)),
       'no file, no look at one, no socket, no program, no signal');
    is($?, 0, 'and it goes on');
}

done_testing;
