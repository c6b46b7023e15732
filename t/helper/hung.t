#!/usr/bin/env perl

# A directory that hangs, so that not even SIGKILL ends who looks into it: the
# helper leaves such a process to itself and goes on.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::Mount;
use Test::Fuse;
use Test::More;
use Test::ScriptedServer;
use Test::SourceCase;
use Test::Symcache;

my $t = Test::Symcache->new;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $id = $Test::SourceCase::id;
my $dir = $t->dir;

my $fuse = Test::Fuse->new($t->path('net'),
    { tool => "#!/bin/sh\ncp \$1 \$2/\$(basename \$1)-v9.0.0.symcache\n",
      map { ("$_.pdb/$id/$_.pdb" => $crash) } 'a' .. 'f' },
    hang => $t->path('hang'));
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    return $c->reply(404, {}, '') unless $req->{path} =~ m{/slow\d*\.pdb$};
    $t->wait_until('the gate opens', sub { -e $t->path('gate') });
    $c->reply(200, {}, $crash);
});
my %source = (
    net => { type => 'filesystem', path => $t->path('net') },
    web => { type => 'http', url => $web->url, internal => JSON::PP::true() },
);

sub case {
    my ($order, %limits) = @_;
    $t->stop_symcached;
    return Test::SourceCase->new($t, order => $order, limits => \%limits,
        command => delete $limits{command},
        sources => { map { $_ => $source{$_} } @$order });
}

sub begin {
    return $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/default/$_[0].pdb/$id?version=9.0.0&wait=60");
}

sub answer { $t->read_response($_[0], 'GET') }

sub is_well {
    my ($what) = @_;
    my $s = $t->open_http($t->helper_socket, 'GET', '/healthz');
    is answer($s)->{status}, 200, "$what: the helper answers";
}

# --- a lookup before its turn that is not wanted any more

my $c = case(['web', 'net']);
$c->found('a.pdb', 'while the directory works, it is asked');
$fuse->hang;
my $held = begin('slow');
$t->wait_until('the directory is looked into meanwhile', sub { $fuse->waiting });
$t->write_file('gate', '');
is answer($held)->{status}, 200, 'the first source has it';
is_well('the second hangs');
my ($pid) = $fuse->waiting;
ok $pid, 'the process is still there';
$fuse->release;
$t->wait_until('it ends', sub { !-e "/proc/$pid" });
pass 'and is reaped when it ends';
$c->found('b.pdb', 'then the directory is asked again');

# --- one that takes too long

$c = case(['net'], download_time => '1s');
$fuse->hang;
$c->undecided('c.pdb', 'failed', qr/no answer within 1 s/,
               'a lookup that hangs');
is_well('a process does not end');
like $t->helper_log, qr/process \d+ .* does not end/, 'which is logged';
$fuse->release;
$t->wait_until('the directory works again',
               sub { $c->ask('d.pdb')->{status} == 200 });

# --- a program that does not begin

$c = case(['web'], command => [$t->path('net/tool'), '{pdb}', '{out}']);
$fuse->hang;
$held = begin('slow1');
$t->wait_until('the transcoder is to be started', sub { $fuse->waiting });
is_well('its program hangs');
my $other = begin('none');
is answer($other)->{status}, 404, 'somebody is answered meanwhile';
is sysread($other, my $rest, 1), 0, 'and the connection closed';
$fuse->release;
is answer($held)->{status}, 200, 'then it is started';

# --- a configuration that cannot be read at once

my ($failed, $ok) = map { "symcached_reloads_total{result=\"$_\"}" }
    qw(failed ok);
$c = case(['web']);
my $config = JSON::PP::decode_json($t->read_file('symcached.json'));

sub reload {
    my ($value) = @_;
    $config->{sources}{path} = { type => 'sympath', value => $value };
    $t->write_helper_config($config);
    kill 'HUP', $t->{helper};
}

$fuse->hang;
my $url = $web->url;
reload("cache*$dir/net;srv*$url");
$t->wait_until('the folder is looked for', sub { $fuse->waiting });
is_well('a folder of the configuration hangs');
$t->wait_until('the reload', sub { $t->metric($ok) });
my @places = map { $_->{place} }
    @{ $t->helper_json('/v1/sources')->{sources} };
is_deeply \@places, ["$dir/net", $url, $url],
    'one that may be left out is not, since it may be there';
$t->allow_log(qr/the old configuration stays/);
reload("$dir/net");
$t->wait_until('another', sub { $t->metric($failed) });
like $t->helper_log, qr{"$dir/net" does not answer: .*the old},
    'one that has to be looked into';
delete $config->{sources}{path};
$config->{stores}{dead} = { %{ $config->{stores}{default} },
                            root => "$dir/net/store" };
$t->write_helper_config($config);
kill 'HUP', $t->{helper};
$t->wait_until('a third', sub { $t->metric($failed) == 2 });
like $t->helper_log, qr{the disk of "$dir/net/store" does not answer; the old},
    'a store on such a disk';
$fuse->release;

# --- one below a file system that does not look like it

SKIP: {
    mkdir "$dir/$_" for qw(none over);
    skip 'cannot mount an overlay', 2 if system('mount', '-t', 'overlay', '-o',
        "lowerdir=$dir/none:$dir/net", 'overlay', "$dir/over") != 0;
    $source{over} = { type => 'filesystem', path => "$dir/over" };
    $c = case(['over'], command =>
        ["$Test::Symcache::build/pdb2symcache", '-pdb', '{pdb}']);
    $c->found('f.pdb', 'an overlay of the directory');
    ok -e "$dir/downloads/default/f.pdb/$id/f.pdb",
        'is left when it was copied: the helper never waits for it';
    $t->stop_symcached;
    Test::Mount::gone("$dir/over");
}

$web->stop;
$fuse->stop;
$t->finish;
done_testing;
