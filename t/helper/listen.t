#!/usr/bin/perl

# The socket over TCP, for a fleet: the same answers, and nginx asks it as it
# asks a Unix socket.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
$t->symbol_store('symbols');
my $port = $t->free_port;
my $config = $t->default_config('http://127.0.0.1:1');
$config->{listen} = "127.0.0.1:$port";
$config->{sources}{upstream} = { type => 'filesystem',
                                 path => $t->path('symbols') };
$t->start_symcached($config, address => "127.0.0.1:$port");
$t->start_nginx("
    location / {
        symcache %%DIR%%/store;
        symcache_pass 127.0.0.1:$port;
        symcache_async_after 65535.65535.65535;
    }");

is $t->http("127.0.0.1:$port", 'GET', '/healthz')->{status}, 200, 'healthz';
is $t->get('/' . $t->request_path('crash.pdb'))->{status}, 200,
    'a held request over TCP';
is $t->get('/v9.0.0/none.pdb/' . '0' x 32)->{status}, 404,
    'an absent key over TCP';
ok !-e $t->helper_socket, 'no Unix socket';

$t->finish;
done_testing;
