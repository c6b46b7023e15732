#!/usr/bin/env perl

# Clients with Kerberos tickets, with a real KDC: conf-examples/ as they stand,
# kerberos-auth-request.conf before Apache's mod_auth_gssapi, and
# kerberos-spnego.conf where SPNEGO_SOURCE is the source of that module.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Example;
use Test::Kerberos;
use Test::More;
use Test::Symcache;

my @missing = Test::Kerberos::missing();
plan skip_all => "no @missing" if @missing;
plan skip_all => 'curl has no SPNEGO' if qx(curl --version) !~ /\bSPNEGO\b/;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $json = JSON::PP->new->canonical;
my $id = $Test::Symcache::key{'crash.pdb'};
my $file = $t->request_path('crash.pdb');
my @poll = ('Allow-Retry-After: true');
my $h2 = $t->path('h2.sock');

sub h { Test::Symcache::header(@_) }

# --- two realms and who is in them

my $k = Test::Kerberos->new($t, others => ['OTHER.LOCAL']);
for my $realm ('TEST.LOCAL', 'OTHER.LOCAL') {
    $k->add('alice', 'userpw', realm => $realm);
    $k->add('HTTP/localhost', undef, realm => $realm);
}
$k->add('bob', 'userpw');
$k->keytab('HTTP/localhost', 'http.keytab');

# Tickets that have ended are good for as long as clocks may differ, which is
# five minutes unless this says something else.
my $skew = $k->client_config('skew.conf', undef, 'clockskew = 1');

my %env = (alice => {}, bob => {}, other => {
    KRB5_CONFIG => $k->client_config('other.conf', 'OTHER.LOCAL') });
sub sign_in {
    my ($who, $cache, $options) = @_;
    local %ENV = (%ENV, %{ $env{$who} });
    my $name = $who eq 'other' ? 'alice' : $who;
    return { %{ $env{$who} },
             KRB5CCNAME => $k->sign_in($name, 'userpw', $cache, $options) };
}
$env{$_} = sign_in($_, "$_.cc") for sort keys %env;

sub curl {
    my ($env, @args) = @_;
    local %ENV = (%ENV, %$env);
    open my $out, '-|', qw(curl -sS -m 60 --negotiate -u : --unix-socket),
        @args or die "curl: $!";
    local $/;
    return scalar <$out>;
}

# A token for one request, as a header line; nothing without a ticket.  /token
# says what curl has sent.
sub token {
    my ($who) = @_;
    my $env = ref $who ? $who : $env{$who};
    my $token = curl($env, $t->nginx_socket, 'http://localhost/token');
    return $token eq '' ? () : "Authorization: $token";
}

# --- what is behind nginx

$t->symbol_store('sym');
my $config = $t->default_config('http://127.0.0.1:1', gated => 1);
$config->{sources}{upstream} = { type => 'filesystem',
                                 path => $t->path('sym') };
$config->{stores}{internal} = { %{ $config->{stores}{default} },
                                root => $t->path('internal') };
mkdir $t->path('internal');
mkdir $t->path('store');

sub jobs { $t->metric('symcached_jobs_started_total') }

sub is_refused {
    my ($r, $status, $name) = @_;
    is $r->{status}, $status, $name;
    is jobs(), 0, "$name: no job";
}

