#!/usr/bin/perl

# Azure's blob storage as a source, before a server that checks signatures.
# t/full/azurite.t has the same before a server of Microsoft's.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use MIME::Base64 qw(encode_base64);
use Test::More;
use Test::ScriptedServer;
use Test::SharedKey;
use Test::SourceCase;
use Test::Symcache;
use Time::Local qw(timegm);

# --- the checker, with the example of the specification

is Test::SharedKey::string_to_sign({ method => 'GET',
        uri => '/mycontainer?restype=container&comp=metadata&timeout=20',
        headers => { 'x-ms-date' => 'Fri, 26 Jun 2015 23:39:12 GMT',
                     'x-ms-version' => '2015-02-21' } }, 'myaccount'),
    "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\n"
    . "x-ms-version:2015-02-21\n/myaccount/mycontainer\n"
    . "comp:metadata\nrestype:container\ntimeout:20",
    'what is signed is that of the published example';

# and with requests that @azure/storage-blob 12.32.0 signed
{
    my $key = encode_base64('not a secret: the key of a published example', '');
    my %h = ('x-ms-version' => '2026-04-06',
             'x-ms-date' => 'Sun, 22 Nov 2026 09:31:18 GMT',
             accept => 'application/xml');
    for (['/symbols/pre%20fix/odd%20%7E%23%2B%25.pdb/x/odd.pdb',
          { 'x-ms-range' => 'bytes=100-', 'x-ms-client-request-id' =>
                '5fdd3842-5145-4339-bbd0-8b4ef8c7dcad' },
          'zKss1tLoP3WRUwap7I6jEJKvKQLLWLUpKgSBWRo4Wok='],
         ['/myaccount/symbols/a.pdb', { 'x-ms-client-request-id' =>
                '5566535a-3e91-4ea1-949e-6c9eb5190edf' },
          'HBJ6I4SyLRnH1owt+UDQvjzbUNhnIGecxfB7uwqJZxs=']) {
        my ($uri, $more, $signature) = @$_;
        my $req = { method => 'GET', uri => $uri, headers => {
            %h, %$more, authorization => "SharedKey myaccount:$signature" } };
        my %o = (keys => { myaccount => $key },
                 now => timegm(0, 35, 9, 22, 10, 2026));
        is Test::SharedKey::check($req, %o), undef, "Microsoft's client: $uri";
        $req->{uri} .= '.';
        like Test::SharedKey::check($req, %o), qr/^AuthenticationFailed/,
            'and not for another blob';
    }
}

# --- the server

my $t = Test::Symcache->new;
my $id = $Test::SourceCase::id;
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my $key = encode_base64('k' x 64, '');
my $sas = 'sv=2022-11-02&sr=c&sp=r&sig=se%2Fcr%2Bet%3D';
my %objects = map { $_ => 1 }
    ('plain.pdb', "odd ~#+%&()'\x{c3}\x{a9}.pdb", 'public.pdb');

sub refuse {
    my ($c, $status, $code, %headers) = @_;
    return $c->reply($status, { 'Content-Type' => 'application/xml',
                                'x-ms-error-code' => $code, %headers },
        "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?>"
        . "<Error><Code>$code</Code><Message>No.</Message></Error>");
}

