#!/usr/bin/perl

# A PDB is published after it was known absent, and the build says so to the
# helper: nginx, whose zone knows it absent as well, serves it within
# symcache_valid.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;
use Time::HiRes qw(time);

use constant VALID => 2;

my $t = Test::Symcache->new;
my $config = $t->default_config('http://127.0.0.1:1');
$config->{sources} = { upstream => { type => 'filesystem',
                                     path => $t->path('symbols') } };
$t->write_file('symbols/pingme.txt', '');
$t->start_symcached($config);
$t->start_nginx($t->default_locations('symcache_zone z; symcache_valid absent '
        . VALID . 's;'),
    workers => 2, http => 'symcache_zone z:64k;');

my $crash = $t->request_path('crash.pdb');

sub final {
    my $r = $t->get("/hold/$crash");
    return $r->{status} == 404 && !Test::Symcache::header($r, 'Retry-After');
}

sub asked { $t->metric('symcached_lookups_total{answer="absent"}') }

my $known = time;
ok final(), 'known absent';
my $asked = asked();
$t->symbol_store('symbols');
ok final(), 'published: still known absent';
SKIP: {
    my $now = asked();
    skip 'the machine is too busy', 1 if time - $known > VALID - 1;
    is $now, $asked, 'by nginx alone';
}

is $t->http($t->helper_socket, 'POST', '/v1/forget/default/crash.pdb/'
    . $Test::Symcache::key{'crash.pdb'}, 'Content-Length: 0')->{status}, 200,
    'forget';
my $begin = time;
$t->wait_until('served', sub { $t->get("/hold/$crash")->{status} == 200 });
cmp_ok time - $begin, '<', VALID + 10, 'served soon after symcache_valid';

$t->finish;
done_testing;
