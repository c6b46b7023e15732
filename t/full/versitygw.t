#!/usr/bin/perl

# The shared tier, and a source, in a bucket of versitygw, a server of S3 that
# checks signatures, clocks, digests and conditions with its own code, and has
# its objects in a folder, where they can be damaged.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Bucket;
use Test::Clock;
use Test::More;
use Test::Peer;
use Test::Symcache;

my $bin = Test::Peer::folder('versitygw') . '/bin/versitygw';
my $t = Test::Symcache->new;
my %key = (access => 'testkey', secret => 'testsecret');
my $port = $t->free_port;
mkdir $t->path($_) or die for qw(data data/symcache side);

my $bucket = Test::Bucket->new($t, port => $port, region => 'us-east-1', %key,
    clock => Test::Clock->new($t), start => sub {
        return $t->spawn('versitygw.out', { ROOT_ACCESS_KEY_ID => $key{access},
                ROOT_SECRET_ACCESS_KEY => $key{secret} },
            $bin, '--quiet', '--keep-alive', '--access-log', $t->path('access'),
            '-p', "127.0.0.1:$port", 'posix', '--sidecar', $t->path('side'),
            $t->path('data'));
    }, log => sub {
        return map { m{ s3_(\w+) .*? /symcache/\S* (\d{3}) } ? "$1 $2" : () }
            split /\n/, $t->read_file('access') // '';
    });
my $fleet = $bucket->{fleet};
my $object = $t->path("data/symcache/pre fix/$bucket->{object}");

$bucket->source('403 SignatureDoesNotMatch', '404 XAdminUserNotFound');
$bucket->costs;
$bucket->raced(412, 'exists');
for my $case (['cut short', sub { truncate $object, 1000 }],
              ['empty', sub { truncate $object, 0 }],
              ['damaged', sub {
                  open my $f, '+<', $object or die;
                  seek $f, 2000, 0;
                  syswrite $f, "\x55" x 16;
              }]) {
    $bucket->damaged(@$case, 'refused_total{why="digest"}');
}
$bucket->refreshed(sub {
    my $month = time - 16 * 86400;
    $fleet->grow_old($month);
    utime $month, $month, $object or die;
}, 'stored', 'HeadObject 200, CopyObject 200, PutObject 200');

# it has no encoding, and writes U+FFFD for what XML cannot have
$t->write_file("data/symcache/pre fix/none \x01", 'x');
$bucket->operated('2');
$bucket->uploaded;
$bucket->denied('wrong secret', '403 SignatureDoesNotMatch',
                secret_key => 'wrong');
$bucket->denied('unknown key', '404 XAdminUserNotFound',
                access_key => 'unknown');
$bucket->denied('no bucket', '404 NoSuchBucket', bucket => 'other');
$bucket->wrong_clock('403 RequestTimeTooSkewed');
$bucket->away;
$bucket->stop;
$t->finish;
done_testing;
