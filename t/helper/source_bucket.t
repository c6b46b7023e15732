#!/usr/bin/perl

# Object stores as sources: S3 and Google Cloud Storage, before servers that
# check signatures and tokens.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use POSIX ();
use Test::More;
use Test::ScriptedServer;
use Test::SigV4;
use Test::SourceCase;
use Test::Symcache;
use Time::Local qw(timegm);

# --- the checker, with the examples of the specification

{
    my %keys = (secrets => { AKIAIOSFODNN7EXAMPLE =>
        'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' },
        now => timegm(0, 0, 0, 24, 4, 2013), payload => 1);
    my $credential = 'AWS4-HMAC-SHA256 Credential='
        . 'AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request';
    my $put = '44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072';
    for (['GET', '/test.txt', { range => 'bytes=0-9' },
          'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41'],
         ['PUT', '/test%24file.text', { date => 'Fri, 24 May 2013 00:00:00 GMT',
              'x-amz-storage-class' => 'REDUCED_REDUNDANCY',
              'x-amz-content-sha256' => $put },
          '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd'],
         ['GET', '/?lifecycle', {},
          'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543'],
         ['GET', '/?max-keys=2&prefix=J', {},
          '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7'])
    {
        my ($method, $uri, $more, $signature) = @$_;
        my %h = (host => 'examplebucket.s3.amazonaws.com',
                 'x-amz-date' => '20130524T000000Z',
                 'x-amz-content-sha256' => $Test::SigV4::empty, %$more);
        my $signed = join ';', sort keys %h;
        $h{authorization} =
            "$credential,SignedHeaders=$signed,Signature=$signature";
        my $req = { method => $method, uri => $uri, headers => \%h };
        is Test::SigV4::check($req, %keys), undef,
            "the checker takes the published example: $method $uri";
        $h{host} = 'example.com';
        like Test::SigV4::check($req, %keys), qr/^SignatureDoesNotMatch/,
            'and not for another host';
    }
}

# --- the servers

my $t = Test::Symcache->new;
my $id = $Test::SourceCase::id;
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my ($access, $secret, $token) = ('AKIDexample', 'se/cr+et=', 'tok/en+=');
my $session = 'session/token+==';

my %objects = map { $_ => 1 }
    ('plain.pdb', "odd ~#+%&()'\x{c3}\x{a9}.pdb", 'gcs.pdb', 'public.pdb');

sub refuse {
    my ($c, $status, $code, %headers) = @_;
    return $c->reply($status, { 'Content-Type' => 'application/xml',
                                %headers },
        qq(<?xml version="1.0"?>\n<Error><Code>$code</Code></Error>));
}

# The last of <bucket>/<prefix>/<name>/<id>/<form>.
sub object {
    my ($c, $key) = @_;
    my ($name, $key_id, $form) = $key =~ m{([^/]+)/([^/]+)/([^/]+)$}
        or return refuse($c, 404, 'NoSuchKey');
    if ($name =~ /^denied/)   { return refuse($c, 403, 'AccessDenied') }
    if ($name =~ /^frozen/)   { return refuse($c, 403, 'InvalidObjectState') }
    if ($name =~ /^slow/)     { return refuse($c, 503, 'SlowDown',
                                              'Retry-After' => 9) }
    if ($name =~ /^later/)    { return refuse($c, 404, 'NoSuchKey',
                                              'Retry-After' => 9) }
    if ($name =~ /^nouser/)   { return refuse($c, 404, 'XAdminUserNotFound') }
    if ($name =~ /^bare/)     { return $c->reply(404, {}, '') }
    if ($name =~ /^internal/) { return refuse($c, 500, 'InternalError') }
    if ($name =~ /^region/)   { return refuse($c, 301, 'PermanentRedirect') }
    if ($name =~ /^moved/)    { return $c->reply(307, { Location =>
        'http://localhost:' . $c->{fh}->sockport . '/elsewhere' }, '') }
    if ($name =~ /^astray/)   { return $c->reply(307, { Location =>
        'http://localhost:' . $c->{fh}->sockport . '/other/object' }, '') }
    if ($name =~ /^adrift/)   { return $c->reply(307, { Location =>
        'http://localhost:' . $c->{fh}->sockport . '/nothing' }, '') }
    return refuse($c, 404, 'NoSuchKey')
        unless $objects{$name} && lc $key_id eq lc $id && $form eq $name;
    return $c->reply(200, { 'Content-Type' => 'binary/octet-stream' }, $pdb);
}

