#!/usr/bin/perl

# Symbol servers behind TLS: whom we trust, and that there is no way back from
# https to http.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::SourceCase;
use Test::Symcache;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $id = $Test::SourceCase::id;

sub make_certificate {
    my ($key, $file) = @_;
    system("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 "
           . "-nodes -days 2 -subj /CN=localhost "
           . "-addext subjectAltName=DNS:localhost -keyout $dir/$key "
           . "-out $dir/$file >$dir/openssl.out 2>&1") == 0
        or die $t->read_file('openssl.out');
}
make_certificate('server.key', 'server.pem');
$t->write_file('cert.pem', $t->read_file('server.pem'));

my ($http, $https) = map { Test::Symcache::free_port() } 1, 2;
$t->write_file("sym/$_.pdb/$id/$_.pdb",
               $t->read_file($t->data('pdb/crash.pdb'))) for qw(plain kept before after again);
$t->start_nginx('', load => 0, http => <<"CONF",
    server { listen 127.0.0.1:$http; root %%DIR%%/sym;
             location /up.pdb/ {
                 return 302 https://localhost:$https/plain.pdb/$id/plain.pdb; }
             location /updown.pdb/ {
                 return 302 https://localhost:$https/down.pdb/x; } }
    server { listen 127.0.0.1:$https ssl; root %%DIR%%/sym;
             ssl_certificate %%DIR%%/server.pem;
             ssl_certificate_key %%DIR%%/server.key;
             location /down.pdb/ {
                 return 302 http://localhost:$http/plain.pdb/$id/plain.pdb; } }
CONF
    address => "127.0.0.1:$https");

sub case {
    my ($url, %env) = @_;
    $t->stop_symcached;
    return Test::SourceCase->new($t, sources => { up => {
        type => 'http', url => $url, layout => 'symstore',
        internal => JSON::PP::true(),
    } }, env => \%env);
}

my %trust = (SSL_CERT_FILE => "$dir/cert.pem");

my $c = case("https://localhost:$https");
$c->undecided('plain.pdb', 'failed', qr/certificate/i,
              'a certificate nobody vouches for');

$c = case("https://127.0.0.1:$https", %trust);
$c->undecided('other.pdb', 'failed', qr/name|certificate/i,
              'a certificate for another name');

$c = case("https://localhost:$https", %trust);
$c->found('plain.pdb', 'a PDB over https');
$c->absent('never.pdb', qr/^404$/, 'none over https');
$c->undecided('down.pdb', 'failed', qr/https to http/,
              'a redirect from https to http');

$c = case("http://localhost:$http", %trust);
$c->found('up.pdb', 'a redirect from http to https');
$c->undecided('updown.pdb', 'failed', qr/https to http/,
              'a redirect from http to https and back');

# --- symcachectl, as a client

my $ctl = $t->program('symcachectl');
for my $command ("minidump --url https://localhost:$https " . $t->data('minidump/test_app.dmp'),
                 "upload --url https://localhost:$https " . $t->data('pdb/crash.pdb'),
                 "symbolicate --url https://localhost:$https --org o --project p --token x " . '1' x 32)
{
    my ($name) = split ' ', $command;
    delete local $ENV{SSL_CERT_FILE};
    like scalar `$ctl $command 2>&1`, qr/certificate/i, "symcachectl $name: nobody vouches for it"
        if $name ne 'upload'; # which would ask again
    local $ENV{SSL_CERT_FILE} = $trust{SSL_CERT_FILE};
    like scalar `$ctl $command 2>&1`, qr/HTTP 405|answer\w+ 40[45]/,
        "symcachectl $name: SSL_CERT_FILE does";
}

# --- a file of authorities that is replaced counts from the next reload on, on
# connections that were kept, too

my $ca = $t->write_file('ca.pem', $t->read_file('server.pem'));
make_certificate('other.key', 'other.pem');
$t->stop_symcached;
$c = Test::SourceCase->new($t, sources => { up => {
    type => 'http', url => "https://localhost:$https", layout => 'symstore',
    internal => JSON::PP::true(), tls => { ca => $ca },
} });
$c->found('before.pdb', 'an authority of the source');
$t->write_file('ca.pem', $t->read_file('other.pem'));
$t->reload_symcached($c->{config});
$c->undecided('after.pdb', 'failed', qr/certificate/i,
              'another one is in its place');
$t->write_file('ca.pem', $t->read_file('server.pem'));
$t->reload_symcached($c->{config});
$c->found('again.pdb', 'the first one is back');

# --- the server's certificate is another one from now on

$c = case("https://localhost:$https", %trust);
$c->found('kept.pdb', 'the connection is kept');
make_certificate('server.key', 'server.pem');
my @old = $t->workers;
$t->reload_nginx;
$t->wait_until('no old worker', sub {
    my %is = map { $_ => 1 } $t->workers;
    return !grep { $is{$_} } @old;
});
$c->undecided('other.pdb', 'failed', qr/certificate/i,
              'what is wrong with the next connection is told');

$t->allow_log(qr/SSL_do_handshake/);
$t->finish;
done_testing;
