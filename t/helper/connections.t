#!/usr/bin/perl

# Kept connections: which requests use them, and what they carry from one
# source to another (nothing).

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::ScriptedServer;
use Test::SourceCase;
use Test::Symcache;

my $t = Test::Symcache->new;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $true = JSON::PP::true();

# The process that answers is that of the connection.
sub answer {
    my ($c, $req) = @_;
    my ($name) = $req->{path} =~ m{/(\w+)[.]pdb/};
    $t->write_file("connection.$name", $$);
    $c->reply(200, {}, $crash);
}

sub connection { $t->read_file("connection.$_[0]") }

# Like servers that sign in a connection and not a request: the first header of
# that name is good for all that follows.
my %signed_in;
sub sign_in {
    my ($header) = @_;
    return sub {
        my ($c, $req) = @_;
        $signed_in{$$} ||= defined $req->{headers}{$header};
        return $signed_in{$$} ? answer($c, $req) : $c->reply(401, {}, '');
    };
}

my %script = (
    inner => \&answer,
    public => sub {
        my ($c, $req) = @_;
        $c->reply(302, { Location => "$ENV{INNER}$req->{path}" }, '');
    },
    door => sign_in('authorization'),
    proxy => sign_in('proxy-authorization'),
);
my %server;
for (qw(inner public door proxy)) {
    $server{$_} = Test::ScriptedServer->new(log => $t->path("$_.log"),
                                            script => $script{$_});
    $ENV{INNER} = $server{inner}->url if $_ eq 'inner';
}

my %auth = (auth => { type => 'basic', user => 'me', password => 'secret' });
my $proxy = $server{proxy}->url;
(my $proxy_in = $proxy) =~ s{//}{//me:secret@};
my %source = (
    inner => { url => $server{inner}->url, internal => $true },
    # its own address is allowed as a public one would be; others are not
    public => { url => $server{public}->url, internal => 'origin' },
    known => { url => $server{door}->url, internal => $true, %auth },
    stranger => { url => $server{door}->url, internal => $true },
    byproxy => { url => 'http://symbols.test', proxy => $proxy_in },
    byother => { url => 'http://symbols.test', proxy => $proxy },
);
my $c = Test::SourceCase->new($t, sources => {
    map { $_ => { type => 'http', only => "^$_", %{ $source{$_} } } }
        keys %source
});

# --- one source

$c->found('inner1.pdb', 'a source');
$c->found('inner2.pdb', 'and again');
is connection('inner2'), connection('inner1'), 'over the same connection';

# --- an address that only another source may use

my $asked = () = $server{inner}->requests;
$c->undecided('public.pdb', 'failed', qr/^address is reserved, and not of the host that is configured$/,
              'a redirect to where another source has a connection');
is scalar(() = $server{inner}->requests), $asked, 'is not followed';

# --- a server that signs in connections

$c->found('known1.pdb', 'a source that signs in');
$c->undecided('stranger.pdb', 'failed', qr/^401/,
              'another one of the same server that does not');
$c->found('byproxy1.pdb', 'a source that signs in at its proxy');
$c->undecided('byother.pdb', 'failed', qr/^401/,
              'another one of the same proxy that does not');

# --- another configuration

my $sockets = sub { scalar grep { (readlink($_) // '') =~ /^socket:/ }
                        glob "/proc/$t->{helper}/fd/*" };
my $before = $sockets->();
for my $n (1 .. 5) {
    $t->reload_symcached($c->{config});
    $c->found("inner_$n.pdb", "a file after reload $n");
}
$t->wait_until('no more sockets than before', sub { $sockets->() <= $before });
$t->wait_until('former connections are closed', sub {
    !kill 0, map { connection($_) } qw(inner2 inner_1 inner_4) });
ok kill(0, connection('inner_5')),
    'the connection of this configuration is kept';

delete $c->{config}{sources}{known}{auth};
$t->reload_symcached($c->{config});
$c->undecided('known2.pdb', 'failed', qr/^401/,
              'a source that does not sign in any more');

$t->finish;
done_testing;
