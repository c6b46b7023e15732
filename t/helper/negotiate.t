#!/usr/bin/perl

# Negotiate (Kerberos) with a real KDC and Apache's mod_auth_gssapi as symbol
# server: a ticket from a cache, one from a client keytab, and none; and a KDC
# that is slow or dead, while everything else goes on.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::Kerberos;
use Test::More;
use Test::SourceCase;
use Test::Symcache;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $id = $Test::SourceCase::id;

my @missing = Test::Kerberos::missing();
plan skip_all => "no @missing" if @missing;

# --- the realm

my ($port, $other) = map { Test::Symcache::free_port() } 1 .. 2;
my $k = Test::Kerberos->new($t);
my $kdc = $k->{kdc};
$k->add('alice', 'userpw');
$k->add($_) for 'HTTP/localhost', 'bob';
$k->keytab('HTTP/localhost', 'http.keytab');
$k->keytab('bob', 'bob.keytab');
my %env = (%{ $k->{env} },
           KRB5CCNAME => $k->sign_in('alice', 'userpw', 'alice.cc'));

# --- the symbol server: Negotiate below /, nothing asked for at $other

$t->write_file("www/crash.pdb/$id/crash.pdb",
               $t->read_file($t->data('pdb/crash.pdb')));
for my $name (qw(away near plain file dir memory none two slow shared short
                 free1 free2 free3 kept)) {
    mkdir "$dir/www/$name.pdb";
    symlink "../crash.pdb/$id", "$dir/www/$name.pdb/$id";
    symlink 'crash.pdb', "$dir/www/crash.pdb/$id/$name.pdb";
}
$k->start_apache(<<"CONF");
Listen 127.0.0.1:$port
Listen 127.0.0.1:$other
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
    return env => { KRB5CCNAME => $k->sign_in('alice', 'userpw', "$name.cc") };
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

$k->run("kadmin.local -q 'modprinc -maxlife \"1 second\" HTTP/localhost'");
$c = case(fresh('short'));
$before = issued('alice');
my $n = 0;
$t->wait_until('another ticket, as the first one has ended', sub {
    $c->ask('gone' . $n++ . '.pdb');
    return issued('alice') > $before + 1;
});
$c->found('short.pdb', 'found with a ticket that was renewed');
$k->run("kadmin.local -q 'modprinc -maxlife \"1 hour\" HTTP/localhost'");

# --- the KDC is dead

my %dead = fresh('dead');
$c = case(%dead, limits => { connect_time => '1s', breaker_failures => 1 });
kill 'STOP', $kdc;
$c->undecided('none.pdb', 'failed', qr/${none}none within 1 s/,
              'the KDC never answers');
$t->wait_until('nobody waits for it any more', sub { !waiting() });
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

$k->stop($kdc, 'KILL');
$c = case(%dead);
$c->undecided('none.pdb', 'failed', qr/${none}.*KDC for realm 'TEST.LOCAL'/,
              'no KDC');

$t->stop_symcached;
$k->stop;
$t->finish;
done_testing;
