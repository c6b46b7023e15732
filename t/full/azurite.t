#!/usr/bin/perl

# The azure source before Azurite, Microsoft's own emulator of the storage: it
# checks signatures and tokens with its own code.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use HTTP::Tiny;
use JSON::PP ();
use MIME::Base64 qw(encode_base64);
use POSIX ();
use Test::More;
use Test::Peer;
use Test::SharedKey;
use Test::SourceCase;
use Test::Symcache;

my $azurite = Test::Peer::folder('azurite');
my $t = Test::Symcache->new;
my $id = $Test::SourceCase::id;
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my ($account, $key) = ('account1', encode_base64('k' x 64, ''));

my $pid = $t->spawn('azurite.out', { AZURITE_ACCOUNTS => "$account:$key" },
    '/usr/bin/env', 'node',
    "$azurite/node_modules/azurite/dist/src/blob/main.js", '--blobPort', 0,
    '--inMemoryPersistence', '--disableTelemetry', '--silent');
my $server = $t->wait_until('Azurite listens', sub {
    die $t->read_file('azurite.out') unless Test::Symcache::alive($pid);
    ($t->read_file('azurite.out') // '') =~
        m{successfully listens on (http://127\.0\.0\.1:\d+)} && $1;
});
my $endpoint = "$server/$account";

# --- what it has

my $client = HTTP::Tiny->new;

sub request {
    my ($method, $path, $headers, $content) = @_;
    my %h = %{ $headers // {} };
    if ($method eq 'PUT') {
        $h{'content-type'} //= 'application/octet-stream';
        $h{'content-length'} = length($content // '');
    }
    my $req = Test::SharedKey::sign({ method => $method,
        uri => "/$account$path", headers => \%h }, $account, $key);
    return $client->request($method, "$endpoint$path",
        { headers => $req->{headers}, content => $content // '' });
}

sub escape { join '/', map { Test::SourceCase::escape($_) } split m{/}, $_[0] }

sub put {
    my ($container, $prefix, $name) = @_;
    my $r = request('PUT', '/' . escape("$container/$prefix$name/$id/$name"),
                    { 'x-ms-blob-type' => 'BlockBlob' }, $pdb);
    is $r->{status}, 201, "put $prefix$name" or diag $r->{content};
}

my $odd = "odd ~#+%&()'\x{c3}\x{a9}.pdb";
for my $container (qw(symbols open)) {
    my $r = request('PUT', "/$container?restype=container",
        { $container eq 'open' ? ('x-ms-blob-public-access' => 'blob') : () });
    is $r->{status}, 201, "container $container" or diag $r->{content};
    put($container, '', $_) for 'plain.pdb', $odd;
}
put('symbols', "a b/\x{c3}\x{a9}#/", 'plain.pdb');

my $r = request('GET', "/symbols/plain.pdb/$id/plain.pdb",
                { range => 'bytes=100-199' });
is "$r->{status} " . length $r->{content}, '206 100',
    'the range that t/helper/source_azure.t has signed is signed right'
    or diag $r->{content};

# --- tokens, of a container

sub sas {
    my ($end, $permissions) = @_;
    my $expiry = POSIX::strftime('%Y-%m-%dT%H:%M:%SZ', gmtime $end);
    my $version = '2019-07-07';
    my $text = join "\n", $permissions, '', $expiry,
        "/blob/$account/symbols", '', '', '', $version, 'c', ('') x 6;
    return "sv=$version&sr=c&sp=$permissions&se="
        . Test::SourceCase::escape($expiry) . '&sig='
        . Test::SourceCase::escape(Test::SharedKey::signature($text, $key));
}

my %open = (type => 'azure', account => $account, container => 'symbols',
            endpoint => $endpoint, internal => JSON::PP::true());
my %sources = (
    key => { %open, account_key => $key },
    prefix => { %open, account_key => $key, prefix => "/a b/\x{c3}\x{a9}#/" },
    headers => { %open, account_key => $key,
                 headers => { 'x-ms-client-request-id' => 'one' } },
    sas => { %open, sas_token => sas(time + 3600, 'r') },
    open => { %open, container => 'open' },
    wrongkey => { %open, account_key => encode_base64('other', '') },
    expired => { %open, sas_token => sas(time - 3600, 'r') },
    writes => { %open, sas_token => sas(time + 3600, 'w') },
    nobody => { %open },
    nocontainer => { %open, account_key => $key, container => 'other' },
);

my $c;
sub case {
    my ($name) = @_;
    $t->stop_symcached;
    Test::Symcache::remove_tree($t->path($_)) for qw(store downloads);
    $c = Test::SourceCase->new($t, sources => { $name => $sources{$name} });
}

for my $name (qw(key prefix headers sas open)) {
    case($name);
    $c->found('plain.pdb', "$name: accepted");
    $c->found($odd, "$name: odd characters") if $name ne 'prefix';
    $c->absent('none.pdb', qr/^404 BlobNotFound/, "$name: no such blob");
}
for (['wrongkey', qr/^403 AuthorizationFailure|^403 AuthenticationFailed/],
     ['expired', qr/^403 Auth/], ['writes', qr/^403 Auth/],
     ['nobody', qr/^(?:403|404 ResourceNotFound|409)/],
     ['nocontainer', qr/^404 ContainerNotFound/]) {
    case($_->[0]);
    $c->undecided('none.pdb', 'failed', $_->[1], "$_->[0]: no final answer");
}

$t->stop_symcached;
$t->stop_pid($pid, 'TERM');
$t->finish;
done_testing;
