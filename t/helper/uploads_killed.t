#!/usr/bin/env perl

# Files are uploaded to one of three machines, which is killed again and again:
# after each restart the client sends again what had no answer.  Then all are
# found on the others by their ids, under names that nobody has uploaded;
# nothing is lost, and nothing is there twice.  t/full/uploads_killed.t has more
# of them.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Find ();
use Test::More;
use Test::Symcache;
use Test::Uploads;
use Time::HiRes qw(sleep);

our $files //= 24;
my $kills = $files / 3;

my $u = Test::Uploads->new;
my $m1 = $u->t;
my @machines = ($m1, map { Test::Symcache->new } 2, 3);
mkdir $_ or die "$_: $!"
    for $m1->path('tier'), map { ($_->path('uploads'), $_->path('empty')) }
    @machines[1, 2];

sub start {
    my ($m) = @_;
    my $c = $u->config_of($m);
    $c->{uploads}{peers} = [map { 'unix:' . $_->path('a.sock') } @machines];
    $c->{stores}{default}{transcoders}[0]{inputs} = [qw(breakpad)];
    $c->{cache}{clean_every} = '1s';
    $c->{tiers}{fleet} = { type => 'filesystem', path => $m1->path('tier') };
    $c->{stores}{default}{tier} = 'fleet';
    $m->start_symcached($c);
}

# --- the files: text, programs and images, each with an id of its own

$m1->write_file('x.c', "int seven(int a) { return a + 7; }\n");
my $build = '5a' x 20;
system('cd ' . $m1->dir . " && gcc -shared -nostdlib -Wl,--build-id=0x$build"
    . ' -o x.so x.c') == 0 or BAIL_OUT('gcc');
my $program = $m1->read_file('x.so');

sub text {
    my ($n) = @_;
    my $id = sprintf '%032X1', $n;
    return ["m$n.pdb/$id/m$n.sym", "MODULE windows x86 $id m$n.pdb\n"
        . "PUBLIC 1000 0 f$n\n", "symcache/default/other$n.pdb/$id"];
}

sub program {
    my ($n) = @_;
    my $id = sprintf '%040x', $n + 0x1000;
    return ["lib$n.so/elf-buildid-$id/lib$n.so",
        $program =~ s/\Q${\ pack 'H*', $build}\E/pack 'H*', $id/er,
        "executable/default/other$n.so/buildid-$id"];
}

# What the headers of a PE image have to say, and no more.
sub image {
    my ($n) = @_;
    my $stamp = 0x60000000 + $n;
    my $optional = pack('v', 0x20b) . "\0" x 54 . pack('V', 0x5000);
    return ["m$n.dll/${\ sprintf '%08X5000', $stamp}/m$n.dll",
        'MZ' . "\0" x 58 . pack('V', 64) . "PE\0\0"
        . pack('vvVVVvv', 0x8664, 0, $stamp, 0, 0, 240, 0x2022)
        . $optional . "\0" x (240 - length $optional),
        "executable/default/other$n.dll/${\ sprintf '%08X5000', $stamp}"];
}

my @files = map { (\&text, \&program, \&image)[$_ % 3]->($_) } 1 .. $files;

# --- uploaded, with a kill at another moment each time

$m1->stop_symcached;
start($_) for @machines;
sub ask {
    my ($m, $question) = @_;
    my $version = $question =~ /^symcache/ ? '9.0.0' : '1.0.0';
    return $m->helper('GET', "/v1/$question?version=$version&wait=60")
        ->{status};
}
# known to be absent before they come
is join(' ', map { ask($machines[1], $_->[2]) } @files),
    join(' ', (404) x $files), 'nobody has any of them';

sub send_file {
    my ($file) = @_;
    return $u->begin('PUT', "/symbols/$file->[0]", $file->[1],
        @Test::Uploads::token);
}

my ($killed, $unanswered) = (0, 0);
for my $i (0 .. $#files) {
    my $s = send_file($files[$i]);
    if ($i % 3 == 1) {
        sleep 0.1 * $killed++ / $kills;
        $m1->stop_symcached('KILL');
        my $answered = $u->read($s, 'PUT')->{status} =~ /^20[01]$/;
        start($m1);
        next if $answered;
        $unanswered++;
        $s = send_file($files[$i]);
    }
    my $r = $u->read($s, 'PUT');
    like $r->{status}, qr/^20[01]$/, "stored: $files[$i][0]" or diag $r->{raw};
}
note "$killed kills, $unanswered uploads without an answer";

# --- found by their ids, once each

for my $m (@machines[1, 2]) {
    is join(' ', map { ask($m, $_->[2]) } @files), join(' ', (200) x $files),
        'found by their ids on another machine';
}

# The files below a folder; entries of the index apart.
sub below {
    my ($folder) = @_;
    my @all;
    File::Find::find({ no_chdir => 1, wanted => sub {
        push @all, s{^\Q$folder\E/}{}r
            if -f && m{^\Q$folder\E/(?:\.index|[^.][^/]*)/[^.][^/]*/[^.][^/]*$} } },
        $folder) if -d $folder;
    return sort @all;
}
my @paths = sort map { $_->[0] } @files;
my @there = below($m1->path('tier/uploads'));
is_deeply [grep { !/^\.index/ } @there], \@paths, 'the tier has each once';
my @index = sort grep { !m{/(?:buildid|codeid|debugid|hash)-} } map { m{^\.index/(.+)} ? $1 : () } @there;
is_deeply \@index, [sort map {
    my ($name, $id, $file) = split m{/};
    "$id/$name" . ($file =~ /\.sym$/ ? '.sym' : '') } @paths],
    'and an entry of each';
is_deeply [sort map { grep { !/^\.index/ } below($_->path('uploads')) } @machines],
    \@paths, 'and one machine';
$m1->wait_until('no other machine has to be told', sub {
    !-e $m1->path('uploads/.untold') && !(() = glob $m1->path('uploads/.changing/*')) });

# --- the index is made again of the files

rename $m1->path('uploads/.index'), $m1->path('lost') or die $!;
$m1->wait_until('a lost index is made again', sub {
    -e $m1->path('uploads/.index/.whole-2') });
is join(' ', sort grep { !m{/(?:(?:buildid|codeid|debugid|hash)-|\.)} } map { m{^\.index/(.+)} ? $1 : () }
    below($m1->path('uploads'))), join(' ', @index), 'and has all';

$_->finish for reverse @machines;
done_testing;
