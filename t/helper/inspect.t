#!/usr/bin/perl

# What a transcoder leaves is looked at before it is published: an unsound
# SymCache of the open format never reaches the store, nor does that of another
# PDB; one of another format is taken as it is, and so is what our converter has
# checked itself.

use strict;
use warnings;

use FindBin;
use JSON::PP ();
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
$t->symbol_store('symbols');
my $build = $Test::Symcache::build;

# the transcoder of each store: what it does to a sound file
my %command = (
    sound => ':',
    foreign => 'printf "another format" > "$f"',
    truncated => 'truncate -s 4000 "$f"',
    ranges => 'printf "\377\377\377\377" | '
        . 'dd of="$f" bs=1 seek=60 conv=notrunc 2>/dev/null',
    anothers => 'printf "\\001" | dd of="$f" bs=1 seek=8 conv=notrunc '
        . '2>/dev/null',
    nameless => 'dd if=/dev/zero of="$f" bs=1 seek=8 count=16 conv=notrunc '
        . '2>/dev/null',
    version => 'printf "\143" | dd of="$f" bs=1 seek=4 conv=notrunc '
        . '2>/dev/null',
);

# Our converter checks its own result, in another process than the one that
# parsed, and says so.  These are programs of its name: one that is too old to
# say anything, two that spoil the file and say nothing, of which one leaves what
# another transcoder might; one that is believed although it does the same; and
# one of which another process says it, as the one could that parses, to which an
# older converter leaves its descriptor.
my %ours = (
    old => "unset PDB2SYMCACHE_CHECK; exec $build/pdb2symcache \"\$@\"",
    silent => "$build/pdb2symcache \"\$@\" 3>/dev/null && f=\$(echo *.symcache) "
        . "&& $command{truncated}",
    strange => "$build/pdb2symcache \"\$@\" 3>/dev/null && f=\$(echo *.symcache) "
        . "&& $command{foreign}",
    says => "$build/pdb2symcache \"\$@\" 3>/dev/null && f=\$(echo *.symcache) "
        . "&& $command{truncated} && printf 'sound\\n' >&3",
    parser => "$build/pdb2symcache \"\$@\" 3>/dev/null && f=\$(echo *.symcache) "
        . "&& $command{truncated} && (printf 'sound\\n' >&3; true)",
);
# And one whose check takes too long, which is not the PDB's fault.
$ours{slow} = 'kill -XCPU $$';
for my $name (keys %ours) {
    chmod 0755, $t->write_file("bin.$name/pdb2symcache",
                               "#!/bin/sh\n$ours{$name}\n");
}

sub store {
    my ($name, @command) = @_;
    return $name => {
        root => $t->path("store.$name"),
        transcoders => [{ version => '9.0.0', command => \@command }],
        sources => ['local'],
    };
}

$t->start_symcached({
    stores => {
        (map { store($_, '/bin/sh', '-c',
            "$build/pdb2symcache -pdb \"\$0\" && "
            . "f=\$(find \"\$1\" -name '*.symcache') && $command{$_}",
            '{pdb}', '{out}') } keys %command),
        (map { store($_, $t->path("bin.$_/pdb2symcache"), '-pdb', '{pdb}') }
            keys %ours),
    },
    sources => { local => { type => 'filesystem',
                            path => $t->path('symbols') } },
});

my $key = "crash.pdb/$Test::Symcache::key{'crash.pdb'}";
for my $store (sort keys %command, keys %ours) {
    my $r = $t->helper('GET', "/v1/symcache/$store/$key"
                              . '?version=9.0.0&wait=60');
    my $file = $t->path("store.$store/$key/crash.pdb-v9.0.0.symcache");
    if ($store =~ /^(?:sound|foreign|nameless|old|says)$/) {
        is $r->{status}, 200, "$store: published";
        ok -s $file, "$store: the file is there";
        next;
    }
    if ($store eq 'slow') {
        is $r->{status}, 503, "$store: a failure";
        like $r->{body}, qr/too much of the processor/, "$store: says so";
        my $why = $t->helper_json("/v1/why/$store/$key");
        unlike JSON::PP::encode_json($why), qr/malformed/,
            "$store: the PDB is not blamed";
        next;
    }
    is $r->{status}, 404, "$store: not published";
    is $r->{headers}{'x-symcache-reason'}[0], 'malformed',
        "$store: malformed";
    like $r->{body}, qr/unsound file/, "$store: says so";
    ok !-e $file, "$store: no file";
}

$t->finish;
done_testing;