my $s3 = Test::ScriptedServer->new(log => $t->path('s3'), script => sub {
    my ($c, $req) = @_;
    my ($path) = split /\?/, $req->{uri};
    my ($host) = $req->{headers}{host} =~ /^(.*):\d+$/;
    my $bucket = $host =~ /^(.+)\.localhost$/ ? $1 : '';
    $path = Test::SigV4::decode($path);
    return $c->reply(200, {}, $pdb) if $path eq '/elsewhere';
    return $c->reply(404, {}, '') if $path eq '/nothing';
    $path =~ s{^/([^/]+)}{} and $bucket = $1 if !$bucket;
    return refuse($c, 404, 'NoSuchBucket') if $bucket !~ /^(sym\.bols|open)$/;
    if ($bucket ne 'open') {
        my $wrong = Test::SigV4::check($req, secrets => { $access => $secret },
            region => 'eu-west-1',
            $path =~ m{^/session/} ? (token => $session) : ());
        if ($wrong) {
            my ($code, $why) = split /: /, $wrong, 2;
            open my $fh, '>>', $t->path('wrong');
            print $fh "$wrong\n";
            close $fh;
            return refuse($c, $code =~ /Malformed/ ? 400 : 403, $code);
        }
    }
    object($c, $path);
});

my $gcs = Test::ScriptedServer->new(log => $t->path('gcs'), script => sub {
    my ($c, $req) = @_;
    my ($path) = split /\?/, $req->{uri};
    my $auth = $req->{headers}{authorization} // '';
    if ($auth =~ /^Bearer (.*)/) {
        return refuse($c, 401, 'AuthenticationRequired') if $1 ne $token;
    } else {
        my $wrong = Test::SigV4::check($req,
            secrets => { $access => $secret }, region => 'auto');
        if ($wrong) {
            open my $fh, '>>', $t->path('wrong');
            print $fh "$wrong\n";
            close $fh;
            return refuse($c, 403, (split /:/, $wrong)[0]);
        }
    }
    return refuse($c, 404, 'NoSuchBucket') if $path !~ m{^/symbols/pre%20fix/};
    object($c, Test::SigV4::decode($path));
});

my %s3 = (type => 's3', bucket => 'sym.bols', region => 'eu-west-1',
          endpoint => $s3->url, path_style => JSON::PP::true(),
          access_key => '$S3_ID', secret_key => '$S3_SECRET',
          internal => JSON::PP::true());
my %gcs = (type => 'gcs', bucket => 'symbols', endpoint => $gcs->url,
           prefix => '/pre fix/', internal => JSON::PP::true());
my $port = $s3->port;

my %sources = (
    path => { %s3 },
    virtual => { %s3, path_style => JSON::PP::false(),
                 endpoint => "http://localhost:$port/" },
    prefix => { %s3, prefix => "/a b/\x{e9}#/" },
    session => { %s3, prefix => 'session', session_token => $session },
    nosession => { %s3, prefix => 'session' },
    headers => { %s3, headers => { 'X-Amz-Request-Payer' => 'requester',
                                   'X-Two' => 'a   b' } },
    absent => { %s3, denied_is_absent => JSON::PP::true() },
    secret => { %s3, secret_key => 'wrong' },
    id => { %s3, access_key => 'AKIDother' },
    renewed => { %s3, access_key => '@' . $t->path('id'),
                 secret_key => '@' . $t->path('secret') },
    region => { %s3, region => 'us-east-1' },
    nobucket => { %s3, bucket => 'other' },
    ssqp => { %s3, layout => 'ssqp' },
    open => { map { $_ => $s3{$_} } grep { !/_key$/ } keys %s3 },
    hmac => { %gcs, access_key => $access, secret_key => $secret },
    token => { %gcs, token => $token },
    badtoken => { %gcs, token => 'old' },
    gcsbucket => { %gcs, bucket => 'other', token => $token },
);
$sources{open}{bucket} = 'open';

