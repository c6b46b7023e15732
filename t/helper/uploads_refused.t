#!/usr/bin/env perl

# What an operator sees of uploads that are refused: the log and the metrics.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use MIME::Base64 qw(encode_base64);
use Test::Mount;
use Test::More;
use Test::Symcache;
use Test::Uploads;

my $u = Test::Uploads->new(cache => { min_free => '1m' }, prepare => sub {
    Test::Mount::small($_[0]->path('uploads'), '8m');
});
my $t = $u->t;
my $dir = $t->dir;
my $path = "crash.pdb/$Test::Symcache::key{'crash.pdb'}/crash.pdb";
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));

sub refused { $t->metric(qq(symcached_uploads_refused_total{reason="$_[0]"})) }

# --- tokens, in each protocol

my $wrong = 'wrong0wrong0wrong';
my $names = '/api/0/organizations/acme/chunk-upload/';
my @ways = (
    [401, 'sentry-cli', 'GET', $names, '', "Authorization: Bearer $wrong"],
    [403, 'a file', 'PUT', "/symbols/$path", $pdb, "Auth-Token: $wrong-ci"],
    [403, 'a look', 'HEAD', "/symbols/$path", '', "Auth-Token: $wrong"],
    [403, 'a file without a token', 'PUT', "/symbols/$path", $pdb],
    [403, 'an archive', 'POST', '/upload/', 'x', "Auth-Token: $wrong"],
    [403, 'a package', 'PUT', '/api/v2/symbolpackage', 'x', "X-NuGet-ApiKey: $wrong"],
    [403, 'Tecken, version 2', 'POST', '/upload/v2/', '{}', "Auth-Token: $wrong"],
    [403, 'symupload', 'POST', "/symupload/v1/uploads:create?key=$wrong", ''],
    [403, 'a symbfile', 'POST', '/api/symbols-ranges', 'x', 'Authorization: APIKey '
        . encode_base64("id:$wrong", '')],
    [401, 'Pyroscope', 'POST', '/debuginfo.v1alpha1.DebuginfoService/ShouldInitiateUpload',
     '{}', 'Content-Type: application/json', "Authorization: Bearer $wrong"],
);
my $n = 0;
for my $way (@ways) {
    my ($status, $name, @request) = @$way;
    is $u->request(@request)->{status}, $status, "$name: $status";
    is refused('token'), ++$n, '... counted';
}
my @lines = $t->helper_log =~ /^(.*"uploads\.tokens".*)$/mg;
is @lines, 1, 'one line of the log' or diag $t->helper_log;
like $lines[0], qr{\[warn\].*upload: "/v1/sentry/organizations/acme/chunk-upload/" is refused, its token is none of}, '... which tells of the first';
unlike $t->helper_log, qr/wrong0|\Q${\encode_base64("id:$wrong", '')}/, '... and has no token';
is $u->put($path, $pdb)->{status}, 201, 'a token that is known';
is refused('token'), $n, '... is not counted';

# --- a request that is wrong, and a file that is

is $u->put("$path?product=app", $pdb)->{status}, 400, 'labels without a build';
like $t->helper_log, qr/upload user=ci\@example\.com status=400 labels need/, '... logged';
is refused('content'), 1, '... and counted';
my $text = 'just a text';
my $sum = Digest::SHA::sha1_hex($text);
my @bearer = ('Authorization: Bearer 0123456789abcdef0123456789abcdef');
is $u->request('POST', $names, "--b\r\nContent-Disposition: form-data; name=\"file\"; "
    . "filename=\"$sum\"\r\n\r\n$text\r\n--b--\r\n",
    'Content-Type: multipart/form-data; boundary=b', @bearer)->{status}, 200, 'a chunk';
my $got;
$t->wait_until('it is not taken', sub {
    $got = $u->request('POST', '/api/0/projects/acme/web/files/difs/assemble/',
        JSON::PP::encode_json({ $sum => { name => 'some.txt', chunks => [$sum] } }),
        @bearer)->{json}{$sum};
    $got->{state} eq 'error';
});
like $t->helper_log, qr/\[info\].*upload user=ci\@example\.com status=400 file=some\.txt is not taken: \Q$got->{detail}\E$/m,
    "a file of sentry-cli: the log has what the client is told";
is refused('content'), 2, '... and it is counted';

# --- a disk of uploads that is full, and no other one

sub becomes {
    my ($name, $why) = @_;
    my $r;
    ok $t->wait_until($name, sub {
        $r = $t->helper('GET', '/readyz');
        (JSON::PP::decode_json($r->{body})->{uploads} // '') eq $why;
    }), $name;
    is $r->{status}, 200, '... lookups come here all the same';
    is $t->metric('symcached_uploads_ready'), $why ? 0 : 1, '... the metric';
    my $status = JSON::PP::decode_json($t->helper('GET', '/v1/status')->{body});
    is $status->{uploads_not_ready}, $why, '... the status';
    is $status->{not_ready}, '', '... which has no more of lookups';
    my $ctl = $t->program('symcachectl');
    return ($status, scalar `$ctl status --socket unix:$dir/h.sock`);
}

my ($status, $shown) = becomes('room', '');
unlike $shown, qr/uploads/, 'symcachectl status has nothing to say of uploads';
is_deeply [map { @$_{qw(kind store path)} } @{ $status->{disks} }],
    ['store', 'default', $t->path('store'), 'downloads', '', $t->path('downloads'),
     'uploads', '', $t->path('uploads')], 'disks';
my $filler = $t->write_file('uploads/filler', 'x' x (4.8 * 1024 * 1024));
$path =~ s/crash/other/g;
my $r = $u->put($path, $pdb);
is $r->{status}, 507, 'no room for an upload' or diag $r->{raw};
is refused('no-room'), 1, '... counted';
ok $t->wait_until('it is logged', sub { $t->helper_log =~ m{\[error\].*upload file=\Q$path\E: no room in "\Q$dir\E/uploads": \d+ bytes are free now, cache\.min_free keeps 1048576 \(1 such uploads since this was last said\)$}m }), '... logged with the folder and the limit';
is $u->put($path, $pdb)->{status}, 507, 'once more';
is refused('no-room'), 2, '... counted';
is @{[$t->helper_log =~ /no room in/g]}, 1, '... and not logged so soon';
$t->write_file('uploads/filler2', 'x' x (1.4 * 1024 * 1024));
($status, $shown) = becomes('less than cache.min_free', 'no-room');
like $shown, qr{^  uploads are refused: no-room\n    \Q$dir\E/uploads: No space left on device, \d+ bytes free, cache\.min_free keeps 1048576$}m, 'symcachectl status shows it';
my $all = 0;
$all += refused($_) for qw(token content conflict no-room failed);
is $status->{jobs}{uploads_refused}, $all, 'the status page has how many were refused';
like $t->helper_log, qr{\[error\].*uploads are refused \(no-room\): "\Q$dir\E/uploads" takes no files: \d+ bytes free, cache\.min_free keeps 1048576 \(28}, '... as does the log';
unlink $filler, $t->path('uploads/filler2');
becomes('room again', '');
is $u->put($path, $pdb)->{status}, 201, 'an upload is stored';

$t->stop_nginx;
is $t->stop_symcached, 0, 'stopped';
Test::Mount::gone($t->path('uploads'));
$t->finish;
done_testing;
