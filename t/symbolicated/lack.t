#!/usr/bin/env perl

# The kernel has no memory for a message to the process that starts workers, or
# for a thread: that is tried again, or answered 503 or with a failed module,
# and symbolicated goes on.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::File;
use Test::Form;
use Test::More;
use Test::Symcache;

plan skip_all => 'not under a sanitizer' if $Test::Symcache::san;
plan skip_all => 'no C compiler' if system('cc --version >/dev/null 2>&1') != 0;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8->canonical;

# The next calls of a function fail, as many as its number in the file says: to
# send or receive a message of workers, or to start a thread.
$t->write_file('shim.c', <<'C');
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

static _Atomic int *left;

__attribute__((constructor)) static void begin(void)
{
    int fd = open(getenv("LACK"), O_RDWR | O_CLOEXEC);

    left = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
}

static int lacks(int which)
{
    if (left[which] <= 0) {
        return 0;
    }
    left[which]--;
    return 1;
}

static int is_of_workers(int fd)
{
    int type = 0;
    socklen_t size = sizeof(type);

    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 &&
           type == SOCK_SEQPACKET;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
    if (is_of_workers(fd) && lacks(0)) {
        errno = ENOMEM;
        return -1;
    }
    return REAL(sendmsg)(fd, message, flags);
}

ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
    if (is_of_workers(fd) && lacks(1)) {
        errno = ENOBUFS;
        return -1;
    }
    return REAL(recvmsg)(fd, message, flags);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr,
                   void *(*run)(void *), void *arg)
{
    return lacks(2) ? EAGAIN : REAL(pthread_create)(thread, attr, run, arg);
}
C
system('cc', '-D_GNU_SOURCE', '-w', '-shared', '-fPIC', '-o', $t->path('shim.so'),
       $t->path('shim.c')) == 0 or die 'cc';
$t->write_file('lack', pack 'x4096');

sub lack {
    my ($which, $n) = @_;
    open my $file, '+<', $t->path('lack') or die $!;
    sysseek $file, 4 * $which, 0;
    syswrite $file, pack 'l', $n;
}
my ($send, $receive, $thread) = 0 .. 2;

mkdir $t->path('store') or die $!;
$t->start_symbolicated({
    stores => { default => { root => $t->path('store') } },
    symbolication => { threads => 1 },
}, env => { LD_PRELOAD => $t->path('shim.so'), LACK => $t->path('lack') });

my $n = 0;
sub name {   # a new one each time, as answers are remembered
    my $id = ++$n;
    my $r = $t->post($t->symbolicated_socket, '/symbolicate',
        $json->encode({ modules => [], stacktraces => [{ frames => [
            { instruction_addr => '0x1', function => "_Z2f${id}i" }] }] }),
        'Content-Type: application/json');
    my $name = $json->decode($r->{body})->{stacktraces}[0]{frames}[0]{function};
    return $name eq "f$id(int)" ? 'readable' : $name =~ /^_Z/ ? 'as it is' : $name;
}
my $dump = slurp($t->data('minidump/ring/libring.dmp'));
sub dump_of {
    my ($scope) = @_;
    return $t->post($t->symbolicated_socket, "/minidump?scope=$scope",
        form(['sources', '[]'], ['upload_file_minidump', $dump, 'x']),
        "Content-Type: $form_type")->{status};
}

# --- messages

lack($send, 2);
is name(), 'readable', 'a message is sent again when there is memory';
is dump_of('a'), 200, 'a body';
for (['b', 1], ['c', 1], ['d', 40]) {
    my ($scope, $times) = @$_;
    lack($send, $times);
    my $status = dump_of($scope);
    is $status, $times < 10 ? 200 : 503, "a body, and no memory for $times messages";
    lack($send, 0);
}
is dump_of('d'), 200, 'and later';
for (1 .. 3) {
    lack($receive, 1);
    dump_of("e$_");
    lack($receive, 0);
}
is dump_of('f'), 200, 'nor is it gone that an answer cannot be received';
like $t->symbolicated_log, qr/ \(12: Cannot allocate memory\)$/m, 'the log tells';

# --- threads

# There is a file each, which needs to be looked at.
sub status_of_module {
    my $id = sprintf '3249D99D0C4049318610F4E4FB0B%04X1', ++$n;
    $t->write_file("store/a.pdb/$id/a.pdb-v9.0.0.symcache", 'x');
    my $r = $t->post($t->symbolicated_socket, '/symbolicate', $json->encode({
        modules => [{ type => 'pe', debug_file => 'a.pdb', image_addr => '0x1000',
            debug_id => lc($id =~ s/^(.{8})(.{4})(.{4})(.{4})(.{12})/$1-$2-$3-$4-$5-/r),
            image_size => 4096 }],
        stacktraces => [{ frames => [{ instruction_addr => '0x1001' }] }] }),
        'Content-Type: application/json');
    return $json->decode($r->{body})->{modules}[0]{debug_status};
}
is status_of_module(), 'malformed', 'a file that is none';
lack($thread, 1);
is status_of_module(), 'fetching_failed', 'one without a thread that looks for it';
like $t->symbolicated_log,
    qr/modules are not searched for: no thread, memory or descriptor for it: Resource temporarily unavailable/,
    'the log tells';
is status_of_module(), 'malformed', 'and later';

# --- the process has not stopped

is $t->stop_symbolicated, 0, 'symbolicated stops';
$t->finish;
done_testing;
