#!/usr/bin/env perl

# Names whose addresses change: what resolves to a public address first and to
# this machine later, or to both, in every form that a resolver has for it; and
# some of whose first addresses do not answer, or not any more.  The DNS server
# is the test's, in a network of its own.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Socket::INET;
use JSON::PP ();
use Socket qw(AF_INET6 inet_aton inet_pton);
use Test::Network;
use Test::More;
use Test::ScriptedServer;
use Test::SourceCase;
use Test::Symcache;
use Test::Tier;

my $t = Test::Symcache->new;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my ($public, $refusing, $dead, $mute, $mute2) = map { "11.1.1.$_" } 1 .. 5;
Test::Network::ip(qw(addr add), "$_/32", qw(dev lo)) for $public, $dead, $mute, $mute2;
Test::Network::ip(qw(route add prohibit), "$refusing/32");

# --- a DNS server: name => addresses of the first answer, of the next ones

sub a { map { [1, inet_aton($_)] } @_ }
sub aaaa { map { [28, inet_pton(AF_INET6, $_)] } @_ }
my %name = (
    public => [[a($public)]],
    later => [[a($public)], [a('127.0.0.1')]],
    both => [[a($refusing, '127.0.0.1')]],
    last => [[a((map { "127.0.0.$_" } 1 .. 24), $public)]],
    mapped => [[aaaa('::ffff:127.0.0.1')]],
    loop6 => [[aaaa('::1')]],
    linklocal => [[aaaa('fe80::1')]],
    sixtofour => [[aaaa('2002:7f00:1::')]],
    translated => [[aaaa('64:ff9b::127.0.0.1')]],
    zero => [[a('0.0.0.0')]],
    unspecified => [[aaaa('::')]],
    localhost => [[a('127.0.0.1')]],
    private => [[a('10.0.0.100')]],
    half => [[a($dead, $public)]],
    mute => [[a($mute, $public)]],
    mutes => [[a($mute, $mute2, $public)]],
    tired => [[a($mute, $public)]],
);
my $dns = IO::Socket::INET->new(LocalAddr => '127.0.0.1:53', Proto => 'udp') or die "DNS: $!";
my $resolver = fork() // die "fork: $!";
if ($resolver == 0) {
    my %asked;
    while (1) {
        $dns->recv(my $question, 4096) // next;
        my ($id, $labels, $type) = unpack 'n x10 (C/a)2 @12', $question;
        my ($at, @labels) = (12);
        while (my $n = ord substr $question, $at, 1) {
            push @labels, substr $question, $at + 1, $n;
            $at += $n + 1;
        }
        $type = unpack 'n', substr $question, $at + 1, 2;
        my $of = $name{ lc $labels[0] };
        my $list = [];
        if ($of) {
            my $n = $asked{ lc $labels[0] }{$type}++;
            $list = $of->[$n] // $of->[-1];
        }
        my @answers = grep { $_->[0] == $type } @$list;
        $dns->send(pack('n6', $id, 0x8580 | ($of ? 0 : 3), 1, scalar @answers, 0, 0)
            . substr($question, 12, $at - 7)
            . join '', map { pack 'n n n N n/a*', 0xc00c, $type, 1, 0, $_->[1] } @answers);
    }
}
$t->write_file('resolv.conf', "nameserver 127.0.0.1\noptions attempts:1 timeout:2\n");
$t->write_file('nsswitch.conf', "hosts: dns\n");
system('mount', '--bind', $t->path($_), "/etc/$_") == 0 or die "mount: $?"
    for 'resolv.conf', 'nsswitch.conf';

# --- a server at all addresses, which notes by which one it was reached

