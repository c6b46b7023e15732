#!/usr/bin/env perl

# Uploads by Pyroscope's DebuginfoService v1alpha1, as profilecli sends them
# (cmd/profilecli/debuginfo.go of grafana/pyroscope): calls of the Connect
# protocol, in protobuf by its encoding rules and in JSON.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP qw(decode_json encode_json);
use MIME::Base64 qw(encode_base64);
use Test::More;
use Test::Symcache;
use Test::Uploads;

my ($cc) = grep { -x } map { ("$_/cc", "$_/gcc") } split /:/, $ENV{PATH};
plan skip_all => 'no C compiler here' unless $cc;

my $u = Test::Uploads->new;
my $t = $u->t;
my $dir = $t->dir;
my $id = '0123456789abcdef0123456789abcdef01234567';
my @bearer = ('Authorization: Bearer 0123456789abcdef0123456789abcdef');
my @proto = ('Content-Type: application/proto', 'Connect-Protocol-Version: 1');
my @json = ('Content-Type: application/json');

# A program with this build id.
sub program {
    my ($name, $build) = @_;
    $t->write_file("$name.c", "int main(void) { return 0; }\n");
    system($cc, '-g', '-o', "$dir/$name", "-Wl,--build-id=0x$build", "$dir/$name.c") == 0
        or plan skip_all => 'cc makes no programs';
    return $t->read_file($name);
}
my $elf = program('app', $id);

# protobuf: a field of bytes
sub field { my ($n, $bytes) = @_; chr($n << 3 | 2) . chr(length $bytes) . $bytes }
sub file_message { my ($build, $name, $type) = @_;
    field(1, field(1, $build) . field(4, $name) . "\x28" . chr($type)) }

sub call {
    my ($method, $body, @headers) = @_;
    return $u->request('POST', "/debuginfo.v1alpha1.DebuginfoService/$method", $body,
        @headers ? @headers : (@proto, @bearer));
}
sub code { $_[0]{json} ? $_[0]{json}{code} : 'none' }

# --- an upload

my $r = call('ShouldInitiateUpload', file_message($id, 'app', 1));
is $r->{status}, 200, 'ShouldInitiateUpload' or diag $r->{raw};
is Test::Symcache::header($r, 'Content-Type'), 'application/proto', 'in protobuf';
my $reason = 'no such file was uploaded yet';
is $r->{body}, "\x08\x01" . field(2, $reason), 'it is wanted';
$r = call('UploadFinished', field(1, $id));
is_deeply [$r->{status}, code($r)], [400, 'failed_precondition'], 'it is not there yet';
$r = call("Upload/$id", $elf, @bearer);
is $r->{status}, 200, 'Upload' or diag $r->{raw};
is $t->read_file("uploads/app/elf-buildid-$id/app"), $elf, 'the file is stored';
$r = call('UploadFinished', field(1, $id));
is_deeply [$r->{status}, $r->{body}, Test::Symcache::header($r, 'Content-Type')],
    [200, '', 'application/proto'], 'UploadFinished';
$r = call('ShouldInitiateUpload', file_message($id, 'app', 1));
is $r->{body}, field(2, 'a file of this name with this build id was uploaded already'),
    'the same once more is not wanted';
is substr(call('ShouldInitiateUpload', file_message($id, 'app.debug', 2))->{body}, 0, 2),
    "\x08\x01", 'one of another name is';
is $t->helper('GET', "/v1/executable/default/_/buildid-$id?version=1.0.0&wait=30")->{status},
    200, 'debuginfod has it by its build id';

# --- JSON, Basic, labels

my $other = 'fedcba9876543210fedcba9876543210fedcba98';
my $second = program('other', $other);
my @basic = ('Authorization: Basic '
    . encode_base64('tenant:0123456789abcdef0123456789abcdef', ''));
my $begin = encode_json({ file => { gnuBuildId => uc $other, name => 'other',
    type => 'TYPE_EXECUTABLE_FULL' } });
$r = call('ShouldInitiateUpload', $begin, @json, @basic);
is_deeply $r->{json}, { shouldInitiateUpload => JSON::PP::true(), reason => $reason },
    'in JSON, with a token as the password' or diag $r->{raw};
is call("Upload/$other", $second, @basic, 'X-Symcached-Labels: build=9')->{status}, 200,
    'sent with a label';
