#!/usr/bin/env perl

# More clients than descriptors, and thousands of held requests.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

plan skip_all => 'needs prlimit(1)'
    if system('prlimit --version >/dev/null 2>&1') != 0;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $config = $t->default_config('http://127.0.0.1:1', gated => 1);
$config->{sources} = { upstream => { type => 'filesystem',
                                     path => $t->path('sym') } };

sub hold {
    return $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/default/crash.pdb/$id?version=9.0.0&wait=60");
}

$t->symbol_store('sym');
my $pid = $t->start_symcached($config);

# the transcoder runs before descriptors are short

my @held = hold();
$t->wait_until('the transcoder', sub { $t->runs == 1 });
system('prlimit', "--pid=$pid", '--nofile=64:') == 0 or die;

my @more = map { hold() } 1 .. 100;
$t->wait_until('no descriptor is left', sub {
    $t->helper_log =~ /\[crit\].* accept\(\) failed \(24: /
});
close $_ for splice @more, 50;
close $_ for splice @more, 10;
is $t->helper('GET', '/healthz')->{status}, 200,
    'when some close, others are served';
is $t->metric('symcached_waiters'), 11, 'who waits still waits';

system('prlimit', "--pid=$pid", '--nofile=1000:') == 0 or die;
push @held, @more, map { hold() } 1 .. 500;
$t->wait_until('many wait',
    sub { $t->metric('symcached_waiters') == @held });
$t->write_file('gate', '');
my %status;
$status{$t->read_response($_)->{status}}++ for @held;
is_deeply \%status, { 200 => 511 }, 'all are answered';
is $t->runs, 1, 'by one run';

$t->finish;
done_testing;
