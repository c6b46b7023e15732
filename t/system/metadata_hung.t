#!/usr/bin/perl

# The page /metadata beside a folder of downloads that hangs: who asks is told
# that the answer is not complete, and threads do not pile up.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Fuse;
use Test::More;
use Test::Mount;
use Test::Symcache;

my $most = 16; # inquiries at a time
my $t = Test::Symcache->new;
mkdir $t->path($_) for qw(downloads downloads/default);
my $fuse = Test::Fuse->new($t->path('downloads/default/_'),
    { 'buildid-abcd/_.debug' => 'x' }, hang => $t->path('hang'));
my $config = $t->default_config('http://127.0.0.1:1');
$config->{downloads} = $t->path('downloads');
$config->{limits}{first_byte_time} = '1s';
$t->start_symcached($config);

# How many of some requests at once are answered with which status.
sub ask {
    my ($n) = @_;
    my (%statuses, @open);
    push @open, $t->open_http($t->helper_socket, 'GET', '/v1/metadata?key=glob&value=*')
        for 1 .. $n;
    $statuses{ $t->read_response($_, 'GET')->{status} }++ for @open;
    return \%statuses;
}

is_deeply ask(1), { 200 => 1 }, 'the folder works';
$fuse->hang;
# the thread of the one before may count for a moment
cmp_ok ask($most)->{200}, '>=', $most - 1, 'it hangs: requests wait a while';
ok $t->wait_until('all threads wait', sub { (ask(2)->{503} // 0) == 2 }),
    'as long as their threads wait, nobody else does';
is $t->http($t->helper_socket, 'GET', '/healthz')->{status}, 200, 'the helper works';
$fuse->release;
$t->wait_until('it is looked through again', sub { ask(1)->{200} });

$t->stop_symcached;
$fuse->stop;
$t->finish;
done_testing;
