#!/usr/bin/env perl

# A file that was made from a worse source, or of public symbols only, is
# replaced when a better source has the PDB, and never by a worse one.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use POSIX ();
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
plan skip_all => 'this file system has no extended attributes'
    if !$t->has_attributes;
my $id = $Test::Symcache::key{'crash.pdb'};
my $full = $t->read_file($t->data('pdb/crash.pdb'));

# flags of the DBI header: what link.exe /PDBSTRIPPED sets
my $dbi = index $full, "\xff\xff\xff\xff\x77\x09\x31\x01";
my $publics = $full;
substr $publics, $dbi + 56, 1, chr(ord(substr $full, $dbi + 56, 1) | 2);

# The transcoder copies the PDB, so that one sees which it was.
my $config = {
    stores => { default => {
        root => $t->path('store'),
        transcoders => [{ version => '9.0.0', command =>
            ['/bin/sh', '-c', 'test ! -e "$2" && echo run >>"$3" '
                . '&& cp "$0" "$1/$(basename "$0")-v9.0.0.symcache"',
             '{pdb}', '{out}', $t->path('broken'), $t->path('runs')] }],
        sources => ['first', 'second', 'third'],
    } },
    sources => { map { $_ => { type => 'filesystem', path => $t->path($_) } }
        qw(first second third) },
    cache => { retry_misses_after => '1h' },
};
mkdir $t->path($_) for qw(first second third);

sub put {
    my ($source, $name, $content) = @_;
    $t->write_file("$source/$name/$id/$name", $content);
}

sub file { $t->path("store/$_[0]/$id/$_[0]-v9.0.0.symcache") }

sub lookup {
    my ($name) = @_;
    return $t->helper('GET',
        "/v1/symcache/default/$name/$id?version=9.0.0&wait=60")->{status};
}

sub asked { $t->metric('symcached_better_asked_total') }
sub found { $t->metric('symcached_better_found_total') }

sub why { $t->helper_json("/v1/why/default/$_[0]/$id")->{files}[0] }

# Makes the file look as if its sources were asked so many seconds ago.
my $set = { x86_64 => 188, aarch64 => 5 }->{ (POSIX::uname())[4] };
plan skip_all => 'setxattr is not known on this machine' unless $set;

sub checked {
    my ($name, $ago) = @_;
    my $f = why($name);
    my $text = sprintf '%s %s %d', $f->{source},
        $f->{publics_only} ? 'publics' : 'full', time - $ago;
    my $file = file($name);
    my $attribute = 'user.symcached.source';
    return syscall($set, $file, $attribute, $text, length $text, 0) == 0;
}

sub no_jobs {
    $t->wait_until('no job', sub { !$t->helper_json('/v1/jobs')->{total} });
}

# A hit after an hour, and the job that it starts.
sub hit_later {
    my ($name) = @_;
    checked($name, 3601) or die "setxattr: $!";
    my $before = asked();
    is lookup($name), 200, "$name: a hit, an hour later";
    is asked(), $before + 1, "$name: asks better sources";
    no_jobs();
}

put('second', "$_.pdb", $full) for qw(later broken gone down);
put('second', "$_.pdb", $publics) for qw(publics both);
put('second', 'never.pdb', $full);
put('first', 'best.pdb', $full);
$t->start_symcached($config);

is lookup("$_.pdb"), 200, "$_.pdb: made"
    for qw(later broken gone down publics both never best);

# the rule

my $f = why('later.pdb');
is $f->{source}, 'second', 'it is known what a file was made from';
ok !$f->{publics_only}, 'all symbols';
ok why('publics.pdb')->{publics_only}, 'public symbols only';
ok $f->{checked}, 'and when better sources were asked';
ok !exists why('best.pdb')->{checked}, 'which the first source has none of';

put('first', 'later.pdb', $full . 'x' x 4096); # to be told apart
checked('later.pdb', 3500);
is lookup('later.pdb'), 200, 'a hit within the hour';
is asked(), 0, 'asks nobody';
hit_later('later.pdb');
is found(), 1, 'found';
is -s file('later.pdb'), 4096 + length $full, 'the file is the better one';
is why('later.pdb')->{source}, 'first', 'which is noted';
checked('later.pdb', 36000);
my $before = asked();
is lookup($_), 200, "$_: a hit" for 'later.pdb', 'best.pdb';
is asked(), $before, 'nothing is better than the first source';

# public symbols only

put('first', 'publics.pdb', $full);
hit_later('publics.pdb');
ok $t->read_file(file('publics.pdb')) eq $full,
    'a full PDB replaces public symbols';

put('first', 'down.pdb', $publics);
my $found = found();
hit_later('down.pdb');
is found(), $found, 'public symbols do not replace a full PDB';
ok $t->read_file(file('down.pdb')) eq $full, 'the file stays';
checked('down.pdb', 3601);
$before = asked();
is lookup('down.pdb'), 200, 'a hit';
is asked(), $before, 'and the same is not received again';

# a try that fails leaves everything as it was

put('first', 'broken.pdb', $full . 'x' x 4096);
$t->write_file('broken', '');
hit_later('broken.pdb');
is found(), $found, 'the transcoder fails on the better one';
ok $t->read_file(file('broken.pdb')) eq $full, 'the file stays';
hit_later('never.pdb');
ok $t->read_file(file('never.pdb')) eq $full, 'better sources have it not';
rename $t->path('first'), $t->path('away') or die;
hit_later('gone.pdb');
ok $t->read_file(file('gone.pdb')) eq $full, 'better sources fail';
is_deeply $t->absences('store'), {}, 'no negative entry';
is $t->metric('symcached_failures_remembered'), 0, 'and no failure';
is lookup("$_.pdb"), 200, "$_.pdb: served" for qw(broken never gone);

# state is on disk

unlink $t->path('broken');
rename $t->path('away'), $t->path('first') or die;
$t->stop_symcached;
$t->start_symcached;
put('first', 'both.pdb', $publics);
hit_later('both.pdb');
is found(), 1, 'after a restart, the same from a better source';
is why('both.pdb')->{source}, 'first', 'is noted';

# a PDB that is still there tells where it came from

unlink file('never.pdb');
my $runs = $t->runs;
is lookup('never.pdb'), 200, 'made again';
is $t->runs, $runs + 1, 'from the download';
is why('never.pdb')->{source}, 'second', 'whose source is known';

$t->finish;
done_testing;
