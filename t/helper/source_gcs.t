#!/usr/bin/perl

# Buckets of Google's storage that are asked with the key of a service account,
# before a server that checks signatures.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::GoogSign;
use Test::More;
use Test::ScriptedServer;
use Test::SigV4;
use Test::SourceCase;
use Test::Symcache;
use Time::Local qw(timegm);

my $t = Test::Symcache->new;

# --- the checker, with examples of googleapis/conformance-tests
# (storage/v1/v4_signatures.json), and the public half of their key

{
    my %o = (now => timegm(0, 0, 9, 1, 1, 2019),
        email => 'test-iam-credentials@dummy-project-id.iam.gserviceaccount.com',
        key => $t->write_file('published.pem', <<'PEM'));
-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEArD8zIqyKLbX0Nq8o0Jj1
qHEhHhqO3+0OP7TEFx5Vxc6PdwBoFNrfnJRI/S+ZaDYS1avr5Pqpp8g8+UNOMvI1
VsjGM8xjTaxkVv8mmKp6pSmQstTt25pzY1exA2wv4xNWSwWNFNx2kh35+kvTQ/DF
3YA9P7pUU1sKur1PP8OoubWLFO59iy5UE5dX0O/3pjvZ2HAhSXsx2VWtB5nlrHR8
FrKJNLJMEGEDSMz9yRfQaUeYCU9oDYHuiqKQ3rCXi6C82l+3FJw5/ggJ5y7iw8ME
rCFSslcYQRbBVz6ZYKWkEcJhs8BG3/16bfaqNusNlDIJ99I7DmipUngF/HEulYhf
rQIDAQAB
-----END PUBLIC KEY-----
PEM
    my $query = 'X-Goog-Algorithm=GOOG4-RSA-SHA256&X-Goog-Credential='
        . 'test-iam-credentials%40dummy-project-id.iam.gserviceaccount.com'
        . '%2F20190201%2Fauto%2Fstorage%2Fgoog4_request'
        . '&X-Goog-Date=20190201T090000Z&X-Goog-Expires=10&X-Goog-SignedHeaders=';
    for (['/test-bucket/test-object', 'host', {}, '95e6a13d43a1d1962e667f17397f2b80ac9bdd1669210d5e08e0135df9dff4e56113485dbe429ca2266487b9d1796ebdee2d7cf682a6ef3bb9fbb4c351686fba90d7b621cf1c4eb1fdf126460dd25fa0837dfdde0a9fd98662ce60844c458448fb2b352c203d9969cb74efa4bdb742287744a4f2308afa4af0e0773f55e32e92973619249214b97283b2daa14195244444e33f938138d1e5f561088ce8011f4986dda33a556412594db7c12fc40e1ff3f1bedeb7a42f5bcda0b9567f17f65855f65071fabb88ea12371877f3f77f10e1466fff6ff6973b74a933322ff0949ce357e20abe96c3dd5cfab42c9c83e740a4d32b9e11e146f0eb3404d2e975896f74'],
         ['/test-bucket/path/with/slashes/under_score/amper%26sand/file.ext',
          'header%2Fname%2Fwith%2Fslash%3Bhost',
          { 'header/name/with/slash' => 'should-be-encoded' }, '2a9a82e84e39f5d2c0d980514db17f8c3dece473c9a5743d54e8453f9811927b1b99ce548c534cababd8fa339183e75b410e12e32a4c72f5ff176e95651fabed0072e59e7e236eb7e26f52c0ce599db1c47ae07af1a98d20872b6fde23432c0a5fcf4fb2dda735169198c80cd5cc51be9904f7e5eef2cc489ff44ac5697c529e4b34ac08709a7d2e425619377212c64561ed8b4d2fcb70a26e4f9236f995ab4658d240ac85c7a353bae6b2d39d5fc0716afa435a1f6e100db5504612b5e610db370623ab4b8eba3c03c98f23dcb4b9ffd518f2212abb2f93649d25385d71603d470cff0b7631adb9d0849d38609dedb3097761c8f47ec0d57777bb063611c05b']) {
        my ($path, $signed, $more, $signature) = @$_;
        my $req = { method => 'GET',
            uri => "$path?$query$signed&X-Goog-Signature=$signature",
            headers => { host => 'storage.googleapis.com', %$more } };
        is Test::GoogSign::check($req, %o), undef,
            "the checker takes the published example: $path";
        $req->{headers}{host} = 'example.com';
        like Test::GoogSign::check($req, %o), qr/^another signature/,
            'and not for another host';
    }
}

# --- a source

system('openssl genrsa -traditional 2>/dev/null >' . $t->path('key.pem')) == 0
    && system('openssl', 'pkey', '-in', $t->path('key.pem'), '-pubout', '-out',
        $t->path('public.pem')) == 0 or die 'openssl';
my $email = 'symbols@project.iam.gserviceaccount.com';
my $key = $t->read_file('key.pem');
my $line = $key =~ s/\n/\\n/gr;
# with a password, which is none: how often it is hashed is up to the file
my $locked = qx(openssl pkcs8 -topk8 -v2 aes-256-cbc -passout pass: -in @{[ $t->path('key.pem') ]})
    =~ s/\n/\\n/gr;
