#!/usr/bin/perl

# What a resolver says of a source's name: many addresses, of which some are
# refused, silent, unreachable or reserved; others than a moment ago; nothing,
# or nothing in time.  In a network of the test's own, with public addresses.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Network;
use IO::Socket::INET;
use JSON::PP qw(decode_json encode_json);
use Socket qw(inet_aton inet_pton AF_INET6);
use Test::More;
use Test::ScriptedServer;
use Test::SourceCase;
use Test::Symcache;
use Time::HiRes qw(sleep time);

my $t = Test::Symcache->new;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));

# 5.5.5.1 is a symbol server, and the others there refuse; 6.6.6.6 is silent.
# No IPv6 address but fd00::1 leads anywhere.
Test::Network::ip('addr', 'add', "5.5.5.$_/32", 'dev', 'lo') for 1 .. 3;
Test::Network::ip(qw(route add 6.6.6.0/24 dev bridge));
Test::Network::ip(qw(addr add fd00::1/128 dev lo));
my ($good, $silent) = ('5.5.5.1', '6.6.6.6');
my @refused = map { "5.5.5.$_" } 2, 3;

# --- a resolver

my %zone;

# Addresses of a name, a code of an error, or "silent".
sub says {
    %zone = (%zone, @_);
    rename $t->write_file('zone.new', encode_json(\%zone)), $t->path('zone')
        or die "zone: $!";
}

sub answer {
    my ($question) = @_;
    my ($id) = unpack 'n', $question;
    my ($at, @labels) = (12);
    while (my $len = ord substr $question, $at, 1) {
        push @labels, substr $question, $at + 1, $len;
        $at += 1 + $len;
    }
    my $type = unpack 'n', substr $question, $at + 1, 2;
    my $of = decode_json($t->read_file('zone'))->{ lc join '.', @labels };
    my $code = !defined $of ? 3 : ref $of ? 0 : $of;
    return if $code eq 'silent';
    my @records = map {
        my $six = /:/;
        my $address = $six ? inet_pton(AF_INET6, $_) : inet_aton($_);
        $type == ($six ? 28 : 1)
            ? pack('n3 N n/a*', 0xc00c, $type, 1, 0, $address) : ();
    } ref $of ? @$of : ();
    return pack('n6', $id, 0x8180 | $code, 1, scalar @records, 0, 0)
        . substr($question, 12, $at + 5 - 12) . join '', @records;
}

sub start_resolver {
    says();
    my $socket = IO::Socket::INET->new(Proto => 'udp',
        LocalAddr => '127.0.0.1:53') or die "resolver: $!";
    my $pid = fork() // die "fork: $!";
    return $pid if $pid;
    while (1) {
        my $from = recv($socket, my $question, 512, 0) // next;
        my $answer = answer($question) // next;
        send $socket, $answer, 0, $from;
    }
}

my $resolver = start_resolver();
END { kill 'KILL', $resolver if $resolver && $$ == $t->{owner} }
$t->write_file('resolv.conf', "nameserver 127.0.0.1\n");
system('mount', '--bind', $t->path('resolv.conf'), '/etc/resolv.conf') == 0
    or die "mount: $?";

# --- a symbol server, and a source for each name

my $up = Test::ScriptedServer->new(log => $t->path('up.log'),
    address => $good, script => sub {
        my ($c, $req) = @_;
        my ($name) = $req->{path} =~ m{/(\w+)[.]pdb/};
        if ($name =~ /^cut/ && !-e $t->path($name)) {
            $t->write_file($name, '');
            $c->send(substr $c->reply_text(200, {}, $crash), 0, 5000);
            return $c->close;
        }
        return $c->reply(200, {}, $crash);
    });

my @names = qw(many cut reserved refused private later moved rebound dead
               gone broken none);
my $c = Test::SourceCase->new($t, sources => { map { $_ => {
        type => 'http', only => "^$_", url => "http://$_.test:" . $up->port,
    } } @names },
    limits => { connect_time => '2s', first_byte_time => '4s', attempts => 2,
                breaker_failures => 0 });

# --- one of many addresses is good

says('many.test' => [@refused, $silent, '2a00::1', 'fd00::1', '10.0.0.100',
                     $good]);
$c->found('many.pdb', 'one of many addresses is good');

says('cut.test' => ['10.0.0.100', $good]);
$c->found('cut.pdb', 'a body is cut, behind a reserved address: tried again');
is $t->metric('symcached_fetch_retries_total'), 1, 'once';

# --- none of them

for (['10.0.0.100', $refused[0]], [$refused[0], '10.0.0.100']) {
    says('refused.test' => $_);
    $c->undecided("refused$_->[0].pdb", 'failed', qr/connect/i,
                  "@$_: what was tried is the reason");
}
says('private.test' => ['10.0.0.100', 'fd00::1', '127.0.0.1']);
$c->undecided('private.pdb', 'failed', qr/reserved/, 'all are reserved');

# --- others than before

says('moved.test' => [$refused[0]]);
$c->undecided('moved.pdb', 'failed', qr/connect/i, 'the old address');
says('moved.test' => [$good]);
$t->helper('POST', '/v1/forget/default/moved.pdb');
$c->found('moved.pdb', 'another one: the next try asks for it');

says('rebound.test' => [$good]);
$c->found('rebound.pdb', 'a public address');
says('rebound.test' => ['10.0.0.100']);
$c->found('rebound2.pdb', 'the kept connection to it is used');

# --- no address

for (['gone', 3, 'there is no such name'], ['broken', 2, 'the resolver fails'],
     ['none', [], 'the name has no address']) {
    my ($name, $says, $what) = @$_;
    says("$name.test" => $says);
    $c->undecided("$name.pdb", 'failed', qr/^Could not resolve/, $what);
    says("$name.test" => [$good]);
    $t->helper('POST', "/v1/forget/default/$name.pdb");
    $c->found("$name.pdb", "$what, and then there is one");
}

# --- a silent resolver holds nobody up

says('dead.test' => 'silent');
my $s = $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/dead.pdb/$Test::SourceCase::id?version=9.0.0&wait=60");
$t->wait_until('a job', sub { $t->metric('symcached_jobs_downloading') });
$c->found('many2.pdb', 'another source is asked meanwhile');
is $t->metric('symcached_jobs_downloading'), 1, 'before the resolver is given up';
is $t->read_response($s)->{status}, 503, 'as it is';
is $t->stop_symcached, 0, 'a stop does not wait for it either';

$t->finish;
done_testing;
