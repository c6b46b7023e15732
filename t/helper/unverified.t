#!/usr/bin/env perl

# A PDB is converted before anybody has read its id, if our converter runs on
# it, which tells the id.  What it cannot confirm is looked at by a process, as
# everything else is: no other file is published or kept, and nobody is blamed.

use strict;
use warnings;

use Digest::SHA qw(sha256_hex);
use Fcntl qw(:flock);
use File::Copy qw(cp);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

# where the list of mounts lacks the root, as after chroot(2), no folder is known
# to be local, so a process looks at each file
open my $mounts, '<', '/proc/self/mountinfo' or die "mountinfo: $!";
plan skip_all => 'the root is not a mount, as in a chroot'
    if !grep { (split)[4] eq '/' } <$mounts>;

my $t = Test::Symcache->new;
my $build = $Test::Symcache::build;
my $id = $Test::Symcache::key{'crash.pdb'};
my $crash = $t->read_file($t->data('pdb/crash.pdb'));

# what symbolic makes of it
my ($oracle) = map { (split /\t/)[5] =~ /(\w+)/ }
    grep { m{\tt/data/pdb/crash\.pdb\t} }
    split /^/, $t->read_file("$FindBin::Bin/../convert/manifest.tsv");

# the age in the DBI header, and the flag that link.exe /PDBSTRIPPED sets
my $dbi = index $crash, "\xff\xff\xff\xff\x77\x09\x31\x01";
my %pdb = (
    good => $crash,
    aged => $crash,
    publics => $crash,
    short => substr($crash, 0, length($crash) - 4096),
    text => "no PDB at all\n",
    other => $t->read_file($t->data('pdb/basic32-min.pdb')),
    held => $crash,
);
substr $pdb{aged}, $dbi + 8, 4, pack 'V', 7;
substr $pdb{publics}, $dbi + 56, 1, chr(ord(substr $crash, $dbi + 56, 1) | 2);

sub place { "$_[0].pdb/$id/$_[0].pdb" }

my $young;
for (keys %pdb) {
    $young = $t->write_file('sym/' . place($_), $pdb{$_});
    utime 0, 0, $young or die "$young: $!";
}
my $server = Test::ScriptedServer->new(log => $t->path('requests'),
                                       script => sub {
    my ($c, $req) = @_;
    my ($name) = $req->{path} =~ m{/$id/(\w+)\.pdb$};
    defined $name && $pdb{$name}
        ? $c->reply(200, {}, $pdb{$name}) : $c->reply(404, {}, '');
});

# Processes that look at files are counted.  The converter waits for a gate, and
# as an older one it does not tell the id.
mkdir $t->path($_) or die for qw(opt opt/sbin old slow);
sub program {
    my ($path, @lines) = @_;
    $t->write_file($path, join "\n", '#!/bin/sh', @lines, '');
    chmod 0755, $t->path($path) or die;
    return $t->path($path);
}
cp("$build/symcached", $t->path('opt/sbin/symcached')) or die $!;
chmod 0755, $t->path('opt/sbin/symcached') or die;
$t->write_file('count.c', <<'EOC');
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int fd = open(COUNT, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

    if (argc > 1 && strcmp(argv[1], "--unpack") == 0 &&
        write(fd, "\n", 1) != 1) {
        return 1;
    }
    execv(REAL, argv);
    return 1;
}
EOC
system('cc', '-w', '-DREAL="' . $t->program('symcached-sandboxed') . '"',
       '-DCOUNT="' . $t->path('looks') . '"', '-o',
       $t->path('opt/sbin/symcached-sandboxed'), $t->path('count.c')) == 0
    or plan skip_all => 'needs a C compiler';
my $gate = $t->path('gate');
my $plain = "$build/pdb2symcache";
my $old = program('old/pdb2symcache', qq{echo run >>"$gate.old"},
                  'unset PDB2SYMCACHE_CHECK',
                  qq{exec "$plain" "\$@"});
my $slow = program('slow/pdb2symcache', qq{echo run >>"$gate.runs"},
                   qq{while [ ! -e "$gate" ]; do sleep 0.05; done},
                   qq{exec "$plain" "\$@"});

