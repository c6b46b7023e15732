#!/usr/bin/env perl

# Random requests on the socket: whole, cut, pipelined, half closed.  The
# helper answers the next good one, holds nothing and loses no descriptor.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $key = "default/crash.pdb/$Test::Symcache::key{'crash.pdb'}";
my $config = $t->default_config('http://127.0.0.1:1', gated => 1);
$config->{sources} = { upstream => { type => 'filesystem',
                                     path => $t->path('sym') } };

srand 20261121;

my @requests = map { s/\n/\r\n/gr } (
    "GET /v1/symcache/$key?version=9.0.0&wait=60 HTTP/1.1\nHost: l\n\n",
    "GET /v1/symcache/$key?version=9.0.0 HTTP/1.0\n\n",
    "GET /v1/why/$key HTTP/1.1\nHost: l\nTransfer-Encoding: chunked\n\n"
        . "5\nhello\n0\n\n",
    "POST /v1/forget/default/x.pdb HTTP/1.1\nHost: l\n"
        . "Content-Length: 5\n\nhello",
    "HEAD /v1/jobs HTTP/1.1\nExpect: 100-continue\n"
        . "Content-Length: 3\n\nabc",
    "GET /v1/symcache/default/%00..%2f%/1?version=9&wait=9999 HTTP/1.1\n\n",
    "GET http://x/metrics HTTP/1.1\nHost: x\n\n",
    "OPTIONS * HTTP/1.1\nHost: l\n\n",
    "CONNECT a:1 HTTP/1.1\n\n",
);
my @pieces = ("\r\n", "\0", '%', '/', '?', '&&=', 'A' x 20000, "\xff" x 7);

sub mutated {
    my $text = join '', map { $requests[rand @requests] } 0 .. rand 3;
    for (1 .. rand 6) {
        my $at = int rand length $text;
        my $how = rand;
        if ($how < 0.4) {
            substr $text, $at, 1, chr int rand 256;
        } elsif ($how < 0.7) {
            substr $text, $at, 1 + int rand 20, '';
        } else {
            substr $text, $at, 0, $pieces[rand @pieces];
        }
        $text = 'x' if $text eq '';
    }
    return $text;
}

sub descriptors {
    my ($pid) = @_;
    opendir my $dir, "/proc/$pid/fd" or die;
    return scalar grep { !/^\./ } readdir $dir;
}

$t->symbol_store('sym');
my $pid = $t->start_symcached($config);
is $t->helper('GET', "/v1/symcache/$key?version=9.0.0")->{status}, 202,
    'a job runs all the time';
$t->wait_until('the transcoder', sub { $t->runs == 1 });

my @open;
my $before = descriptors($pid);
for (1 .. 1000) {
    my $s = Test::Symcache::connect_to($t->helper_socket);
    local $SIG{PIPE} = 'IGNORE';
    $s->blocking(0);
    my $text = mutated();
    my $cut = int rand length $text;
    syswrite $s, substr $text, 0, $cut;
    syswrite $s, substr $text, $cut;
    shutdown $s, 1 if rand() < 0.5;
    push @open, $s;
    splice @open, rand @open, 1 if @open > 30;
}
is $t->helper('GET', '/healthz')->{status}, 200, 'it still answers';
@open = ();
$t->wait_until('nothing is held', sub {
    $t->metric('symcached_waiters') == 0
});
# random names may have begun jobs of their own
$t->wait_until('descriptors are closed', sub {
    $t->metric('symcached_jobs_downloading') == 0
        && descriptors($pid) <= $before + 1
});
pass 'nothing is held, no descriptor is lost';

$t->write_file('gate', '');
$t->wait_until('the job ends', sub {
    $t->helper('GET', "/v1/symcache/$key?version=9.0.0")->{status} == 200
});
pass 'the job ends well';

$t->finish;
done_testing;
