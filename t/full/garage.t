#!/usr/bin/perl

# The shared tier, and a source, in a bucket of Garage: a server of S3 with a
# store of its own, which knows no conditions, says AccessDenied of wrong keys,
# minds no clock, and notices by itself that a block of an object is damaged.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Find ();
use Test::Bucket;
use Test::Clock;
use Test::More;
use Test::Peer;
use Test::Symcache;

my $bin = Test::Peer::folder('garage') . '/bin/garage';
my $t = Test::Symcache->new;
my ($port, $rpc) = ($t->free_port, $t->free_port);
my $config = $t->write_file('garage.toml', join "\n",
    'metadata_dir = "' . $t->path('meta') . '"',
    'data_dir = "' . $t->path('data') . '"',
    'db_engine = "sqlite"', 'replication_factor = 1',
    'compression_level = "none"', # so that a block is damaged and not its frame
    "rpc_bind_addr = \"127.0.0.1:$rpc\"", "rpc_public_addr = \"127.0.0.1:$rpc\"",
    'rpc_secret = "' . '7' x 64 . '"',
    '[s3_api]', 's3_region = "garage"', "api_bind_addr = \"127.0.0.1:$port\"",
    '');

sub garage {
    my ($command) = @_;
    my $out = qx('$bin' -c '$config' $command 2>&1);
    die "garage $command: $out" if $? != 0;
    return $out;
}

# It names the request again in the line of an error.
sub requests {
    my (@all, @of);
    for (split /\n/, $t->read_file('garage.out') // '') {
        s/\e\[\d*m//g;
        next unless m{(?:error\ (\d+).*\ in\ response\ to\ )?
            (127\.0\.0\.1:\d+\ .*(GET|HEAD|PUT|DELETE)\ /symcache/\S+)}x;
        my ($status, $request, $method) = ($1, $2, $3);
        if (!defined $status) {
            push @of, $request;
            push @all, ucfirst(lc $method) . 'Object 200';
            next;
        }
        my ($at) = grep { $of[$_] eq $request } reverse 0 .. $#of;
        $all[$at] =~ s/200/$status/;
    }
    return @all;
}

# The first time, a cluster of one node with a key and a bucket.
my %key = (access => 'GK' . '1' x 24, secret => '2' x 64);
my $clock = Test::Clock->new($t);
sub start {
    my $pid = $t->spawn('garage.out', $clock ? $clock->env : {}, $bin, '-c',
                        $config, 'server');
    $t->wait_until('Garage answers', sub {
        die $t->read_file('garage.out') unless Test::Symcache::alive($pid);
        eval { garage('status') };
    });
    return $pid if garage('layout show') =~ /GK|dc1/;
    garage('layout assign -z dc1 -c 1G '
           . (garage('node id -q') =~ /^(\w+)@/m)[0]);
    garage('layout apply --version 1');
    garage("key import --yes $key{access} $key{secret}");
    garage('bucket create symcache');
    garage("bucket allow symcache --read --write --key $key{access}");
    return $pid;
}
my $bucket = Test::Bucket->new($t, port => $port, region => 'garage', %key,
    clock => $clock, start => \&start, log => \&requests);
my ($fleet, $object) = @$bucket{qw(fleet object)};

my $denied = '403 AccessDenied';
$bucket->source($denied, $denied);
$bucket->costs;
$bucket->raced(200, 'stored');

# --- damage

# what whoever may write there puts in place of it
for my $case (['cut short', sub { substr $_[0], 0, 1000 }], ['empty', sub { '' }],
              ['damaged', sub { substr $_[0], 2000, 16, 'U' x 16; $_[0] }]) {
    my ($what, $bytes) = @$case;
    $bucket->damaged($what, sub { $bucket->replace($object, $bytes) },
                     'refused_total{why="digest"}');
}

# a disk that forgets: the answer ends before its length, or is none
for my $case (['a block is damaged', sub {
                   open my $f, '+<', $_[0] or die;
                   seek $f, 2000, 0;
                   syswrite $f, 'U' x 16; }],
              ['a block is lost', sub { unlink $_[0] or die }]) {
    my ($what, $damage) = @$case;
    my ($body) = $bucket->get($object);
    $bucket->damaged($what, sub {
        File::Find::find({ no_chdir => 1, wanted => sub {
            $damage->($_) if -f $_ && $t->read_file(s{^\Q$t->{dir}/}{}r)
                eq $body;
        } }, $t->path('data'));
    }, 'gets_total{result="failed"}');
}

# --- the rest

SKIP: {
    # an object of a name that was never there, as its time does not go back
    skip Test::Clock::why(), 5 if !$clock;
    my %new = (generation => '5');
    local $bucket->{object} = $object =~ s/^1/5/r;
    $bucket->refreshed(sub {
        $clock->set(-16 * 86400);
        $fleet->machine(%new);
        $fleet->ask($fleet->{key});
        $fleet->wait_metric('puts_total{result="stored"}', 1);
        $clock->set(0);
        $fleet->grow_old;
    }, 'refreshed', 'HeadObject 200, PutObject 200', %new);
}
$bucket->operated('2');
$bucket->uploaded;
$bucket->denied('wrong secret', $denied, secret_key => 'wrong');
$bucket->denied('unknown key', $denied, access_key => 'GK' . '3' x 24);
$bucket->denied('no bucket', '404 NoSuchBucket', bucket => 'other');
$bucket->wrong_clock;
$bucket->away;
$bucket->stop;
$t->finish;
done_testing;
