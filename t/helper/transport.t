#!/usr/bin/perl

# How sources are talked to: credentials, certificates, HTTP versions, agents
# and proxies, with real servers; and that nothing secret gets anywhere else.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Select;
use IO::Socket::INET;
use JSON::PP ();
use MIME::Base64 qw(encode_base64);
use POSIX ();
use Test::More;
use Test::ScriptedServer;
use Test::SourceCase;
use Test::Symcache;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $id = $Test::SourceCase::id;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $true = JSON::PP::true();

# --- certificates

sub openssl {
    my ($args) = @_;
    system("cd $dir && openssl $args >openssl.out 2>&1") == 0
        or die "openssl $args: ", $t->read_file('openssl.out');
}

my $ec = 'ec -pkeyopt ec_paramgen_curve:P-256';
$t->write_file('san', 'subjectAltName=DNS:localhost');
openssl("req -x509 -newkey $ec -nodes -days 2 -subj '/CN=Test CA' "
        . '-keyout ca.key -out ca.pem');
for (['server', 'localhost', '-nodes', ''],
     ['client', 'Test client', '-passout pass:key-secret', '']) {
    my ($name, $cn, $key) = @$_;
    openssl("req -newkey $ec $key -subj '/CN=$cn' -keyout $name.key "
            . "-out $name.csr");
    openssl("x509 -req -in $name.csr -CA ca.pem -CAkey ca.key "
            . "-CAcreateserial -days 2 -extfile san -out $name.pem");
}

# --- servers; every one of them answers with crash.pdb for any name

my ($plain, $away, $tls, $mutual, $h2, $h2c) =
    map { Test::Symcache::free_port() } 1 .. 6;
$t->write_file('sym/crash.pdb', $crash);
my $ssl = 'ssl_certificate %%DIR%%/server.pem; '
    . 'ssl_certificate_key %%DIR%%/server.key;';
my $file = 'location ~ "^/[^/]+[.]pdb/" { try_files /crash.pdb =404; }';
my $moved = join "\n", map {
    "location ^~ /$_->[0].pdb/ { return 302 $_->[1]; }"
} ['awaybasic', "http://localhost:$away/awaybasic.pdb/x?sig=SIGNED"],
  ['awaybearer', "http://localhost:$away/awaybearer.pdb/x?sig=SIGNED"],
  ['awaycert', "https://localhost:$mutual/awaycert.pdb/x?sig=SIGNED"],
  ['samebasic', "http://localhost:$plain/stay.pdb/x?sig=SIGNED"],
  ['pathbasic', '/stay.pdb/relative'];
