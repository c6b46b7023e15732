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
use Test::Sentry;
use Test::Symcache;

plan skip_all => 'not under a sanitizer' if $Test::Symcache::san;
plan skip_all => 'no C compiler' if system('cc --version >/dev/null 2>&1') != 0;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8->canonical;

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

# --- files of the store

# The call for a descriptor, or for bytes to check a file with, that the number in
# the file says fails.
$t->stop_symbolicated;
$t->write_file('lack.c', <<'C');
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static _Atomic int *at;

__attribute__((constructor)) static void begin(void)
{
    int fd = open(getenv("LACK"), O_RDWR | O_CLOEXEC);

    at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
}

static int lacks(void)
{
    if (at == NULL || *at <= 0 || --*at > 0) {
        return 0;
    }
    errno = EMFILE;
    return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int openat(int folder, const char *path, int flags, ...)
{
    return lacks() ? -1 : REAL(openat)(folder, path, flags, 0);
}

int fstat(int fd, struct stat *st)
{
    return lacks() ? -1 : REAL(fstat)(fd, st);
}

DIR *fdopendir(int fd)
{
    return lacks() ? NULL : REAL(fdopendir)(fd);
}

int socket(int domain, int type, int protocol)
{
    return lacks() ? -1 : REAL(socket)(domain, type, protocol);
}

void *mmap(void *p, size_t size, int prot, int flags, int fd, off_t offset)
{
    if (fd != -1 && (flags & MAP_PRIVATE) != 0 && lacks()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return REAL(mmap)(p, size, prot, flags, fd, offset);
}

void *__libc_calloc(size_t, size_t);

void *calloc(size_t n, size_t size)
{
    return size == 1 && n >= 1000 && lacks() ? NULL : __libc_calloc(n, size);
}
C
system('cc', '-D_GNU_SOURCE', '-w', '-shared', '-fPIC', '-o', $t->path('lack.so'),
       $t->path('lack.c')) == 0 or die 'cc';

$t->write_file('lack', pack 'x4096');

# What is answered in the place of the whole answer where a call fails.
sub fail_each {
    my ($ask) = @_;
    my ($whole, %others, $n);

    for ($n = 0;; $n++) {
        $t->stop_symbolicated;
        $t->start_symbolicated(undef,
            env => { LD_PRELOAD => $t->path('lack.so'), LACK => $t->path('lack') });
        open my $lack, '+<', $t->path('lack') or die $!;
        syswrite $lack, pack 'l', $n;
        my $r = $ask->();
        sysseek $lack, 0, 0;
        sysread $lack, my $left, 4;
        $whole //= $r->{body};
        sysseek $lack, 0, 0;
        syswrite $lack, pack 'l', 0;
        return ($n - 1, \%others) if unpack('l', $left) > 0;
        $others{$r->{status}}{ $r->{body} } = $n if $r->{body} ne $whole;
    }
}

$t->fill_store('store', $t->data('pdb/crash.pdb'));
my %module = (type => 'pe', debug_file => 'crash.pdb', image_addr => '0x400000',
              debug_id => '3249d99d-0c40-4931-8610-f4e4fb0b6936-1');
my ($count, $others) = fail_each(sub {
    return $t->post($t->symbolicated_socket, '/symbolicate', $json->encode({
        modules => [\%module],
        stacktraces => [{ frames => [{ instruction_addr => '0x402913' }] }],
    }), 'Content-Type: application/json');
});
is_deeply [grep { /malformed/ } map { keys %$_ } values %$others], [],
    "in none of $count calls for a module it is called malformed";

my $build = '9a2b77f0c1d35ec6a86f0ba5aa3cde21f2a7a001';
my $folder = 'store/_/F0772B9AD3C1C65EA86F0BA5AA3CDE210';
$t->write_file("$folder/_-v9.0.0.symcache", '');
system($t->program('symcachectl'), 'convert', '-o',
       $t->path("$folder/_-v9.0.0.symcache"),
       $t->data('convert/symbfile/ranges.symbfile')) == 0 or die;
($count, $others) = fail_each(sub { send_profile(<<"EOS") });
$build /usr/bin/app
app 1/1 1.0: cycles:\t2010 [unknown] (/usr/bin/app)
EOS
is_deeply [keys %$others], [503], "each of $count calls for a profile"
    or diag explain $others;
my $case = $t->data('minidump/cases/sym-windows-mini.sym');
my ($sym) = glob "$case/*.sym";
my ($id) = $sym =~ m{([^/]+)\.sym$};
$t->write_file('crash.sym', slurp($sym));
for ([symcache => '9.0.0'], [cficache => '1.0.0']) {
    my $file = 'store/crash.pdb/' . uc($id =~ s/-//gr) . "/crash.pdb-v$_->[1].$_->[0]";
    $t->write_file($file, '');
    system($t->program('pdb2symcache'), '--kind', $_->[0], $t->path('crash.sym'),
        '-o', $t->path($file)) == 0 or die;
}
($count, $others) = fail_each(sub { send_dump(slurp("$case/dump.dmp")) });
my @untold = grep { !/_status":"fetching_failed"/ } keys %{ delete $others->{200} };
is_deeply [\@untold, keys %$others], [[], 503],
    "each of $count calls for a dump fails, or is told";

# A mapping of a source that the client brings, and that is in its store then.
my $project = Test::Sentry->new($t, token => 's3cret');
my $uuid = '00112233-4455-6677-8899-aabbccddeeff';
$project->add(type => 'proguard', data => "a.A -> b.b:\n    void f() -> a\n" x 9, debug_id => $uuid);
my $config = { stores => { default => { root => $t->path('store') } },
    symbolication => { symbolicator => { sources => 'allow', tenants => {
        root => $t->path('tenants'), hosts => [$project->host] } } } };
$t->stop_symbolicated;
$t->start_symcached($config);
my %jvm = (sources => [{ id => 'x', type => 'sentry', url => $project->debug_files, token => 's3cret' }],
    modules => [{ uuid => $uuid, type => 'proguard' }],
    exceptions => [{ type => 'b', module => 'b' }], stacktraces => []);
$t->start_symbolicated($config);
sub send_jvm { $t->post($t->symbolicated_socket, '/symbolicate-jvm', $json->encode(\%jvm),
    'Content-Type: application/json') }
like send_jvm()->{body}, qr/"errors":\[\]/, 'a mapping of a client\'s source';
($count, $others) = fail_each(\&send_jvm);
my @missing = grep { !/"type":"fetching_failed"/ } keys %{ delete $others->{200} };
is_deeply [\@missing, keys %$others], [[]], "each of $count calls for a mapping is told";
$t->stop_symbolicated;
$t->stop_symcached;

$t->finish;
done_testing;
