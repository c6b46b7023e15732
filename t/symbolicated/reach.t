#!/usr/bin/env perl

# A symcached that cannot be reached: who runs without one has what is on disk,
# but once there was one, what it would be asked for has failed.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Path qw(make_path);
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical;
my $config = {
    stores => { default => { root => $t->path('store') } },
    symbolication => { mozilla => { on_failure => '503' } },
};

# What both protocols say of a module that is on no disk.
sub said {
    my ($name) = @_;
    my $r = $t->post($t->symbolicated_socket, '/symbolicate/v5', $json->encode({
        memoryMap => [["$name.pdb", '00112233445566778899AABBCCDDEEFF1']],
        stacks => [[[0, 1]]] }));
    my $s = $t->post($t->symbolicated_socket, '/symbolicate', $json->encode({
        stacktraces => [{ frames => [{ instruction_addr => '0x1001' }] }],
        modules => [{ type => 'pe', debug_file => "$name.pdb",
            debug_id => '00112233-4455-6677-8899-aabbccddeeff-1',
            image_addr => '0x1000' }] }), 'Content-Type: application/json');
    return "$r->{status} "
        . $json->decode($s->{body})->{modules}[0]{debug_status};
}

sub lines { scalar(() = $t->symbolicated_log =~ /symcached cannot be reached \(/g) }

make_path($t->path('store'));
my $began = time;
$t->start_symbolicated($config, args => ['-v']);
my $started = $t->symbolicated_metric('symbolicated_start_time_seconds');
ok $started >= $began && $started <= time, 'it tells when it was started';
is $t->symbolicated_metric('symbolicated_requests_running'), 0, 'nothing runs';
is said('alone'), '200 missing', 'there was never a symcached';
$t->wait_until('the log says so', sub { lines() == 1 });
$t->wait_until('and which module', sub {
    $t->symbolicated_log =~ m{module "alone\.pdb/00112233445566778899AABBCCDDEEFF1" is missing}
});

$t->start_symcached($config);
$t->wait_until('it is reached', sub {
    said('first');
    $t->symbolicated_log =~ /symcached is reached/;
});
is said('second'), '200 missing', 'it knows of no file';
is $t->stop_symcached, 0, 'symcached stops';
is said('third'), '503 fetching_failed', 'its socket is gone';
is said('fourth'), '503 fetching_failed', 'and nobody is asked for a moment';
$t->wait_until('the log has errno', sub {
    $t->symbolicated_log =~ /reached \(2: .*reached \(2: /s
});
is lines(), 2, 'a line for each change, not for each request';
cmp_ok $t->symbolicated_metric('symbolicated_modules_total{outcome="failed"}'),
    '>=', 4, 'and they are counted as failed';

# one that was killed before symbolicated started leaves its socket

$t->stop_symbolicated;
$t->start_symcached($config);
$t->stop_symcached('KILL');
$t->start_symbolicated;
is said('fifth'), '503 fetching_failed', 'a socket on which nobody listens';
$t->start_symcached($config);
$t->wait_until('all is well again', sub { said('sixth') eq '200 missing' });

$t->finish;
done_testing;