# The first half, and then the rest.
sub resumed {
    my ($c, $req) = @_;
    my %h = (ETag => '"0x8D"', 'Accept-Ranges' => 'bytes');
    my $size = length $pdb;
    my ($from) = ($req->{headers}{range} // '') =~ /^bytes=(\d+)-$/;
    return $c->reply(206, { %h, 'Content-Range' => "bytes $from-"
        . ($size - 1) . "/$size" }, substr $pdb, $from) if $from;
    my $text = $c->reply_text(200, \%h, $pdb);
    $c->send(substr $text, 0, length($text) - $size / 2);
    return $c->close;
}

sub object {
    my ($c, $req, $path) = @_;
    my ($name, $key_id, $form) = $path =~ m{([^/]+)/([^/]+)/([^/]+)$}
        or return refuse($c, 404, 'BlobNotFound');
    my %code = (denied => [403, 'AuthorizationPermissionMismatch'],
                hidden => [404, 'ResourceNotFound'],
                archived => [409, 'BlobArchived'],
                gone => [410, 'BlobNotFound'],
                busy => [500, 'InternalError'],
                later => [404, 'BlobNotFound', 'Retry-After' => 9],
                slow => [503, 'ServerBusy', 'Retry-After' => 9]);
    if ($name =~ /^([a-z]+)\d*\.pdb$/ && $code{$1}) {
        return refuse($c, @{ $code{$1} });
    }
    return $c->reply(404, {}, 'no') if $name =~ /^nocode/;
    return $c->reply(204, {}, '') if $name =~ /^empty/;
    return $c->reply(307, { Location =>
        'http://localhost:' . $c->{fh}->sockport . '/elsewhere' }, '')
        if $name =~ /^moved/;
    return resumed($c, $req) if $name =~ /^resumed/ && $form =~ /pdb$/;
    return refuse($c, 404, 'BlobNotFound')
        unless $objects{$name} && lc $key_id eq lc $id && $form eq $name;
    return $c->reply(200, { 'Content-Type' => 'application/octet-stream' },
                     $pdb);
}

my $server = Test::ScriptedServer->new(log => $t->path('azure'), index2 => 1,
                                       script => sub {
    my ($c, $req) = @_;
    my $path = Test::SharedKey::decode($req->{path});
    return $c->reply(200, {}, $pdb) if $path eq '/elsewhere';
    return refuse($c, 404, 'ContainerNotFound')
        if $path !~ m{^/account1/(?:symbols|sas|open)/};
    if ($path =~ m{/symbols/}) {
        my $wrong = Test::SharedKey::check($req, keys => { account1 => $key });
        if ($wrong) {
            open my $fh, '>>', $t->path('wrong');
            print $fh "$wrong\n";
            return refuse($c, 403, (split /:/, $wrong)[0]);
        }
    } elsif ($path =~ m{/sas/}) {
        return refuse($c, 403, 'AuthenticationFailed')
            if $req->{uri} !~ /\?\Q$sas\E$/ || $req->{headers}{authorization};
    }
    object($c, $req, $path);
});

my %key = (type => 'azure', account => 'account1', container => 'symbols',
           endpoint => $server->url . '/account1/', account_key => '$AZURE_KEY',
           internal => JSON::PP::true());
my %open = map { $_ => $key{$_} } grep { $_ ne 'account_key' } keys %key;
my %sources = (
    key => { %key },
    prefix => { %key, prefix => "/a b/\x{e9}#/" },
    headers => { %key, headers => { 'X-Ms-Zone' => 'z', 'x-ms-A' => 'a  b',
        'x-ms-version' => '2020-04-08', 'If-None-Match' => '"x"' } },
    ssqp => { %key, layout => 'ssqp' },
    sas => { %open, container => 'sas', sas_token => '?$AZURE_SAS' },
    open => { %open, container => 'open' },
    wrongkey => { %key, account_key => encode_base64('other', '') },
    wrongsas => { %open, container => 'sas', sas_token => 'sv=1&sig=x' },
    wrongaccount => { %key, account => 'account2' },
    nocontainer => { %key, container => 'other' },
);

my $c;
sub case {
    my ($name) = @_;
    $t->stop_symcached;
    Test::Symcache::remove_tree($t->path($_)) for qw(store downloads);
    $c = Test::SourceCase->new($t, sources => { $name => $sources{$name} },
        env => { AZURE_KEY => $key, AZURE_SAS => $sas });
}

# --- who may

my $odd = "odd ~#+%&()'\x{c3}\x{a9}.pdb";
for my $name (qw(key prefix headers ssqp sas open)) {
    case($name);
    $c->found('plain.pdb', "$name: accepted");
    $c->found($odd, "$name: odd characters");
    $c->absent('none.pdb', qr/^404 BlobNotFound/, "$name: no such blob");
}
is -s ($t->path('wrong')) // 0, 0, 'all signatures were right'
    or diag $t->read_file('wrong');
ok !grep(/^(?:authorization|x-ms-)/, keys %{ ($server->requests)[-1]{headers} }),
    'a public container is asked without a signature';

for (['wrongkey', qr/^403 AuthenticationFailed/],
     ['wrongsas', qr/^403 AuthenticationFailed/],
     ['wrongaccount', qr/^403 AuthenticationFailed/],
     ['nocontainer', qr/^404 ContainerNotFound/]) {
    case($_->[0]);
    $c->undecided('none.pdb', 'failed', $_->[1], "$_->[0]: no final answer");
}

# --- what an answer means

unlink $t->path('wrong');
case('key');
for (['denied', qr/^403 Authorization/], ['hidden', qr/^404 ResourceNotFound/],
     ['archived', qr/^409 BlobArchived/], ['gone', qr/^410 BlobNotFound/],
     ['busy', qr/^500 InternalError/], ['nocode', qr/^404$/],
     ['empty', qr/^204$/],
     ['later', qr/^404, and to be asked again BlobNotFound/],
     ['slow', qr/^503 ServerBusy/]) {
    $c->undecided("$_->[0].pdb", 'failed', $_->[1], "$_->[0]: no final answer");
    case('key');
}
$c->found('resumed.pdb', 'a transfer that broke off goes on');
ok scalar(grep { $_->{headers}{range} && $_->{headers}{authorization} }
    $server->requests), 'with a signature of its range';
is -s ($t->path('wrong')) // 0, 0, 'all signatures were right'
    or diag $t->read_file('wrong');

for my $name (qw(key sas)) {
    case($name);
    $c->found('moved.pdb', "$name: a redirect is followed");
    my $moved = (grep { $_->{uri} =~ /elsewhere/ } $server->requests)[-1];
    ok !exists $moved->{headers}{authorization}
        && $moved->{uri} eq '/elsewhere', 'without the signature'
        or diag explain $moved;
}

# --- what is shown

$c->undecided('denied.pdb', 'failed', qr/^403/, 'a failure');
my $shown = $t->helper('GET', '/v1/sources')->{body}
    . $t->helper('GET', "/v1/why/default/denied.pdb/$id")->{body};
like $shown, qr/"azure"/, 'the source is shown';
unlike $shown . $t->helper_log, qr/\Q$_\E/, 'without a secret'
    for $key, $sas, 'sig=';

# --- the configuration

sub refused {
    my ($reason, %source) = @_;
    my $file = $t->write_file('bad.json', JSON::PP->new->encode({
        stores => { default => { root => $t->path('x'), sources => ['b'] } },
        sources => { b => { type => 'azure', account => 'abc',
                            container => 'def', %source } } }));
    my $out = qx($Test::Symcache::build/symcached -t -c $file 2>&1);
    like $out, qr/sources\.b.*$reason/, $reason;
    unlike $out, qr/hidden/, 'and no secret is shown';
}
refused('not the name of an account', account => $_)
    for 'ab', 'Abc', 'a-b', 'a.b', 'a/b', 'x' x 25;
refused('not the name of a container', container => $_)
    for 'ab', 'Abc', 'a--b', '-ab', 'ab-', 'a/b', '../b', 'a$b', 'x' x 64;
refused('has "account_key" and "sas_token"', account_key => 'aGlkZGVu',
        sas_token => 'sig=hidden');
refused('is not base64', account_key => $_)
    for 'hidden*', 'hidden', 'aGlkZGVuLi4u ', ' aGlkZGVuLi4u', '====' x 300;
refused('not a query with "sig="', sas_token => $_)
    for 'hidden', 'sig=hidden#', 'sig=hid den', 'design=hidden';
refused('not for this type', bucket => 'b');
refused('not for this type', url => 'http://h');
refused('"Authorization" header', account_key => 'aGlkZGVu',
        headers => { Authorization => 'x' });

$server->stop;
$t->finish;
done_testing;
