#!/usr/bin/env perl

# Who may do what at the sockets: "listen" alone, beside "admin_listen", over
# TCP, and with a token, which nginx, symbolicated and symcachectl send.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use POSIX ();
use Test::Ctl;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $ctl = Test::Ctl->new($t);
my $json = JSON::PP->new->canonical;
my $id = $Test::Symcache::key{'crash.pdb'};
my $admin = $t->path('admin.sock');
my $port = Test::Symcache::free_port();
my $tcp = "127.0.0.1:$port";

$t->symbol_store('sym');
my $config = $t->default_config('http://127.0.0.1:1');
$config->{sources}{upstream} = { type => 'filesystem',
                                 path => $t->path('sym') };

# what is asked for: by GET, or with a body by POST
my $key = "/v1/symcache/default/crash.pdb/$id";
my @lookups = (["$key?version=9.0.0&wait=60"], ['/healthz'], ['/version'],
               ['/v1/lookups?version=9.0.0&wait=60', "$key\n"]);
my @reads = (["/v1/why/default/crash.pdb/$id"], ['/metrics'],
             map({ ["/v1/$_"] } qw(jobs sources misses status)),
             ['/v1/symbolicated', $json->encode({ name => 'n', version => '1',
                 listen => 'l', started => 1, requests => 1, frames => 1,
                 valid => 60 })]);
my @changes = map { ["/v1/$_", ''] } (map { "forget/default$_" }
    "/crash.pdb/$id", '/crash.pdb', '?malformed_since=1h'), 'drain', 'undrain';