$t->start_nginx('', load => 0, http => <<"CONF",
    map \$ssl_client_s_dn \$dn { default \$ssl_client_s_dn; '' '-'; }
    log_format seen '\$server_port \$request_uri \$server_protocol dn=\$dn '
        'auth="\$http_authorization" secret="\$http_x_secret" '
        'agent="\$http_user_agent"';
    access_log %%DIR%%/seen.log seen;
    root %%DIR%%/sym;
    server { listen 127.0.0.1:$plain; $file $moved }
    server { listen 127.0.0.1:$away; $file }
    server { listen 127.0.0.1:$tls ssl; $ssl $file
             location ^~ /awaycert.pdb/ {
                 return 302 https://localhost:$mutual/awaycert.pdb/x; } }
    server { listen 127.0.0.1:$mutual ssl; $ssl $file
             location ^~ /cert-expired { return 400; }
             ssl_client_certificate %%DIR%%/ca.pem; ssl_verify_client on; }
    server { listen 127.0.0.1:$h2 ssl http2; $ssl $file }
    server { listen 127.0.0.1:$h2c http2; $file }
CONF
    address => "127.0.0.1:$h2c");

# A proxy that takes http:// requests and knows every name.
my $proxy = Test::ScriptedServer->new(log => $t->path('proxy.log'),
    script => sub {
        my ($c, $req) = @_;
        return $c->reply(407, {}, 'credentials, please')
            unless ($req->{headers}{'proxy-authorization'} // '')
                eq 'Basic ' . encode_base64('me:proxy-secret', '');
        if ($req->{uri} =~ m{/to-(\w+)-([^/]+)[.]pdb/}) {
            my $host = $2 eq 'six' ? '[::1]' : $2;
            return $c->reply(302, { Location => "$1://$host:1/x" }, '');
        }
        return $c->reply(200, {}, $crash);
    });
my $proxy_url = 'http://me:${T_PROXY}@127.0.0.1:' . $proxy->port;

# --- sources: each for the names that begin as it does

my %ca = (ca => "$dir/ca.pem");
my %cert = (%ca, certificate => "$dir/client.pem", key => "$dir/client.key",
            key_password => '$T_KEY');
my %basic = (auth => { type => 'basic', user => 'me',
                       password => '$T_PASSWORD' });
$t->write_file('token', "token-secret\nsecond line\n");
my %bearer = (auth => { type => 'bearer', token => "\@$dir/token" },
              headers => { 'X-Secret' => 'header-${T_KEY}' });

my %source = (
    basic => { url => "http://localhost:$plain", %basic },
    bearer => { url => "http://localhost:$plain", %bearer,
                user_agent => 'my agent/1' },
    awaybasic => { url => "http://localhost:$plain", %basic },
    awaybearer => { url => "http://localhost:$plain", %bearer },
    samebasic => { url => "http://localhost:$plain", %basic },
    pathbasic => { url => "http://localhost:$plain", %basic },
    noca => { url => "https://localhost:$tls" },
    ca => { url => "https://localhost:$tls", tls => \%ca },
    otherca => { url => "https://localhost:$tls",
                 tls => { ca => "$dir/client.pem" } },
    cert => { url => "https://localhost:$mutual", tls => \%cert },
    nocert => { url => "https://localhost:$mutual", tls => \%ca },
    badkey => { url => "https://localhost:$mutual",
                tls => { %cert, key_password => 'wrong-secret' } },
    awaycert => { url => "https://localhost:$tls", tls => \%cert },
    twotls => { url => "https://localhost:$h2", tls => \%ca },
    onetls => { url => "https://localhost:$h2", tls => \%ca,
                http_version => '1.1' },
    twoplain => { url => "http://localhost:$h2c", http_version => '2' },
    oneplain => { url => "http://localhost:$plain" },
    via => { url => 'http://symbols.test/store', proxy => $proxy_url,
             %basic, internal => JSON::PP::false() },
    nopass => { url => 'http://symbols.test/store', internal => $true,
                proxy => 'http://me:other-secret@127.0.0.1:'
                    . $proxy->port },
    to => { url => 'http://symbols.test/store', proxy => $proxy_url,
            internal => JSON::PP::false() },
    lit => { url => 'http://127.0.0.1:1', proxy => $proxy_url,
             internal => JSON::PP::false() },
);
$source{$_} = { type => 'http', internal => $true, only => "^$_\\b",
                %{ $source{$_} } } for keys %source;

my @secrets = qw(basic-secret key-secret token-secret proxy-secret SIGNED
                 wrong-secret other-secret);
push @secrets, map { encode_base64($_, '') }
    'me:basic-secret', 'me:proxy-secret', 'me:other-secret';
my $c = Test::SourceCase->new($t, sources => \%source,
    env => { T_PASSWORD => 'basic-secret', T_KEY => 'key-secret',
             T_PROXY => 'proxy-secret', no_proxy => '*',
             http_proxy => 'http://127.0.0.1:1' });

# The first request that a server saw for a name.
sub seen {
    my ($port, $name) = @_;
    my $line;
    return $t->wait_until("a request for $name at $port", sub {
        ($line) = grep { m{^$port /\Q$name\E[.]pdb/} }
            split /\n/, $t->read_file('seen.log') // '';
        return $line;
    });
}

# --- who we are

$c->found('basic.pdb', 'basic');
my $expected = encode_base64('me:basic-secret', '');
like seen($plain, 'basic'), qr/auth="Basic \Q$expected\E"/,
    'the user and the password are sent with the first request';
like seen($plain, 'basic'),
    qr{agent="Microsoft-Symbol-Server/10\.0\.0\.0 \(symcached\)"},
    'with the classic agent';
$c->found('bearer.pdb', 'bearer');
like seen($plain, 'bearer'), qr/auth="Bearer token-secret"/,
    'the first line of the file is sent';
like seen($plain, 'bearer'), qr/secret="header-key-secret"/,
    'and the header';
like seen($plain, 'bearer'), qr/agent="my agent\/1"/, 'own agent';

# --- where credentials go

$c->found("away$_.pdb", "$_, redirected to another port"),
    like seen($away, "away$_"), qr/auth="-" secret="-"/,
        "$_: no credentials there"
    for qw(basic bearer);
$c->found("${_}basic.pdb", "redirected within the origin ($_)")
    for qw(same path);
unlike seen($plain, 'stay'), qr/auth="-"/, 'credentials stay on';
$c->undecided('awaycert.pdb', 'failed', qr/^400$/,
              'a redirect to a server that wants a certificate');
like seen($mutual, 'awaycert'), qr/dn=- /, 'does not get that of the source';

# --- TLS

$c->undecided('noca.pdb', 'failed', qr/certificate/i,
              'a CA that nobody knows');
$c->found('ca.pdb', 'own CA');
$c->undecided('otherca.pdb', 'failed', qr/certificate/i, 'another own CA');
$c->undecided('badkey.pdb', 'failed', qr/./,
              'the wrong password of the key');
$c->found('cert.pdb', 'client certificate');
like seen($mutual, 'cert'), qr/dn=CN=Test client /, 'is the one configured';
$c->undecided('cert-expired odd name.pdb', 'failed', qr/^400$/,
              'a client certificate that is believed no more');
$c->undecided('nocert.pdb', 'failed', qr/^400$/, 'no client certificate');
my $nocert = $c->ask('nocert odd name.pdb');
is $nocert->{status}, 503, 'no client certificate, and an odd name';
like "@{ $nocert->{places}[-1] }", qr{/index2\.txt failed 400, no plain},
    'which is not what 400 is about';

# --- HTTP versions

for (['twotls', $h2, '2.0'], ['onetls', $h2, '1.1'],
     ['twoplain', $h2c, '2.0'], ['oneplain', $plain, '1.1']) {
    my ($name, $port, $version) = @$_;
    $c->found("$name.pdb", "$name: found");
    like seen($port, $name), qr{ HTTP/\Q$version\E }, "HTTP/$version";
    $c->found("$name-2.pdb", "$name: and another one");
}

# --- proxies

$c->found('via.pdb', 'through a proxy');
my ($req) = $proxy->requests;
is $req->{uri}, "http://symbols.test/store/via.pdb/$id/via.pdb",
    'the proxy gets the whole URL';
is $req->{headers}{authorization}, "Basic $expected",
    'and the credentials for the server';
$c->undecided('nopass.pdb', 'failed', qr/^407$/, 'the wrong proxy password');
for ('to-http-localhost', 'to-http-127.0.0.1', 'to-https-six',
     'to-http-169.254.169.254') {
    $c->undecided("$_.pdb", 'failed', qr/reserved/,
                  "$_: refused though a proxy would do it");
}
my $asked = () = $proxy->requests;
$c->undecided('lit.pdb', 'failed', qr/reserved/, 'a reserved address');
is scalar(() = $proxy->requests), $asked, 'the proxy is not asked for it';

# --- nothing secret is told

my $told = join "\n", $t->helper_log,
    map({ $t->helper('GET', $_)->{body} } '/v1/sources', '/v1/jobs',
        '/metrics'),
    map({ $t->helper('GET', "/v1/why/default/$_.pdb/$id")->{body} }
        keys %source, 'to-http-localhost'),
    values %{ $t->absences('store') };
open my $fh, '<', "/proc/$t->{helper}/cmdline";
$told .= <$fh>;
like $told, qr/awaybasic\.pdb/, 'what was told is looked through';
is_deeply [grep { index($told, $_) >= 0 } @secrets], [],
    'no secret and no signed query in logs, pages, entries, argv';

# --- a tunnel through a real proxy

SKIP: {
    my ($tinyproxy) = grep { -x } '/usr/bin/tinyproxy', '/usr/sbin/tinyproxy';
    skip 'no tinyproxy', 4 unless $tinyproxy;

    my $port = Test::Symcache::free_port();
    $t->write_file('tinyproxy.conf', <<"CONF");
Port $port
Listen 127.0.0.1
Timeout 60
LogFile "$dir/tinyproxy.log"
LogLevel Connect
Allow 127.0.0.1
BasicAuth me proxy-secret
ConnectPort $h2
CONF
    my $pid = $t->spawn('tinyproxy.out', {}, $tinyproxy, '-d', '-c',
                        "$dir/tinyproxy.conf");
    $t->wait_until('tinyproxy accepts', sub {
        Test::Symcache::connects("127.0.0.1:$port");
    });
    $t->stop_symcached;
    $c = Test::SourceCase->new($t, sources => {
        map { $_->[0] => { type => 'http', only => "^$_->[0]",
            url => "https://localhost:$_->[1]", internal => $true,
            tls => \%ca, proxy => "http://me:proxy-secret\@127.0.0.1:$port" }
        } ['tunnel', $h2], ['closed', $tls]
    });
    $c->found('tunnel.pdb', 'https through CONNECT');
    like seen($h2, 'tunnel'), qr{ HTTP/2\.0 }, 'end to end';
    $c->undecided('closed.pdb', 'failed', qr/403/,
                  'a port that the proxy refuses');
    $t->stop_pid($pid, 'TERM');
    like $t->read_file('tinyproxy.log'), qr/CONNECT localhost:$h2 /,
        'the proxy saw it';
    unlike $t->helper_log, qr/proxy-secret/, 'its password is not logged';
}

# --- a connection that is dead, and nobody was told

# Hands on what comes; from the time when "frozen" is there, nothing more on
# connections that are older.
sub start_relay {
    my ($to) = @_;
    my $listen = IO::Socket::INET->new(Listen => 9, Proto => 'tcp',
        LocalAddr => '127.0.0.1') or die "listen: $!";
    my $pid = fork() // die "fork: $!";
    return ($pid, $listen->sockport) if $pid;
    setpgrp 0, 0;
    $SIG{CHLD} = 'IGNORE';
    while (my $client = $listen->accept) {
        next if fork;
        my $server = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$to");
        my $new = -e "$dir/frozen";
        my %to = ($client => $server, $server => $client);
        my $both = IO::Select->new($client, $server);
        while (my @ready = $both->can_read) {
            for (@ready) {
                POSIX::_exit(0) unless sysread $_, my $bytes, 65536;
                syswrite $to{$_}, $bytes if $new || !-e "$dir/frozen";
            }
        }
    }
}

my $relay;
END { kill 'KILL', -$relay if $relay && $$ == $t->{owner} }
for my $version ('2', '1.1') {
    ($relay, my $port) = start_relay($h2);
    $t->stop_symcached;
    $c = Test::SourceCase->new($t, sources => { relay => { type => 'http',
        url => "https://localhost:$port", tls => \%ca, internal => $true,
        http_version => $version } },
        limits => { first_byte_time => '1s', attempts => 2 });
    $c->found("before$version.pdb", "$version: found");
    $t->write_file('frozen', '');
    $c->found("after$version.pdb", "$version: the connection has died");
    is $t->metric('symcached_fetch_retries_total'), 1, 'which was seen once';
    $c->found("later$version.pdb", "$version: and is not used again");
    is $t->metric('symcached_fetch_retries_total'), 1, 'by anybody';
    unlink $t->path('frozen');
    $t->stop_symcached;
    kill 'KILL', -$relay;
    waitpid $relay, 0;
    undef $relay;
}

$t->finish;
done_testing;
