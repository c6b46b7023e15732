#!/usr/bin/perl

# cache.total_size: what is received at the same time is limited in sum.

use strict;
use warnings;

use Compress::Zlib ();
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::ScriptedServer;
use Test::SourceCase;
use Test::Symcache;

my $t = Test::Symcache->new;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $size = length $crash;
my $total = int 2.7 * $size;

my $server = Test::ScriptedServer->new(log => $t->path('log'), script => sub {
    my ($c, $req) = @_;
    my ($name) = $req->{path} =~ m{/(\w+)[.]pdb$} or return $c->reply(404);
    if ($name =~ /^held/) {
        $c->send("HTTP/1.1 200 OK\r\nContent-Length: $size\r\n\r\n"
                 . substr $crash, 0, 1000);
        $t->write_file("begun.$name", '');
        $t->wait_until('the gate', sub { -e $t->path('gate') });
        return $c->send(substr $crash, 1000);
    }
    if ($name eq 'endless') {
        $c->send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
        my $sent = 0;
        local $SIG{PIPE} = 'IGNORE';
        while ($sent < 100 * $total) {
            last if $c->wait_for_peer(0);
            $c->send($crash);
            $sent += $size;
            $t->write_file('sent', $sent);
        }
        return $c->close;
    }
    # a PDB by its head, and 50 times as large as all may be
    return $c->reply(200, {}, Compress::Zlib::memGzip(
        $crash . "\0" x (50 * $total))) if $name eq 'bomb';
    return $c->reply(200, {}, $crash);
});

my $c = Test::SourceCase->new($t, sources => {
    web => { type => 'http', url => $server->url,
             internal => JSON::PP::true() },
}, limits => { attempts => 1 }, cache => { total_size => "$total" });

# Of the first place; others do not have it.
sub refused {
    my ($name, $what) = @_;
    my $r = $c->ask($name);
    is $r->{status}, 503, $what;
    is_deeply [@{ $r->{places}[0] }[1, 2]], ['failed here',
        'no room: more than cache.total_size leaves'], "$what: reason";
}

# --- bodies that lie

refused('endless.pdb', 'a body without an end');
refused('bomb.pdb', 'what is packed');

# --- bodies at the same time, of which two fit

my @held = map {
    my $http = $t->open_http($t->helper_socket, 'GET', "/v1/symcache/default/"
        . "held$_.pdb/$Test::SourceCase::id?version=9.0.0&wait=60");
    $t->wait_until("body $_", sub { -e $t->path("begun.held$_") });
    $http
} 1, 2;
refused('third.pdb', 'a third one');
my ($web) = @{ $t->helper_json('/v1/sources')->{sources} };
is_deeply [@$web{qw(health failed failure)}], ['ok', 0, undef],
    'none of this is the fault of the source';
$t->write_file('gate', '');
is $t->read_response($_)->{status}, 200, 'those that had begun are served'
    for @held;
$t->wait_until('the third one', sub {
    $c->ask('third.pdb')->{status} == 200 });
pass 'then there is room for the third one';

$t->finish;
done_testing;
