#!/usr/bin/perl

# The shared tier that is a peer: the nginx of another machine, with a location
# that serves what is on its disk and asks no helper.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;
use Test::Tier;

my $t = Test::Symcache->new;
my $port = $t->free_port;
my $peer = "127.0.0.1:$port";

# The disk of the first machine is the peer's.
sub start_peer {
    $t->start_nginx('location /symcache/ { symcache %%DIR%%/store1; }',
        listen => "listen $peer;", address => $peer);
}
start_peer();

my $fleet = Test::Tier->new($t,
    tier => { type => 'symcache', url => "http://$peer/symcache" });
my $key = $fleet->{key};

# --- made by one, taken by another

$fleet->machine;
is $fleet->ask($key), 200, 'made on the first machine';
is $fleet->runs, 1, 'by its transcoder';
my $made = $fleet->file;
my $plain = $t->read_file($made);

is $fleet->ask_anew($key), 200, 'found on another machine';
is $fleet->runs, 0, 'no transcoder runs';
is $fleet->metric('gets_total{result="hit"}'), 1, 'the peer has it';
is $t->read_file($fleet->file), $plain, 'the same bytes';
is $t->metric('symcached_places_total{form="plain"}'), 0, 'no source is asked';
my $why = $fleet->why($key);
is $why->{tier}{outcome}, 'found', '"why" tells of the peer';
is $why->{tier}{status}, 200, 'with its status';
is $why->{files}[0]{source}, undef, 'nothing is known of the source';
is $fleet->metric('queue{tier="fleet"}'), 0, 'nothing is to be stored there';

is $fleet->ask_anew($fleet->absent), 404, 'an absent key is a final 404';
is $fleet->metric('gets_total{result="absent"}'), 1, 'after one question';
is_deeply [glob $t->path('store1/absent*')], [], 'which starts nothing there';

# --- what is no SymCache is refused, and made here

unlink $made or die;
$t->write_file($made, "<html><body>sign in</body></html>\n");
is $fleet->ask_anew($key), 200, 'a page in place of the file: served';
is $fleet->metric('refused_total{why="content"}'), 1, 'refused';
is $fleet->runs, 1, 'made here';
is $t->read_file($fleet->file), $plain, 'the right file';

# --- a peer that is down

$t->stop_nginx;
$fleet->machine;
is $fleet->ask($fleet->absent), 404, "it is down: an absent key ($_)" for 1 .. 4;
$fleet->wait_log(qr/tier fleet: not read for 30 s: /);
is $fleet->metric('breaker{tier="fleet",way="get"}'), 1, 'it is down: left alone';
is $fleet->ask($key), 200, 'it is down: a file is made';
start_peer();
$t->write_file($made, $plain);
$t->reload_symcached($fleet->config);
is $fleet->metric('breaker{tier="fleet",way="get"}'), 0, 'a reload closes it';

$t->finish;
done_testing;
