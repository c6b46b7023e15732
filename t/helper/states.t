#!/usr/bin/env perl

# In each state that a job has while sources are asked: the client goes away,
# the configuration is read again, the key is forgotten, the helper stops.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $id = $Test::Symcache::key{'crash.pdb'};
my $yes = JSON::PP::true();

# What it does for a path that begins with each word.
my %do = (
    silent => sub {
        $t->wait_until('the gate', sub { -e $t->path('gate') });
        $_[0]->reply(404, {}, '');
    },
    drips => sub {
        my $text = $_[0]->reply_text(200, {}, $crash);
        $_[0]->send(substr $text, 0, length($text) / 2);
        $t->wait_until('the gate', sub { -e $t->path('gate') });
    },
    has => sub { $_[0]->reply(200, {}, $crash) },
    none => sub { $_[0]->reply(404, {}, '') },
    again => sub { $_[0]->reply(404, { 'Retry-After' => 60 }, '') },
);
my $s = Test::ScriptedServer->new(log => $t->path('up.log'), script => sub {
    my ($c, $req) = @_;
    my ($word) = $req->{path} =~ m{^/([a-z]+)/};
    $do{$word}->($c);
    $c->close;
});

my %http = map { $_ => { type => 'http', url => $s->url . "/$_",
                         internal => $yes } } qw(silent drips has none);
my $config = {
    stores => { map { $_->[0] => {
        root => $t->path("store.$_->[0]"),
        transcoders => [{ version => '9.0.0', command => ['/bin/sh', '-c',
            'cp "$0" "$1/$(basename "$0")-v9.0.0.symcache"',
            '{pdb}', '{out}'] }],
        sources => $_->[1],
    } } ['again', ['again']], ['silent', ['silent']], ['drips', ['drips']],
        ['found', ['silent', 'has']], ['missed', ['silent', 'none']],
        ['both', ['silent', 'drips']] },
    sources => { %http, again => { type => 'symcache', version => '9.0.0',
                                   url => $s->url . '/again',
                                   internal => $yes } },
    limits => { look_ahead_after => '1s', downloads_per_host => 100 },
};

sub tmp { map { glob $t->path("$_/.tmp/*") }
    'downloads', map { "store.$_" } keys %{ $config->{stores} } }

my @stores = sort keys %{ $config->{stores} };

# Each store's job, in the state that is meant.
sub begin {
    unlink $t->path('gate');
    $t->start_symcached($config);
    my $before = () = $s->requests;
    my @held = map { $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/$_/crash.pdb/$id?version=9.0.0&wait=60") } @stores;
    $t->wait_until('all wait', sub {
        $t->metric('symcached_waiters') == @stores });
    my @paths;
    $t->wait_until('all sources are asked', sub {
        my @all = $s->requests;
        @paths = map { $_->{path} =~ m{^/([a-z]+)/} } @all[$before .. $#all];
        my %n;
        $n{$_}++ for @paths;
        ($n{silent} // 0) == 4 && ($n{drips} // 0) == 2
            && $n{again} && $n{has} && ($n{none} // 0) >= 6;
    });
    my $j = $t->helper_json('/v1/jobs');
    is_deeply [map { $_->{state} } sort { $a->{store} cmp $b->{store} }
               @{ $j->{jobs} }],
        ['waits for a SymCache server', ('in source') x 5], 'the states';
    return @held;
}

my @held = begin();
is $t->stop_symcached, 0, 'stopped in each state';
is_deeply [map { $t->read_response($_)->{status} } @held],
    [(503) x @stores], 'all who waited are told to come again';
is_deeply [tmp()], [], 'nothing is left';
$t->write_file('gate', '');

@held = begin();
close $_ for @held;
$t->wait_until('clients are gone', sub { !$t->metric('symcached_waiters') });
is $t->helper_json('/v1/jobs')->{total}, @stores, 'their jobs go on';
is $t->stop_symcached, 0, 'stopped without clients';
is_deeply [tmp()], [], 'nothing is left';
$t->write_file('gate', '');

@held = begin();
my $ok = 'symcached_reloads_total{result="ok"}';
delete $config->{sources}{has};
$config->{stores}{found}{sources} = ['silent'];
$t->write_helper_config($config);
kill 'HUP', $t->{helper};
$t->wait_until('a reload', sub { $t->metric($ok) });
$t->helper('POST', "/v1/forget/$_/crash.pdb/$id") for @stores;
is_deeply [map { $_->{name} } @{ $t->helper_json('/v1/sources')->{sources} }],
    [sort qw(again drips none silent)], 'a source is gone';
$t->write_file('gate', '');
my ($found) = grep { $stores[$_] eq 'found' } 0 .. $#stores;
is $t->read_response($held[$found])->{status}, 200,
    'its lookup before its turn is not lost';
my ($missed) = grep { $stores[$_] eq 'missed' } 0 .. $#stores;
is $t->read_response($held[$missed])->{status}, 503,
    'a miss of before is not final';
is $t->stop_symcached, 0, 'stopped after a reload';
is_deeply [tmp()], [], 'nothing is left';

$s->stop;
$t->finish;
done_testing;