# All that is asked of one example; %o: used (status for a token that counts
# no more), foreign (for one of another realm), port.
sub check {
    my ($name, %o) = @_;
    my $tcp = "127.0.0.1:$o{port}";
    my $ask = sub {
        my ($who, $method, $uri, @headers) = @_;
        return $t->http($t->nginx_socket, $method, $uri, @headers,
                        defined $who ? token($who) : ());
    };
    my %symbolicate = (memoryMap => [['crash.pdb', $id]],
                       stacks => [[[0, 0x2913]]]);
    my $post = sub {
        return $t->post($t->nginx_socket, '/symbolicate/v5',
                        $json->encode(\%symbolicate), @_);
    };

    # without a ticket

    for (['GET', "/symcache/$file"], ['GET', "/symcache/$file", @poll],
         ['HEAD', "/symcache/$file"], ['POST', "/symcache/$file"],
         ['OPTIONS', "/symcache/$file"], ['GET', '/symcache/nothing'],
         ['GET', "/internal/$file"], ['GET', "/accel/$file"],
         ['GET', "/redirect/$file"], ['GET', '/status'],
         ['GET', '/status?format=prometheus'], ['GET', '/symbolicate/v5'],
         ['GET', '/requests/00000000-0000-0000-0000-000000000000'],
         ['GET', '/healthcheck'], ['POST', '/minidump'], ['POST', '/profile'],
         ['POST', '/applecrashreport'], ['POST', '/symbolize/v1']) {
        my $r = $ask->(undef, @$_);
        is_refused($r, 401, "$name: no ticket: $_->[0] $_->[1]");
        is h($r, 'WWW-Authenticate'), 'Negotiate', 'and is asked for one';
    }
    is_refused($t->http($tcp, 'GET', "/ci/$file"), 401,
               "$name: satisfy any: another address, no ticket");
    is_refused($post->(), 401, "$name: no ticket: POST");
    is_refused($ask->(undef, 'GET', "/files/crash.pdb/$id/"), 404,
               "$name: what accel leads to is internal");
    my $large = 'Authorization: Negotiate ' . 'A' x 48_000;
    is_refused($ask->(undef, 'GET', "/symcache/$file", $large), $o{used},
               "$name: no token of 48 KB");
    my $head = curl({}, $h2, '--http2-prior-knowledge', '-o', '/dev/null',
                    '-w', '%{http_version} %{http_code}', '-H',
                    $t->write_file('large', "$large\n") =~ s/^/\@/r,
                    "http://localhost/symcache/$file");
    is $head, "2 $o{used}", "$name: the same over HTTP/2";

    # tickets that are no good

    is_refused($ask->('other', 'GET', "/symcache/$file"), $o{foreign},
               "$name: another realm's ticket");
    my ($life, $short, $ends, $kept, $held_by) = (1);
    $t->wait_until('two tokens of a short ticket', sub {
        $life *= 2; # on a machine that is busy it may be over already
        $short = { KRB5_CONFIG => $skew,
                   %{ sign_in('alice', 'short.cc', "-l ${life}s") } };
        $ends = time + $life;
        ($kept, $held_by) = map { scalar token($short) } 1, 2;
        return defined $held_by;
    });
    $t->wait_until('the ticket has ended', sub { !token($short) });
    is_refused($ask->($short, 'GET', "/symcache/$file"), 401,
               "$name: a ticket that has ended");

    # polls and holds

    my @token = token('alice');
    my $r = $t->get("/symcache/$file", @poll, @token);
    is $r->{status}, 404, "$name: a poll";
    ok h($r, 'Retry-After'), 'is told to ask again';
    is $t->get("/symcache/$file", @poll, @token)->{status}, $o{used},
        "$name: a token counts once";
    my $held = $t->open_http($t->nginx_socket, 'GET', "/symcache/$file",
                             'Connection: close', $held_by);
    $t->wait_until('a hold', sub { $t->metric('symcached_waiters') == 1 });
    $t->write_file('gate', '');
    is $t->read_response($held)->{status}, 200,
        "$name: a hold goes on after its ticket has ended";
    $t->wait_until('made', sub {
        $ask->('alice', 'GET', "/symcache/$file", @poll)->{status} == 200;
    });
    my $made = $t->read_file("store/crash.pdb/$id/crash.pdb-v9.0.0.symcache");

    # what a ticket opens

    $r = $ask->('alice', 'GET', "/symcache/$file");
    ok $r->{status} == 200 && $r->{body} eq $made, "$name: a file";
    $r = $ask->('alice', 'HEAD', "/symcache/$file");
    is_deeply [$r->{status}, h($r, 'Content-Length')], [200, length $made],
        "$name: HEAD";
    $r = $ask->('alice', 'GET', "/symcache/$file", 'Range: bytes=10-19');
    ok $r->{status} == 206 && $r->{body} eq substr($made, 10, 10),
        "$name: a range";
    is $ask->('alice', 'GET', "/symcache/$file", 'If-None-Match: '
              . h($r, 'ETag'))->{status}, 304, "$name: If-None-Match";
    is $ask->('alice', 'POST', "/symcache/$file")->{status}, 405, "$name: POST";
    is $ask->('alice', 'GET', '/symcache/nothing')->{status}, 404,
        "$name: a malformed path";
    is curl($env{alice}, $h2, '--http2-prior-knowledge', '-o', "$dir/got", '-w',
            '%{http_version} %{http_code}', "http://localhost/symcache/$file"),
        '2 200', "$name: HTTP/2";
    is $t->read_file('got'), $made, 'and its bytes';
    $r = $ask->('alice', 'GET', "/accel/$file");
    ok $r->{status} == 200 && $r->{body} eq $made, "$name: accel";
    $r = $ask->('alice', 'GET', "/redirect/$file");
    is_deeply [$r->{status}, h($r, 'Location')],
        [302, "https://elsewhere/crash.pdb/$id/crash.pdb-v9.0.0.symcache"],
        "$name: redirect";
    $r = $ask->('alice', 'GET', '/status?format=json');
    is $json->decode($r->{body})->{helper}{state}, 'answered',
        "$name: the status page";
    is $t->get("/ci/$file")->{status}, 200,
        "$name: satisfy any: the address, no ticket";
    is $t->http($tcp, 'GET', "/ci/$file", token('alice'))->{status}, 200,
        "$name: satisfy any: another address, a ticket";

    # groups

    is $ask->('bob', 'GET', "/symcache/$file")->{status}, 200,
        "$name: bob: the store for all";
    is $ask->('bob', 'GET', "/internal/$file")->{status}, 403,
        "$name: bob: not the one for some";
    ok !-e $t->path('internal/crash.pdb'), 'for whom nothing is made there';
    is $ask->('alice', 'GET', "/internal/$file")->{status}, 200,
        "$name: alice: the store for some";
    ok -e $t->path('internal/crash.pdb'), 'made there';

    # symbolication

    $r = $post->(token('alice'));
    is $json->decode($r->{body})->{results}[0]{stacks}[0][0]{function},
        'main(int, char**)', "$name: symbolication";
    $r = $t->post($t->nginx_socket, '/profile', 'none', token('alice'));
    is $r->{status}, 400, "$name: a profile that is none";
    like $r->{body}, qr/^\{"error"/, 'says symbolicated';
    for my $method ('POST', 'GET') {
        $r = $ask->(undef, 'OPTIONS', '/symbolicate/v5',
            'Origin: https://profiler.example.com',
            "Access-Control-Request-Method: $method");
        like $r->{status}, qr/^20[04]$/, "$name: a preflight for $method";
        is h($r, 'Access-Control-Allow-Origin'), '*', 'may go on';
    }
    return ($kept, $ends);
}

# No version makes a client one that takes retries, so it is held.
sub start {
    my ($name, $port, $modules, %put) = @_;
    $t->write_file('error.log', '');
    Test::Example::start($t, $name, modules => $modules, put => {
        'listen 443 ssl http2;' => "listen unix:$dir/n.sock; "
            . "listen unix:$h2 http2; listen 127.0.0.1:$port; "
            . 'location = /token { return 200 $http_authorization; } '
            . "location /redirect/ { symcache $dir/store; "
            . 'symcache_redirect https://elsewhere/; }',
        (map { $_ => '' } 'ssl_certificate     /etc/nginx/tls.crt;',
         'ssl_certificate_key /etc/nginx/tls.key;'),
        'symcache.example.com;' => 'localhost;',
        'symcache_pass unix:/run/symcached/symcached.sock;' =>
            "symcache_pass unix:$dir/h.sock; "
            . 'symcache_async_after 65535.65535.65535;',
        '192.0.2.0/24' => 'unix:', %put });
}

sub begin {
    unlink $t->path('gate');
    for my $store (qw(store internal)) {
        Test::Symcache::remove_tree($t->path("$store/crash.pdb"));
    }
    $t->start_symcached($config);
    $t->start_symbolicated;
}

sub end {
    $t->stop_nginx;
    $t->stop_symbolicated;
    $t->stop_symcached;
}

# --- Apache

my ($apache, $port) = map { Test::Symcache::free_port() } 1 .. 2;
my $text = Test::Example::text($t, 'apache2/symcache.conf');
$text =~ s{127\.0\.0\.1:8081}{127.0.0.1:$apache}g;
$text =~ s{/etc/apache2/}{$dir/}g;
$t->write_file('groups', "internal: alice\@TEST.LOCAL\n");
my $pid = $k->start_apache($text);

begin();
start('kerberos-auth-request.conf', $port, [],
      '127.0.0.1:8081' => "127.0.0.1:$apache");
my ($kept, $ends) = check('Apache', used => 401, foreign => 401, port => $port);
my $log = $t->read_file('symcache.log');
like $log, qr{^\S+ - alice\S* \[[^]]+\] "GET /symcache/\S+ HTTP/1\.1" 200 }m,
    'Apache: the log has the user';
