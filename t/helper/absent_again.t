#!/usr/bin/env perl

# Where misses wait for a download slot, those of keys that no source had the
# last time come after the others, but for one of eight.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Clock;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $clock = Test::Clock->new($t) or plan skip_all => Test::Clock::why();
my $id = $Test::Symcache::key{'crash.pdb'};

my $server = Test::ScriptedServer->new(log => $t->path('requests'),
                                       script => sub {
    my ($c, $req) = @_;
    $t->wait_until('the gate', sub { -e $t->path('open') })
        if $req->{path} =~ m{/block\.pdb$};
    $c->reply(404, {}, '');
});
my $config = $t->default_config($server->{url}, limits => { downloads => 1 },
                                cache => { retry_misses_after => '60s' });
$config->{sources}{upstream}{forms} = ['plain'];
$t->start_symcached($config, env => $clock->env);

sub lookup {
    my ($name, $wait) = @_;
    return $t->helper('GET', "/v1/symcache/default/$name/$id?version=9.0.0"
        . "&wait=$wait")->{status};
}

# The names in the order of their first requests.
sub asked {
    my %seen;
    return grep { !$seen{$_}++ } map { $_->{path} =~ m{/(\w+)\.pdb$} }
        $server->requests;
}

my @old = map { "old$_" } 1 .. 3;
my @new = map { "new$_" } 1 .. 10;
is lookup("$_.pdb", 60), 404, "$_ is absent" for @old;
$clock->set(120);

lookup('block.pdb', 0);
$t->wait_until('it has the slot', sub { grep { $_ eq 'block' } asked() });
$t->helper('POST', "/v1/forget/default/old3.pdb/$id");
lookup("$_.pdb", 0) for @old, @new;
my $n = $server->requests;
$t->write_file('open', '');
$t->wait_until('all are done', sub {
    !@{ $t->helper_json('/v1/jobs')->{jobs} }
});
my %seen;
my @order = grep { !/block/ && !$seen{$_}++ } map { $_->{path} =~ m{/(\w+)\.pdb$} }
    ($server->requests)[$n .. $server->requests - 1];
# four got a slot before these
is "@order", "old3 @new[0 .. 2] old1 @new[3 .. 9] old2",
    'those of new ones go first, and of one that was forgotten';

$t->finish;
done_testing;
