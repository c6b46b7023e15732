#!/usr/bin/env perl

# A process that has read the file of a stranger may say anything.  Here it is
# another program, which names what it was not given.

use strict;
use warnings;

use File::Copy qw(cp);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $build = $Test::Symcache::build;
my $sbin = $t->path('opt/sbin');

sub place { "$_[0].pdb/$id/$_[0].pdb" }

# What it says is in a file of the name of the PDB, and what it writes to its
# output in another; about all else the real one is asked.
$t->write_file('liar.c', <<'EOC');
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void copy(const char *name, const char *end, int to)
{
    char path[4096], text[4096];
    FILE *f;
    size_t n = 0;

    snprintf(path, sizeof(path), LIES "/%s.%s", name, end);
    f = fopen(path, "r");
    if (f != NULL) {
        n = fread(text, 1, sizeof(text), f);
        fclose(f);
    }
    if (write(to, text, n) != (ssize_t)n) {
        _exit(1);
    }
}

int main(int argc, char **argv)
{
    char path[4096];

    snprintf(path, sizeof(path), LIES "/%s.says", argc > 5 ? argv[5] : "");
    if (argc > 5 && !strcmp(argv[1], "--unpack") && access(path, R_OK) == 0) {
        copy(argv[5], "output", 3);
        copy(argv[5], "says", 2);
        return 0;
    }
    snprintf(path, sizeof(path), LIES "/%s.says", argc > 4 ? argv[4] : "");
    if (argc > 4 && !strcmp(argv[1], "--upload") && access(path, R_OK) == 0) {
        copy(argv[4], "says", 4);
        return 0;
    }
    execv(REAL, argv);
    return 1;
}
EOC
mkdir $t->path($_) for qw(opt opt/sbin lies);
system('cc', '-w', '-DREAL="' . $t->program('symcached-sandboxed') . '"',
       '-DLIES="' . $t->path('lies') . '"', '-o', "$sbin/symcached-sandboxed",
       $t->path('liar.c')) == 0 or plan skip_all => 'needs a C compiler';
cp("$build/$_", "$sbin/$_") or die "$_: $!" for qw(symcached pdb2symcache);
chmod 0755, "$sbin/$_" or die for qw(symcached pdb2symcache);

sub put {
    my ($file) = map { $t->write_file($_, $crash) } @_;
    utime 0, 0, $file or die "$file: $!";
    return $file;
}

my $other = put('secret/' . place('other'));
my %lie = (
    here     => ["\@0 H it lies there\n", $other],
    nowhere  => ["\@1 H it lies there\n", $other],
    beside   => ["\@7 H it lies there\n", $other],
    body     => ["\@0 K it was received\n", ''],
    pointer  => ["\@0 P file.ptr\n", 'PATH:\\\\srv\\s\\' . place('other') =~ s{/}{\\}gr],
    requests   => ["\@0 R 18446744073709551615\n\@0 E no room\n", ''],
);
for my $name (sort keys %lie) {
    $t->write_file("lies/$name.pdb.says", $lie{$name}[0]);
    $t->write_file("lies/$name.pdb.output", $lie{$name}[1]);
}
put('sym/' . place($_)) for 'honest', 'here', 'body', 'pointer', 'requests';
my $kept = $t->write_file("store/kept.pdb/$id/kept.pdb-v9.0.0.symcache", 'x');
$t->wait_until('the second of the last change is over', sub {
    time > (stat $kept)[10];
});

my $config = {
    stores => { default => { root => $t->path('store'), sources => ['sym'],
        transcoders => [{ version => '9.0.0',
            # not our converter at once, which would tell the id instead
            command => ['env', "$sbin/pdb2symcache", '-pdb', '{pdb}'] }] } },
    admin_listen => 'unix:' . $t->path('a.sock'),
    uploads => { root => $t->path('uploads') },
    sources => { sym => { type => 'filesystem', path => $t->path('sym'),
        layout => 'symstore', map => { '\\\\srv\\s' => $t->path('secret') } } },
};
{
    local $Test::Symcache::build = $sbin;
    $t->start_symcached($config);
}

sub lookup {
    my ($name) = @_;
    return $t->helper('GET',
        "/v1/symcache/default/$name.pdb/$id?version=9.0.0&wait=60")->{status};
}

is lookup('honest'), 200, 'an honest one';
for my $name (sort keys %lie) {
    is lookup($name), 503, "$name: not believed";
    ok !-e $t->path('store/' . place($name) . '-v9.0.0.symcache'),
        "$name: and nothing is made of it";
}
my $why = $t->helper_json("/v1/why/default/here.pdb/$id");
like $why->{attempts}[0]{detail}, qr/^unpacking found what is not there/,
    'a file that it did not hand over is named';
is $t->helper_json("/v1/why/default/pointer.pdb/$id")->{attempts}[0]{outcome},
    'failed', 'a pointer where none lies is not followed';
ok -e $kept, 'and nothing was removed to make room';

# --- of an upload

$t->write_file("lies/$_->[0].pdb.says", $_->[1])
    for ['nofile', "end\n"], ['noend', ''], ['nonsense', "file\nend\n"];
my $body = $t->write_file('uploads/.spool/1', $crash);
sub upload {
    my ($name) = @_;
    return $t->http($t->path('a.sock'), 'PUT', '/v1/uploads/' . place($name),
        'Content-Length: 0', "X-Symcached-Body: $body");
}
my $honest = upload('crash');
is $honest->{status}, 201, 'an honest one' or diag $honest->{body};
for my $name ('nofile', 'noend', 'nonsense') {
    is +(upload($name) // { status => 'none' })->{status}, 500, "$name: not believed";
    ok !-e $t->path('uploads/' . place($name)), "$name: and nothing is stored";
}
is upload('crash')->{status}, 200, 'symcached goes on';

$t->finish;
done_testing;
