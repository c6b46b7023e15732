#!/usr/bin/env perl

# What Sentry's clients are told of files that take long to be assembled: the
# answer waits for a moment, also over a stop, a reload, and the end of clients.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib qw(memGzip);
use Digest::SHA qw(sha1_hex);
use JSON::PP qw(encode_json);
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;
use Test::Uploads;
use Test::Zip;
use Time::HiRes qw(time);

my $u = Test::Uploads->new(inputs => ['breakpad'], uploads => { parts_kept => '1h' });
my $t = $u->t;
my $dir = $t->dir;
my @bearer = ('Authorization: Bearer 0123456789abcdef0123456789abcdef');
my $api = '/api/0/organizations/acme';
my $assemble = '/api/0/projects/acme/web/files/difs/assemble/';
my $slow = 0;

sub text { sprintf "MODULE Linux x86_64 %032X0 a%d.so\nPUBLIC 1000 0 f\n", $_[0], $_[0] }

sub send_chunk {
    my ($bytes) = @_;
    my $sum = sha1_hex($bytes);
    my $r = $u->request('POST', "$api/chunk-upload/",
        "--b\r\nContent-Disposition: form-data; name=\"file_gzip\"; filename=\"$sum\"\r\n\r\n"
            . memGzip($bytes) . "\r\n--b--\r\n",
        'Content-Type: multipart/form-data; boundary=b', @bearer);
    die "chunk: $r->{status}" if $r->{status} != 200;
    return $sum;
}

# From now on uploads wait for another machine, which hears and never answers.
sub start_slow {
    my $config = $u->config;
    my $socket = "$dir/slow" . ++$slow;
    my $machine = Test::ScriptedServer->new(unix => $socket,
        script => sub { sleep 60 });
    $config->{uploads}{peers} = ["unix:$socket"];
    $t->stop_symcached;
    $t->start_symcached($config);
    return ($machine, $config);
}

sub ask {
    my ($sum, $name) = @_;
    return $u->begin('POST', $assemble,
        encode_json({ $sum => { name => $name, chunks => [$sum] } }), @bearer);
}

sub is_told {
    my ($machine, $n) = @_;
    $t->wait_until('the other machine hears of it', sub { $machine->requests >= $n });
}

# --- a file that takes longer than an answer may

my $sum = send_chunk(text(1));
my ($machine) = start_slow();
my $began = time;
my $r = $u->read(ask($sum, 'a1.so.sym'));
is $r->{json}{$sum}{state}, 'assembling', 'a slow file: the answer does not wait for ever';
cmp_ok time - $began, '>', 1.5, '... but for a moment';
$t->wait_until('it is there', sub {
    $u->read(ask($sum, 'a1.so.sym'))->{json}{$sum}{state} eq 'ok' });
$machine->stop;

# --- clients that go, and more than can wait

$sum = send_chunk(text(2));
($machine) = start_slow();
my $gone = ask($sum, 'a2.so.sym');
is_told($machine, 1);
close $gone;
$began = time;
my @answers = map { ask($sum, 'a2.so.sym') } 1 .. 24;
my $first = '';
vec($first, fileno $_, 1) = 1 for @answers;
select $first, undef, undef, 60;
cmp_ok time - $began, '<', 1.5, 'of 24 questions some are answered at once';
is_deeply [map { $u->read($_)->{json}{$sum}{state} =~ /^(?:assembling|ok)$/ ? () : $_ } @answers],
    [], '... and all are';
$machine->stop;

# --- a stop

$sum = send_chunk(text(3));
($machine) = start_slow();
my $answer = ask($sum, 'a3.so.sym');
is_told($machine, 1);
$t->stop_symcached;
is $u->read($answer)->{status}, 503, 'at a stop the client is told to come again';
$machine->stop;

# --- a configuration without uploads, also while a bundle is being listed

$t->start_symcached($u->config);
$sum = send_chunk(text(4));
my $bundle = "SYSB\2\0\0\0" . Test::Zip::zip(['files/_/_/a.js', 'f()'],
    ['manifest.json', encode_json({ files => { 'files/_/_/a.js' => {
        type => 'minified_source', url => '~/a.js' } } })]);
my $bundle_sum = send_chunk($bundle);
for my $what ('a file', 'a bundle') {
    ($machine, my $config) = start_slow();
    $answer = $what eq 'a file'
        ? ask($sum, 'a4.so.sym')
        : $u->begin('POST', "$api/artifactbundle/assemble/", encode_json({
            checksum => $bundle_sum, chunks => [$bundle_sum], version => 'web@1' }), @bearer);
    is_told($machine, 1);
    delete $config->{uploads};
    $config->{stores}{default}{sources} = ['empty'];
    $t->reload_symcached($config);
    $r = $u->read($answer);
    like $r->{body}, qr/the configuration has no \\"uploads\\"/,
        "$what: a reload without uploads";
    $machine->stop;
}
$t->wait_until('the bundle is listed where it is', sub {
    scalar(() = glob "$dir/uploads/.artifacts/release-*/$bundle_sum") });
pass 'the bundle is listed';
$t->stop_symcached;
$t->start_symcached($u->config);
is $u->read(ask($sum, 'a4.so.sym'))->{json}{$sum}{state}, 'ok', 'the file is there later';

ok $u->nothing_left, 'nothing is left of requests';

$t->finish;
done_testing;
