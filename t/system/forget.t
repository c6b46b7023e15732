#!/usr/bin/perl

# A PDB is published after it was known absent, and the build says so to the
# helper: nginx, whose zones know it absent as well, serves it to the next
# request, in every worker and every zone.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $config = $t->default_config('http://127.0.0.1:1');
$config->{sources} = { upstream => { type => 'filesystem',
                                     path => $t->path('symbols') } };
$t->write_file('symbols/pingme.txt', '');
$t->start_symcached($config);
my $location = "symcache %%DIR%%/store; symcache_pass unix:%%DIR%%/h.sock;\n"
    . "symcache_async_after 65535.65535.65535;\n"
    . "symcache_valid absent 1h; symcache_zone";
$t->start_nginx(join('', map { "location /$_/ { $location $_; }\n" } qw(a b)),
    workers => 2, http => 'symcache_zone a:64k; symcache_zone b:64k;');

# Asks each zone so often that both workers answer.
sub answers {
    my ($pdb) = @_;
    return [map {
        my $r = $t->get("/$_/" . $t->request_path($pdb));
        $r->{status} . (Test::Symcache::header($r, 'Retry-After') ? ' later' : '');
    } ('a', 'b') x 8];
}

sub asked { $t->metric('symcached_lookups_total{answer="absent"}') }

sub all { [($_[0]) x 16] }

my @pdbs = sort keys %Test::Symcache::key;
is_deeply answers($_), all(404), "$_: absent" for @pdbs;
$t->symbol_store('symbols');
my $asked = asked();
is_deeply answers($_), all(404), "$_: published, and still absent" for @pdbs;
is asked(), $asked, 'by nginx alone';

is $t->http($t->helper_socket, 'POST', "/v1/forget/default/$pdbs[0]/"
    . $Test::Symcache::key{$pdbs[0]}, 'Content-Length: 0')->{status}, 200,
    'forget';
is_deeply answers($pdbs[0]), all(200), 'the next request is served';
is_deeply answers($pdbs[1]), all(404), 'another key is absent as before';
is asked(), $asked + 2, 'as the helper says, to each zone once';

# --- malformed, in the whole store

$t->write_file("store/bad.pdb/$Test::Symcache::key{$pdbs[0]}/"
    . 'bad.pdb-v9.0.0.absent', sprintf "malformed %d 0123456789abcdef\nwhy\n",
    time);
my $size = -s $t->path('store/.forgotten');
is $t->http($t->helper_socket, 'POST',
    '/v1/forget/default?malformed_since=1h', 'Content-Length: 0')->{status},
    200, 'forget what is malformed';
cmp_ok -s $t->path('store/.forgotten'), '>', $size, 'tells nginx, too';

# --- the file cannot grow for ever, nor be another thing

$t->write_file('store/.forgotten', 'x' x 65536);
$t->helper('POST', '/v1/forget/default/x.pdb', 'Content-Length: 0');
is -s $t->path('store/.forgotten'), 1, 'it begins again';
unlink $t->path('store/.forgotten');
symlink $t->path('elsewhere'), $t->path('store/.forgotten') or die;
is $t->helper('POST', '/v1/forget/default/x.pdb', 'Content-Length: 0')
    ->{status}, 200, 'a link: forgotten all the same';
ok !-e $t->path('elsewhere'), 'but not followed';
like $t->helper_log, qr/nginx cannot be told what was forgotten/, 'and logged';

$t->finish;
done_testing;
