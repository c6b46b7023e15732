#!/usr/bin/perl

# SIGKILL of symcached in the middle of a download and of a conversion: cached
# files are still served, holders get 503 with Retry-After, after a restart
# the same key succeeds, and no partial file was ever visible; who is held over a
# quick restart gets the file.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my $cab = $t->read_file($t->data('pdb/basic32.pd_'));
my $stall = $t->path('stall');

# crash.pdb comes in halves with a pause as long as the file "stall" exists
my $up = Test::ScriptedServer->new(log => $t->path('up.log'), script => sub {
    my ($c, $req) = @_;
    if ($req->{path} =~ m{/crash\.pdb$}) {
        my $text = $c->reply_text(200, {}, $pdb);
        my $half = int(length($text) / 2);
        $c->send(substr $text, 0, $half);
        while (-e $stall) {
            last if $c->wait_for_peer(0.05);
        }
        $c->send(substr $text, $half);
    } elsif ($req->{path} =~ m{/basic32\.pd_$}) {
        $c->reply(200, {}, $cab);
    } else {
        $c->reply(404, {}, '');
    }
});

my $config = $t->default_config($up->url, cache => {
    retry_errors_after => '1s' });
$t->start_symcached($config);
$t->start_nginx($t->default_locations);

my $crash = $t->request_path('crash.pdb');
my $basic = $t->request_path('basic32.pdb');
my %sha;

sub note_bytes {
    my ($r) = @_;
    $sha{ $t->sha256($r->{body}) } = 1 if $r->{status} == 200;
    return $r;
}

my $cached = $t->get("/hold/$basic");
is $cached->{status}, 200, 'one key is cached';

sub killed_in {
    my ($what, $ready) = @_;
    my @held = map { $t->open_http($t->nginx_socket, 'GET', "/hold/$crash") }
        1 .. 3;
    $t->wait_until($what, $ready);
    my @children = split ' ', do {
        open my $fh, '<', "/proc/$t->{helper}/task/$t->{helper}/children";
        <$fh> // ''
    };
    $t->stop_symcached('KILL');

    for (@held) {
        my $r = $t->read_response($_);
        is $r->{status}, 503, "killed in $what: holders get 503";
        ok $r->{headers}{'retry-after'}, 'with Retry-After';
    }
    my $r = $t->get("/poll/$crash");
    is $r->{status}, 404, 'clients that retry get 404';
    ok $r->{headers}{'retry-after'}, 'with Retry-After';
    ok $t->get("/hold/$basic")->{body} eq $cached->{body},
        'what is cached is still served';
    $t->wait_until('its children are gone', sub {
        !grep { !Test::Symcache::gone($_) } @children
    });
}

# --- in the middle of the download

$t->write_file('stall', '');
killed_in('a download', sub {
    grep { $_->{path} =~ m{/crash\.pdb$} } $up->requests
});
is note_bytes($t->get("/poll/$crash"))->{status}, 404, 'nothing partial';
unlink $stall;

# --- in the middle of the conversion

unlink $t->path('gate');
$t->start_symcached;
my $runs = $t->runs;
killed_in('a conversion', sub { $t->runs > $runs });
is note_bytes($t->get("/poll/$crash"))->{status}, 404, 'nothing partial';

# --- and after a restart it works

$t->write_file('gate', '');
$t->start_symcached;
is note_bytes($t->get("/hold/$crash"))->{status}, 200,
    'after a restart the same key succeeds';
is note_bytes($t->get("/poll/$crash"))->{status}, 200, 'and stays';
# --- a restart, by a signal or after a crash, sends nobody away who is held

for my $signal (qw(TERM KILL)) {
    unlink glob $t->path('store/crash.pdb/*/*.symcache');
    unlink $t->path('gate');
    $runs = $t->runs;
    my @held = map { $t->open_http($t->nginx_socket, 'GET', "/hold/$crash") }
        1 .. 10;
    $t->wait_until('a conversion', sub { $t->runs > $runs });
    $t->stop_symcached($signal);
    $t->write_file('gate', '');
    $t->start_symcached;
    is scalar(grep { note_bytes($t->read_response($_))->{status} == 200 }
              @held), 10, "restart by $signal: all who are held get the file";
}

is scalar(keys %sha), 1, 'every 200 had the same bytes';
$t->wait_until('what killed helpers left is removed', sub {
    my @left = map { glob $t->path("$_/.tmp/run-*") } qw(store downloads);
    return @left <= 2;
});

$t->finish;
$up->stop;
done_testing;