is $t->read_file('uploads/.builds/%/%/9'), "other/elf-buildid-$other/other\n",
    'the build has it';
is_deeply call('UploadFinished', encode_json({ gnuBuildId => $other }), @json, @basic)->{json}, {},
    'finished';
ok call('ShouldInitiateUpload', $begin, @json, @basic)->{json}{shouldInitiateUpload},
    'wanted again without labels, to be kept when the build goes';
ok call('ShouldInitiateUpload', encode_json({ file => { gnuBuildId => $id, name => 'app',
    type => 'TYPE_EXECUTABLE_FULL' } }), @json, @basic, 'X-Symcached-Labels: build=9')
    ->{json}{shouldInitiateUpload}, 'a file without labels is wanted for a build';

# --- what is refused

for ([[@proto], 'no token'], [[@proto, 'Authorization: Bearer x'], 'an unknown one'],
     [[@proto, 'Authorization: Basic !'], 'no Base64']) {
    $r = call('ShouldInitiateUpload', file_message($id, 'x', 1), @{ $_->[0] });
    is_deeply [$r->{status}, code($r)], [401, 'unauthenticated'], $_->[1];
}
for (["\x0a", 'a message that is cut off'], ["\x0a\x7f", 'a length beyond the end'],
     ["\x0b", 'a group'], ["\x0a\x03\x0a\x01x", 'a build id of one byte'],
     ["\xff" x 20, 'an endless number']) {
    $r = call('ShouldInitiateUpload', $_->[0]);
    is_deeply [$r->{status}, code($r)], [400, 'invalid_argument'], $_->[1];
}
is call('ShouldInitiateUpload', '')->{body},
    field(2, 'a file without a GNU build id is not found again'), 'no build id';
$r = call('ShouldInitiateUpload', 'x', 'Content-Type: application/grpc', @bearer);
is_deeply [$r->{status}, code($r)], [415, 'unknown'], 'gRPC';
$r = call('ShouldInitiateUpload', 'x', @proto, @bearer, 'Content-Encoding: gzip');
is_deeply [$r->{status}, code($r)], [501, 'unimplemented'], 'a packed message';
$r = call('Upload/' . '12' x 20, $elf, @bearer);
is_deeply [$r->{status}, code($r)], [412, 'failed_precondition'], 'a file that was not announced';
call('ShouldInitiateUpload', file_message('12' x 20, 'app', 1));
$r = call('Upload/' . '12' x 20, $elf, @bearer);
is_deeply [$r->{status}, code($r)], [400, 'invalid_argument'], 'a file of another build id';
$r = call('Upload/' . '12' x 20, 'no ELF', @bearer);
is_deeply [$r->{status}, code($r)], [400, 'invalid_argument'], 'no file of a known format';
$r = call('UploadFinished', field(1, '12' x 20));
is_deeply [$r->{status}, code($r)], [400, 'failed_precondition'], 'which is not finished';
$r = call('UploadFinished', field(1, '34' x 20));
is_deeply [$r->{status}, code($r)], [404, 'not_found'], 'nor is what was not begun';
$r = call('DeleteDebuginfo', field(1, $id));
is_deeply [$r->{status}, code($r)], [403, 'permission_denied'], 'an uploader removes nothing';
$r = call('ListDebuginfo', '');
is_deeply [$r->{status}, code($r)], [501, 'unimplemented'], 'no list';

# --- a client that is killed again and again finishes nothing, and may go on

my $refused = 0;
$refused += call('ShouldInitiateUpload', file_message(sprintf('%040x', $_), 'app', 1))->{status} != 200
    for 1 .. 1001;
is $refused, 0, 'more than 1000 files that are begun: the oldest is forgotten';
$r = call('Upload/' . sprintf('%040x', 1), $elf, @bearer);
is_deeply [$r->{status}, code($r)], [412, 'failed_precondition'], '... and has to be begun again';

# --- a full disk

call('ShouldInitiateUpload', file_message('56' x 20, 'app', 1));
$t->reload_symcached({ %{ $u->config },
    cache => { min_free => '1000t', clean_every => '1h' } });
$r = call('Upload/' . '56' x 20, program('full', '56' x 20), @bearer);
is_deeply [$r->{status}, code($r)], [507, 'resource_exhausted'], 'a full disk'
    or diag $r->{raw};

$u->t->finish;
done_testing;
