#!/usr/bin/perl

# Servers that have each other as sources, each nginx and symcached: in pairs,
# in a ring, in a chain and all of them mutually.  What none has is absent for
# good, what one has is found at each, and a client that sends the header of
# their questions hides nothing.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my @names = qw(a b c);
my %t = map { $_ => Test::Symcache->new } @names;
my %port = map { $_ => Test::Symcache::free_port() } @names;
my $key = $Test::Symcache::key{'crash.pdb'};
my $symbols = $t{a}->read_file($t{a}->data('pdb/crash.pdb'));

# The only source of b that waits for a sign before it says that it has none.
my $slow = Test::ScriptedServer->new(log => $t{b}->path('slow'), script => sub {
    my ($c) = @_;
    select undef, undef, undef, 0.01 until -e $t{b}->path('sign');
    $c->reply(404, {}, '');
});

for my $t (values %t) {
    mkdir $t->path('own') or die;
    $t->write_file('asked.log', '');
}
for my $name (@names) {
    my $t = $t{$name};
    $t->start_nginx($t->default_locations(
            'access_log %%DIR%%/asked.log asked;'), workers => 1,
        http => 'log_format asked "$http_x_symcache_via $uri";',
        listen => "listen 127.0.0.1:$port{$name}; "
                . 'listen unix:' . $t->nginx_socket . ';');
}

