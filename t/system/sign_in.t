#!/usr/bin/env perl

# Clients with passwords and with certificates: conf-examples/basic.conf and
# client-certificate.conf as they stand, over TLS.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Example;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $id = $Test::Symcache::key{'crash.pdb'};
my $file = $t->request_path('crash.pdb');

sub openssl {
    my ($args) = @_;
    system("cd $dir && openssl $args >openssl.out 2>&1") == 0
        or die "openssl $args: ", $t->read_file('openssl.out');
}

# --- certificates: the server's, and those of clients of two authorities

my $new = 'req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes';
openssl("$new -x509 -days 2 -subj /CN=symcache.example.com -addext "
    . "subjectAltName=DNS:symcache.example.com -keyout tls.key -out tls.crt");
for my $authority ('clients', 'others') {
    openssl("$new -x509 -days 2 -subj '/CN=CA $authority' "
            . "-keyout $authority.key -out $authority.crt");
}
for (['alice', 'clients', '/O=Example/OU=internal/CN=alice'],
     ['bob', 'clients', '/O=Example/OU=internal-not/CN=bob'],
     ['mallory', 'clients', '/O=Example/OU=guests/CN=mallory,OU=internal'],
     ['eve', 'others', '/O=Example/OU=internal/CN=eve']) {
    my ($who, $authority, $subject) = @$_;
    openssl("$new -subj $subject -keyout $who.key -out $who.csr");
    openssl("x509 -req -in $who.csr -CA $authority.crt -CAkey $authority.key "
            . "-CAcreateserial -days 2 -out $who.crt");
}

# --- what is behind nginx

$t->symbol_store('sym');
my $config = $t->default_config('http://127.0.0.1:1');
$config->{sources}{upstream} = { type => 'filesystem',
                                 path => $t->path('sym') };
$config->{stores}{internal} = { %{ $config->{stores}{default} },
                                root => $t->path('internal') };
$t->start_symcached($config);

my $tls = $t->path('tls.sock');

# The status and the version of HTTP of one request.
sub ask {
    my ($uri, @args) = @_;
    open my $out, '-|', qw(curl -s -m 60 -o /dev/null -w),
        '%{http_code} %{http_version}', '--cacert', "$dir/tls.crt",
        '--unix-socket', $tls, @args, "https://symcache.example.com$uri"
        or die "curl: $!";
    local $/;
    return scalar <$out>;
}

# No version makes a client one that takes retries, so it is held.
sub start {
    my ($name) = @_;
    Test::Example::start($t, $name, address => $tls, put => {
        'listen 443 ssl http2;' => "listen unix:$tls ssl http2; "
            . "listen unix:$dir/n.sock;",
        'symcache_pass unix:/run/symcached/symcached.sock;' =>
            "symcache_pass unix:$dir/h.sock; "
            . 'symcache_async_after 65535.65535.65535;',
        '192.0.2.0/24' => '192.0.2.1' });
}

sub jobs { $t->metric('symcached_jobs_started_total') }

# --- passwords

for (['htpasswd', 'alice', 'bob'], ['htpasswd.internal', 'alice']) {
    my ($name, @users) = @$_;
    my $text = '';
    for my $user (@users) {
        my $hash = qx(openssl passwd -apr1 $user-pw);
        $text .= "$user:$hash";
    }
    $t->write_file($name, $text);
}
my @alice = ('-u', 'alice:alice-pw');
my @bob = ('-u', 'bob:bob-pw');

start('basic.conf');
for my $uri ("/symcache/$file", "/internal/$file", '/status',
             '/symcache/nothing') {
    is ask($uri), '401 2', "basic.conf: no password: $uri";
}
is ask("/symcache/$file", '-u', 'alice:bob-pw'), '401 2', 'a wrong password';
is ask("/ci/$file"), '401 2', 'satisfy any: neither address nor password';
is jobs(), 0, 'no job is started for these';
is ask("/symcache/$file", @bob), '200 2', 'a password';
is ask("/symcache/$file", @bob, '--http1.1'), '200 1.1', 'over HTTP/1.1';
is ask("/symcache/$file", @bob, '-I'), '200 2', 'HEAD';
is ask("/symcache/$file", @bob, '-r', '0-9'), '206 2', 'a range';
is ask('/status', @bob), '200 2', 'the status page';
is ask("/ci/$file", @bob), '200 2', 'satisfy any: the password';
is ask("/internal/$file", @bob), '401 2', 'a password of the other store';
ok !-e $t->path('internal/crash.pdb'), 'for which nothing is made there';
is ask("/internal/$file", @alice), '200 2', 'a store of its own';
ok -e $t->path('internal/crash.pdb'), 'and made there';
$t->stop_nginx;

# --- certificates

sub certificate { ('--cert', "$dir/$_[0].crt", '--key', "$dir/$_[0].key") }

start('client-certificate.conf');
for my $uri ("/symcache/$file", "/internal/$file", '/status') {
    is ask($uri), '400 2', "client-certificate.conf: no certificate: $uri";
    is ask($uri, certificate('eve')), '400 2', 'one of another authority';
    is ask($uri, certificate('alice')), '200 2', 'one for all';
}
is ask("/symcache/$file", certificate('bob')), '200 2', 'another one';
is ask("/internal/$file", certificate('bob')), '403 2',
    'who is not in the store for some';
is ask("/internal/$file", certificate('mallory')), '403 2',
    'whose name looks like the part of another';
$t->stop_nginx;

$t->finish;
done_testing;
