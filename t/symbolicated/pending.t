#!/usr/bin/env perl

# Symbolicator's protocol: a request that is pending goes on, once, and polls
# wait for its end, in whichever thread they are; what is kept of it is limited.
#
#   PENDING   requests that are pending at a time (10000)

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Path qw(remove_tree);
use List::Util qw(min);
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical;
my $main = 'main(int, char**)';

$t->symbol_store('local');
my $config = $t->default_config('http://127.0.0.1:1', gated => 1);
$config->{stores}{default}{sources} = ['local'];
$config->{sources} = { local => { type => 'filesystem', layout => 'symstore',
    path => $t->path('local') } };

sub open_gate { $t->write_file('gate', '') }

# Everything anew, with nothing in the store.
sub start {
    my (%symbolicator) = @_;
    if ($t->{helper}) {
        is $t->stop_symbolicated, 0, 'symbolicated stops';
        is $t->stop_symcached, 0, 'symcached stops';
    }
    unlink $t->path('gate'), $t->path('runs');
    remove_tree($t->path('store'));
    $config->{symbolication} = { threads => 4,
        symbolicator => \%symbolicator };
    $t->start_symcached($config);
    $t->start_symbolicated(undef);
}

my $body = $json->encode({
    stacktraces => [{ frames => [{ instruction_addr => '0x402913' }] }],
    modules => [{ type => 'pe', debug_file => 'crash.pdb',
        debug_id => '3249d99d-0c40-4931-8610-f4e4fb0b6936-1',
        image_addr => '0x400000' }] });
my $post = "POST /symbolicate?timeout=0 HTTP/1.1\r\nHost: h\r\n"
    . "Content-Type: application/json\r\nContent-Length: " . length($body)
    . "\r\n\r\n$body";

sub client {
    my ($request) = @_;
    my $s = Test::Symcache::connect_to($t->symbolicated_socket)
        or die "connect: $!";
    binmode $s;
    syswrite($s, $request) == length $request or die "write: $!";
    return $s;
}

sub get { "GET $_[0] HTTP/1.1\r\nHost: h\r\n\r\n" }

sub answer {
    my ($s) = @_;
    my $r = $t->read_response($s, 'POST');
    return { http => $r->{status}, %{ +eval { $json->decode($r->{body}) } // {} } };
}

sub function { $_[0]{stacktraces} && $_[0]{stacktraces}[0]{frames}[0]{function} }

sub metric { $t->symbolicated_metric("symbolicated_$_[0]") // 0 }

# --- once, for all who poll

start();
my $s = client($post . get('/healthcheck'));
my $r = $t->read_response($s, 'POST');
my $pending = $json->decode($r->{body} =~ s/\}\K.*//sr);
is $pending->{status}, 'pending', 'a request that takes longer';
my $id = $pending->{request_id};
$r = $t->read_response($s) unless $r->{body} =~ /ok$/;
like $r->{body}, qr/ok$/, 'its connection is used for the next one';
is metric('calls_pending'), 1, 'it goes on';
is metric('requests_running'), 1, 'as one that runs';
$t->wait_until('the job runs', sub { $t->runs });

my @polls = map { client(get("/requests/$id")) } 1 .. 20;
my $gone = client(get("/requests/$id"));
$t->wait_until('they wait', sub { metric('requests_running') == 22 });
close $gone;
$t->wait_until('one is gone', sub { metric('requests_running') == 21 });
is answer(client(get("/requests/$id?timeout=0")))->{request_id}, $id,
    'a poll that does not wait';
open_gate();
is scalar(grep { function(answer($_)) eq $main } @polls), 20,
    'polls of all threads get the answer';
is metric('asked_total'), 1, 'symcached was asked once';
is metric('calls_pending'), 0, 'it has ended';
is function(answer(client(get("/requests/$id?timeout=0")))), $main,
    'its answer stays';
cmp_ok metric('kept_bytes'), '>', 300, 'in memory';
my $end = qr/\bcall id=$id protocol=symbolicator status=200 frames=1 modules=1 missing=0 /;
$t->wait_until('the log has its end', sub { $t->symbolicated_log =~ $end });
is scalar(() = $t->symbolicated_log =~ /$end/g), 1, 'once';
like $t->symbolicated_log, qr/request pending=$id protocol=symbolicator status=200 frames=1 /,
    'and when its client was told';

# --- no room for the answer

start(kept_size => '150');
$id = answer(client($post))->{request_id};
ok $id, 'there is room for a request';
is answer(client($post))->{http}, 503, 'and for no second one';
$s = client(get("/requests/$id"));
$t->wait_until('it waits', sub { metric('requests_running') == 2 });
open_gate();
is function(answer($s)), $main, 'who waits gets the answer';
$r = answer(client(get("/requests/$id")));
is $r->{http}, 503, 'later it is lost';
is $r->{detail}, 'the answer was not kept, as there was no room for it',
    'and says so';
is metric('answers_lost_total'), 1, 'that is counted';
my $lost = qr/\[warn\].*the answer of call $id has \d+ bytes, for which "symbolication.symbolicator.kept_size" has no room/;
ok $t->wait_until('a line of it', sub { $t->symbolicated_log =~ $lost }), 'and logged';

# --- what is pending runs

start(requests => 1);
$id = answer(client($post))->{request_id};
is answer(client($post))->{http}, 503, 'one that is pending is one that runs';
open_gate();
is function(answer(client(get("/requests/$id")))), $main, 'its answer';
ok $t->wait_until('a place', sub { answer(client($post))->{http} == 200 }),
    'then there is a place again';

# --- the process stops

start();
$id = answer(client($post))->{request_id};
$s = client(get("/requests/$id"));
$t->wait_until('it waits', sub { metric('requests_running') == 2 });
my $log = $t->path('symbolicated.log');
is $t->stop_symbolicated, 0, 'the process stops';
$r = answer($s);
is $r->{http}, 503, 'a poll is answered';
is $r->{detail}, 'the server is stopping', 'so';
like $t->read_file($log), qr/calls that were pending are gone: 1$/m,
    'the log says what is gone';
$t->start_symbolicated(undef);
is answer(client(get("/requests/$id")))->{http}, 404,
    'the next process does not know it';

# --- very many

my $n = $ENV{PENDING} // 10000;
my $limit = qx(sh -c 'ulimit -Hn');
SKIP: {
    skip "descriptors: at most $limit", 5
        if $limit ne "unlimited\n" && $limit < 1.4 * $n + 100;
    start(requests => 2 * $n, kept_size => '256m');
    my @ids;
    while (@ids < $n) {
        my @all = map { client($post) } 1 .. min(500, $n - @ids);
        push @ids, map { answer($_)->{request_id} // () } @all;
    }
    my %ids = map { $_ => 1 } @ids;
    is scalar(keys %ids), $n, "$n requests are pending, each with its id";
    is metric('calls_pending'), $n, 'and all of them run';
    my ($kb) = $t->read_file("/proc/$t->{symbolicated}/status")
        =~ /^RssAnon:\s+(\d+)/m;
    diag sprintf '%d KB of memory for each', $kb / $n;
    open_gate();
    $t->wait_until('all have ended', sub { metric('calls_pending') == 0 });
    my $wrong = 0;
    while (my @some = splice @ids, 0, 500) {
        my @all = map { client(get("/requests/$_")) } @some;
        $wrong += grep { (function(answer($_)) // '') ne $main } @all;
    }
    is $wrong, 0, 'all answers are there';
    is $t->runs, 1, 'of one job';
    is metric('answers_lost_total'), 0, 'none was lost';
}

$t->finish;
done_testing;
