#!/usr/bin/perl

# A cabinet that spans several files, which lie beside each other in a folder:
# makecab with MaxDiskSize makes such sets.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::Cabinet;
use Test::More;
use Test::ScriptedServer;
use Test::SourceCase;
use Test::Symcache;

my $t = Test::Symcache->new;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $id = $Test::SourceCase::id;

sub put {
    my ($folder, $names, $bodies, @which) = @_;
    $t->write_file("$folder/$names->[$_]", $bodies->[$_])
        for @which ? @which : 0 .. $#$names;
}

# Writes the cabinets of NAME.pdb, or which of them.
sub set {
    my ($name, $n, $which, %o) = @_;
    my @names = ("$name.pd_", map { "$name.p$_" } 2 .. $n);
    put("sym/$name.pdb/$id", \@names,
        [Test::Cabinet::set($crash, \@names, %o)], @{ $which // [] });
}

set('stored', 3);
set('mszip', 2, undef, mszip => 1);
set('lzx', 3, undef, lzx => 1);
set('most', 64);
set('counted', 3, undef, change => { map { ($_ => { index => $_ + 1 }) }
                                     0 .. 2 });
set('reserve', 3, undef, change => { 0 => { reserve => 300 },
                                     1 => { reserve => 20 } });
set('case', 3);
rename $t->path("sym/case.pdb/$id/case.p2"),
    $t->path("sym/case.pdb/$id/CASE.P2") or die;
put('flat', [qw(flat.pd_ flat.p2)],
    [Test::Cabinet::set($crash, [qw(flat.pd_ flat.p2)])]);

set('gone', 3, [0, 2]);
set('short', 3);
truncate $t->path("sym/short.pdb/$id/short.p3"), 100_000 or die;
set('text', 3, [0, 2]);
$t->write_file("sym/text.pdb/$id/text.p2", 'no cabinet' x 10);
set('empty', 3, [0, 2]);
$t->write_file("sym/empty.pdb/$id/empty.p2", '');
set('dangling', 3, [0, 2]);
symlink $t->path('unmounted/2'), $t->path("sym/dangling.pdb/$id/dangling.p2")
    or die;
set('fifo', 3, [0, 2]);
mkdir $t->path("sym/fifo.pdb/$id/fifo.p2") or die;
set('other', 3, undef, change => { 2 => { set => 8 } });
set('order', 3, undef, change => { 1 => { next => 'order.pd_' } });
set('skip', 3, undef, change => { 0 => { next => 'skip.p3' } });
set('loop', 3, undef, change => { 0 => { next => 'loop.pd_' },
                                  1 => { next => 'loop.p2' } });
set('again', 3, undef, change => { 1 => { next => 'again.p2' } });
set('length', 3, undef, change => { 1 => { size => length($crash) - 1 } });
set('method', 3, undef, change => { 2 => { type => 1 } });
set('two', 3, undef, change => { 1 => { files => 2 } });
set('stranger', 3, undef, change => { 1 => { flags => 2 } });
set('many', 65);
# what symstore leaves: it writes each cabinet over the one before it
set('symstore', 2, [1]);
rename $t->path("sym/symstore.pdb/$id/symstore.p2"),
    $t->path("sym/symstore.pdb/$id/symstore.pd_") or die;

# Each of these leads to the second cabinet, if it is followed.
my %hostile = (up => "../$id/up.p2", down => './down.p2', dir => 'dir/dir.p2',
               back => "..\\$id\\back.p2", drive => 'C:drive.p2',
               dot => '.dot.p2', dots => '..', line => "line\n.p2",
               void => '', long => 'l' x 256, endless => 'l' x 2000,
               root => $t->path("sym/root.pdb/$id/root.p2"));
for my $name (keys %hostile) {
    my $file = $hostile{$name};
    set($name, 2, undef, change => { 0 => { next => $file } });
    link $t->path("sym/$name.pdb/$id/$name.p2"),
        $t->path("sym/$name.pdb/$id/$file")
        if $file =~ /^[.\w\n\\:]{2,255}$/ && $file ne '..';
}
mkdir $t->path("sym/dir.pdb/$id/dir") or die;
link $t->path("sym/dir.pdb/$id/dir.p2"), $t->path("sym/dir.pdb/$id/dir/dir.p2")
    or die;

# a mapped share, from which no symbolic link leads
my @far = qw(far.pd_ far.p2);
put('share', \@far, [Test::Cabinet::set($crash, \@far)]);
my @out = qw(out.pd_ out.p2);
put('share', \@out, [Test::Cabinet::set($crash, \@out)], 0);
put('secret', \@out, [Test::Cabinet::set($crash, \@out)], 1);
symlink $t->path('secret/out.p2'), $t->path('share/out.p2') or die;
$t->write_file("sym/$_.pdb/$id/file.ptr", "PATH:\\\\srv\\sym\\$_.pdb")
    for qw(far out);

my @sent = qw(sent.pd_ sent.p2);
my @bodies = Test::Cabinet::set($crash, \@sent);
my $up = Test::ScriptedServer->new(log => $t->path('up.log'), script => sub {
    my ($c, $req) = @_;
    my ($n) = grep { $req->{path} =~ m{/\Q$sent[$_]\E$} } 0, 1;
    return defined $n ? $c->reply(200, {}, $bodies[$n]) : $c->reply(404, {}, '');
});

my $c = Test::SourceCase->new($t, sources => {
    flat => { type => 'filesystem', path => $t->path('flat'),
              layout => 'flat', only => '^flat' },
    local => { type => 'filesystem', path => $t->path('sym'),
               layout => 'symstore', except => '^(?:flat|sent)',
               map => { '\\\\srv\\sym' => $t->path('share') } },
    up => { type => 'http', url => $up->url . '/sym',
            internal => JSON::PP::true(), only => '^sent' },
});

# --- sets that are complete

for (['stored', 'stored'], ['mszip', 'MSZIP'], ['lzx', 'LZX'],
     ['most', '64 cabinets'], ['counted', 'numbers from 1'],
     ['reserve', 'reserved areas before the names'],
     ['case', 'a name in another case'], ['flat', 'in a flat folder'],
     ['far', 'in a mapped share']) {
    my ($name, $what) = @$_;
    my $r = $c->found("$name.pdb", "a set: $what");
    ok $c->published($r) eq $crash, 'the same bytes' if $r->{path};
}

# --- what may get better

sub place {
    my ($r, $outcome) = @_;
    my ($place) = grep { $_->[1] eq $outcome } @{ $r->{places} };
    return $place ? $place->[2] : undef;
}

for (['gone', qr/^part 2 of the cabinet, gone[.]p2: no such file$/],
     ['short', qr/^cabinet: truncated$/],
     ['text', qr/^part 2 of the cabinet, text[.]p2: is not a cabinet$/],
     ['empty', qr/^part 2 of the cabinet, empty[.]p2: is not a cabinet$/],
     ['fifo', qr/^part 2 of the cabinet, fifo[.]p2: not a regular file$/],
     ['other', qr/^part 3 of the cabinet, other[.]p3: belongs to another set$/],
     ['stranger', qr/^part 2 .*, stranger[.]p2: is the first of its set$/],
     ['skip', qr/^part 2 .*, skip[.]p3: has number 2 in its set instead of 1$/],
     ['loop', qr/^part 2 .*, loop[.]pd_: has number 0 in .* instead of 1$/],
     ['again', qr/^part 3 .*, again[.]p2: has number 1 in .* instead of 2$/],
     ['order', qr/^part 3 .*, order[.]pd_: has number 0 in .* instead of 2$/],
     ['two', qr/^part 2 .*, two[.]p2: has 1 folders and 2 files$/],
     ['length', qr/^cabinet: damaged structure$/],
     ['method', qr/^cabinet: damaged structure$/]) {
    my ($name, $reason) = @$_;
    my $r = $c->ask("$name.pdb");
    is $r->{status}, 503, "$name: no final answer" or diag explain $r;
    like place($r, 'unusable'), $reason, "$name: reason";
}
for (['dangling', qr/^part 2 .*, dangling[.]p2: a symbolic link leads nowhere$/],
     ['out', qr/^part 2 .*, out[.]p2: a symbolic link leads out of the dir/]) {
    my ($name, $reason) = @$_;
    my $r = $c->ask("$name.pdb");
    is $r->{status}, 503, "$name: no final answer" or diag explain $r;
    like place($r, 'failed'), $reason, "$name: the source failed";
}

set('gone', 3, [1]);
$t->wait_until('the part that was missing is found',
               sub { $c->ask('gone.pdb')->{status} == 200 });

# --- what will not

for my $name (sort keys %hostile) {
    my $r = $c->ask("$name.pdb");
    is $r->{status}, 404, "$name: the name is not followed"
        or diag explain $r;
    is place($r, 'unusable'), 'part 1 of a cabinet that spans several files, '
        . 'the next of which has no valid name', "$name: reason";
}
for (['many.pdb', 'a cabinet in more than 64 files'],
     ['symstore.pdb', 'a later part of a cabinet that spans several files, '
                      . 'without its first'],
     ['sent.pdb', 'part 1 of a cabinet that spans several files']) {
    my ($name, $reason) = @$_;
    my $r = $c->ask($name);
    is $r->{status}, 404, "$name: a final answer" or diag explain $r;
    is place($r, 'unusable'), $reason, "$name: reason";
}
is scalar(grep { m{/sent[.]p2} } $up->requests), 0,
    'a part is not asked for over HTTP';

$t->finish;
done_testing;