my $server = Test::ScriptedServer->new(log => $t->path('requests'), address => '0.0.0.0', script => sub {
    my ($c, $req) = @_;
    my ($name) = $req->{headers}{host} =~ /^([^.:]*)/;
    open my $fh, '>>', $t->path('reached') or die $!;
    syswrite $fh, "$name at " . $c->{fh}->sockhost . "\n";
    return $c->reset if $name eq 'later';
    my ($to) = $req->{path} =~ /to-(\w+)\.pdb/;
    return $to ? $c->reply(302, { Location => "http://$to.test:" . $c->{fh}->sockport . '/x' }, '')
               : $c->reply(200, {}, $crash);
});
my $port = $server->port;
sub reached { grep { !/^public at \Q$public\E$/ } split /\n/, $t->read_file('reached') // '' }

my %hosts = map { $_ => "$_.test" } grep { !/^(?:half|mutes?|tired)$/ } keys %name;
$hosts{"${_}dot"} = "$_.test." for 'zero', 'both';
$hosts{localhost} = 'localhost.';
my $c = Test::SourceCase->new($t, limits => { attempts => 2, breaker_failures => 1000, connect_time => '3s' }, sources => {
    map { $_ => { type => 'http', url => "http://$hosts{$_}:$port", layout => 'symstore',
                  forms => ['plain'], only => $_ eq 'public' ? '^(to-\w+|public)\.pdb$' : "^$_\\.pdb\$" } }
    keys %hosts });
sub details {
    my ($name) = @_;
    my $r = $c->ask("$name.pdb");
    return ($r->{status}, grep { /reserved/ } map { $_->[2] } @{ $r->{places} });
}

$c->found('public.pdb', 'a name with a public address');
$c->found('to-public.pdb', 'a redirect to it');
is_deeply [reached()], [], 'at this address' or diag $t->read_file('reached');
$c->found('last.pdb', 'a name with reserved addresses before it');
is_deeply [reached()], ["last at $public"], 'which are passed over'
    or diag $t->read_file('reached');
unlink $t->path('reached');

for my $name (sort grep { !/^(?:public|later|last)$/ } keys %hosts) {
    my ($status, @reserved) = details($name);
    is $status, 503, "$hosts{$name}: not taken";
    ok @reserved || $name =~ /^both/, '... as its address is reserved';
    is_deeply [reached()], [], '... and not asked';
}
for my $name (sort grep { !/dot$|^(?:public|later|last)$/ } keys %hosts) {
    my ($status) = details("to-$name");
    is $status, 503, "a redirect to $name.test: not taken";
    is_deeply [reached()], [], '... and not asked';
}
my ($status, @reserved) = details('later');
is $status, 503, 'a name that had another address when it was asked again';
ok @reserved, '... as that is reserved';
is_deeply [grep { / at 127/ } reached()], [], '... and was not asked';
is scalar(grep { $_ eq "later at $public" } reached()), 1, '... unlike the first one';

# --- an address that takes no connections, as its queue is full

my $half = Test::ScriptedServer->new(log => $t->path('half'), address => $public,
    script => sub { $_[0]->reply(200, {}, $crash) });
my $queue = IO::Socket::INET->new(LocalAddr => $dead, LocalPort => $half->port,
                                  Listen => 1) or die "listen: $!";
listen $queue, 0;
my @waiting = map { IO::Socket::INET->new(PeerAddr => $dead, Blocking => 0,
                                          PeerPort => $half->port) } 1 .. 8;
$t->stop_symcached;
$c = Test::SourceCase->new($t, limits => { connect_time => '4s' }, sources => {
    half => { type => 'http', url => 'http://half.test:' . $half->port,
              layout => 'symstore', forms => ['plain'] } });
$c->found('half.pdb', 'a name of whose two addresses the first is dead');

# --- some that take connections, and never answer

my $answers = Test::ScriptedServer->new(log => $t->path('answers'), address => $public,
    script => sub { $_[0]->reply(200, { Connection => 'close' }, $crash) });
my @silent = map { IO::Socket::INET->new(LocalAddr => $_, LocalPort => $answers->port,
                                         Listen => 8, Blocking => 0) or die "listen: $!" }
    $mute, $mute2;
sub tried {
    my $n = 0;
    for my $socket (@silent) {
        $n++ while $socket->accept;
    }
    return $n;
}
sub of_names {
    my (%limits) = @_;
    $t->stop_symcached;
    $c = Test::SourceCase->new($t, limits => { first_byte_time => '2s', %limits }, sources => {
        map { $_ => { type => 'http', url => "http://$_.test:" . $answers->port,
                      layout => 'symstore', forms => ['plain'], only => "^$_\\d?\\.pdb\$" } }
        qw(mute mutes tired) });
}
of_names(attempts => 2);
$c->found('mute.pdb', 'a name of whose two addresses the first never answers');
$c->found('mute2.pdb', '... and once more');
is tried(), 1, '... by the other one at once';

is $c->ask('mutes.pdb')->{status}, 503, 'a name with two such addresses, and two attempts';
$c->found('mutes2.pdb', '... it is found by the next request');
is tried(), 2, '... which asks neither of them again';

# --- one that does not answer any more, also where a connection is kept

my $tires = fork() // die "fork: $!";
if ($tires == 0) {
    $silent[0]->blocking(1);
    my $fh = Test::ScriptedServer::Connection->new(scalar $silent[0]->accept);
    $fh->read_request;
    $fh->reply(200, {}, $crash);
    sleep 1 while 1; # what else connects is in the queue
}
of_names(attempts => 2);
$c->found('tired.pdb', 'an address that answers once');
$c->found('tired2.pdb', 'a kept connection that is silent: by the other address');
kill 'KILL', $tires;
waitpid $tires, 0;

# --- so it is where something is stored

my $bucket = Test::ScriptedServer->new(log => $t->path('bucket'), address => $public,
    script => sub {
        my ($c, $req) = @_;
        $c->read_body($req);
        $c->reply($req->{method} eq 'GET' ? 404 : 200, { Connection => 'close' }, '');
    });
@silent = IO::Socket::INET->new(LocalAddr => $mute, LocalPort => $bucket->port,
                                Listen => 8, Blocking => 0) or die "listen: $!";
$t->stop_symcached;
my $fleet = Test::Tier->new($t, tier => { type => 's3', bucket => 'bucket',
    endpoint => 'http://mute.test:' . $bucket->port, path_style => JSON::PP::true(),
    region => 'eu-west-1', access_key => 'a', secret_key => 'b' });
$fleet->machine;
is $fleet->ask($fleet->{key}), 200, 'a bucket with such an address: a file is made';
$fleet->wait_metric('puts_total{result="stored"}', 1);
is tried(), 1, '... and stored by the other one at once';

$t->finish;
kill 'KILL', $resolver;
waitpid $resolver, 0;
done_testing;