sub case {
    my ($name) = @_;
    $t->stop_symcached;
    Test::Symcache::remove_tree($t->path($_)) for qw(store downloads);
    return Test::SourceCase->new($t, sources => { $name => $sources{$name} },
        env => { S3_ID => $access, S3_SECRET => $secret });
}

# --- S3

my $c = case('path');
$c->found('plain.pdb', 'path style, signed') ;
like +($s3->requests)[-1]{uri}, qr{^/sym\.bols/plain\.pdb/$id/plain\.pdb$},
    'bucket in the path';
$c->found("odd ~#+%&()'\x{c3}\x{a9}.pdb", 'a name of odd characters');
$c->absent('none.pdb', qr/^404/, 'no such object');
$c->absent('bare.pdb', qr/^404/, '404 without a code');
for (['nouser.pdb', qr/^404 XAdminUserNotFound/],   # versitygw, of keys
     ['denied.pdb', qr/^403 AccessDenied/], ['frozen.pdb', qr/^403 Invalid/],
     ['region.pdb', qr/^301 PermanentRedirect/],
     ['later.pdb', qr/^404, and to be asked again NoSuchKey/],
     ['internal.pdb', qr/^500 InternalError/]) {
    $c->undecided($_->[0], 'failed', $_->[1], "$_->[0]: no final answer");
}
my $r = $c->undecided('slow.pdb', 'failed', qr/^503 SlowDown/, 'SlowDown');
ok $r->{retry} >= 1 && $r->{retry} <= 9, 'its patience is ours'
    or diag $r->{retry}; # what is left of nine seconds; ours alone is 60
is +(grep { $_->{uri} =~ /slow/ } $s3->requests), 1, 'and not asked again';

for my $name (qw(virtual prefix session headers ssqp)) {
    $c = case($name);
    $c->found('plain.pdb', "$name: signed");
}
$c = case('virtual');
$c->found("odd ~#+%&()'\x{c3}\x{a9}.pdb", 'virtual: odd characters');
is +($s3->requests)[-1]{headers}{host}, "sym.bols.localhost:$port",
    'bucket in the host name';
is -s ($t->path('wrong')) // 0, 0, 'all signatures were right'
    or diag $t->read_file('wrong');

$c = case('path');
$r = $c->found('moved.pdb', 'a redirect is followed');
my ($moved) = grep { $_->{uri} eq '/elsewhere' } $s3->requests;
ok !grep(/^(authorization|x-amz-)/, keys %{ $moved->{headers} }),
    'without the signature' or diag explain $moved;
$c->undecided('astray.pdb', 'failed', qr/^404 NoSuchBucket/,
    'one to a bucket that is not there: no final answer');
$c->undecided('adrift.pdb', 'failed', qr/^404\b/,
    'one to where nobody gives a code: no final answer');

$c = case('open');
$c->found('public.pdb', 'no keys: a public bucket');
ok !grep(/^(authorization|x-amz-)/, keys %{ ($s3->requests)[-1]{headers} }),
    'asked without a signature';

for (['secret', qr/^403 SignatureDoesNotMatch/],
     ['id', qr/^403 InvalidAccessKeyId/],
     ['region', qr/^400 AuthorizationHeaderMalformed/],
     ['nosession', qr/^403 InvalidToken/],
     ['nobucket', qr/^404 NoSuchBucket/],
     ['badtoken', qr/^401/], ['gcsbucket', qr/^404 NoSuchBucket/]) {
    $c = case($_->[0]);
    $c->undecided('none.pdb', 'failed', $_->[1], "$_->[0]: no final answer");
}