like $locked, qr/^-----BEGIN ENCRYPTED /, 'a key with a password';
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));

my $gcs = Test::ScriptedServer->new(log => $t->path('gcs'), script => sub {
    my ($c, $req) = @_;
    my $wrong = Test::GoogSign::check($req, key => $t->path('public.pem'),
        email => $email);
    if ($wrong) {
        open my $fh, '>>', $t->path('wrong');
        print $fh "$wrong\n";
        return $c->reply(403, { 'Content-Type' => 'application/xml' },
            '<?xml version="1.0"?><Error><Code>SignatureDoesNotMatch</Code></Error>');
    }
    my ($path) = split /\?/, $req->{uri};
    $path = Test::SigV4::decode($path);
    return $c->reply(302, { Location => 'http://localhost:'
        . $c->{fh}->sockport . '/elsewhere' }) if $path =~ m{/moved\.pdb$};
    return $c->reply(200, {}, $pdb) if $path =~ m{^/symbols/pre fix/(plain|odd .*)\.pdb/};
    return $c->reply(404, { 'Content-Type' => 'application/xml' },
        '<?xml version="1.0"?><Error><Code>NoSuchKey</Code></Error>');
});
my %source = (type => 'gcs', bucket => 'symbols', endpoint => $gcs->url,
    prefix => 'pre fix', internal => JSON::PP::true(), client_email => $email);

my $c = Test::SourceCase->new($t, sources => { gcs =>
    { %source, private_key => '$GCS_KEY' } }, env => { GCS_KEY => $line });
$c->found('plain.pdb', 'a signed URL');
$c->found("odd ~#+%&()'\x{c3}\x{a9}.pdb", 'odd characters');
$c->absent('none.pdb', qr/^404/, 'no such object');
ok !-e $t->path('wrong'), 'all signatures were right'
    or diag $t->read_file('wrong');
$c->undecided('moved.pdb', 'failed', qr/^403/, 'a redirect to another host');
is_deeply [grep { $_->{uri} =~ m{^/elsewhere.} } $gcs->requests], [],
    'which is not signed';
unlike $t->helper('GET', '/v1/sources')->{body} . $t->helper_log
    . $t->helper('GET', '/v1/misses')->{body}, qr/X-Goog|BEGIN|\Q$email\E/,
    'nothing of it is shown';
$t->stop_symcached;

# --- the configuration

# A key as openssl writes it, as Google's file has it, and that file; in a file,
# in the environment and in the configuration itself.
{
    my %forms = ('lines' => $key, 'lines of Windows' => $key =~ s/\n/\r\n/gr,
        'one line' => "$line\n",
        'an account' => JSON::PP->new->pretty->encode({ type => 'service_account',
            client_email => $email, private_key => $key }));
    $forms{'an account, from an editor'} = "\xEF\xBB\xBF\n$forms{'an account'}";
    local $ENV{GCS_KEY};
    for my $form (sort keys %forms) {
        my $file = $t->write_file('key', $forms{$form});
        $ENV{GCS_KEY} = $forms{$form};
        for my $text ("\@$file", '$GCS_KEY', $forms{$form}) {
            my $config = $t->write_file('good.json', JSON::PP->new->encode({
                stores => { default => { root => $t->path('x'), sources => ['b'] } },
                sources => { b => { %source, private_key => $text } } }));
            my $out = qx($Test::Symcache::build/symcached -t -c $config 2>&1);
            is $?, 0, "$form, as " . substr $text, 0, 8 or diag $out;
        }
    }
    $c = Test::SourceCase->new($t, sources => { gcs => { %source,
        private_key => '@' . $t->write_file('lines.pem', $key) } });
    $c->found('plain.pdb', 'signed with the key in a plain file');
    $t->stop_symcached;
}

for ([{ private_key => $line, client_email => undef }, 'go together'],
     [{ client_email => $email }, 'go together'],
     [{ private_key => 'none' }, 'is not an RSA key in PEM'],
     [{ private_key => $locked }, 'is not an RSA key in PEM'],
     [{ private_key => '{"type": "service_account"}' }, 'is JSON, but not'],
     [{ private_key => '{"private_key": ' }, 'is JSON, but not'],
     [{ private_key => '@' . $t->write_file('empty.pem', '') }, 'is too short'],
     [{ private_key => '@' . $t->write_file('long.pem', 'x' x 9000) }, 'is too long'],
     [{ private_key => $line, token => 't' }, 'has more than one of']) {
    my %bad = (%source, %{ $_->[0] });
    delete @bad{ grep { !defined $bad{$_} } keys %bad };
    my $file = $t->write_file('bad.json', JSON::PP->new->encode({
        stores => { default => { root => $t->path('x'), sources => ['b'] } },
        sources => { b => \%bad } }));
    my $out = qx($Test::Symcache::build/symcached -t -c $file 2>&1);
    like $out, qr/sources\.b.*$_->[1]/, $_->[1];
}

$gcs->stop;
$t->finish;
done_testing;