# Starts the nodes anew, each with its peers before its own folder, or after it.
# more: further sources of b.
sub connect_peers {
    my ($peers, %o) = @_;
    for my $name (@names) {
        my $t = $t{$name};
        my @peers = split //, $peers->{$name} // '';
        my $own = { type => 'filesystem', path => $t->path('own'),
                    layout => 'symstore' };
        my %sources = (own => $own, map { $_ => {
            type => 'symcache', version => '9.0.0',
            internal => JSON::PP::true(),
            url => "http://127.0.0.1:$port{$_}/" . ($o{at} // 'poll') } }
            @peers);
        my @order = $o{own_first} ? ('own', @peers) : (@peers, 'own');
        if ($o{slow} && $name eq 'b') {
            $sources{slow} = { type => 'http', url => $slow->url,
                layout => 'symstore', internal => JSON::PP::true() };
            push @order, 'slow';
        }
        my $config = $t->default_config('http://127.0.0.1');
        $config->{stores}{default}{sources} = \@order;
        $config->{sources} = \%sources;
        $t->stop_symcached if $o{again};
        $t->start_symcached($config);
    }
}

my $n = 0;
sub name { 'module' . ++$n . '.pdb' }

sub put {
    my ($node, $name) = @_;
    $t{$node}->write_file("own/$name/$key/$name", $symbols);
}

sub path {
    my ($name, $at) = @_;
    my ($guid, $age) = $key =~ /^(.{32})(.*)$/;
    return '/' . ($at // 'hold') . "/v9.0.0/$name/$guid/" . hex $age;
}

# "404 final", "404 again", "200" or the like
sub answer {
    my ($r) = @_;
    return 200 if $r->{status} == 200;
    return "$r->{status} "
        . (defined Test::Symcache::header($r, 'Retry-After') ? 'again'
                                                             : 'final');
}

sub ask {
    my ($node, $name, @headers) = @_;
    return answer($t{$node}->get(path($name), @headers));
}

# The questions of other nodes for it.
sub questions {
    my ($name) = @_;
    return map { grep /^[0-9a-f, ]{16,} .*\Q$name\E/,
                     split /\n/, $t{$_}->read_file('asked.log') } @names;
}

# What is asked of these nodes, however they are connected.  Of each line all
# questions are under way at the same time, and so are those of all lines.
sub check {
    my ($how, @nodes) = @_;
    my (@asked, @c);
    for my $node (@nodes) {
        push @asked, ["absent at $node", '404 final', name(), $node];
        for my $other (grep { $_ ne $node } @nodes) {
            push @asked, ["$node finds what $other has", '200', name(), $node];
            put($other, $asked[-1][2]);
        }
        push @asked, ["what $node has, asked at once", '200', name(), @nodes];
        put($node, $asked[-1][2]);
    }
    push @asked, ['absent, asked at once', '404 final', name(), @nodes];
    for (@asked) {
        my ($what, $expected, $name, @at) = @$_;
        push @c, [map { $t{$_}->open_http($t{$_}->nginx_socket, 'GET',
                                          path($name)) } @at];
    }
    for (@asked) {
        my ($what, $expected, $name, @at) = @$_;
        my $c = shift @c;
        is_deeply [map { answer($t{$_}->read_response(shift @$c)) } @at],
            [($expected) x @at], "$how: $what";
        next if $expected eq '200' || @at > 1;
        is ask($_, $name), '404 final', "$how: and at $_"
            for grep { $_ ne $at[0] } @nodes;
        cmp_ok scalar(questions($name)), '<=', 8 * @nodes, "$how: no storm";
    }
}

# --- the forms that fleets have

connect_peers({ a => 'b', b => 'a' });
check('a pair', qw(a b));

# b has said to a that nobody but a has it, and knows no more than that
my $name = name();
is ask('a', $name), '404 final', 'absent';
ok $t{a}->absence("store/$name/$key/$name-v9.0.0.absent"),
    'the one that was asked remembers it';
ok !$t{b}->absence("store/$name/$key/$name-v9.0.0.absent"),
    'the other one does not';
is $t{b}->helper_json("/v1/why/default/$name/$key")
    ->{transcoders}[0]{blocked}, 'loop', 'but for the asking one';

connect_peers({ a => 'b', b => 'a' }, own_first => 1, again => 1);
check('a pair, own sources first', qw(a b));

connect_peers({ a => 'b', b => 'a' }, at => 'hold', again => 1);
check('a pair that waits', qw(a b));

connect_peers({ a => 'b', b => 'c', c => 'a' }, again => 1);
check('a ring', qw(a b c));

connect_peers({ a => 'b', b => 'ac', c => 'b' }, again => 1);
check('a chain', qw(a b c));

connect_peers({ a => 'bc', b => 'ca', c => 'ab' }, again => 1);
check('all of them', qw(a b c));

# --- one that is down is no absence

connect_peers({ a => 'b', b => 'a' }, again => 1);
$name = name();
$t{b}->stop_symcached;
is ask('a', $name), '503 again', 'a peer that is down is not left out';

# --- a client that sends the header

connect_peers({ a => 'b', b => 'a' }, slow => 1, again => 1);
$t{b}->write_file('sign', '');
$name = name();
is ask('b', $name), '404 final', 'b asks a';
my ($id_of_b) = (questions($name))[0] =~ /^([0-9a-f]{16})/;
$name = name();
is ask('a', $name), '404 final', 'a asks b';
my ($id_of_a) = (questions($name))[0] =~ /^([0-9a-f]{16})/;
isnt $id_of_a, $id_of_b, 'their ids';

$name = name();
put('a', $name);
is ask('b', $name, "X-Symcache-Via: $id_of_a"), '503 again',
    'a question of a, it seems: a is left out, and nothing is final';
is answer($t{b}->get(path($name, 'poll'), "X-Symcache-Via: $id_of_a")),
    '404 again', 'nor for who polls';
is ask('b', $name), '200', 'others find what a has';

$name = name();
put('b', $name);
is ask('b', $name, "X-Symcache-Via: $id_of_a"), '200',
    'what it has itself is found';
is ask('b', $name, "X-Symcache-Via: $id_of_b"), '200', 'and sent';

unlink $t{b}->path('sign');
$name = name();
put('a', $name);
my @both;
for my $header ("X-Symcache-Via: $id_of_a", 'X-Other: 1') {
    push @both, $t{b}->open_http($t{b}->nginx_socket, 'GET', path($name),
                                 $header);
    $t{b}->wait_until('it waits', sub {
        $t{b}->metric('symcached_waiters') == @both });
}
$t{b}->write_file('sign', '');
is_deeply [map { answer($t{b}->read_response($_)) } @both],
    ['503 again', '200'], 'whoever waits for the same job finds it as well';

# --- two servers wait for c, and c for them

# Each answers as a server does that waits for c: that it works on it, until a
# question comes by its own way, or by that of one that goes before it.
my @ids = map { sprintf '%016d', $_ } 1 .. 2;
my @peers = map {
    my $ids = join '|', @ids[0 .. $_];
    Test::ScriptedServer->new(log => $t{c}->path("peer$_"), script => sub {
        my ($c, $req) = @_;
        my $loop = $req->{headers}{'x-symcache-via'} =~ /$ids/;
        $c->reply(404, { 'Retry-After' => $loop ? 60 : 1,
            $loop ? ('X-Symcache-Reason' => 'loop') : () }, '');
    });
} 0 .. 1;
$t{c}->stop_symcached;
my $config = $t{c}->default_config('http://127.0.0.1');
$config->{sources} = { map { ("p$_" => { type => 'symcache',
    version => '9.0.0', url => $peers[$_]->url,
    internal => JSON::PP::true() }) } 0 .. 1 };
$config->{stores}{default}{sources} = [qw(p0 p1)];
$t{c}->start_symcached($config);
$name = name();
my $client = $t{c}->open_http($t{c}->nginx_socket, 'GET', path($name));
my %said;
for my $job (1 .. 3) {
    $t{c}->wait_until('c asks for itself', sub {
        $job <= grep { $_->{headers}{'x-symcache-via'} =~ /^[0-9a-f]{16}$/ }
                    $peers[0]->requests;
    });
    for my $id (reverse @ids) {
        my $r = $t{c}->get(path($name, 'poll'), "X-Symcache-Via: $id");
        $said{$id} = Test::Symcache::header($r, 'X-Symcache-Reason');
    }
    last if defined $said{$ids[0]};
}
is $said{$ids[0]}, 'loop', 'the first one hears that nobody else has it';
close $client;
$_->stop for @peers;

$slow->stop;
$_->finish for @t{@names};
done_testing;
