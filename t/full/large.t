#!/usr/bin/env perl

# A PDB of 12 GB from a build machine through nginx into the bucket of a fleet
# (versitygw), and from there to another machine, which makes a SymCache of it.
# Its blocks lie far apart; on the way its holes become zeros.  What a machine
# has on its disk meanwhile is twice its size at the most, and is told.
# LARGE_SIZE is another size in bytes.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use POSIX ();
use Test::More;
use Test::Peer;
use Test::SparsePdb;
use Test::Symcache;
use Test::Uploads;

my $size = $ENV{LARGE_SIZE} // 12 << 30;
my $part = $size / 6 < 1 << 30 ? 5 << 20 : 1 << 30;
my $bin = Test::Peer::folder('versitygw') . '/bin/versitygw';

my $u = Test::Uploads->new(uploads => { max_size => '15g' });
my $t = $u->t;
my $dir = $t->dir;
my ($free) = qx(df -Pk '$dir') =~ /(\d+)\s+\d+%/;
plan skip_all => 'needs five times the size of the PDB on the disk'
    if $free * 1024 < 5 * $size;
my $id = $Test::Symcache::key{'crash.pdb'};
my $path = "crash.pdb/$id/crash.pdb";
my $pdb = "$dir/crash.pdb";
Test::SparsePdb::spread($t->data('pdb/crash.pdb'), $pdb, $size);

# --- the bucket

my $port = $t->free_port;
mkdir "$dir/$_" or die for qw(data data/fleet);
my $server = $t->spawn('versitygw.out', { ROOT_ACCESS_KEY_ID => 'testkey',
        ROOT_SECRET_ACCESS_KEY => 'testsecret' }, $bin, '--quiet',
    '-p', "127.0.0.1:$port", 'posix', "$dir/data");
$t->wait_until('versitygw', sub {
    system("curl -s -o /dev/null http://127.0.0.1:$port/") == 0 });

# --- machines, one after the other, each with a disk of its own

my $n = 0;
sub machine {
    my $c = $u->config;
    $n++;
    mkdir "$dir/m$n" or die;
    mkdir "$dir/m$n/uploads" or die;
    $c->{uploads}{root} = "$dir/m$n/uploads";
    $c->{uploads}{spool} = "$dir/uploads/.spool";
    $c->{stores}{default}{root} = "$dir/m$n/store";
    $c->{stores}{default}{tier} = 'fleet';
    $c->{downloads} = "$dir/m$n/downloads";
    $c->{limits} = { download_time => '1h' };
    $c->{tiers} = { fleet => { type => 's3', bucket => 'fleet',
        region => 'us-east-1', endpoint => "http://127.0.0.1:$port",
        path_style => JSON::PP::true(), access_key => 'testkey',
        secret_key => 'testsecret', mac_key => 'm' x 32,
        part_size => "$part" } };
    $t->stop_symcached;
    $t->start_symcached($c);
}

# The most that the folders have had while something was done.
sub most {
    my ($what, @folders) = @_;
    my $end = "$dir/end";
    unlink $end;
    my $pid = open(my $from, '-|') // die "fork: $!";
    if ($pid == 0) {
        my $most = 0;
        do {
            my ($kib) = qx(du -skc @folders 2>/dev/null) =~ /(\d+)\ttotal/;
            $most = $kib * 1024 if ($kib // 0) * 1024 > $most;
            select undef, undef, undef, 0.2;
        } until -e $end;
        print $most;
        close STDOUT;
        POSIX::_exit(0);
    }
    $what->();
    $t->write_file('end', '');
    my $most = <$from>;
    close $from;
    return $most;
}

machine();
my ($status, $most, $socket) = (0, 0, $t->nginx_socket);
$most = most(sub {
    my @curl = ('curl -s', "-o '$dir/answer' -w '%{http_code}' -T '$pdb'",
        "-H '$Test::Uploads::token[0]' --unix-socket '$socket'",
        "'http://localhost/symbols/$path'");
    $status = qx(@curl);
}, "$dir/m$n", "$dir/uploads");
is $status, 201, 'uploaded' or diag $t->read_file('answer'), $t->helper_log;
cmp_ok $most, '<', 2.1 * $size, 'on the disk: twice its size at the most';
diag sprintf 'uploaded: %.2f times its size on the disk', $most / $size;
is -s "$dir/data/fleet/uploads/$path", $size, 'it is in the bucket, in parts';
Test::Symcache::remove_tree("$dir/m$n/uploads");

machine();
$most = most(sub {
    $status = $t->helper('GET',
        "/v1/symcache/default/crash.pdb/$id?version=9.0.0&wait=85")->{status};
    $t->wait_until('a SymCache', sub {
        $status = $t->helper('GET',
            "/v1/symcache/default/crash.pdb/$id?version=9.0.0")->{status};
        $status == 200;
    }) if $status != 200;
}, "$dir/m$n");
is $status, 200, 'another machine has a SymCache' or diag $t->helper_log;
cmp_ok $most, '<', 2.1 * $size, 'on the disk: twice its size at the most';
diag sprintf 'taken: %.2f times its size on the disk', $most / $size;
$t->fill_store('expected', $t->data('pdb/crash.pdb'));
my $made = "crash.pdb/$id/crash.pdb-v9.0.0.symcache";
is $t->sha256($t->read_file("m$n/store/$made")),
    $t->sha256($t->read_file("expected/$made")), 'which is the right one';
is $t->helper('GET', "/v1/debuginfo/default/crash.pdb/$id?version=1.0.0&wait=85")
    ->{status}, 200, 'and the original for debuggers';
is -s "$dir/m$n/downloads/default/$path", $size, 'all of it';

$t->stop_pid($server, 'KILL');
$t->finish;
done_testing;
