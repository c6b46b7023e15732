#!/usr/bin/perl

# The shared tier in a bucket, before a server that checks signatures, digests
# and conditions as the specification has them, and fails as stores do.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib ();
use Digest::SHA qw(sha256_hex);
use JSON::PP ();
use Test::More;
use Test::S3;
use Test::Symcache;
use Test::Tier;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $key = "crash.pdb/$id";
my $name = "fle et/1/default/$key/v9.0.0.symcache";
my ($access, $secret) = ('AKIDexample', 'se/cr+et=');
my $s3 = Test::S3->new($t, region => 'eu-west-1',
    secrets => { $access => $secret });

# --- the machines

my $fleet = Test::Tier->new($t,
    tier => { type => 's3', bucket => 'sym.bols', region => 'eu-west-1',
              prefix => 'fle et', endpoint => $s3->url, lifetime => '30d',
              path_style => JSON::PP::true(), access_key => '$S3_ID',
              secret_key => '$S3_SECRET' },
    env => { S3_ID => $access, S3_SECRET => $secret });

# The requests since the last call, as "GET PUT".
my $seen = 0;
sub requests {
    my @all = $s3->requests;
    my @new = @all[$seen .. $#all];
    $seen = @all;
    return join ' ', map { $_->{method} } @new;
}

# --- stored by one, taken by another

my $path = "/sym.bols/$name";
is $fleet->ask_anew($key, sub { unlink $s3->file($path); requests() }), 200,
    'made on the first machine';
$fleet->wait_metric('puts_total{result="stored"}', 1);
is requests(), 'GET PUT', 'cold and found: one GET, one PUT';
my ($headers, $body) = $s3->load($path);
my $plain = $t->read_file($fleet->file);
is Compress::Zlib::memGunzip("$body"), $plain, 'the object is the file, gzipped';
is $headers->{'content-type'}, 'application/vnd.ms-symcache; version=9.0.0',
    'its type';
my %meta = map { $_ => $headers->{"x-amz-meta-symcache-$_"} }
    qw(sha256 size source quality features);
is_deeply \%meta, { sha256 => sha256_hex($plain), size => length $plain,
    source => 'local', quality => 'full', features => '7' }, 'its metadata';
my ($put) = grep { $_->{method} eq 'PUT' } $s3->requests;
is $put->{headers}{'if-none-match'}, '*', 'only where nothing is';
is $fleet->ask($key), 200, 'a hit on the disk';
is requests(), '', 'on the disk: no request';
is $fleet->ask($fleet->absent), 404, 'an absent key';
is requests(), 'GET', 'cold and absent: one GET';

is $fleet->ask_anew($key, \&requests), 200, 'found on the second machine';
is $fleet->runs, 0, 'and not made';
is requests(), 'GET', 'made by another: one GET';
is $fleet->why($key)->{files}[0]{source}, 'local', 'its provenance has come with it';
is $fleet->why($key)->{tier}{status}, 200, '"why" has the status';

# --- damage

for my $case (['cut short', substr $body, 0, 1000], ['empty', ''],
              ['of a page', '<html>no</html>']) {
    my ($what, $bytes) = @$case;
    my $damage = sub { requests(); $s3->save($path, $headers, $bytes) };
    is $fleet->ask_anew($key, $damage), 200, "$what: served";
    is $fleet->runs, 1, "$what: made again";
    is $fleet->metric('refused_total{why="digest"}'), 1, "$what: refused";
    $fleet->wait_metric('puts_total{result="stored"}', 1);
    is Compress::Zlib::memGunzip(($s3->load($path))[1] . ''), $plain,
        "$what: replaced";
    is requests(), 'GET PUT', "$what: by one PUT, which is unconditional";
}
is $fleet->ask_anew($key, sub { $s3->save($path, {}, $body) }), 200,
    'without metadata: served';
is $fleet->metric('refused_total{why="metadata"}'), 1, 'without metadata: refused';
$fleet->wait_metric('puts_total{result="stored"}', 1);
requests();

# --- refreshed by copy; stored again where it was removed

SKIP: {
    skip 'no extended attributes', 13 if !defined $fleet->note;
    my $month = time - 16 * 86400;
    my $age = sub {
        $fleet->grow_old($month);
        utime $month, $month, $s3->file($path);
    };
    $age->();
    is $fleet->ask($key), 200, 'used after half of its life';
    $fleet->wait_metric('puts_total{result="refreshed"}', 1);
    is requests(), 'HEAD PUT', 'one look and one copy';
    my ($copy) = reverse $s3->requests;
    is $copy->{headers}{'content-length'}, 0, 'without the bytes';
    my ($h) = $s3->load($path);
    is $h->{'x-amz-meta-symcache-sha256'}, sha256_hex($plain),
        'the metadata are the same';

    # another machine has done so already
    $age->();
    utime time, time, $s3->file($path);
    is $fleet->ask($key), 200, 'used when another one has refreshed it';
    $fleet->wait_metric('puts_total{result="exists"}', 1);
    is requests(), 'HEAD', 'one look';

    # another machine has stored another one
    $age->();
    $s3->save($path, { %$h, 'x-amz-meta-symcache-sha256' => 'a' x 64 }, 'other');
    utime $month, $month, $s3->file($path);
    is $fleet->ask($key), 200, 'used when another file is there';
    $fleet->wait_metric('puts_total{result="exists"}', 2);
    is requests(), 'HEAD', 'it is left alone';
    $t->wait_until('and will be looked at again',
        sub { $fleet->note == $month });

    $fleet->note(time);
    $age->();
    unlink $s3->file($path) or die;
    is $fleet->ask($key), 200, 'used when it is gone';
    $fleet->wait_metric('puts_total{result="stored"}', 2);
    is requests(), 'HEAD PUT', 'one look, and the file';
}

# --- a connection of HTTP/2 that has become silent

# Of symcached to this port.
sub connections {
    my $to = sprintf ':%04X', $_[0];
    my %mine = map { (readlink // '') =~ /socket:\[(\d+)\]/ ? ($1 => 1) : () }
        glob "/proc/$t->{helper}/fd/*";
    open my $table, '<', '/proc/net/tcp' or die;
    return scalar grep { my @f = split; $f[2] =~ /$to\z/ && $mine{ $f[9] } } <$table>;
}

SKIP: {
    skip 'no extended attributes', 2 if !defined $fleet->note;
    my $dir = $t->dir;
    system('openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes '
        . '-subj /CN=localhost -addext subjectAltName=DNS:localhost '
        . "-keyout $dir/key.pem -out $dir/cert.pem >$dir/openssl.out 2>&1") == 0
        or die $t->read_file('openssl.out');
    my $port = Test::Symcache::free_port();
    $t->start_nginx('', load => 0, http => <<"CONF", address => "127.0.0.1:$port");
        server { listen 127.0.0.1:$port ssl http2;
                 ssl_certificate %%DIR%%/cert.pem; ssl_certificate_key %%DIR%%/key.pem;
                 location / { proxy_pass @{[ $s3->url ]}; proxy_set_header Host \$http_host; } }
CONF
    local $fleet->{env} = { %{ $fleet->{env} }, SSL_CERT_FILE => "$dir/cert.pem" };
    $fleet->machine(endpoint => "https://localhost:$port");
    unlink $s3->file($path);
    is $fleet->ask($key), 200, 'over HTTP/2: made';
    $fleet->wait_metric('puts_total{result="stored"}', 1);
    my @workers = $t->workers;
    kill 'STOP', @workers;
    $t->reload_nginx; # others answer new connections
    my $month = time - 16 * 86400;
    $fleet->grow_old($month);
    utime $month, $month, $s3->file($path);
    is $fleet->ask($key), 200, 'used where the connection that is kept is silent';
    $fleet->wait_metric('puts_total{result="refreshed"}', 1);
    $t->wait_until('the silent one is closed', sub { connections($port) <= 1 }, 20);
    kill 'CONT', @workers;
    $t->stop_nginx;
    requests();
}

# --- a store that refuses: opens at once, with the code; no 404 is lost

# Begins again with $prepare, a new machine mostly, until $is_good: on a loaded
# computer an answer may come after the two seconds that a tier has for it.
# Returns the status of the last lookup.
sub ask_until {
    my ($prepare, $key, $is_good) = @_;
    my $status;
    for (1 .. 5) {
        $prepare->();
        requests();
        $status = $fleet->ask(ref $key ? $key->() : $key);
        last if $is_good->();
    }
    return $status;
}

sub none_failed { !$fleet->metric('gets_total{result="failed"}') }

sub denied {
    my ($what, $code, %more) = @_;
    is ask_until(sub { $fleet->machine(%more) }, sub { $fleet->absent },
        sub { $fleet->metric('breaker{tier="fleet",way="get"}') }), 404,
        "$what: an absent key is a final 404";
    is requests(), 'GET', "$what: one request";
    is $fleet->metric('breaker{tier="fleet",way="get"}'), 1, "$what: breaker is open";
    $fleet->wait_log(qr/tier fleet: not read for 30 s: $code/);
    is $fleet->ask($fleet->absent), 404, "$what: another";
    is requests(), '', "$what: is not asked for there";
    like $fleet->why("absent$fleet->{absent}.pdb/" . 'A' x 32 . '1')->{tier}{detail}, qr/$code/,
        "$what: as \"why\" knows";
    is $fleet->ask($key), 200, "$what: a file is made";
    $fleet->wait_metric('breaker{tier="fleet",way="put"}', 1);
    $fleet->wait_log(qr/tier fleet: nothing is stored for 30 s: $code/);
}

denied('wrong secret', '403 SignatureDoesNotMatch', secret_key => 'wrong');
denied('unknown key', '403 InvalidAccessKeyId', access_key => 'unknown');
for my $mode ('404 XAdminUserNotFound', '404 NoSuchBucket',
              '403 RequestTimeTooSkewed', '301 PermanentRedirect',
              '400 AuthorizationHeaderMalformed') {
    $s3->fail($mode);
    denied($mode, $mode);
}

# --- one that fails: three times

sub failing {
    my ($what) = @_;
    $fleet->machine;
    requests();
    for (1 .. 5) {
        is $fleet->ask($fleet->absent), 404,
            "$what: an absent key is a final 404 ($_)";
        $fleet->wait_log(qr/tier fleet: not read this time: ./) if $_ == 1;
    }
    my @asked = split ' ', requests();
    is scalar(@asked), 3, "$what: three requests" unless $what eq 'down';
    is $fleet->metric('breaker{tier="fleet",way="get"}'), 1, "$what: breaker is open";
    is $fleet->ask($key), 200, "$what: a file is made";
}
$s3->fail('busy');
failing('busy');
$s3->fail('silent');
failing('silent');
$s3->fail('403 AccessDenied');
failing('403 AccessDenied');
$fleet->wait_log(qr/nothing is stored for 30 s: 403 AccessDenied/);
$s3->fail('page');
failing('page');
$fleet->wait_log(qr/nothing is stored for 30 s: 200 with a page of HTML, which is not the store's/);
is $fleet->metric('puts_total{result="stored"}'), 0, 'page: nothing counts as stored';

# it answers again after a reload
unlink $s3->file($path);
$s3->fail('');
$t->reload_symcached($fleet->config);
$fleet->wait_metric('puts_total{result="stored"}', 1);
ok -e $s3->file($path), 'what waited is stored when it works again';
is $fleet->metric('breaker{tier="fleet",way="put"}'), 0, 'its breaker is closed';

# --- one that denies a name: others are read

for my $mode ('403 AccessDenied', '403 InvalidObjectState') {
    my $n = $mode =~ /Access/ ? 1 : 4;
    is ask_until(sub {
        $fleet->machine;
        $s3->fail($mode);
        is $fleet->ask($fleet->absent), 404, "$mode: of another name" for 1 .. $n;
        $s3->fail('');
    }, $key, sub { $fleet->metric('gets_total{result="failed"}') == $n }), 200,
        "$mode: a file";
    is $fleet->metric('gets_total{result="hit"}'), 1, "$mode: is read";
    is $fleet->runs, 0, "$mode: and not made";
}

# --- no descriptors for sockets, which is not the store's doing

$t->write_file('shim.c', <<'C');
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int socket(int domain, int type, int protocol)
{
    int (*real)(int, int, int) =
        (int (*)(int, int, int))dlsym(RTLD_NEXT, "socket");

    if (domain != AF_INET || access(getenv("FAULT"), F_OK) != 0)
        return real(domain, type, protocol);
    errno = EMFILE;
    return -1;
}
C
SKIP: {
    skip 'not under a sanitizer', 2 if $Test::Symcache::san;
    my $shim = $t->path('shim.so');
    system('cc', '-shared', '-fPIC', '-o', $shim, $t->path('shim.c'), '-ldl') == 0
        or die 'cc';
    local $fleet->{env} = { %{ $fleet->{env} }, LD_PRELOAD => $shim,
                            FAULT => $t->write_file('fault', '') };
    unlink $s3->file($path);
    $fleet->machine;
    requests();
    is $fleet->ask($key), 200, 'no descriptors: a file is made';
    $fleet->wait_log(qr/nothing is stored for 30 s: socket: Too many open files/);
    unlink $t->path('fault') or die $!;
    $t->reload_symcached($fleet->config);
    $fleet->wait_metric('puts_total{result="stored"}', 1);
    is requests(), 'PUT', 'it is stored when there are some';
}

# --- slow reads, as many as are made at a time

$s3->fail('drips');
$fleet->machine;
requests();
my @slow = map { $t->open_http($t->helper_socket, 'GET', '/v1/symcache/default/'
    . $fleet->absent . '?version=9.0.0&wait=600') } 1 .. 16;
my $asked = 0;
$t->wait_until('all are read', sub { ($asked += () = requests() =~ /GET/g) == 16 });
is $fleet->ask($key), 200, 'slow reads: another file is made';
like $fleet->why($key)->{tier}{detail}, qr/^not asked: 16 others are read/,
    'as the tier has no turn for it';
is $fleet->metric('breaker{tier="fleet",way="get"}'), 0, 'and is not left alone';
$s3->fail('');
is $t->read_response($_)->{status}, 404, 'one of the slow reads ends'
    for splice @slow, 0, 1;
close $_ for @slow;

# --- without quorum: reads go on while writes hang

unlink $s3->file($path);
$s3->fail('no-quorum');
is $fleet->ask_anew($key), 200, 'no quorum: a file is made';
is ask_until(sub {}, sub { $fleet->absent },
    sub { $fleet->metric('gets_total{result="absent"}') == 2 }), 404,
    'no quorum: an absent key';
is $fleet->metric('breaker{tier="fleet",way="get"}'), 0, 'no quorum: it is read';
is $fleet->metric('gets_total{result="absent"}'), 2, 'no quorum: and answers';

# --- one that is too large, for the store or a proxy before it

for my $mode ('413 ContentTooLarge', '400 EntityTooLarge') {
    $s3->fail($mode);
    $fleet->machine;
    is $fleet->ask($key), 200, "$mode: a file is made";
    $fleet->wait_metric('puts_total{result="failed"}', 1);
    is $fleet->metric('breaker{tier="fleet",way="put"}'), 0,
        "$mode: others are stored";
    is $t->helper_json('/v1/status')->{tiers}[0]{not_stored}, 1,
        "$mode: the status counts it";
    $fleet->wait_log(qr/v9\.0\.0\.symcache" is not stored: $mode: the store, or/);
}

# --- one that is refused for what it is, as a proxy does: others are not held
# up for ever.  A reload closes the breaker, as an answer to another file does.

$s3->fail('403 Forbidden');
$fleet->machine;
is $fleet->ask($key), 200, 'refused: a file is made';
$fleet->wait_metric('breaker{tier="fleet",way="put"}', 1);
for (2, 3) {
    is $fleet->metric('puts_total{result="failed"}'), 0, 'and waits';
    $t->reload_symcached($fleet->config);
    $fleet->wait_metric('breaker{tier="fleet",way="put"}', 1);
}
$fleet->wait_metric('puts_total{result="failed"}', 1);
is $fleet->metric('queue{tier="fleet"}'), 0, 'it is given up after three times';

# --- keys that expire

$s3->fail('expired');
sub expire {
    my ($next) = @_;
    unlink $s3->file($path);
    $t->write_file('token', "old\n");
    $fleet->machine(session_token => '@' . $t->path('token'));
    $t->write_file('token', "$next\n");
}
is ask_until(sub { expire('fresh') }, $key, \&none_failed), 200,
    'keys have expired: a file is made';
$fleet->wait_metric('puts_total{result="stored"}', 1);
is requests(), 'GET GET PUT', 'they are read again, and the request is sent again';
is $fleet->metric('breaker{tier="fleet",way="get"}'), 0, 'and nothing has failed';
is ask_until(sub { expire('old') }, sub { $fleet->absent },
    sub { $fleet->metric('breaker{tier="fleet",way="get"}') }), 404,
    'keys have expired and are the same';
is requests(), 'GET', 'one request';
$fleet->wait_log(qr/403 ExpiredToken, and the configuration has no other/);

# their files are renewed one after the other: between, the new key has the
# secret of the former

$s3->fail('');
my %file = map { $_ => $t->path($_) } qw(access secret);
is ask_until(sub {
    $t->write_file('access', "AKIDformer\n");
    $t->write_file('secret', "former\n");
    $fleet->machine(access_key => "\@$file{access}", secret_key => "\@$file{secret}");
    $t->write_file('access', "$access\n");
}, sub { $fleet->absent },
    sub { $fleet->metric('breaker{tier="fleet",way="get"}') }), 404,
    'half of the keys is renewed';
is requests(), 'GET GET', 'read again, and not right yet';
$fleet->wait_log(qr/not read for 30 s: 403 SignatureDoesNotMatch/);
$t->write_file('secret', "$secret\n");
unlink $s3->file($path);
is $fleet->ask($key), 200, 'the other half is: a file is made';
$fleet->wait_metric('puts_total{result="stored"}', 1);
is requests(), 'PUT PUT', 'and stored with what was read again';

# --- at a stop: what is being stored is given a moment, and not more

# The log of a machine that stops while a store holds its PUT, until $then.
sub stops {
    my ($then) = @_;
    unlink $s3->file($path);
    $s3->fail('held');
    requests();
    $fleet->machine;
    $fleet->ask($key);
    my $before = length $t->helper_log;
    my $asked = '';
    $t->wait_until('a PUT', sub { ($asked .= requests()) =~ /PUT/ });
    my $pid = delete $t->{helper};
    kill 'TERM', $pid;
    $t->wait_until('it stops', sub { substr($t->helper_log, $before) =~ /received, stopping/ });
    $then->();
    waitpid $pid, 0;
    return substr $t->helper_log, $before;
}

# a loaded computer may take longer than that moment; then it is tried again
my $log;
for (1 .. 5) {
    $log = stops(sub { $s3->fail('') });
    last if $log !~ /not stored any more/;
}
unlike $log, qr/not stored any more/, 'a stop lets what is sent end';
ok -e $s3->file($path), 'and it is stored';
$log = stops(sub {});
like $log, qr/: 1 files are not stored any more/, 'not for ever: what is left is told';
like $log, qr/\] \d+: stopped$/m, 'and it has stopped';
$s3->fail('');
$t->wait_until('the store ends the PUT that it has held',
    sub { -e $s3->file($path) });
unlink $s3->file($path);

# --- a PUT that another request to the object has broken off

$fleet->machine;
$s3->fail('409 ConditionalRequestConflict');
is $fleet->ask($key), 200, 'made, while another machine removes the object';
$fleet->wait_metric('puts_total{result="exists"}', 1);
$s3->fail('');
$fleet->grow_old;
is $fleet->ask($key), 200, 'used later';
$fleet->wait_metric('puts_total{result="stored"}', 1);
ok -e $s3->file($path), 'and stored then';
unlink $s3->file($path);

# --- an upload removes what was made of another file

$s3->fail('');
mkdir $t->path($_) or die for qw(uploads uploads/.spool);
$fleet->{sources} = ['local', 'uploads'];
$fleet->{more} = { admin_listen => 'unix:' . $t->path('a.sock'),
                   uploads => { root => $t->path('uploads') } };
sub upload {
    my ($n) = @_;
    my $file = $t->write_file("uploads/.spool/$n",
        substr($t->read_file($t->data('pdb/crash.pdb')), 0, -1) . chr $n);
    return $t->http($t->path('a.sock'), 'PUT',
        "/v1/uploads/$key/crash.pdb?force=1", 'Content-Length: 0',
        "X-Symcached-Body: $file")->{status};
}

$s3->save($path, $headers, $body);
$fleet->machine;
requests();
is upload(1), 201, 'uploaded';
$fleet->wait_metric('puts_total{result="removed"}', 2);
is requests(), 'HEAD PUT HEAD PUT DELETE DELETE',
    'file and entry of the index are stored, and of each transcoder one removed';
ok !-e $s3->file($path), 'the object is gone';
is $fleet->ask($key), 200, 'made again';
$fleet->wait_metric('puts_total{result="stored"}', 3);

$s3->fail('no-delete');
is upload(2), 201, 'uploaded by keys that may not delete';
$fleet->wait_metric('puts_total{result="failed"}', 2);
is $fleet->metric('breaker{tier="fleet",way="put"}'), 0, 'which is not the tier\'s fault';
requests();
is $fleet->ask($key), 200, 'made again';
$fleet->wait_metric('puts_total{result="stored"}', 5);
is requests(), 'PUT', 'and stored over the other, which is not read';
my ($last) = reverse $s3->requests;
is $last->{headers}{'if-none-match'}, undef, 'without a condition';

# --- a pause that it wants: last, as that is its host's also after a reload

$s3->fail('pause');
$fleet->machine;
$fleet->ask($fleet->absent) for 1 .. 3;
my $unasked = $fleet->absent;
$fleet->ask($unasked);
is $fleet->why($unasked)->{tier}{detail}, 'not asked: the server wants a pause',
    'why it was not asked';

$t->finish;
done_testing;
