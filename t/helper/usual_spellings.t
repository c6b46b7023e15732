#!/usr/bin/env perl

# Spellings in which a source has never had a file are asked for at the end,
# after all sources in their own, by jobs that let others go first, and not if a
# source failed.  A file in such a spelling is found all the same.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $id32 = $Test::Symcache::key{'basic32.pdb'};
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my %files = (
    "/a/crash.pdb/$id/crash.pdb" => $crash,
    "/a/real.pdb/$id/real.pdb" => $crash,
    "/b/basic32.pdb/$id32/basic32.pd_" => $t->read_file($t->data('pdb/basic32.pd_')),
    "/b/late.pdb/\L$id\E/late.pdb" => $crash,
);
my $server = Test::ScriptedServer->new(log => $t->path('requests'), index2 => 1,
                                       script => sub {
    my ($c, $req) = @_;
    my $path = $req->{path};
    $t->wait_until('the gate', sub { -e $t->path('open') })
        if $path =~ m{^/a/block\.pdb/};
    $c->reply($path =~ m{^/a/fails\.pdb/}i ? 403
              : $files{$path} ? 200 : 404, {}, $files{$path} // '');
});
my $config = $t->default_config($server->{url}, limits => { downloads => 1 });
my $upstream = delete $config->{sources}{upstream};
for my $name ('a', 'b') {
    $config->{sources}{$name} = { %$upstream, url => "$server->{url}/$name",
                                  forms => ['plain', 'packed'] };
}
$config->{stores}{default}{sources} = ['a', 'b'];
$t->start_symcached($config);

sub lookup {
    my ($name, $wait, $of) = @_;
    $of //= $id;
    return $t->helper('GET', "/v1/symcache/default/$name/$of?version=9.0.0"
        . '&wait=' . ($wait // 60))->{status};
}

# What was asked for since the last call, without the digits of ids: U or l.
my $seen = 0;
sub asked {
    my @all = map { $_->{path} =~ s{/[0-9A-F]{20,}/}{/U/}r =~ s{/[0-9a-f]{20,}/}{/l/}r }
        $server->requests;
    my $from = $seen;
    $seen = @all;
    return @all[$from .. $#all];
}

is lookup('crash.pdb'), 200, 'a has a file';
is lookup('basic32.pdb', 60, $id32), 200, 'b has a packed one';
asked();

is lookup('None.pdb'), 404, 'an absent one';
my @a = ('/a/None.pdb/U/None.pdb', '/a/None.pdb/U/None.pd_');
my @b = ('/b/None.pdb/U/None.pd_', '/b/None.pdb/U/None.pdb');
is_deeply [asked()], [@a, @b,
    '/a/none.pdb/l/none.pdb', '/a/none.pdb/l/none.pd_',
    '/a/none.pdb/U/none.pdb', '/a/none.pdb/U/none.pd_', '/a/index2.txt',
    '/b/none.pdb/l/none.pd_', '/b/none.pdb/l/none.pdb',
    '/b/none.pdb/U/none.pd_', '/b/none.pdb/U/none.pdb', '/b/index2.txt',
], 'each form once at each source, then all other places, each once';

is lookup('late.pdb'), 200, 'a file in a spelling that b never had';
asked();
is lookup('more.pdb'), 404, 'another absent one';
is_deeply [(asked())[0 .. 6]], ['/a/more.pdb/U/more.pdb', '/a/more.pdb/U/more.pd_',
    '/b/more.pdb/l/more.pdb', '/b/more.pdb/l/more.pd_',
    '/b/more.pdb/U/more.pdb', '/b/more.pdb/U/more.pd_',
    '/a/more.pdb/l/more.pdb'],
    'that spelling of b is one of its own now';

is lookup('Fails.pdb'), 503, 'a fails for this one';
is_deeply [asked()], ['/a/Fails.pdb/U/Fails.pdb',
    '/b/fails.pdb/l/fails.pdb', '/b/fails.pdb/l/fails.pd_',
    '/b/Fails.pdb/U/Fails.pdb', '/b/Fails.pdb/U/Fails.pd_'],
    'which ends without the spellings that are left';

lookup('block.pdb', 0);
$t->wait_until('it has the slot', sub { grep { m{/block\.pdb} } map { $_->{path} }
                                            $server->requests });
lookup($_, 0) for map({ "X$_.pdb" } 1 .. 5), 'real.pdb';
$t->write_file('open', '');
$t->wait_until('all are done', sub {
    !@{ $t->helper_json('/v1/jobs')->{jobs} }
});
my @order = grep { m{/(x\d|real)\.pdb/}i } asked();
my ($real) = grep { $order[$_] =~ /real/ } 0 .. $#order;
my ($rest) = grep { $order[$_] =~ m{/x\d\.pdb/U} } 0 .. $#order;
cmp_ok $real, '<', $rest, 'who has a chance goes first';
is scalar(grep { m{/x\d\.pdb/U} } @order), 20, 'the others are asked to the end';
is lookup("X$_.pdb"), 404, "X$_.pdb is absent" for 1 .. 5;

$t->finish;
done_testing;
