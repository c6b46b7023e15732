#!/usr/bin/perl

# Negotiate (Kerberos) with a real KDC and Apache's mod_auth_gssapi as symbol
# server: a ticket from a cache, one from a client keytab, and none; and a KDC
# that is slow or dead, while everything else goes on.

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
my $modules = '/usr/lib/apache2/modules';
$ENV{PATH} .= ':/usr/sbin:/sbin';

my @missing = grep { system("command -v $_ >$dir/which.out 2>&1") != 0 }
    qw(krb5kdc kdb5_util kadmin.local kinit apache2);
push @missing, 'mod_auth_gssapi' unless -e "$modules/mod_auth_gssapi.so";
plan skip_all => "no @missing" if @missing;

sub run {
    my ($command) = @_;
    system("$command >$dir/run.out 2>&1") == 0
        or die "$command: ", $t->read_file('run.out');
}

# --- the realm

my @pids;
END { kill 'KILL', @pids if $t && $$ == $t->{owner} }
my ($kdc_port, $port, $other) = map { Test::Symcache::free_port() } 1 .. 3;
my %env = (KRB5_CONFIG => "$dir/krb5.conf", KRB5_KDC_PROFILE => "$dir/kdc.conf",
           KRB5CCNAME => "FILE:$dir/alice.cc",
           KRB5RCACHENAME => "dfl:$dir/rcache");
@ENV{keys %env} = values %env;

$t->write_file('krb5.conf', <<"CONF");
[libdefaults]
    default_realm = TEST.LOCAL
    dns_lookup_realm = false
    dns_lookup_kdc = false
    dns_canonicalize_hostname = false
    rdns = false
    udp_preference_limit = 1
[realms]
    TEST.LOCAL = {
        kdc = 127.0.0.1:$kdc_port
    }
[domain_realm]
    localhost = TEST.LOCAL
CONF
$t->write_file('kdc.conf', <<"CONF");
[kdcdefaults]
    kdc_listen = 127.0.0.1:$kdc_port
    kdc_tcp_listen = 127.0.0.1:$kdc_port
[realms]
    TEST.LOCAL = {
        database_name = $dir/kdc/principal
        key_stash_file = $dir/kdc/stash
        acl_file = $dir/kdc/kadm5.acl
        supported_enctypes = aes256-cts-hmac-sha1-96:normal
    }
[logging]
    kdc = FILE:$dir/kdc/kdc.log
CONF
$t->write_file('kdc/kadm5.acl', '');
run('kdb5_util create -s -r TEST.LOCAL -P master');
run("kadmin.local -q 'addprinc -pw userpw alice'");
run("kadmin.local -q 'addprinc -randkey $_'") for 'HTTP/localhost', 'bob';
run("kadmin.local -q 'ktadd -k $dir/http.keytab HTTP/localhost'");
run("kadmin.local -q 'ktadd -k $dir/bob.keytab bob'");
my $kdc = $t->spawn('kdc.out', {}, 'krb5kdc', '-n');
@pids = $kdc;
$t->wait_until('the KDC accepts',
               sub { Test::Symcache::connects("127.0.0.1:$kdc_port") });
run('echo userpw | kinit alice');

# --- the symbol server: Negotiate below /, nothing asked for at $other

$t->write_file("www/crash.pdb/$id/crash.pdb",
               $t->read_file($t->data('pdb/crash.pdb')));
for my $name (qw(away near plain file dir memory none two slow shared short
                 free1 free2 free3 kept)) {
    mkdir "$dir/www/$name.pdb";
    symlink "../crash.pdb/$id", "$dir/www/$name.pdb/$id";
    symlink 'crash.pdb', "$dir/www/crash.pdb/$id/$name.pdb";
}
chmod 0644, "$dir/http.keytab";
my $user = $> == 0 ? "User www-data\nGroup www-data" : '';
$t->write_file('apache.conf', <<"CONF");
ServerRoot $dir
ServerName localhost
Listen 127.0.0.1:$port
Listen 127.0.0.1:$other
PidFile $dir/apache.pid
ErrorLog $dir/apache.log
DefaultRuntimeDir $dir
$user
LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authn_core_module $modules/mod_authn_core.so
LoadModule authz_core_module $modules/mod_authz_core.so
LoadModule authz_user_module $modules/mod_authz_user.so
LoadModule alias_module $modules/mod_alias.so
LoadModule auth_gssapi_module $modules/mod_auth_gssapi.so
LogFormat "%p %u %U auth=%{Authorization}i" seen
CustomLog $dir/seen.log seen
DocumentRoot $dir/www
<VirtualHost *:$port>
    Redirect /near.pdb http://localhost:$port/plain.pdb
    Redirect /away.pdb http://localhost:$other/plain.pdb
    <Location "/">
        AuthType GSSAPI
        AuthName symbols
        GssapiCredStore keytab:$dir/http.keytab
        GssapiAllowedMech krb5
        Require valid-user
    </Location>
