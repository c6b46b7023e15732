#!/usr/bin/env perl

# Texts that Breakpad's symupload uploads by -p sym-upload-v2.  Requests are as
# that program was recorded to send them, and answers are looked for by the
# patterns by which it does.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;
use Test::Uploads;

my $u = Test::Uploads->new(inputs => ['pdb', 'breakpad']);
my $t = $u->t;
my $dir = $t->dir;
my $id = '000102030405060708090A0B0C0D0E0F1';
my $text = "MODULE windows x86_64 $id crash.pdb\n"
    . "FILE 0 c:\\src\\crash.c\nFUNC 1000 10 0 main\n1000 10 7 0\n";
my $key = 'key=0123456789abcdef0123456789abcdef';
my $base = '/symupload/v1';

sub member {
    my ($r, $name) = @_;
    return $r->{status} == 200 && $r->{body} =~ /"\Q$name\E": "([^"]*)"/ ? $1
                                                                : $r->{status};
}
sub check { member($u->request('GET', "$base/symbols/$_[0]:checkStatus?" . ($_[1] // $key), ''), 'status') }
sub create { $u->request('POST', "$base/uploads:create?" . ($_[0] // $key), '') }
sub complete {
    my ($upload) = @_;
    return member($u->request('POST', "$base/uploads/$upload:complete?$key",
        "{ symbol_id: {debug_file: \"crash.pdb\", debug_id: \"$id\" }, "
        . 'symbol_upload_type: "BREAKPAD" }', 'Content-Type: application/son'), 'result');
}
# Sends a file by the URL that it is told; returns its key and the status.
sub send_file {
    my ($body) = @_;
    my $r = create();
    my ($url, $upload) = (member($r, 'uploadUrl'), member($r, 'uploadKey'));
    like $url, qr{^http://[^/]+\Q$base\E/uploads/\Q$upload\E:send$},
        'the URL is one that the client can reach';
    $url =~ s{^http://[^/]+}{};
    return ($upload, $u->request('PUT', $url, $body));
}

is check("crash.pdb/$id"), 'MISSING', 'before, the text is missing';
my ($upload, $r) = send_file($text);
is $r->{status}, 200, 'it is sent';
is complete($upload), 'OK', '... and stored';
is $u->stored, "crash.pdb/$id/crash.sym", '... where its first line says';
is check("crash.pdb/$id"), 'FOUND', 'now it is there';
is check("CRASH.PDB/\L$id"), 'FOUND', '... in any case';
is complete($upload), 404, 'what is completed is forgotten';
is $t->http("$dir/h.sock", 'GET',
    "/v1/symcache/default/crash.pdb/$id?version=9.0.0&wait=60")->{status}, 200,
    'a SymCache is made of it';

($upload) = send_file($text);
is complete($upload), 'DUPLICATE_DATA', 'the same bytes again';

# --- what is refused

($upload, $r) = send_file("no text\n");
is $r->{status}, 400, 'what is no text';
is complete($upload), 409, '... and is not complete';
($upload, $r) = send_file($t->read_file($t->data('pdb/crash.pdb')));
is $r->{status}, 400, 'a PDB, which would need a name';
like $r->{body}, qr/not Breakpad's text/, '... with the reason';
for my $bad ('', 'key=', 'key=wrong') {
    is create($bad)->{status}, 403, "create with '$bad'";
    is check("crash.pdb/$id", $bad), 403, "checkStatus with '$bad'";
}
is $u->request('PUT', "$base/uploads/" . 'a' x 32 . ':send', $text)->{status}, 404,
    'nothing is sent to a key that nobody was given';
is check("crash.pdb/xyz"), 400, 'an id that is none';
is $u->request('GET', "$base/symbols/a/b?$key", '')->{status}, 404, 'no verb';
is $u->request('POST', "$base/uploads/x:other?$key", '')->{status}, 404, 'another one';

# --- version 1: one form, as symupload sends it without -p, and no token

my $b = '--------------------------0123456789abcdef';
sub form_of {
    my ($name, $body) = @_;
    my $form = join '', map { "--$b\r\nContent-Disposition: form-data; name=\"$_->[0]\"\r\n\r\n"
        . "$_->[1]\r\n" } ['code_file', 'crash.exe'], ['cpu', 'x86_64'],
        ['debug_file', 'crash.pdb'], ['debug_identifier', $id], ['os', 'windows'];
    return "$form--$b\r\nContent-Disposition: form-data; name=\"$name\"; "
        . "filename=\"crash.sym\"\r\nContent-Type: application/octet-stream\r\n\r\n"
        . "$body\r\n--$b--\r\n";
}
my @form = ("Content-Type: multipart/form-data; boundary=$b", 'User-Agent: Breakpad/1.0 (Linux)');
my $v1 = $text =~ s/0F1 crash/0F2 crash/r;
is $u->request('POST', '/upload/', form_of('symbol_file', $v1), @form)->{status}, 403,
    'version 1 has no token';
$r = $u->request('POST', '/upload/', form_of('symbol_file', $v1), @form,
    @Test::Uploads::token, 'X-Symcached-Labels: build=v1');
is $r->{status}, 200, 'with one that nginx adds, 200: symupload calls all else a failure' or diag $r->{raw};
is $t->read_file('uploads/crash.pdb/' . $id =~ s/1\z/2/r . '/crash.sym'), $v1,
    '... it is stored where its first line says';
is $t->read_file('uploads/.builds/%/%/v1'), 'crash.pdb/' . $id =~ s/1\z/2/r . "/crash.sym\n",
    '... with its label';
$r = $u->request('POST', '/upload/', form_of('symbol_file', "no text\n"), @form,
    @Test::Uploads::token);
is $r->{status}, 400, 'another file is refused';
like $r->{json}{error}, qr/upload\.sym/, '... by the core';
is $u->request('POST', '/upload/', form_of('other_file', $v1), @form, @Test::Uploads::token)
    ->{status}, 400, 'a field of another name is no text';

# --- who begins many uploads takes no place of others

my ($other) = send_file($text); # with the other token's user, it stays
is $u->request('POST', "$base/uploads/$other:complete?key=try0123456789abcdef", '')->{status},
    404, 'an upload that another user has begun is not completed';
my @begun = map { member(create('key=try0123456789abcdef'), 'uploadKey') } 0 .. 101;
is scalar(grep { /^[0-9a-f]{32}$/ } @begun), 102, 'each upload can be begun';
is_deeply [map { $u->request('POST', "$base/uploads/$_:complete?key=try0123456789abcdef", '')
    ->{status} } @begun[0, 1, 2, 101]], [404, 404, 409, 409],
    'the oldest of that user are forgotten, the last 100 are not';
is complete($other), 'DUPLICATE_DATA', 'that of another user is not';

# --- a reload between two steps takes the uploads away

my $begun = member(create(), 'uploadKey');
my $config = $u->config;
delete $config->{uploads};
$config->{stores}{default}{sources} = ['empty'];
$t->reload_symcached($config);
$r = $u->request('PUT', "$base/uploads/$begun:send", $text);
is $r->{status}, 404, 'a file that was begun before';
like $r->{body}, qr/the configuration has no \\"uploads\\"/, '... is told why it is not taken';
$t->reload_symcached($u->config);
is $u->request('PUT', "$base/uploads/$begun:send", $text)->{status}, 200, 'and can be sent later';

# --- a token that is revoked meanwhile: what it has begun is not taken

$begun = member(create(), 'uploadKey');
$t->write_file('tokens', "fedcba9876543210fedcba9876543210 upload other\@example.com\n");
$t->reload_symcached($u->config);
$r = $u->request('PUT', "$base/uploads/$begun:send", $text);
is $r->{status}, 403, 'a file that a revoked token has begun' or diag $r->{raw};
$t->write_file('tokens', "fedcba9876543210fedcba9876543210 try ci\@example.com\n");
$t->reload_symcached($u->config);
is $u->request('PUT', "$base/uploads/$begun:send", $text)->{status}, 403,
    '... or one that is for try builds only now';
$t->write_file('tokens', "fedcba9876543210fedcba9876543210 upload ci\@example.com\n");
$t->reload_symcached($u->config);
is $u->request('PUT', "$base/uploads/$begun:send", $text)->{status}, 200,
    'another token of the same user';

$t->finish;
done_testing;
