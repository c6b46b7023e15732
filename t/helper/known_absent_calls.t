#!/usr/bin/env perl

# What a lookup of a key that is known to be absent asks the system for in the
# store: is there a folder of it by now, and has the journal changed?  Another
# machine may have made either, so fewer would not do; more would be in vain.
# And what is made on the disk while it is looked for at a source: nothing.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

plan skip_all => 'LeakSanitizer does not work below strace'
    if $ENV{SYMCACHE_SAN};

my $t = Test::Symcache->new;
my $trace = $t->path('trace');
system("strace -o $trace true >$trace.err 2>&1") == 0
    or plan skip_all => 'strace does not run here: ' . $t->read_file('trace.err');

my $id = $Test::Symcache::key{'crash.pdb'};
my $server = Test::ScriptedServer->new(log => $t->path('requests'),
                                       script => sub {
    $_[0]->reply(404, {}, '');
});
$t->start_symcached($t->default_config($server->{url}), wrapper =>
    [qw(strace -f -D -s 4096 -e trace=file -o), $trace]);

sub lookup {
    my ($name) = @_;
    return $t->helper('GET', "/v1/symcache/default/$name/$id"
        . '?version=9.0.0&wait=60')->{status};
}
sub folder { $t->path("store/$_[0]/$id") }

# Paths in the store that calls have named, in their order, without those of
# housekeeping, which goes on meanwhile.
sub named {
    my $store = quotemeta $t->path('store');
    return $t->read_file('trace') =~ /"($store\/(?!\.tmp\b)[^"]+)"/g;
}

my @names = qw(a.pdb b.pdb c.pdb);
for my $name (@names, 'mark.pdb') {
    is lookup($name), 404, "$name is absent";
}
my $before = () = named();
for my $name ('mark.pdb', @names, @names, 'mark.pdb') {
    is lookup($name), 404, "$name is known to be";
}
my @found;
$t->wait_until('all calls are written', sub {
    my @named = named();
    my @at = grep { $named[$_] eq folder('mark.pdb') } $before .. $#named;
    return 0 if @at < 2;
    @found = @named[$at[-2] .. $at[-1]];
    return 1;
});
is_deeply \@found,
    [(map { (folder($_), $t->path('store/.absent')) } 'mark.pdb', @names, @names),
     folder('mark.pdb')],
    'each lookup has looked at its folder and at the journal, once';

# no source had a file, so there was nothing to make a folder or a file for
my $work = quotemeta $t->path('downloads/.tmp');
is_deeply [$t->read_file('trace') =~ m{mkdir\("($work/run-[^/"]+/[^"]+)"}g], [],
    'an absent key has no work folder';
is_deeply [$t->read_file('trace') =~ m{"($work/run-[^"]+\.part)"}g], [],
    'and no file for what is received';

$t->finish;
done_testing;
