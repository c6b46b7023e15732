#!/usr/bin/env perl

# Rules of the cache: the tree that the request's store chooses, a bounded
# number of upgrades, files and folders that vanish, and what is counted.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my @gated = ("$FindBin::Bin/../bin/gated", $t->path('gate'), $t->path('runs'));
my $copy = 'cp "$0" "$1/$(basename "$0")-v9.0.0.symcache"';
my %store = (transcoders => [{ version => '9.0.0',
    command => [@gated, '/bin/sh', '-c', $copy, '{pdb}', '{out}'] }]);

my $config = {
    stores => {
        default => { %store, root => $t->path('store'), sources => ['all'] },
        private => { %store, root => $t->path('private'),
                     sources => ['secret'] },
    },
    sources => {
        all => { type => 'filesystem', path => $t->path('all') },
        secret => { type => 'filesystem', path => $t->path('secret') },
    },
};

sub put {
    my ($source, $name) = @_;
    $t->write_file("$source/$name/$id/$name", $pdb);
}

sub file { "$_[0]/$_[1]/$id/$_[1]-v9.0.0.symcache" }

sub lookup {
    my ($name, $store) = @_;
    return $t->helper('GET', sprintf '/v1/symcache/%s/%s/%s?version=9.0.0'
        . '&wait=60', $store // 'default', $name, $id)->{status};
}

$t->write_file('gate', '');
put('secret', 'own.pdb');
put('all', $_) for 'own.pdb', 'vanish.pdb', map { "u$_.pdb" } 1 .. 30;
unlink $t->path("all/own.pdb/$id/own.pdb");
$t->start_symcached($config);

# scopes

is lookup('own.pdb', 'private'), 200, 'in the store of this request';
is lookup('own.pdb'), 404, 'is not in the one of another';
ok -e $t->path(file('private', 'own.pdb')), 'a tree of its own';
ok !-e $t->path(file('store', 'own.pdb')), 'for each';
ok -e $t->path("downloads/private/own.pdb/$id/own.pdb"), 'downloads, too';
ok !-e $t->path("downloads/default/own.pdb"), 'apart';
is lookup('own.pdb', 'private'), 200, 'a miss in one is none in the other';

# upgrades are served at once, and bounded

unlink $t->path('gate');
$t->write_file("store/u$_.pdb/$id/u$_.pdb-v8.0.0.symcache", 'old') for 1 .. 30;
is_deeply [grep { lookup("u$_.pdb") != 200 } 1 .. 30], [],
    'older files are served';
is $t->metric('symcached_upgrades_started_total'), 20,
    'while some are upgraded';
is $t->metric('symcached_upgrades_skipped_total'), 10,
    'and the others later';
is lookup("u1.pdb"), 200, 'asked again';
is $t->metric('symcached_upgrades_started_total'), 20, 'one job for a key';
$t->write_file('gate', '');
$t->wait_until('upgrades', sub {
    20 == grep { -e $t->path(file('store', "u$_.pdb")) } 1 .. 30
});
ok -e $t->path("store/u1.pdb/$id/u1.pdb-v8.0.0.symcache"),
    'older clients keep theirs';

# whatever vanishes is made again

for my $gone ("store/vanish.pdb/$id", 'store/vanish.pdb', 'store/.tmp',
              'store', 'downloads/.tmp', 'downloads/default', 'downloads') {
    is lookup('vanish.pdb'), 200, 'a file';
    Test::Symcache::remove_tree($t->path($gone));
    is lookup('vanish.pdb'), 200, "without $gone";
    ok -s $t->path(file('store', 'vanish.pdb')), 'a file again';
    Test::Symcache::remove_tree($t->path('store/vanish.pdb'));
    is lookup('vanish.pdb'), 200, "made again after $gone";
    is $t->read_file('store/.transcoders'), "9.0.0\n", 'nginx is told again';
}

# in the middle of a job
for my $gone ('store', 'downloads', "all/vanish.pdb") {
    unlink $t->path('gate');
    my $runs = $t->runs;
    Test::Symcache::remove_tree($t->path($_)) for 'store/vanish.pdb',
        'downloads/default/vanish.pdb';
    my $held = $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/default/vanish.pdb/$id?version=9.0.0&wait=60");
    $t->wait_until('the transcoder runs', sub { $t->runs > $runs });
    Test::Symcache::remove_tree($t->path($gone));
    $t->write_file('gate', '');
    my $r = $t->read_response($held);
    ok $r->{status} == 200 || $r->{status} == 503,
        "$gone vanishes under a job: nothing final";
    put('all', 'vanish.pdb');
    $t->helper('POST', '/v1/forget/default/vanish.pdb');
    is lookup('vanish.pdb'), 200, 'and then it is made';
}

# the time of entries, moved

is lookup('none.pdb'), 404, 'a miss';
my $before = $t->metric('symcached_remembered_total{reason="notfound"}');
is lookup('none.pdb'), 404, 'again';
is $t->metric('symcached_remembered_total{reason="notfound"}'), $before + 1,
    'is remembered';
my $entry = "store/none.pdb/$id/none.pdb-v9.0.0.absent";
my $text = $t->absence($entry);
$text =~ s/(notfound )(\d+)/$1 . ($2 - 3601)/e;
$t->write_absence($entry, $text);
put('all', 'none.pdb');
is lookup('none.pdb'), 200, 'an hour later it is looked for again';
is $t->metric('symcached_outdated_total{why="time"}'), 1, 'counted';
utime 0, time - 7200, $t->path(file('store', 'none.pdb'));
$before = $t->metric('symcached_touched_total');
is lookup('none.pdb'), 200, 'a hit' for 1 .. 3;
is $t->metric('symcached_touched_total'), $before + 1,
    'is noted once an hour';

$t->finish;
done_testing;
