#!/usr/bin/env perl

# What an operator sees of uploads that are refused: the log and the metrics.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use MIME::Base64 qw(encode_base64);
use Test::More;
use Test::Symcache;
use Test::Uploads;

my $u = Test::Uploads->new;
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

$t->finish;
done_testing;
