#!/usr/bin/env perl

# Parts of a symbfile that come to different machines of a fleet: whoever has
# taken the last one finds the others in the tier, and all machines have the
# names; with parts in any order, twice, and to two machines at once.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use List::Util qw(shuffle);
use MIME::Base64 qw(decode_base64 encode_base64 encode_base64url);
use Test::More;
use Test::S3;
use Test::Symcache;
use Test::Uploads;

my $token = '0123456789abcdef0123456789abcdef';
my $u = Test::Uploads->new(inputs => ['symbfile']);
my $m1 = $u->t;
my @machines = ($m1, Test::Symcache->new, Test::Symcache->new);
my $ranges = $m1->read_file($m1->data('convert/symbfile/ranges.symbfile'));
mkdir $m1->path('tier') or die;
for my $m (@machines[1, 2]) {
    mkdir $m->path($_) or die for qw(uploads empty);
}
my $s3 = Test::S3->new($m1, region => 'eu-west-1',
    secrets => { AKIDexample => 'secret' });
my %tiers = (
    folder => { type => 'filesystem', path => $m1->path('tier') },
    bucket => { type => 's3', bucket => 'sym', region => 'eu-west-1',
        endpoint => $s3->url, path_style => JSON::PP::true(),
        access_key => 'AKIDexample', secret_key => 'secret' },
);

sub start {
    my ($m, $tier) = @_;
    my $c = $u->config_of($m);
    $c->{uploads}{peers} = [map { 'unix:' . $_->path('a.sock') } @machines];
    $c->{tiers}{fleet} = $tiers{$tier} // $tier;
    $c->{stores}{default}{tier} = 'fleet';
    $m->start_symcached($c);
}

# Sends a part to a machine, as its nginx would; reads the answer later.
my $n = 0;
sub begin {
    my ($m, $id, $part, $parts, $body) = @_;
    my $file = $m1->write_file('uploads/.spool/' . ++$n, $body);
    my $s = Test::Symcache::connect_to($m->path('u.sock')) or die;
    print $s Test::Symcache::request_text('POST', '/v1/symbols-ranges',
        "FileID: $id", "FilePart: $part", "FileParts: $parts",
        'Authorization: APIKey ' . encode_base64("ci:$token", ''),
        "X-Symcached-Body: $file", 'Content-Length: 0');
    $s->flush;
    return $s;
}
sub end { $m1->read_response($_[0], 'POST') }
sub push_part { end(begin(@_)) }
# bytes of ids, each of another file
my $ids = 0;
sub new_id { encode_base64url(pack 'N4', 1, 2, 3, ++$ids) }
sub hex_of { unpack 'H*', decode_base64($_[0] =~ tr{-_}{+/}r . '==') }
sub names {
    my ($m, $id) = @_;
    my $r = $m->helper('GET', '/v1/symcache/default/_/hash-' . hex_of($id)
        . '?version=9.0.0&wait=60');
    return $r->{status} if $r->{status} != 200;
    my ($file) = glob $m->path('store/_/hash-' . hex_of($id) . '/*.symcache');
    return qx{'@{[$m->program('symcachectl')]}' lookup '$file' 0x2024};
}
sub cut {
    my ($parts) = @_;
    my %inner; # a part has a byte at least
    $inner{ 1 + int rand(length($ranges) - 1) } = 1 while keys %inner < $parts - 1;
    my @at = (0, (sort { $a <=> $b } keys %inner), length $ranges);
    return map { substr $ranges, $at[$_], $at[$_ + 1] - $at[$_] } 0 .. $parts - 1;
}

$m1->stop_symcached;
for my $tier (sort keys %tiers) {
    start($_, $tier) for @machines;

    my $id = new_id();
    my @parts = cut(3);
    is push_part($machines[0], $id, 0, 3, $parts[0])->{status}, 200, "$tier: a part";
    is push_part($machines[1], $id, 2, 3, $parts[2])->{status}, 200, '... to another machine';
    is names($machines[2], $id), 404, '... not all are there';
    is push_part($machines[2], $id, 1, 3, $parts[1])->{status}, 200, '... the last one';
    like names($_, $id), qr/vec_push.*run_loop/s, '... and every machine has the names'
        for @machines;
    is $machines[2]->read_file('uploads/_/hash-' . hex_of($id) . '/_.symbfile'),
        $ranges, '... of the whole file';

    # any order, cut anywhere, some twice
    for (1 .. 5) {
        $id = new_id();
        my $parts = 2 + int rand 6;
        @parts = cut($parts);
        my @order = shuffle(0 .. $parts - 1, int rand $parts);
        my @status = map { push_part($machines[rand 3], $id, $_, $parts,
            $parts[$_])->{status} } @order;
        is "@status", join(' ', (200) x @order), "$tier: $parts parts: @order";
        like names($machines[rand 3], $id), qr/vec_push.*run_loop/s, '... and names';
    }

    # at once
    for (1 .. 5) {
        $id = new_id();
        @parts = cut(3);
        my @open = map { begin($machines[$_], $id, $_, 3, $parts[$_]) } 0 .. 2;
        my @status = map { end($_)->{status} } @open;
        is "@status", '200 200 200', "$tier: three machines at once";
        like names($machines[rand 3], $id), qr/vec_push.*run_loop/s, '... and names';
    }
    $_->stop_symcached for @machines;
}

# --- the tier does not answer: the client tries again

start($_, 'bucket') for @machines;
my $id = new_id();
my @parts = cut(2);
is push_part($machines[0], $id, 0, 2, $parts[0])->{status}, 200, 'a part';
$s3->fail('503 SlowDown');
is push_part($machines[1], $id, 1, 2, $parts[1])->{status}, 503,
    'the tier does not answer';
$s3->fail('');
$m1->wait_until('it is taken', sub {
    push_part($machines[1], $id, 1, 2, $parts[1])->{status} == 200 });
like names($machines[2], $id), qr/vec_push.*run_loop/s, '... and has names later';

# --- the folder goes while a part is read from the tier, as when the file is removed

$id = new_id();
@parts = cut(2);
my $folder = $machines[1]->path('uploads/_/hash-' . hex_of($id));
is push_part($machines[0], $id, 0, 2, $parts[0])->{status}, 200, 'a part';
$s3->fail('held-parts');
my $last = begin($machines[1], $id, 1, 2, $parts[1]);
$m1->wait_until('the other part is asked for', sub {
    -e "$folder/_.symbfile.2-1" && (() = glob $machines[1]->path('uploads/.tmp/*/*/part')) });
system 'rm', '-r', $folder;
$s3->fail('');
my $r = end($last);
is $r->{status}, 503, '... without a folder, it cannot be kept' or diag $r->{raw};
$r = JSON::PP::decode_json($r->{body});
like $r->{error}{Text}, qr/the other parts are gone/, '... which the client is told';
is "$r->{status} $r->{error}{Code}", '503 503', '... in the form of the API';
like $machines[1]->helper_log, qr/status=503 uuid=\Q$r->{uuid}\E /,
    '... with the uuid that is in the log';
is push_part($machines[1], $id, 1, 2, $parts[1])->{status}, 200, '... and sent again';
like names($_, $id), qr/vec_push.*run_loop/s, '... there are names' for @machines;
$_->finish for reverse @machines;
done_testing;