# What each page answers: [lookups, reads, changes], a hash of page => "status
# detail" each.
sub answers {
    my ($address, @headers) = @_;
    return [map {
        +{ map {
            my ($uri, $body) = @$_;
            my $r = defined $body ? $t->post($address, $uri, $body, @headers)
                                  : $t->http($address, 'GET', $uri, @headers);
            my $error = eval { $json->decode($r->{body}) } // {};
            ($uri => join ' ', $r->{status}, $error->{detail} // ());
        } @$_ };
    } \@lookups, \@reads, \@changes];
}

# Checks these against a status each; $why is the reason of 401 and 403.
sub are {
    my ($name, $answers, $expect, $why) = @_;
    for my $n (0 .. 2) {
        my $want = $expect->[$n] == 200 ? qr/^200$/ : qr/^$expect->[$n] $why/;
        like $answers->[$n]{$_}, $want, "$name: $_"
            for sort keys %{ $answers->[$n] };
    }
}

sub pages {
    my ($name, $address, $expect, $why, @headers) = @_;
    are($name, answers($address, @headers), $expect, $why);
}

sub mode { sprintf '%04o', (stat $_[0])[2] & 07777 }

# --- a Unix socket alone: administration is for root and symcached's user

$t->start_symcached($config);
is mode($t->helper_socket), '0666', 'listen: everybody may connect';
pages('listen', $t->helper_socket, [200, 200, 200]);

SKIP: {
    skip 'another user: this needs root', 14 if $> != 0;
    my $pid = open(my $out, '-|') // die "fork: $!";
    if (!$pid) {
        POSIX::setgid(65534);
        POSIX::setuid(65534);
        print $json->encode(answers($t->helper_socket));
        close STDOUT;
        POSIX::_exit(0);
    }
    are('listen, another user', $json->decode(<$out>), [200, 200, 403],
        'without "admin_listen" only root and the user of symcached may do');
    close $out;
}

# --- with admin_listen

$t->stop_symcached;
$t->start_symcached({ %$config, admin_listen => "unix:$admin" });
is mode($t->helper_socket), '0666', 'beside admin_listen: listen';
is mode($admin), '0660', 'admin_listen: user and group of symcached';
pages('beside admin_listen', $t->helper_socket, [200, 200, 403],
      'this is answered on the socket of "admin_listen" only');
pages('admin_listen', $admin, [200, 200, 200]);
my @config = ('-c', $t->path('symcached.json'));
$ctl->is($ctl->run('forget', @config, 'crash.pdb'), 0, qr/^forgotten entries: 0$/,
         undef, 'symcachectl asks at admin_listen');
my $r = $ctl->run('forget', $ctl->socket, 'crash.pdb');
$ctl->is($r, 3, undef, qr/forbidden: this is answered on the socket of "admin_/,
         'symcachectl tells why it may not');
$t->write_helper_config($config);
kill 'HUP', $t->{helper};
$t->wait_until('a reload', sub { $t->helper_log =~ /" reloaded/ });
like $t->helper_log, qr/"admin_listen" takes effect at the next start/,
    'another admin_listen waits for a start';
$t->stop_symcached;
ok !-e $admin, 'the socket is removed';

# --- TCP without a token

my $over_tcp = { %$config, listen => $tcp };
$t->start_symcached($over_tcp, address => $tcp);
pages('TCP', $tcp, [200, 403, 403],
      'only lookups are answered over TCP without "listen_token"');
like $t->http($tcp, 'GET', '/readyz')->{status}, qr/^(?:200|503)$/,
    'TCP: /readyz is a lookup, too';
ok $t->wait_until('the configuration is looked at', sub {
    $t->helper_log =~ /\[warn\].* listen: over TCP and without "listen_token" /
}), 'TCP: a warning';
$t->stop_symcached;

$t->start_symcached({ %$over_tcp, admin_listen => "unix:$admin" },
                    address => $tcp);
pages('TCP beside admin_listen', $tcp, [200, 403, 403], 'only lookups');
pages('admin_listen beside TCP', $admin, [200, 200, 200]);
$t->stop_symcached;

# --- TCP with a token, which is read again by a reload

sub bearer { "Authorization: Bearer $_[0]" }

my ($token, $next) = ('first-token~1', 'second.token_2==');
my $file = $t->write_file('token', "$token\n");
my $with_token = { %$over_tcp, listen_token => "\@$file" };
my $needs = 'requests here need "Authorization: Bearer" and the token of ';
$t->write_file('symcached.log', '');
$t->start_symcached($with_token, address => $tcp);
unlike $t->helper_log, qr/listen_token/, 'token: no warning';
pages('the token', $tcp, [200, 200, 200], undef, bearer($token));
pages('no token', $tcp, [401, 401, 401], $needs);
for (['another one', bearer($next)], ['a part of it', bearer('first-token~')],
     ['more than it', bearer("${token}1")], ['an empty one', bearer('')],
     ['another scheme', "Authorization: Basic $token"]) {
    my ($name, $header) = @$_;
    $r = $t->http($tcp, 'GET', '/healthz', $header);
    is $r->{status}, 401, "token: $name";
}
is $r->{reason}, 'Unauthorized', 'token: the status in the words of RFC 9110';
is Test::Symcache::header($r, 'WWW-Authenticate'), 'Bearer realm="symcached"',
    'token: which kind is wanted';
is $t->http($tcp, 'GET', '/healthz', "authorization: bearer  $token" =~
            s/  / /r)->{status}, 200, 'token: any case of the scheme';

$t->start_nginx("
    location / {
        symcache %%DIR%%/store;
        symcache_pass $tcp;
        symcache_pass_token \@$file;
        symcache_async_after 65535.65535.65535;
        location /off/ {
            symcache %%DIR%%/store;
            symcache_pass $tcp;
            symcache_pass_token off;
        }
    }
    location = /status { symcache_status; symcache_zone z; symcache_pass $tcp;
                         symcache_pass_token \@$file; }",
    http => 'symcache_zone z:64k;');
$t->start_symbolicated;
my $store = $t->path('store');

# The status that a held request and an address get when nothing is cached.
sub clients {
    my ($prefix) = @_;
    Test::Symcache::remove_tree("$store/crash.pdb");
    my $nginx = $t->get(($prefix // '/') . $t->request_path('crash.pdb'));
    Test::Symcache::remove_tree("$store/crash.pdb");
    my $r = $t->post($t->symbolicated_socket, '/symbolicate/v5',
        $json->encode({ memoryMap => [['crash.pdb', $id]],
                        stacks => [[[0, 0x2913]]] }));
    my $result = eval { $json->decode($r->{body})->{results}[0] };
    return [$nginx->{status},
            $result->{stacks}[0][0]{function} // 'no function'];
}
my $function = 'main(int, char**)';

is_deeply clients(), [200, $function], 'nginx and symbolicated send it';
is $json->decode($t->get('/status?format=json')->{body})->{helper}{state},
    'answered', 'and the status page';
is clients('/off/')->[0], 503, 'nginx does not where it is off';
like $t->error_log, qr/unexpected reply with status 401/, 'and tells of that';
$ctl->is($ctl->run('forget', @config, 'crash.pdb'), 0, qr/^forgotten entries: 0$/,
         undef, 'symcachectl sends it');
$ctl->is($ctl->run('jobs', @config, '--socket', $tcp), 0, qr/^jobs 0:/, undef,
         'symcachectl sends it to a socket, with the configuration');
$ctl->is($ctl->run('jobs', '--socket', $tcp), 3, undef, qr/no-token: requests/,
         'but not without');

$t->write_file('token', "$next\n");
is $t->http($tcp, 'GET', '/healthz', bearer($token))->{status}, 200,
    'rotated: the old one until a reload';
my @reloaded = ('symcached_reloads_total{result="ok"} 1', bearer($next));
kill 'HUP', $t->{helper};
$t->wait_until('reloaded', sub {
    $t->http($tcp, 'GET', '/metrics', $reloaded[1])->{body} =~
        /^\Q$reloaded[0]\E$/m;
});
is $t->http($tcp, 'GET', '/healthz', bearer($token))->{status}, 401,
    'rotated: the old one no more';
is_deeply clients(), [503, 'no function'],
    'nginx and symbolicated still have the old one';
$t->reload_nginx;
kill 'HUP', $t->{symbolicated};
$t->wait_until('symbolicated has reloaded',
               sub { $t->symbolicated_log =~ /" reloaded/ });
$t->wait_until('both have the new one', sub {
    my $got = clients();
    return $got->[0] == 200 && $got->[1] eq $function;
});
pass 'nginx and symbolicated have the new one after a reload';

# --- a token that cannot be read

$t->allow_log(qr/the old configuration stays/);
$t->write_file('token', "\n");
kill 'HUP', $t->{helper};
$t->wait_until('an error', sub { $t->helper_log =~
    /listen_token: the first line of "\Q$file\E" is empty; the old conf/ });
is $t->http($tcp, 'GET', '/healthz', bearer($next))->{status}, 200,
    'an empty file changes nothing';
$ctl->is($ctl->run('jobs', @config), 3, undef,
         qr/^symcachectl: listen_token: the first line of "\Q$file\E" is empty$/,
         'symcachectl tells of it');
for (['', qr/needs a file whose first line is a token/],
     ["two words\n", qr/needs a file whose first line is a token/],
     [undef, qr/open\(\) "\Q$file\E" failed/]) {
    my ($text, $error) = @$_;
    defined $text ? $t->write_file('token', $text) : unlink $file;
    my ($code, $out) = $t->test_nginx("symcache_pass_token \@$file;");
    is $code, 1, 'nginx refuses such a file';
    like $out, $error, 'and tells why';
}
for (['token', qr/needs "@" and the file/], ['@', qr/needs "@" and the file/]) {
    my ($code, $out) = $t->test_nginx("symcache_pass_token $_->[0];");
    is $code, 1, "nginx refuses $_->[0]";
    like $out, $_->[1], 'and tells why';
}

$t->finish;
done_testing;