like $log, qr{^\S+ - - \[[^]]+\] "GET /symcache/\S+ HTTP/1\.1" 401 }m,
    'Apache: and none without a ticket';

# the server refuses such a ticket, too
$k->stop($pid);
$pid = $k->start_apache($text, KRB5_CONFIG => $skew);
$t->wait_until('the ticket has ended by its clock', sub { time > $ends + 2 });
is $t->get('/status', $kept)->{status}, 401, 'Apache: a token that was kept';
like $t->read_file('apache.log'), qr/Ticket expired/,
    'Apache: a token of a ticket that has ended';

$k->stop($pid);
my $r = $t->get("/symcache/$file", token('alice'));
is $r->{status}, 500, 'Apache is down: no final answer';
end();

# --- the module of nginx

SKIP: {
    my $source = $ENV{SPNEGO_SOURCE}
        or skip 'kerberos-spnego.conf: SPNEGO_SOURCE is not set', 1;
    my $build = "$Test::Symcache::build/spnego";
    system("$Test::Symcache::top/tools/build-module", $build, $source) == 0
        or die 'the module cannot be built';
    begin();
    my @spnego = ("$build/ngx_http_auth_spnego_module.so");
    start('kerberos-spnego.conf', $port, \@spnego);
    check('spnego', used => 403, foreign => 403, port => $port);
    $t->stop_nginx;

    # the trap that conf-examples/limits.conf tells of is still there
    start('kerberos-spnego.conf', $port, \@spnego,
          'large_client_header_buffers 4 64k;' => 'limit_req zone=users; '
              . 'limit_req_zone $remote_user zone=users:1m rate=100r/s;');
    is $t->get('/status')->{status}, 200, 'a limit for $remote_user';
    end();
}

$k->stop;
$t->finish;
done_testing;