</VirtualHost>
<VirtualHost *:$other>
    <Location "/">
        Require all granted
    </Location>
</VirtualHost>
CONF
push @pids, $t->spawn('apache.out', {}, 'apache2', '-f', "$dir/apache.conf",
                      '-DFOREGROUND');
$t->wait_until('Apache accepts',
               sub { Test::Symcache::connects("127.0.0.1:$port") });

sub case {
    my (%o) = @_;
    $t->stop_symcached;
    return Test::SourceCase->new($t, sources => { up => {
        type => 'http', url => "http://localhost:$port",
        internal => JSON::PP::true(), auth => { type => 'negotiate' },
        except => '^free', %{ $o{source} // {} },
    }, free => {
        type => 'http', url => "http://localhost:$other",
        internal => JSON::PP::true(), only => '^free',
    } }, limits => $o{limits}, env => { %env, %{ $o{env} // {} } });
}

sub seen { grep { m{^$_[0] } && m{ /\Q$_[1]\E[.]pdb/} }
           split /\n/, $t->read_file('seen.log') // '' }

# How many tickets for the server the KDC has ever given to $who.
sub issued {
    my ($who) = @_;
    return scalar grep { /TGS_REQ .*: ISSUE: .* \Q$who\E\@\S+ for HTTP/ }
        split /\n/, $t->read_file('kdc/kdc.log');
}

my $c = case();
$c->found('crash.pdb', 'with a ticket from the cache');
my ($line) = seen($port, 'crash');
like $line, qr/^$port alice\@TEST\.LOCAL .*auth=Negotiate /,
    'the server knows who asks, at the first request';
$c->found('two.pdb', 'again: every request has a token of its own');
$c->absent('never.pdb', qr/^404$/, 'none there');

$c->found('near.pdb', 'redirected to the same host and port');
my %tokens = map { /auth=(.*)/ ? ($1 => 1) : () } seen($port, 'near'),
    seen($port, 'plain');
is_deeply [scalar(keys %tokens), grep { !/^Negotiate / } keys %tokens], [2],
    'with a token of its own';
$c->found('away.pdb', 'redirected to another port');
($line) = seen($other, 'plain');
like $line, qr/^$other - .*auth=-$/, 'no token there';
my ($token) = (seen($port, 'crash'))[0] =~ /auth=Negotiate (\S{40})/;
unlike $t->helper_log . $t->helper('GET', '/v1/sources')->{body},
    qr/\Q$token\E/, 'no token is logged or shown';

mkdir "$dir/bob.d";
for my $cache ("FILE:$dir/bob.cc", "DIR:$dir/bob.d", 'MEMORY:bob') {
    my ($kind) = $cache =~ /^(\w+)/;
    $c = case(env => { KRB5CCNAME => $cache,
                       KRB5_CLIENT_KTNAME => "FILE:$dir/bob.keytab" });
    $c->found("\L$kind.pdb", "with a ticket that a client keytab got, $kind");
    ($line) = seen($port, "\L$kind");
    like $line, qr/^$port bob\@TEST\.LOCAL /, 'the server knows whose';
    my $before = issued('bob');
    $c->absent("no\L$kind.pdb", qr/^404$/, 'more requests');
    my $n = issued('bob') - $before;
    ok $kind eq 'MEMORY' ? $n > 0 : $n == 0,
        "tickets in $kind are kept" . ($n ? ' for one request' : '');
}

$c = case(env => { KRB5CCNAME => "FILE:$dir/none.cc",
                   KRB5_CLIENT_KTNAME => "FILE:$dir/none.keytab" });
my $none = qr/^no Kerberos ticket for HTTP\@localhost: /;
$c->undecided('none.pdb', 'failed', qr/$none.*\Q$dir\/none.cc\E/,
              'without a ticket');
is_deeply [seen($port, 'none')], [], 'the server is not asked';

$c = case(source => { url => "http://127.0.0.1:$port" });
$c->undecided('none.pdb', 'failed', qr/\bHTTP\/127\.0\.0\.1\@/,
              'a host that the realm does not know');

# --- the KDC does not answer: it is stopped, and has to be asked

# A cache with a ticket for the KDC only.
sub fresh {
    my ($name) = @_;
    run("kinit -c FILE:$dir/$name.cc alice <$dir/password");
    return env => { KRB5CCNAME => "FILE:$dir/$name.cc" };
}

sub waiting {
    my $pid = $t->{helper};
    my @children = split ' ', $t->read_file("/proc/$pid/task/$pid/children");
    return grep { ($t->read_file("/proc/$_/cmdline") // '') =~ /--spnego/ }
        @children;
}

# Sends a question and returns when its job waits for the KDC.
sub ask_slow {
    my ($name) = @_;
    my $s = $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/default/$name/$id?version=9.0.0&wait=60");
    $t->wait_until("the job of $name", sub {
        grep { $_->{key} =~ m{^\Q$name\E/} }
            @{ $t->helper_json('/v1/jobs')->{jobs} };
    });
    $t->wait_until('a ticket is asked for', \&waiting);
    return $s;
}

$t->write_file('password', "userpw\n");
$c = case(fresh('slow'), limits => { connect_time => '60s' });
my $before = issued('alice');
kill 'STOP', $kdc;
my $slow = ask_slow('slow.pdb');
my @ticket = waiting();
$c->found('free1.pdb', 'a download of another source meanwhile');
is $t->helper('GET', '/v1/sources')->{status}, 200, 'and a question';
my $shared = ask_slow('shared.pdb');
is_deeply [waiting()], \@ticket, 'two jobs ask for one ticket';

kill 'HUP', $t->{helper};
$t->wait_until('reloaded',
               sub { $t->metric('symcached_reloads_total{result="ok"}') });
$c->found('free2.pdb', 'a download after a reload meanwhile');
is_deeply [waiting()], \@ticket, 'the ticket is still asked for';
is issued('alice'), $before, 'the KDC has said nothing';

kill 'CONT', $kdc;
is $t->read_response($_)->{status}, 200, 'found when the KDC has answered'
    for $slow, $shared;
is issued('alice'), $before + 1, 'which it was asked for once';

kill 'STOP', $kdc;
$c->found('kept.pdb', 'a ticket that is there needs no KDC');
kill 'CONT', $kdc;

# --- a ticket ends

run("kadmin.local -q 'modprinc -maxlife \"1 second\" HTTP/localhost'");
$c = case(fresh('short'));
$before = issued('alice');
my $n = 0;
$t->wait_until('another ticket, as the first one has ended', sub {
    $c->ask('gone' . $n++ . '.pdb');
    return issued('alice') > $before + 1;
});
$c->found('short.pdb', 'found with a ticket that was renewed');
run("kadmin.local -q 'modprinc -maxlife \"1 hour\" HTTP/localhost'");

# --- the KDC is dead

my %dead = fresh('dead');
$c = case(%dead, limits => { connect_time => '1s', breaker_failures => 1 });
kill 'STOP', $kdc;
$c->undecided('none.pdb', 'failed', qr/${none}none within 1 s/,
              'the KDC never answers');
is_deeply [waiting()], [], 'nobody waits for it any more';
is_deeply [seen($port, 'none')], [], 'the server is not asked';
$c->undecided('never2.pdb', 'failed', qr/^not asked: the host failed/,
              'not every job waits for it');
$c->found('free3.pdb', 'the other source is asked');
like $t->helper_log, qr/HTTP\@localhost: none within 1 s/, 'the log says so';

$c = case(%dead, limits => { connect_time => '60s' });
ask_slow('none.pdb');
@ticket = waiting();
is $t->stop_symcached, 0, 'stops while a ticket is asked for';
$t->wait_until('nobody asks for it', sub { !grep { -e "/proc/$_" } @ticket });

$t->stop_pid($kdc, 'KILL');
@pids = grep { $_ != $kdc } @pids;
$c = case(%dead);
$c->undecided('none.pdb', 'failed', qr/${none}.*KDC for realm 'TEST.LOCAL'/,
              'no KDC');

$t->stop_symcached;
$t->stop_pid(pop @pids, 'TERM') while @pids;
$t->finish;
done_testing;