# the files of the keys are renewed one after the other
sub read_again {
    my ($times) = @_;
    $t->wait_until('the keys are read again', sub { $times
        == (() = $t->helper_log =~ /source renewed: its keys are read again/g) });
}
$t->write_file('id', "AKIDother\n");
$t->write_file('secret', "other\n");
$c = case('renewed');
$t->write_file('id', "$access\n");
$c->undecided('plain.pdb', 'failed', qr/^403 InvalidAccessKeyId/,
              'a key that is no longer valid');
read_again(1);
$t->write_file('secret', "$secret\n");
$c->undecided('public.pdb', 'failed', qr/^403 SignatureDoesNotMatch/,
              'with the secret of the former');
read_again(2);
$c->found("odd ~#+%&()'\x{c3}\x{a9}.pdb", 'with the new one');

$c = case('absent');
$c->undecided('denied1.pdb', 'failed', qr/^403 AccessDenied, and no other/,
              'AccessDenied, which a store says of wrong keys, too');
$c->found('plain.pdb', 'they are right');
$r = $c->absent('denied2.pdb', qr/^40[34]/,
                'AccessDenied, if the configuration says so');
is $r->{places}[0][2], '403 AccessDenied', 'and is told';
$c->undecided('frozen.pdb', 'failed', qr/^403 Invalid/, 'but no other 403');

# --- GCS

unlink $t->path('wrong');
for my $name (qw(hmac token)) {
    $c = case($name);
    $c->found('gcs.pdb', "$name: accepted");
    $c->found("odd ~#+%&()'\x{c3}\x{a9}.pdb", "$name: odd characters");
    $c->absent('none.pdb', qr/^404/, "$name: no such object");
}
is -s ($t->path('wrong')) // 0, 0, 'all signatures were right'
    or diag $t->read_file('wrong');

# --- what is shown

my $shown = $t->helper('GET', '/v1/sources')->{body};
like $shown, qr/"gcs"/, 'the source is shown';
unlike $shown . $t->helper_log, qr/\Q$_\E/, 'without a secret'
    for $secret, $token, $session, $access;

# --- the configuration

sub refused {
    my ($source, $reason) = @_;
    my $file = $t->write_file('bad.json', JSON::PP->new->encode({
        stores => { default => { root => $t->path('x'), sources => ['b'] } },
        sources => { b => $source } }));
    my $out = qx($Test::Symcache::build/symcached -t -c $file 2>&1);
    like $out, qr/sources\.b.*$reason/, $reason;
}
my %plain = (type => 's3', bucket => 'b', region => 'r');
refused({ type => 's3', region => 'r' }, '"bucket" is missing');
refused({ type => 's3', bucket => 'b' }, '"region" is missing');
refused({ %plain, bucket => $_ }, 'not the name of a bucket')
    for 'a/b', '../b', 'a b', 'x' x 300, 'a@b', 'a:b', '.b';
refused({ %plain, region => $_ }, 'not the name of a region')
    for 'a:b', 'a/b', 'a.b';
refused({ %plain, access_key => 'a' }, 'go together');
refused({ %plain, secret_key => 'a' }, 'go together');
refused({ %plain, session_token => 'a' }, 'without "access_key"');
refused({ %plain, access_key => 'a:b', secret_key => 'c' }, 'has a colon');
refused({ %plain, token => 'a' }, 'not for this type');
refused({ %plain, url => 'http://h' }, 'not for this type');
refused({ %plain, endpoint => 'ftp://h' }, 'must begin with http');
refused({ type => 'gcs', bucket => 'b', token => 't', access_key => 'a',
          secret_key => 's' }, 'has more than one of');
refused({ type => 'gcs', bucket => 'b', path_style => JSON::PP::true() },
        'not for this type');
refused({ type => 'http', url => 'http://h', bucket => 'b' },
        'not for this type');

$_->stop for $s3, $gcs;
$t->finish;
done_testing;
