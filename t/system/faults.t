#!/usr/bin/perl

# "A 404 without Retry-After means that the server knows": never sent while
# the upstream answers 500, times out, truncates, sends HTML, ...

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;
use Time::HiRes qw(sleep);

my $t = Test::Symcache->new;
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my $other = $t->read_file($t->data('pdb/crash_with_srcsrv.pdb'));
my $html = "<!DOCTYPE html><html><body>Please sign in</body></html>\n";

# the PDB's name says what the symbol server does
my %fault = (
    'status500' => sub { $_[0]->reply(500, {}, "oops\n") },
    'status502' => sub { $_[0]->reply(502, {}, '') },
    'status503' => sub { $_[0]->reply(503, { 'Retry-After' => 1 }, '') },
    'status429' => sub { $_[0]->reply(429, { 'Retry-After' => 1 }, '') },
    'status401' => sub { $_[0]->reply(401, {}, '') },
    'status403' => sub { $_[0]->reply(403, {}, '') },
    'html' => sub { $_[0]->reply(200, { 'Content-Type' => 'text/html' },
                                 $html) },
    'empty' => sub { $_[0]->reply(200, {}, '') },
    'timeout' => sub { $_[0]->wait_for_peer(30); $_[0]->close },
    'truncated' => sub {
        $_[0]->send(substr $_[0]->reply_text(200, {}, $pdb), 0, 300000);
        $_[0]->close;
    },
    'reset' => sub { $_[0]->reset },
    'garbage' => sub { $_[0]->send("\0\1\2 garbage\r\n\r\n"); $_[0]->close },
    'damaged' => sub { $_[0]->reply(200, {}, substr $pdb, 0, 5000) },
    'wrong' => sub { $_[0]->reply(200, {}, $other) },
    'login' => sub {
        $_[0]->reply(302, { Location => '/signin' }, '');
    },
    'loop' => sub {
        $_[0]->reply(302, { Location => $_[1]{uri} }, '');
    },
);

my $up = Test::ScriptedServer->new(log => $t->path('up.log'), script => sub {
    my ($c, $req) = @_;
    return $c->reply(200, { 'Content-Type' => 'text/html' }, $html)
        if $req->{path} eq '/signin';
    my ($name) = $req->{path} =~ m{^/(\w+)\.pdb/};
    $fault{$name}->($c, $req);
});

$t->start_symcached($t->default_config($up->url,
    limits => { download_time => '2s' },
    cache => { retry_errors_after => '1s' }));
$t->start_nginx($t->default_locations('symcache_hold_timeout 20s;'));

my $id = '00000000000000000000000000000001/1';
my %held;
for my $f (sort keys %fault) {
    $held{$f} = $t->open_http($t->nginx_socket, 'GET',
                              "/hold/v9.0.0/$f.pdb/$id");
    $t->get("/poll/v9.0.0/$f.pdb/$id");
}

for my $f (sort keys %fault) {
    my $r = $t->read_response($held{$f});
    is $r->{status}, 503, "$f: a held request gets 503";
    ok $r->{headers}{'retry-after'}, "$f: with Retry-After";
    for (1 .. 3) {
        $r = $t->get("/poll/v9.0.0/$f.pdb/$id");
        is $r->{status}, 404, "$f: a client that retries gets 404";
        ok $r->{headers}{'retry-after'}, "$f: with Retry-After";
    }
    my $why = $t->helper_json("/v1/why/default/$f.pdb/"
                              . ('0' x 31) . '11');
    ok $why, "$f: why answers";
}

$t->finish;
$up->stop;
done_testing;
