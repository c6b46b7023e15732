#!/usr/bin/perl

# The shared tier in a bucket of versitygw, a server of S3 that checks
# signatures, clocks, digests and conditions with its own code, and has its
# objects in a folder, where they can be damaged.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib ();
use Digest::SHA qw(sha256_hex);
use JSON::PP ();
use Test::Clock;
use Test::Ctl;
use Test::More;
use Test::Peer;
use Test::Symcache;
use Test::Tier;

my $bin = Test::Peer::folder('versitygw') . '/bin/versitygw';
my $t = Test::Symcache->new;
my ($access, $secret) = ('testkey', 'testsecret');
my $port = $t->free_port;
my $url = "http://127.0.0.1:$port";
mkdir $t->path($_) or die for qw(data side);

my $pid;
sub start_gateway {
    $pid = $t->spawn('versitygw.out',
        { ROOT_ACCESS_KEY_ID => $access, ROOT_SECRET_ACCESS_KEY => $secret },
        $bin, '--quiet', '--keep-alive', '--access-log', $t->path('access'),
        '-p', "127.0.0.1:$port", 'posix', '--sidecar', $t->path('side'),
        $t->path('data'));
    $t->wait_until('versitygw answers', sub {
        die $t->read_file('versitygw.out') unless Test::Symcache::alive($pid);
        system("curl -s -o /dev/null $url/") == 0;
    });
}
start_gateway();
my $curl = join ' ', 'curl -s -o', $t->path('o'), '-w "%{http_code}" -X PUT',
    "-u $access:$secret --aws-sigv4 aws:amz:us-east-1:s3",
    '-H x-amz-content-sha256:' . sha256_hex(''), "$url/symcache";
is qx($curl), 200, 'a bucket';

my $clock = Test::Clock->new($t);
my $fleet = Test::Tier->new($t,
    tier => { type => 's3', bucket => 'symcache', region => 'us-east-1',
              prefix => 'pre fix', endpoint => $url, lifetime => '30d',
              path_style => JSON::PP::true(), access_key => '$S3_ID',
              secret_key => '$S3_SECRET', mac_key => 'm' x 32 },
    env => { S3_ID => $access, S3_SECRET => $secret,
             $clock ? %{ $clock->env } : () });
my $key = $fleet->{key};
my $object = $t->path("data/symcache/pre fix/1/default/$key/v9.0.0.symcache");

