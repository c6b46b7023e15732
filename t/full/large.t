#!/usr/bin/env perl

# A PDB of 12 GB from a build machine, where symcachectl sends it, through nginx
# into the bucket of a fleet (versitygw), from there to another machine, which
# makes a SymCache of it, and on to a client, where LLDB reads it.  Its blocks
# lie far apart; on the way its holes become zeros.  What a machine has on its
# disk meanwhile is twice its size at the most, and is told.
# LARGE_SIZE is another size in bytes.

use strict;
use warnings;

use File::Spec;
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use POSIX ();
use Test::Ctl;
use Test::Example;
use Test::More;
use Test::Peer;
use Test::SparsePdb;
use Test::Symcache;
use Test::Uploads;

my $size = $ENV{LARGE_SIZE} // 12 << 30;
$Test::Symcache::patience = 1800;
# at most 12: versitygw notes the sizes of all parts in an attribute of the
# file, for which ext4 has less than 4 KiB
my $part = $size / 12 < 5 << 20 ? 5 << 20 : POSIX::ceil($size / 12);
my $bin = Test::Peer::folder('versitygw') . '/bin/versitygw';
plan skip_all => 'gcab is not installed' if system('gcab --version >/dev/null') != 0;

# the bucket, a machine, which has twice the PDB, and another one's reserve
my $wanted = 4 * $size;
my $tmp = File::Spec->tmpdir;
my ($free) = qx(df -Pk '$tmp') =~ /(\d+)\s+\d+%/;
plan skip_all => sprintf 'needs %.0f GB in %s, where %.0f GB are free',
    $wanted / 2 ** 30, $tmp, $free / 2 ** 20 if $free * 1024 < $wanted;

my $u = Test::Uploads->new(uploads => { max_size => '15g' });
my $t = $u->t;
my $dir = $t->dir;
my $name = 'basic32.pdb';
my $id = $Test::Symcache::key{$name};
my $path = "$name/$id/$name";
system('gcab', '-x', '-C', $dir, $t->data('pdb/basic32.pd_')) == 0
    or die "gcab: $?";
my ($small, $pdb) = ("$dir/$name", "$dir/build/$name");
mkdir "$dir/build" or die;
Test::SparsePdb::spread($small, $pdb, $size);

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

# The answer of symcached about the PDB, which may have to be made.
sub answer {
    my ($what) = @_;
    my $uri = "/v1/$what/default/$name/$id";
    my $status = 0;
    $t->wait_until($what, sub {
        $status = $t->helper('GET', $uri . ($what eq 'symcache'
            ? '?version=9.0.0&wait=85' : '?version=1.0.0&wait=85'))->{status};
        $status == 200;
    });
    return $status;
}

sub told {
    my ($what, $most) = @_;
    cmp_ok $most, '<', 2.1 * $size, "$what: twice its size at the most";
    diag sprintf '%s: %.2f GB, %.2f times its size, on the disk', $what,
        $most / 2 ** 30, $most / $size;
}

my $port_of_nginx = Test::Symcache::free_port();
$t->stop_nginx;
$u->start_nginx('listen 80;' => "listen 127.0.0.1:$port_of_nginx;"
    . " listen unix:$dir/n.sock;");
machine();
my $ctl = Test::Ctl->new($t);
my $sent;
told('uploaded', most(sub {
    $sent = $ctl->run('upload', '--url',
        "http://127.0.0.1:$port_of_nginx/symbols", '--token',
        '0123456789abcdef0123456789abcdef', $pdb);
}, "$dir/m$n", "$dir/uploads"));
is $sent->{code}, 0, 'uploaded' or diag $sent->{err}, $t->helper_log;
is -s "$dir/data/fleet/uploads/$path", $size, 'it is in the bucket, in parts';
Test::Symcache::remove_tree("$dir/m$n/uploads");

machine();
my $status;
told('taken', most(sub { $status = answer('symcache') }, "$dir/m$n"));
is $status, 200, 'another machine has a SymCache' or diag $t->helper_log;
system($t->program('pdb2symcache'), '-o', "$dir/expected", $small) == 0 or die "$small: $?";
my $made = "$name/$id/$name-v9.0.0.symcache";
is $t->sha256($t->read_file("m$n/store/$made")),
    $t->sha256($t->read_file('expected')), 'which is the right one';

# --- the original, as a debugger's symbol server gives it

is answer('debuginfo'), 200, 'and the original for debuggers';
$t->stop_nginx;
unlink $t->nginx_socket;
Test::Example::start($t, 'symbols.conf', put => {
    '/var/cache/symcached/downloads' => "$dir/m$n/downloads" });
mkdir "$dir/client" or die;
my $got = "$dir/client/$name";
my $socket = $t->nginx_socket;
is system("curl -sf --unix-socket '$socket' 'http://localhost/symbols/$path'"
    . " | dd of='$got' bs=1M iflag=fullblock conv=sparse status=none"), 0,
    'a client takes it';
is -s $got, $size, 'all of it';
is system('cmp', $pdb, $got), 0, 'as it was sent';

# What LLDB says of addresses of the image: names and lines.
sub lldb {
    my ($program, $symbols) = @_;
    my $image = $t->data('pdb/basic32.dll');
    my @ask = map { "-o 'image lookup -a $_'" }
        qw(0x10006be7 0x10006bf3 0x10006c17 0x10006e90);
    my @options = ('--no-lldbinit', '--batch', "-o 'target create $image'",
        "-o 'target symbols add $symbols'", @ask);
    my $said = qx(HOME='$dir/client' '$program' @options 2>&1);
    return join '', $said =~ /^ *(Summary: .*\n)/mg;
}

SKIP: {
    my ($program) = grep { -x } (map { "$_/lldb" } split /:/, $ENV{PATH}),
        map { "/usr/lib/llvm-$_/bin/lldb" } reverse 14 .. 30;
    skip 'lldb is not installed', 1 unless $program;
    my $expected = lldb($program, $small);
    skip "$program reads no PDB", 1 unless $expected =~ /test1 .*basic\.cpp:11/;
    is lldb($program, $got), $expected, 'LLDB reads it as it reads the small one';
}

$t->stop_pid($server, 'KILL');
$t->finish;
done_testing;
