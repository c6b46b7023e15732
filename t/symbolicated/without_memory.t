#!/usr/bin/env perl

# Requests for whose JSON there is no memory, or for whose body there is no
# worker, or one without memory, are answered 503: nothing is wrong with them,
# and a client that is told so does not send them again.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Compress::Gzip qw(gzip);
use Test::File;
use Test::Form;
use Test::More;
use Test::Symcache;

plan skip_all => 'not under a sanitizer' if $Test::Symcache::san;
plan skip_all => 'no C compiler' if system('cc --version >/dev/null 2>&1') != 0;

my $t = Test::Symcache->new;

# With SMALL, a JSON of more than 128 values has no memory, as an array of twice
# that number is never had.  The spawner has no socket for a worker as long as there
# is the file "none", and address space for programs as the file "room" says.
$t->write_file('shim.c', <<'C');
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

void *__libc_realloc(void *, size_t);

int socketpair(int domain, int type, int protocol, int fds[2])
{
    int (*real)(int, int, int, int *) = dlsym(RTLD_NEXT, "socketpair");

    if (access(getenv("NONE"), F_OK) == 0) {
        errno = EMFILE;
        return -1;
    }
    return real(domain, type, protocol, fds);
}

int fexecve(int fd, char *const argv[], char *const envp[])
{
    int (*real)(int, char *const *, char *const *) =
        dlsym(RTLD_NEXT, "fexecve");
    FILE *file = fopen(getenv("ROOM"), "r");
    struct rlimit limit;
    unsigned long room;

    if (file != NULL && fscanf(file, "%lu", &room) == 1) {
        limit.rlim_cur = limit.rlim_max = room;
        setrlimit(RLIMIT_AS, &limit);
    }
    return real(fd, argv, envp);
}

void *realloc(void *p, size_t size)
{
    if (size == 256 * 16 && getenv("SMALL") != NULL) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_realloc(p, size);
}
C
my $shim = $t->path('shim.so');
system('cc', '-D_GNU_SOURCE', '-w', '-shared', '-fPIC', '-o', $shim, $t->path('shim.c')) == 0
    or die 'cc';
mkdir $t->path('store') or die $!;
my %env = (LD_PRELOAD => $shim, NONE => $t->path('none'),
    ROOM => $t->path('room'));
$t->start_symbolicated({
    stores => { default => { root => $t->path('store') } },
    symbolication => {
        mozilla => { source => \1, code => \1 },
        limits => { crash_size => '64m', answer_size => '64m' },
    },
}, env => { %env, SMALL => 1 });

sub ask {
    my ($path, $n) = @_;
    my $body = '{"x": [' . join(',', (0) x $n) . ']}';
    my $r = $t->post($t->symbolicated_socket, $path, $body,
                     'Content-Type: application/json');
    return $path eq '/symbolize/v1' ? $r->{body} : $r->{status};
}

for my $path (qw(/symbolicate/v4 /symbolicate/v5 /source/v1 /asm/v1
                 /symbolicate /symbolicate-js /symbolicate-jvm
                 /symbolicate-any)) {
    like ask($path, 100), qr/^(?:200|400|422)$/, "$path: a smaller request";
    is ask($path, 200), 503, "$path: no memory";
}
unlike ask('/symbolize/v1', 100), qr/out of memory/, 'a line that is wrong';
like ask('/symbolize/v1', 200), qr/"error":"out of memory"\}\n\z/,
    'a line without memory';

# --- bodies

my $dump = slurp($t->data('minidump/cases/sym-linux-mini.sym/dump.dmp'));
my $perf = "app 1/1 1.0: cycles:\t1000 [unknown] (/usr/bin/app)\n";

sub send_dump {
    my ($content, @headers) = @_;
    return $t->post($t->symbolicated_socket, '/minidump',
        form(['upload_file_minidump', $content, undef,
            @headers]), "Content-Type: $form_type");
}

sub send_profile { $t->post($t->symbolicated_socket, '/profile', $_[0]) }

$t->stop_symbolicated;
$t->start_symbolicated(undef, env => \%env);
like send_dump($dump)->{body}, qr/"status":"completed"/, 'a small dump';

# with 8 MiB more than a worker has that has read this dump

my ($spawner) = split ' ', qx(pgrep -P $t->{symbolicated});
my @sizes = sort { $a <=> $b } map { (slurp("/proc/$_/status") // '')
    =~ /^VmPeak:\s+(\d+)/m ? $1 : () } split ' ', qx(pgrep -P $spawner);
$t->stop_symbolicated;
$t->write_file('room', ($sizes[-1] << 10) + (8 << 20));
$t->start_symbolicated(undef, env => \%env);
is send_profile($perf)->{status}, 200, 'a small profile';
my $r = send_dump($dump . "\0" x 30_000_000);
is $r->{status}, 503, 'no memory to map a dump' or diag $r->{body};
gzip \$dump => \my $packed;
$r = send_dump($packed, 'Content-Encoding: gzip');
is $r->{status}, 503, 'no memory to unpack a dump' or diag $r->{body};
$r = send_profile(join '', map { $perf =~ s/\t1000/\t$_/r } 100_000 .. 250_000);
is $r->{status}, 503, 'no memory for what a profile has' or diag $r->{body};
like $t->symbolicated_log, qr/a worker has no memory/, 'the log tells';
is $t->symbolicated_metric('symbolicated_workers_died_total'), 0,
    'and none has died';

unlink $t->path('room');
$t->stop_symbolicated;
$t->start_symbolicated(undef, env => \%env);
$t->symbolicated_metric('symbolicated_workers'); # all is open now
$t->write_file('none', '');
is send_dump($dump)->{status}, 503, 'no worker for a dump';
is send_profile($perf)->{status}, 503, 'no worker for a profile';
unlink $t->path('none');
is send_dump($dump)->{status}, 200, 'there is one again';

$t->finish;
done_testing;
