#!/usr/bin/perl

# While a source is silent the next one is looked up, too; whose PDB it is
# remains a matter of their order.

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
my $srcsrv = $t->read_file($t->data('pdb/crash_with_srcsrv.pdb'));
my $id = $Test::SourceCase::id;

sub wait_for_gate {
    $t->wait_until('the gate opens', sub { -e $t->path('gate') });
}

# What each server does, by the words of a name: first-second.pdb
my %do = (
    has => sub { $_[0]->reply(200, {}, $_[1]) },
    none => sub { $_[0]->reply(404, {}, '') },
    fails => sub { $_[0]->reply(403, {}, '') },
    slowhas => sub { wait_for_gate(); $_[0]->reply(200, {}, $_[1]) },
    late => sub {
        $t->wait_until('late', sub { -e $t->path('late') });
        $_[0]->reply(404, {}, '');
    },
    slownone => sub { wait_for_gate(); $_[0]->reply(404, {}, '') },
    drips => sub {
        my $text = $_[0]->reply_text(200, {}, $_[1]);
        $_[0]->send(substr $text, 0, length($text) / 2);
        wait_for_gate();
        $_[0]->send(substr $text, length($text) / 2);
    },
);
my @up = map {
    my $i = $_;
    Test::ScriptedServer->new(log => $t->path("up$i.log"), script => sub {
        my ($c, $req) = @_;
        my @words = $req->{path} =~ m{^/([a-z]+)-([a-z]+)\d*[.]pdb/};
        return $c->reply(404, {}, '') unless @words
            && $req->{path} =~ /[.]pdb$/;
        $do{$words[$i]}->($c, $i ? $srcsrv : $crash);
    });
} 0, 1;

sub case {
    my (%limits) = @_;
    $t->stop_symcached;
    return Test::SourceCase->new($t, limits => \%limits,
        sources => { map { ("up$_" => { type => 'http', url => $up[$_]->url,
            internal => JSON::PP::true() }) } 0, 1 });
}

sub count {
    my ($i, $name) = @_;
    return scalar grep { $_->{path} =~ m{/\Q$name\E[.]pdb$} }
        $up[$i]->requests;
}

# Asks, opens the gate when $check is true, and gives the answer.
sub ask {
    my ($name, $what, $check) = @_;
    unlink $t->path('gate');
    my $s = $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/default/$name.pdb/$id?version=9.0.0&wait=60");
    $t->wait_until($what, $check);
    $t->write_file('gate', '');
    my $r = $t->read_response($s);
    my $why = $t->helper_json("/v1/why/default/$name.pdb/$id");
    return ($r, map { "$_->{source} $_->{outcome}" } @{ $why->{attempts} });
}

sub body {
    my ($r) = @_;
    my $path = Test::Symcache::header($r, 'X-Symcache-Path') // return '';
    return $t->read_file("store/$path");
}

sub metric { $t->metric("symcached_lookahead_total{result=\"$_[0]\"}") }

my $c = case();
my ($r, @places) = ask('slownone-has', 'the second is asked meanwhile',
                       sub { count(1, 'slownone-has') });
ok body($r) eq $srcsrv, 'the first has none: what the second has';
is_deeply [sort @places], \@places, 'told in the order of the sources';
is $places[-1], 'up1 found', 'with what the second answered';
is count(1, 'slownone-has'), 1, 'it was asked once';
is metric('used'), 1, 'counted';
($r) = ask('slowhas-has', 'the second is asked meanwhile',
           sub { count(1, 'slowhas-has') });
ok body($r) eq $crash, 'the first has it: what the first has';
is metric('dropped'), 1, 'what the second had is dropped';
$t->wait_until('it is removed',
    sub { !(() = glob $t->path('downloads/.tmp/*/*')) });
pass 'and removed';

($r) = ask('slowhas-slowhas', 'the second is asked meanwhile',
           sub { count(1, 'slowhas-slowhas') });
ok body($r) eq $crash, 'the second is given up when the first has it';

($r, @places) = ask('slownone-none', 'the second is asked meanwhile',
                    sub { count(1, 'slownone-none') });
is $r->{status}, 404, 'none of both has it';
ok !defined Test::Symcache::header($r, 'Retry-After'), 'which is final';
($r) = ask('slownone-fails', 'the second is asked meanwhile',
           sub { count(1, 'slownone-fails') });
is $r->{status}, 503, 'the second could not tell: not final';

$c->found('has-has.pdb', 'a first that answers');
is count(1, 'has-has'), 0, 'the second is not asked';

my $start = time;
($r) = ask('drips-has', 'two seconds', sub { time - $start > 2 });
ok body($r) eq $crash, 'a first whose body comes slowly';
is count(1, 'drips-has'), 0, 'the second is not asked, either';

# off, and no slot for it
for (['never', look_ahead_after => '0s'], ['no slot', downloads => 1]) {
    my ($what, %limits) = @$_;
    my $name = 'slownone-has' . keys(%limits) . length $what;
    my $during;
    $c = case(%limits);
    $start = time;
    ($r) = ask($name, 'two seconds', sub {
        $during = count(1, $name);
        return time - $start > 2;
    });
    is $during, 0, "$what: the second is not asked meanwhile";
    ok body($r) eq $srcsrv, "$what: but after the first";
}

# When a lookup before its turn ends, its host and its slot are for others.
$t->stop_symcached;
$c = Test::SourceCase->new($t,
    limits => { downloads => 2, downloads_per_host => 1 },
    sources => { map { ("up$_" => { type => 'http', url => $up[$_]->url,
        ($_ ? () : (except => '^other')),
        internal => JSON::PP::true() }) } 0, 1 });
unlink $t->path($_) for qw(gate late);
my @held = $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/late-slowhas.pdb/$id?version=9.0.0&wait=60");
$t->wait_until('the second is asked meanwhile',
               sub { count(1, 'late-slowhas') });
push @held, $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/other-has.pdb/$id?version=9.0.0&wait=60");
$t->wait_until('another job waits', sub {
    $t->metric('symcached_jobs_queued') == 1 });
$t->write_file('gate', '');
is $t->read_response($held[1])->{status}, 200,
    'who waits for the host of a lookup before its turn goes on at its end';
is $t->metric('symcached_jobs_downloading'), 1, 'not at its turn';
$t->write_file('late', '');
ok body($t->read_response($held[0])) eq $srcsrv,
    'and what it came to has its turn later';

# stopped with both under way
$c = case();
unlink $t->path('gate');
my $s = $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/slowhas-slowhas2.pdb/$id?version=9.0.0&wait=60");
$t->wait_until('both are asked', sub { count(1, 'slowhas-slowhas2') });
is $t->stop_symcached, 0, 'a stop ends both';

$t->finish;
done_testing;
