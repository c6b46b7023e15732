#!/usr/bin/env perl

# Under the names of a store's own files there are FIFOs, and links to the
# files of others: nothing waits for the former, or writes to what the latter
# lead to.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use POSIX qw(mkfifo);
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my @own = qw(.absent.new .clock .clock.new .sections .transcoders);
my $precious = $t->write_file('precious', "precious\n");

$t->symbol_store('sym');
my $config = {
    stores => { default => { root => $t->path('store'), sources => ['local'],
        transcoders => [{ version => '9.0.0',
            command => ['pdb2symcache', '-pdb', '{pdb}'] }] } },
    sources => { local => { type => 'filesystem', path => $t->path('sym'),
                            layout => 'symstore' } },
    cache => { clean_every => '1s', retry_misses_after => '1h' },
};

sub passes { $t->metric('symcached_clean_passes_total{result="ok"}') }
sub status {
    my ($name) = @_;
    return $t->helper('GET', "/v1/symcache/default/$name/$id?version=9.0.0&wait=60")
        ->{status};
}

for my $case (['FIFO', sub { mkfifo $_[0], 0644 or die "$_[0]: $!" }],
              ['symbolic link', sub { symlink $precious, $_[0] or die "$_[0]: $!" }],
              ['hard link', sub { link $precious, $_[0] or die "$_[0]: $!" }]) {
    my ($what, $make) = @$case;
    mkdir $t->path('store');
    # a hard link is a file: only those that are written anew are not kept
    my @names = $what eq 'hard link' ? grep { /new$/ } @own : @own;
    $make->($t->path("store/$_")) for @names;
    $t->start_symcached($config);
    is status('crash.pdb'), 200, "$what: a conversion";
    ok $t->wait_until('a pass', sub { passes() > 0 }), '... cleaning';

    # another list of versions is what this file is read for
    unlink $t->path('store/.transcoders');
    $make->($t->path('store/.transcoders')) if $what ne 'hard link';
    $t->reload_symcached($config);
    is status('none.pdb'), 404, '... a reload, and a miss';
    is $t->helper('POST', '/v1/forget/default/none.pdb')->{status}, 200,
        '... which is forgotten';
    is $t->read_file('precious'), "precious\n", '... and no other file is changed';
    $t->stop_symcached;
    unlink map { $t->path("store/$_") } @own, '.absent';
}

# A folder that .tmp leads to is not emptied.

mkdir $t->path('store');
Test::Symcache::remove_tree($t->path('store/.tmp'));
$t->write_file('away/mine/file', 'x');
symlink $t->path('away'), $t->path('store/.tmp') or die $!;
$t->start_symcached($config);
$t->wait_until('a pass', sub { passes() > 0 });
is $t->read_file('away/mine/file'), 'x', 'what .tmp leads to stays';
$t->stop_symcached;

$t->finish;
done_testing;
