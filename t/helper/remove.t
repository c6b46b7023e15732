#!/usr/bin/env perl

# What is large is removed beside the loop: while the file system takes its
# time over a PDB, clients are answered and other jobs go on.  A download that
# needs the room waits for it, and what a kill leaves goes at the next start.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Mount;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;

# The removal of a file of more than 100,000 bytes does not end before the
# file $GATE is there.
my $shim = $t->path('shim.so');
$t->write_file('shim.c', <<'C');
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void wait_for_gate(int dir, const char *name)
{
    struct stat st;

    while (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st.st_mode) && st.st_size > 100000 &&
           access(getenv("GATE"), F_OK) != 0)
        usleep(1000);
}

int unlinkat(int dir, const char *name, int flags)
{
    int (*real)(int, const char *, int) =
        (int (*)(int, const char *, int))dlsym(RTLD_NEXT, "unlinkat");

    wait_for_gate(dir, name);
    return real(dir, name, flags);
}

int unlink(const char *name)
{
    return unlinkat(AT_FDCWD, name, 0);
}
C
plan skip_all => 'not under a sanitizer' if $Test::Symcache::san;
plan skip_all => 'no C compiler'
    if system('cc', '-shared', '-fPIC', '-w', '-o', $shim, $t->path('shim.c'),
              '-ldl') != 0;
my %env = (LD_PRELOAD => $shim, GATE => $t->path('gate'));

my $id = $Test::Symcache::key{'crash.pdb'};
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my $garbage = 'x' x 3_000_000;

Test::Mount::small($t->path('fs'), '12m');
my $up = Test::ScriptedServer->new(log => $t->path('up.log'), script => sub {
    my ($c, $req) = @_;
    my ($word, $kind) = $req->{path} =~ m{^/([a-z]+)\d*\.pdb/$id/.*([_b])$};
    return $c->reply(404, {}, '') unless $word;
    return $c->reply(200, {}, $pdb) if $word =~ /good|bad/;
    return $c->reply(200, {}, $garbage) if $kind eq 'b';
    # garbage alone, or the PDB in the second place
    return $word eq 'second' ? $c->reply(200, {}, $pdb)
        : $c->reply(404, {}, '');
});

my $config = $t->default_config($up->url, cache => { min_free => '4m',
                                                     clean_every => '1h' });
$config->{downloads} = $t->path('fs/downloads');
$config->{stores}{default}{root} = $t->path('fs/store');
$config->{stores}{default}{transcoders}[0]{command} = ['/bin/sh', '-c',
    'case $0 in */bad*) cp "$0" "$1/left"; exit 1 ;; esac; '
    . 'head -c 1000 "$0" >"$1/$(basename "$0")-v9.0.0.symcache"',
    '{pdb}', '{out}'];

sub begin {
    return $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/default/$_[0]/$id?version=9.0.0&wait=60");
}
sub lookup { $t->read_response(begin(@_))->{status} }
sub tmp { map { glob $t->path("fs/$_/.tmp/*/*") } qw(store downloads) }
sub large { grep { -s $_ > 100000 } tmp(), map { glob "$_/*" } tmp() }
sub shut { unlink $t->path('gate') }
sub all_gone {
    $t->write_file('gate', '');
    $t->wait_until('all is removed', sub { !tmp() });
}

shut();
$t->start_symcached($config, env => \%env);
is lookup('bad.pdb'), 404, 'a malformed PDB';
ok !-e $t->path("fs/downloads/default/bad.pdb/$id/bad.pdb"),
    'is no download any more';
ok tmp(), 'and is still being removed';
is lookup('good.pdb'), 200, 'meanwhile others are made';
is lookup('second.pdb'), 200, 'and what is found in the second place';
ok scalar(large()), 'of which the first is still being removed';
all_gone();
pass 'then all is gone';

# 8 MB may be used, of which a PDB or two are kept: not for three of these
shut();
is lookup('garbage1.pdb'), 503, 'garbage';
is lookup('garbage2.pdb'), 503, 'and more of it';
my $held = begin('good2.pdb');
my $third = begin('garbage3.pdb');
$t->wait_until('one of them has no room', sub {
    $t->metric('symcached_fetch_no_room_total') > 0 });
is $t->http($t->helper_socket, 'GET', '/healthz')->{status}, 200,
    'who waits for room does not stop the loop';
all_gone();
is $t->read_response($third)->{status}, 503, 'the third';
unlike $t->helper_log, qr/no room/, 'had room';
is $t->read_response($held)->{status}, 200, 'as had the PDB';

shut();
is lookup('garbage4.pdb'), 503, 'garbage that is being removed';
ok scalar(large()), 'and is there';
$t->stop_symcached('KILL');
$t->write_file('gate', '');
$t->start_symcached;
$t->wait_until('it is gone', sub { !tmp() });
pass 'goes after a kill';

is $t->stop_symcached, 0, 'stopped';
$up->stop;
Test::Mount::gone($t->path('fs'));
$t->finish;
done_testing;
