#!/usr/bin/env perl

# Requests for whose JSON there is no memory are answered 503: nothing is wrong
# with them, and a client that is told so does not send them again.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

plan skip_all => 'not under a sanitizer' if $Test::Symcache::san;
plan skip_all => 'no C compiler' if system('cc --version >/dev/null 2>&1') != 0;

my $t = Test::Symcache->new;

# A JSON of more than 128 values has no memory, as an array of twice that
# number is never had.
$t->write_file('shim.c', <<'C');
#include <errno.h>
#include <stddef.h>

void *__libc_realloc(void *, size_t);

void *realloc(void *p, size_t size)
{
    if (size == 256 * 16) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_realloc(p, size);
}
C
my $shim = $t->path('shim.so');
system('cc', '-shared', '-fPIC', '-o', $shim, $t->path('shim.c')) == 0
    or die 'cc';
mkdir $t->path('store') or die $!;
$t->start_symbolicated({
    stores => { default => { root => $t->path('store') } },
    symbolication => {
        mozilla => { source => \1, code => \1 },
    },
}, env => { LD_PRELOAD => $shim });

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

$t->finish;
done_testing;
