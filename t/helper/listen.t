#!/usr/bin/perl

# The socket over TCP, for a fleet: the same answers, and nginx asks it as it
# asks a Unix socket.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
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

# --- an address that cannot be used: the last line says what to do

my $nobody = $> == 0 ? 'setpriv --reuid=nobody --clear-groups ' : '';
mkdir $t->path('closed') or die $!;
chmod 0555, $t->path('closed');
$t->write_file('file', '');
for my $daemon ('symcached', 'symbolicated') {
    my $program = $t->program($daemon);
    for (["unix:${\ $t->path('none/s.sock')}", qr/No such file or directory; make its folder, and let/],
         ["unix:${\ $t->path('file')}", qr/File exists, which is no socket; remove it/],
         ["127.0.0.1:$port", qr/Address already in use; is this daemon running already\?/],
         # symcached needs the rights to its other folders first
         $daemon eq 'symcached' ? () : ["unix:${\ $t->path('closed/s.sock')}",
             qr/Permission denied; let this user write in its folder/, $nobody]) {
        my ($address, $hint, $as) = @$_;
        $config->{listen} = $daemon eq 'symcached' ? $address : 'unix:' . $t->path('other.sock');
        $config->{symbolication} = { listen => $address } if $daemon eq 'symbolicated';
        my $file = $t->write_file('listen.json', JSON::PP::encode_json($config));
        SKIP: {
            skip 'no program for nobody', 2 if $as && system("$as$program --version >/dev/null 2>&1") != 0;
            my $said = qx(@{[$as // '']}timeout 30 $program -c $file 2>&1);
            is $? >> 8, 71, "$daemon: does not start on $address";
            like $said, qr/cannot listen on "\Q$address\E": $hint/, '... and says what to do';
        }
    }
}

$t->finish;
done_testing;
