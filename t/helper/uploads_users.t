#!/usr/bin/env perl

# Uploads where nginx's workers and symcached are different users, as
# conf-examples/uploads.conf has it: the body is read by its group.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;
use Test::Uploads;

plan skip_all => 'two users need root' if $> != 0;
my $uid = 54321; # of symcached, and its group
my @as = ('setpriv', "--reuid=$uid", "--regid=$uid", '--clear-groups');
my ($nobody, $nogroup) = (getpwnam 'nobody')[2, 3];
plan skip_all => 'there is no user "nobody"' if !defined $nobody;
# what setpriv starts itself is found with the rights of before
plan skip_all => "another user cannot see $Test::Symcache::build/symcached"
    if system("@as test -x $Test::Symcache::build/symcached") != 0;
my $group = getgrgid $nogroup;

my $u = Test::Uploads->new(wrapper => \@as, user => "nobody $group",
    prepare => sub {
        my ($t) = @_;
        my $dir = $t->dir;
        mkdir "$dir/uploads/.spool";
        chown $uid, $uid, $dir, "$dir/uploads" and chmod 0755, $dir;
        chown $nobody, $uid, "$dir/uploads/.spool"
            and chmod 02770, "$dir/uploads/.spool" or die "chown: $!";
    });
my $t = $u->t;
my $dir = $t->dir;
my $path = "crash.pdb/$Test::Symcache::key{'crash.pdb'}/crash.pdb";
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));

my $r = $u->put($path, $pdb);
is $r->{status}, 201, 'another user reads the body' or diag $r->{raw};
is $t->read_file("uploads/$path"), $pdb, 'the file';
is((stat "$dir/uploads/$path")[4], $uid, 'which is that of symcached');
ok $u->nothing_left, 'nginx removes the body';

$t->stop_nginx;
$u->start_nginx('symcache_body_group_access on;' => '');
$r = $u->put("$path?force=1", $pdb);
is $r->{status}, 500, 'without the directive it may not';
like $r->{json}{detail}, qr/cannot be opened: Permission denied/, 'why';
$t->stop_nginx;
$u->start_nginx('symcache_body_group_access on;' =>
                'symcache_body_group_access off;');
is $u->put("$path?force=1", $pdb)->{status}, 500, 'nor where it is off';

# one that was copied there, and is root's

my $config = $u->config;
$config->{cache}{clean_every} = '1s';
$t->stop_symcached;
Test::Symcache::remove_tree("$dir/uploads/.index");
chown 0, 0, "$dir/uploads/$path" or die $!;
$t->start_symcached($config, wrapper => [@as]);
$t->wait_until('the index is whole', sub { glob "$dir/uploads/.index/.whole*" });
is $t->helper('GET', "/v1/debuginfo/default/other.pdb/"
    . "$Test::Symcache::key{'crash.pdb'}?version=1.0.0&wait=60")->{status}, 200, 'a file of another user is found by its id';

$t->finish;
done_testing;
