#!/usr/bin/env perl

# A log that cannot be written: a pipe that nobody reads stops nothing, and
# what did not fit is counted.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Fcntl qw(F_GETFL F_SETFL O_NONBLOCK);
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
$t->write_helper_config($t->default_config('http://127.0.0.1:1'));

# stderr is a pipe that is full already
pipe my $read, my $write or die;
fcntl $write, F_SETFL, fcntl($write, F_GETFL, 0) | O_NONBLOCK;
1 while syswrite $write, "\n" x 4096;
fcntl $write, F_SETFL, fcntl($write, F_GETFL, 0) & ~O_NONBLOCK;

my $pid = fork() // die;
if ($pid == 0) {
    open STDERR, '>&', $write;
    exec $t->program('symcached'), '-c', $t->path('symcached.json');
}
close $write;
$t->{helper} = $pid;
$t->wait_until('it accepts',
    sub { Test::Symcache::connects($t->helper_socket) });

sub get {
    my $s = $t->open_http($t->helper_socket, @_);
    return $t->read_response($s, 'GET');
}
is get('GET', '/healthz')->{status}, 200, 'the helper answers';
is get('POST', "/v1/forget/default/f$_.pdb")->{status}, 200, "line $_"
    for 1 .. 3;

# the queue is long, but has an end
my $s = Test::Symcache::connect_to($t->helper_socket);
print $s "POST /v1/forget/default/f$_.pdb HTTP/1.1\r\nHost: h\r\n\r\n"
    for 4 .. 1100;
my ($answers, $got) = (0, '');
while ($answers < 1097) {
    sysread $s, $got, 65536, length $got or last;
    $answers = () = $got =~ m{^HTTP/1.1 200}mg;
}
is $answers, 1097, 'and many more';
close $s;

# then somebody reads
my $log = '';
$t->wait_until('the lost lines are told of', sub {
    sysread $read, $log, 65536, length $log;
    $log =~ /lost/;
});
like $log, qr/listens on .*forget store=default pdb=f1\.pdb .*pdb=f2/s,
    'what was kept is there in its order';
my ($lost) = $log =~ /\[crit\] \d+: (\d+) lines .* are lost/;
my $there = () = $log =~ /forget store=/g;
is $there + $lost, 1100, 'and the number of the others';

get('POST', '/v1/forget/default/last.pdb');
$t->wait_until('the next line', sub {
    sysread $read, $log, 65536, length $log;
    $log =~ /pdb=last/;
});
pass 'then it goes on';

# a stop with a full pipe
$s = Test::Symcache::connect_to($t->helper_socket);
print $s 'POST /v1/forget/default/' . 'x' x 200
    . ".pdb HTTP/1.1\r\nHost: h\r\n\r\n" for 1 .. 400;
$got = '';
sysread $s, $got, 65536, length $got or last
    while 400 > (() = $got =~ m{^HTTP/1.1 200}mg);
close $s;
is $t->stop_symcached, 0, 'stopped';

$t->finish;
done_testing;
