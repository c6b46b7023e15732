#!/usr/bin/perl

# Negotiate (Kerberos) with a real KDC and Apache's mod_auth_gssapi as symbol
# server: a ticket from a cache, one from a client keytab, and none.

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
my @pids = $t->spawn('kdc.out', {}, 'krb5kdc', '-n');
$t->wait_until('the KDC accepts',
               sub { Test::Symcache::connects("127.0.0.1:$kdc_port") });
run('echo userpw | kinit alice');

# --- the symbol server: Negotiate below /, nothing asked for at $other

$t->write_file("www/crash.pdb/$id/crash.pdb",
               $t->read_file($t->data('pdb/crash.pdb')));
for my $name ('away', 'plain', 'keytab', 'none', 'two') {
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
        %{ $o{source} // {} },
    } }, env => { %env, %{ $o{env} // {} } });
}

sub seen { grep { m{^$_[0] } && m{ /\Q$_[1]\E[.]pdb/} }
           split /\n/, $t->read_file('seen.log') // '' }

my $c = case();
$c->found('crash.pdb', 'with a ticket from the cache');
my ($line) = seen($port, 'crash');
like $line, qr/^$port alice\@TEST\.LOCAL .*auth=Negotiate /,
    'the server knows who asks, at the first request';
$c->found('two.pdb', 'again: every request has a token of its own');
$c->absent('never.pdb', qr/^404$/, 'none there');

$c->found('away.pdb', 'redirected to another port');
($line) = seen($other, 'plain');
like $line, qr/^$other - .*auth=-$/, 'no token there';
my ($token) = (seen($port, 'crash'))[0] =~ /auth=Negotiate (\S{40})/;
unlike $t->helper_log . $t->helper('GET', '/v1/sources')->{body},
    qr/\Q$token\E/, 'no token is logged or shown';

$c = case(env => { KRB5CCNAME => "FILE:$dir/bob.cc",
                   KRB5_CLIENT_KTNAME => "FILE:$dir/bob.keytab" });
$c->found('keytab.pdb', 'with a ticket that a client keytab got');
($line) = seen($port, 'keytab');
like $line, qr/^$port bob\@TEST\.LOCAL /, 'the server knows whose';

$c = case(env => { KRB5CCNAME => "FILE:$dir/none.cc",
                   KRB5_CLIENT_KTNAME => "FILE:$dir/none.keytab" });
$c->undecided('none.pdb', 'failed', qr/401/, 'without a ticket');

$c = case(source => { url => "http://127.0.0.1:$port" });
$c->undecided('none.pdb', 'failed', qr/401/,
              'a host that the realm does not know');

$t->stop_symcached;
$t->stop_pid($_, 'TERM') for reverse @pids;
$t->finish;
done_testing;
