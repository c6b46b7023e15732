#!/usr/bin/perl

# Names of PDBs come from clients: which of them a transcoder gets to see, in
# its arguments and in its environment, and under which its result is
# published.

use strict;
use warnings;
use utf8;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Encode ();
use File::Path qw(remove_tree);
use Test::More;
use Test::SourceCase;
use Test::Symcache;

my $t = Test::Symcache->new;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $id = $Test::SourceCase::id;
my $dir = $t->dir;

binmode Test::More->builder->$_, ':utf8'
    for qw(output failure_output todo_output);

# A flat folder finds a PDB by its identity, whatever name it is asked for.
$t->write_file('flat/crash.pdb', $crash);
my %sources = (local => { type => 'filesystem', path => "$dir/flat",
                          layout => 'flat' });

# What it was given, all in one place: the NUL ends an argument or a variable.
my $script = $t->write_file('transcoder', <<'SH');
#!/bin/sh
set -e
tr '\0' '\n' </proc/$$/cmdline >"$3"
tr '\0' '\n' </proc/$$/environ >"$3.env"
stat -L -c %s "$1" >"$3.size"
[ -p /dev/stdout ] && [ /dev/stdout -ef /dev/stderr ] || exit 7
cp "$1" "$2/${1##*/}-v9.0.0.symcache"
SH
chmod 0755, $script;

my $c;
sub start {
    my (%o) = @_;
    $t->stop_symcached;
    remove_tree("$dir/store", "$dir/downloads");
    $c = Test::SourceCase->new($t, sources => \%sources,
        command => [$script, '{pdb}', '{out}', "$dir/notes"], %o);
}

# The file that the transcoder saw, if it saw the name nowhere else.
sub seen {
    my ($name) = @_;
    my $bytes = Encode::encode('UTF-8', $name);
    unlink "$dir/notes", "$dir/notes.env";
    my $r = $c->found($bytes, "$name is published");
    (my $lower = $bytes) =~ tr/A-Z/a-z/;
    is $r->{path}, "$lower/$id/$lower-v9.0.0.symcache", 'under its own name';
    ok $c->published($r) eq $crash, 'and is the result';
    is $t->read_file('notes.size'), length($crash) . "\n", 'made from the PDB';
    my $notes = $t->read_file('notes') . $t->read_file('notes.env');
    my (undef, undef, $pdb) = split /\n/, $notes;
    return $pdb =~ s{.*/}{}r unless $pdb =~ m{/in/[^/]+\z};

    like $pdb, qr{^\Q$dir\E/store/\.tmp/run-\w+/\d+/in/in\.pdb$},
        'the path of the input has no folder of that name either';
    ok index($notes, $bytes) < 0 && index($notes, $lower) < 0,
        'the name is in no argument and no variable';
    return 'in.pdb';
}

start();
is seen($_), lc, "$_: the transcoder sees it"
    for 'ntdll.pdb', 'Qt5Core-1.2_x+y.PDB', 'console.pdb', 'com10.pdb', 'a';
is seen($_), 'in.pdb', "$_: the transcoder sees another one"
    for 'a&mkdir owned&.pdb', '$(touch owned).pdb', '`touch owned`.pdb',
        'a;touch owned;.pdb', "a'b.pdb", '%OS%.pdb', 'ca^ret.pdb',
        'a b.pdb', 'NUL.pdb', 'com1.pdb', 'dot.pdb.', '-pdb',
        '_x.pdb', "\x{fc}.pdb", "a\x{72e}\x{72e}x.pdb", "com\x{b9}.pdb";
$t->wait_until('no work directory is left',
    sub { !(() = glob "$dir/store/.tmp/*/*") });
is `find '$dir' -name '*owned' | grep -v pdb`, '', 'nothing was run';

# --- fixed for all, and where the file cannot be linked to

start(transcoder => { input_name => 'fixed' });
is seen('ntdll.pdb'), 'in.pdb', 'fixed: the transcoder sees no name';

SKIP: {
    my $other = "/dev/shm/symcache-$$";
    skip 'no other file system', 1
        unless -w '/dev/shm' && (stat '/dev/shm')[0] != (stat $dir)[0];
    start(downloads => $other);
    is seen('a b.pdb'), 'in.pdb', 'downloads on another file system';
    remove_tree($other);
}

# --- variables

sub variables {
    map { /^(\w+)=(.*)/ ? ($1, $2) : () }
        split /\n/, $t->read_file('notes.env');
}

$ENV{SECRET_TOKEN} = 'secret';
$ENV{HOME} = '/home/of/ours';
$ENV{LANG} = 'de_DE.UTF-8';
start();
$c->found('a.pdb', 'no variables are configured');
my %env = variables();
is delete $env{LC_ALL}, 'C.UTF-8', 'characters are UTF-8, whatever is set';
is delete $env{LANG}, 'de_DE.UTF-8', 'LANG is ours';
is delete $env{HOME}, '/home/of/ours', 'HOME, too';
is_deeply [sort keys %env], [qw(PATH _NT_SYMBOL_PATH _NT_SYMCACHE_PATH)],
    'and there is no other';

start(transcoder => { env => {
    WINEPREFIX => '/srv/wine', TOKEN => 'a ${SECRET_TOKEN}$$',
    LC_ALL => 'C', HOME => '/elsewhere', PATH => '/bin:/usr/bin:/x',
} });
$c->found('a.pdb', 'some are');
my %with = variables();
is_deeply [@with{qw(WINEPREFIX TOKEN LC_ALL HOME PATH LANG)}],
    ['/srv/wine', 'a secret$', 'C', '/elsewhere', '/bin:/usr/bin:/x',
     'de_DE.UTF-8'], 'they are set, over ours';
is keys %with, 8, 'each once';

$t->stop_symcached;
$t->finish;
done_testing;