sub old_runs { scalar(() = ($t->read_file('gate.old') // '') =~ /\n/g) }
sub looks { scalar(() = ($t->read_file('looks') // '') =~ /\n/g) }

my %source = (
    folder => { type => 'filesystem', path => $t->path('sym'),
                layout => 'symstore' },
    http => { type => 'http', url => $server->{url}, layout => 'symstore',
              forms => ['plain'], internal => JSON::PP::true() },
);
my $config = { sources => \%source, stores => {
    map {
        my ($source, $program) = @$_;
        $source . $program->[0] => {
            root => $t->path($source . $program->[0]), sources => [$source],
            transcoders => [{ version => '9.0.0', profile => 'none',
                              command => [$program->[1],
                                  '--like-symbolic', '-pdb', '{pdb}'] }],
        }
    } map { my $s = $_; map { [$s, $_] } ['', $plain], ['_old', $old],
                                         ['_slow', $slow] } keys %source } };
$t->wait_until('the second of the last change is over', sub {
    time > (stat $young)[10];
});
{
    local $Test::Symcache::build = $t->path('opt/sbin');
    $t->start_symcached($config);
}

sub lookup {
    my ($store, $name, $wait) = @_;
    return $t->helper('GET', "/v1/symcache/$store/$name.pdb/$id"
        . '?version=9.0.0&wait=' . ($wait // 60))->{status};
}
sub made { $t->path("$_[0]/" . place($_[1]) . '-v9.0.0.symcache') }
sub why { $t->helper_json("/v1/why/$_[0]/$_[1].pdb/$id") }
sub download { $t->path("downloads/$_[0]/" . place($_[1])) }
sub requests { scalar grep { $_->{path} =~ m{/$id/$_[0]\.pdb$} }
                   $server->requests }

for my $from (sort keys %source) {
    my $looks = looks();

    is lookup($from, 'good'), 200, "$from: the right one is found";
    is sha256_hex($t->read_file(made($from, 'good'))), $oracle,
        'and is what symbolic makes of it';
    is looks(), $looks, 'without a process that looks at it';
    is why($from, 'good')->{attempts}[0]{outcome}, 'found',
        'and its source is credited';
    is lookup($from, 'publics'), 200, "$from: one with public symbols";
    ok why($from, 'publics')->{files}[0]{publics_only}, 'is noted as that'
        if defined why($from, 'good')->{files}[0]{publics_only};
    is looks(), $looks, 'without such a process, too';
    # which the answer does not wait for
    $t->wait_until('the originals are kept', sub {
        -e download($from, 'good') && -e download($from, 'publics')
    }) if $from eq 'http';
    for my $name ('good', 'publics') {
        is -e download($from, $name) ? 'kept' : 'left',
            $from eq 'http' ? 'kept' : 'left', "$name: a download is kept";
    }
    ok $t->read_file(download($from, 'good')) eq $crash, 'as it was received'
        if $from eq 'http';

    for my $case ([aged => qr/^wrong age: wanted 1, got 7/, 'unusable'],
                  [other => qr/^wrong GUID/, 'unusable'],
                  [short => qr/\w/, 'unusable'],
                  [text => qr/\w/, 'unusable']) {
        my ($name, $detail, $outcome) = @$case;

        $looks = looks();
        isnt lookup($from, $name), 200, "$from: $name";
        like why($from, $name)->{attempts}[0]{detail}, $detail, 'is told why';
        is why($from, $name)->{attempts}[0]{outcome}, $outcome, 'is unusable';
        ok looks() > $looks, 'by a process that looks at it';
        ok !-e made($from, $name), 'nothing is published';
        ok !-e download($from, $name), 'nothing is kept';
    }
    is lookup("${from}_old", 'good'), 200,
        "$from: a converter that does not tell the id";
    ok looks() > $looks, 'has it told by a process';
    is old_runs(), 2, 'after a run that has told nothing';
    is lookup("${from}_old", 'publics'), 200, 'what comes then';
    is old_runs(), 3, 'is looked at first, and converted once';
    unlink "$gate.old" or die;
}
is requests($_), 1 + /^(?:good|publics)$/, "$_ is received once for each store"
    for qw(good publics aged other short text);
is $t->metric('symcached_transcoder_paused') // 0, 0,
    'and no converter is blamed';

# a kill in the midst of a conversion
lookup('http_slow', 'held', 0);
$t->wait_until('the converter runs', sub { -e "$gate.runs" });
ok !-e download('http_slow', 'held'), 'what nobody has read is no download';
is_deeply [grep { m{/held\.pdb} } map { readlink // () }
           glob "/proc/$t->{helper}/fd/*"], [],
    'and is not open, as there may be as many as jobs';
$t->stop_symcached('KILL');
sub is_taken {
    my ($folder) = @_;
    open my $dir, '<', $folder or die "$folder: $!";
    return !flock $dir, LOCK_EX | LOCK_NB;
}
$t->wait_until('its processes are gone, and its folders are nobody\'s', sub {
    !grep { is_taken($_) } glob $t->path('*/.tmp/run-*')
});
my @left = glob $t->path('*/.tmp/run-*');
$t->write_file('gate', '');
{
    local $Test::Symcache::build = $t->path('opt/sbin');
    $t->start_symcached($config);
}
$t->wait_until('the first pass has removed them', sub { !grep { -e } @left });
is requests('held'), 1, 'it was received';
is lookup('http_slow', 'held'), 200, 'after a kill it is converted';
is requests('held'), 2, 'and received again, as it was not kept';
is sha256_hex($t->read_file(made('http_slow', 'held'))), $oracle, 'right';

# who wants the PDB itself meanwhile
unlink $gate, "$gate.runs" or die;
lookup('http_slow', 'publics', 0);
$t->wait_until('the converter runs', sub { -e "$gate.runs" });
is $t->helper('GET', "/v1/debuginfo/http_slow/publics.pdb/$id?version=1.0.0"
    . '&wait=60')->{status}, 200, 'who wants the PDB itself does not wait';
ok $t->read_file(download('http_slow', 'publics')) eq $pdb{publics},
    'and has what was received';
$t->write_file('gate', '');
is lookup('http_slow', 'publics'), 200, 'and the SymCache is made of it';
is requests('publics'), 3, 'which was received once';

$t->finish;
done_testing;