# The requests since the last call, when there are n: "GetObject 404".
my $seen = 0;
sub requests {
    my ($n) = @_;
    my @all;
    $t->wait_until("$n requests", sub {
        @all = map { m{ s3_(\w+) .*? /symcache\S* (\d{3}) } ? "$1 $2" : () }
            split /\n/, $t->read_file('access') // '';
        @all >= $seen + $n;
    });
    my @new = @all[$seen .. $#all];
    $seen = @all;
    return join ', ', @new;
}
requests(1);

# --- what things cost

$fleet->machine;
is $fleet->ask($key), 200, 'made on the first machine';
$fleet->wait_metric('puts_total{result="stored"}', 1);
is requests(2), 'GetObject 404, PutObject 200', 'cold, found: a GET and a PUT';
my $plain = $t->read_file($fleet->file);
is Compress::Zlib::memGunzip($t->read_file($object)), $plain, 'it is stored';
is $fleet->ask($key), 200, 'a hit on the disk';
is requests(0), '', 'on the disk: nothing';
is $fleet->ask($fleet->absent), 404, 'an absent key';
is requests(1), 'GetObject 404', 'cold, absent: a GET';

$fleet->machine;
is $fleet->ask($key), 200, 'found on the second machine';
is requests(1), 'GetObject 200', 'made by another: a GET';
is $fleet->runs, 0, 'and not made';
is $fleet->why($key)->{files}[0]{source}, 'local', 'with its provenance';

$fleet->machine(generation => '2');
is $fleet->ask($key), 200, 'another generation: made';
$fleet->wait_metric('puts_total{result="stored"}', 1);

# --- damage

for my $case (['cut short', sub { truncate $object, 1000 }],
              ['empty', sub { truncate $object, 0 }],
              ['damaged', sub {
                  open my $f, '+<', $object or die;
                  seek $f, 2000, 0;
                  syswrite $f, "\x55" x 16;
              }]) {
    my ($what, $damage) = @$case;
    $damage->();
    $fleet->machine;
    is $fleet->ask($key), 200, "$what: served";
    is $fleet->runs, 1, "$what: made again";
    is $fleet->metric('refused_total{why="digest"}'), 1, "$what: refused";
    is $t->read_file($fleet->file), $plain, "$what: the right file";
    $fleet->wait_metric('puts_total{result="stored"}', 1);
    is Compress::Zlib::memGunzip($t->read_file($object)), $plain,
        "$what: replaced";
}

# --- refreshed

SKIP: {
    skip 'no extended attributes', 5 if !defined $fleet->note;
    my $month = time - 16 * 86400;
    $fleet->grow_old($month);
    utime $month, $month, $object or die;
    requests(0);
    is $fleet->ask($key), 200, 'used after half of its life';
    $fleet->wait_metric('puts_total{result="stored"}', 2);
    is requests(3), 'HeadObject 200, CopyObject 200, PutObject 200',
        'a look, a copy, and a PUT, as its copies are no younger';
    cmp_ok +(stat $object)[9], '>', time - 3600, 'it is young again';
    $fleet->machine;
    is $fleet->ask($key), 200, 'another machine';
    is $fleet->runs, 0, 'takes it, with its metadata';
}

# --- what an operator asks for

{
    my $ctl = Test::Ctl->new($t);
    my $tier = sub {
        my $config = $fleet->config(access_key => $access,
                                    secret_key => $secret);
        return $ctl->run('tier', @_, '-c', $t->write_helper_config($config));
    };
    # it has no encoding, and writes U+FFFD for what XML cannot have
    my $odd = 'odd +%41';
    $t->write_file("data/symcache/pre fix/$_", 'x') for $odd, "none \x01";
    $t->write_file('data/symcache/pre fixed', 'x');
    my @names = map { "$_/default/$key/v9.0.0.symcache" } 1, 2;
    my $r = $tier->('ls', '--json');
    is $r->{code}, 0, 'ls' or diag $r->{err};
    my %listed = map { ($_->{name} => $_) }
        map { JSON::PP::decode_json($_) } split /\n/, $r->{out};
    is_deeply [sort grep { !/^none / } keys %listed], [@names, $odd],
        'lists all of the prefix';
    is $listed{$names[0]}{size}, -s $object, 'with their sizes';
    cmp_ok abs(time - $listed{$names[0]}{stored}), '<', 3600, 'and times';
    is $tier->('clean', '--former')->{code}, 0, 'clean';
    ok !-e $t->path("data/symcache/pre fix/$names[1]"),
        'what was of another generation is removed';
    ok -e $object, 'and nothing else';
    $r = $tier->('rule');
    like $r->{out}, qr{<Prefix>pre fix/1/</Prefix>}, 'a rule';
}

# --- uploads

{
    my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
    mkdir $t->path($_) or die for qw(uploads uploads/.spool);
    local $fleet->{sources} = ['uploads'];
    local $fleet->{more} = { admin_listen => 'unix:' . $t->path('a.sock'),
        uploads => { root => $t->path('uploads'),
                     listen => 'unix:' . $t->path('u.sock') } };
    my $upload = sub {
        my ($bytes, $query) = @_;
        my $file = $t->write_file('uploads/.spool/1', $bytes);
        return $t->http($t->path('a.sock'), 'PUT',
            "/v1/uploads/$key/crash.pdb$query", 'Content-Length: 0',
            "X-Symcached-Body: $file")->{status};
    };
    my $discard = sub { $t->http($t->path('a.sock'), 'POST',
        "/v1/discard/$key/crash.pdb", 'Content-Length: 0')->{status} };
    my $original = $t->path("data/symcache/pre fix/uploads/$key/crash.pdb");
    my $other = substr($pdb, 0, -1) . chr(1 ^ ord substr $pdb, -1);

    $fleet->machine(generation => '9');
    requests(0);
    is $upload->($pdb, ''), 201, 'an upload';
    is $t->read_file($original), $pdb, 'is in the bucket as it is';
    like requests(2), qr/^HeadObject 404, PutObject 200/, 'by a look and a PUT';
    is $upload->($pdb, ''), 200, 'the same again';
    is $upload->($other, ''), 409, 'another one';
    is $upload->($other, '?force=1'), 201, 'replaces it by force';
    ok $t->read_file($original) eq $other, 'there';
    unlink $t->path("uploads/$key/crash.pdb") or die;
    is $fleet->ask($key), 200, 'found where the disk does not have it';
    {
        # a machine that does not have it sends its clients there
        my $tcp = $t->free_port;
        local $fleet->{more} = { uploads => { root => $t->path('others'),
            listen => 'unix:' . $t->path('u.sock') } };
        $fleet->machine(generation => '9', redirect => '1m',
                        redirect_endpoint => $url);
        $t->start_nginx('location / { symcache_pass unix:%%DIR%%/h.sock;
            symcache_symbols ' . $fleet->downloads . '; }',
            listen => "listen 127.0.0.1:$tcp;", address => "127.0.0.1:$tcp");
        requests(0);
        is qx(curl -sL -o $t->{dir}/o -w '%{http_code} %{num_redirects}' \\
            http://127.0.0.1:$tcp/$key/crash.pdb), '200 1', 'a client is sent there';
        ok $t->read_file('o') eq $other, 'and gets the file';
        is requests(2), 'HeadObject 200, GetObject 200', 'after a look';
        ok !-e $fleet->downloads . "/default/$key/crash.pdb", 'which is not here';
        $t->stop_nginx;
    }
    $fleet->machine(generation => '9');
    is $discard->(), 200, 'removed';
    ok !-e $original, 'from the bucket';
    is $discard->(), 404, 'once';
    kill 'STOP', $pid;
    is $upload->($pdb, ''), 503, 'it hangs: 503';
    kill 'CONT', $pid;
    ok !-e $t->path("uploads/$key/crash.pdb"), 'and nothing is stored here';
}

# --- wrong secrets, wrong clocks

sub denied {
    my ($what, $code, %more) = @_;
    $fleet->machine(%more);
    is $fleet->ask($fleet->absent), 404, "$what: an absent key is a final 404";
    $fleet->wait_log(qr/tier fleet: not read for 30 s: $code/);
    is $fleet->metric('breaker{tier="fleet",way="get"}'), 1, "$what: at once";
    is $fleet->ask($key), 200, "$what: a file is made";
    is $fleet->runs, 1, "$what: here";
    $fleet->wait_log(qr/tier fleet: nothing is stored for 30 s: $code/);
}
denied('wrong secret', '403 SignatureDoesNotMatch', secret_key => 'wrong');
denied('unknown key', '404 XAdminUserNotFound', access_key => 'unknown');
denied('no bucket', '404 NoSuchBucket', bucket => 'other');
SKIP: {
    skip Test::Clock::why(), 8 if !$clock;
    $clock->set(-1200);
    denied('20 minutes late', '403 RequestTimeTooSkewed');
    $clock->set(1200);
    denied('20 minutes early', '403 RequestTimeTooSkewed');
    $clock->set(0);
}

# --- it hangs, it is down

kill 'STOP', $pid;
$fleet->machine;
is $fleet->ask($fleet->absent), 404, "it hangs: an absent key ($_)" for 1 .. 4;
is $fleet->metric('breaker{tier="fleet",way="get"}'), 1, 'it hangs: left alone';
is $fleet->ask($key), 200, 'it hangs: a file is made';
kill 'CONT', $pid;

$t->stop_pid($pid, 'KILL');
$fleet->machine;
is $fleet->ask($fleet->absent), 404, "it is down: an absent key ($_)" for 1 .. 4;
is $fleet->ask($key), 200, 'it is down: a file is made';
$fleet->wait_metric('queue{tier="fleet"}', 1);
start_gateway();
$object =~ s{/1/}{/3/};
$t->reload_symcached($fleet->config(generation => '3'));
$fleet->wait_metric('puts_total{result="stored"}', 1);
is Compress::Zlib::memGunzip($t->read_file($object)), $plain,
    'what waited is stored when it is up again';

$t->stop_pid($pid, 'KILL');
$t->finish;
done_testing;
