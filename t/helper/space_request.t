#!/usr/bin/env perl

# What a server says of the length of a body takes nothing from the store
# that would not help, and never much.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Mount;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my $mib = 1024 * 1024;

# 30 MiB of files, 4 to be left free, 2 that may be used
Test::Mount::small($t->path('fs'), '36m');

my $server = Test::ScriptedServer->new(log => $t->path('requests'),
    script => sub {
        my ($c, $req) = @_;
        if ($req->{uri} =~ m{^/claim(\d+)_}) {
            $c->send("HTTP/1.1 200 OK\r\nContent-Length: " . $1 * $mib
                . "\r\n\r\nMicrosoft C/C++");
            $c->wait_for_peer(60);
            return $c->close;
        }
        return $c->reply(200, {}, $pdb) if $req->{uri} =~ m{/crash\.pdb$};
        $c->reply(404, {}, '');
    });
my $config = $t->default_config($server->url,
    cache => { min_free => '4m', clean_every => '1s', max_unused_for => '30d',
               retry_errors_after => '1s' },
    limits => { downloads => 20, downloads_per_host => 20 });
$config->{downloads} = $t->path('fs/downloads');
$config->{stores}{default}{root} = $t->path('fs/store');

sub lookup {
    my ($name, $wait) = @_;
    return $t->helper('GET',
        "/v1/symcache/default/$name/$id?version=9.0.0&wait=$wait");
}

sub passes { $t->metric('symcached_clean_passes_total{result="ok"}') // 0 }

sub another_pass {
    my $before = passes();
    $t->wait_until('a whole pass', sub { passes() > $before + 1 });
}

# the first was used just now: its last use that was noted is not an hour old
my @files;
sub fill {
    @files = ();
    for my $n (0 .. 29) {
        my $file = $t->write_file(
            "fs/store/old$n.pdb/$id/old$n.pdb-v9.0.0.symcache", 'x' x $mib);
        my $age = $n == 0 ? 1800 : 3600 * ($n + 1);
        utime time - $age, time - $age, $file;
        push @files, $file;
    }
}
sub left { return scalar grep { -e } @files }
fill();

$t->start_symcached($config);

# more than the file system has; what a lie takes is asked for at each retry

for my $n (1 .. 3) {
    my $r = lookup("claim10000_$n.pdb", 60);
    is $r->{status}, 503, 'a body of 10 GB has no room';
    like $r->{body}, qr/no room: \d+ bytes needed/, 'which is said';
}
another_pass();
is left(), 30, 'and nothing is removed for it';
like $t->helper_log,
    qr{clean: nothing is removed for a file of 10485760000 bytes that is announced: it can have \d+ bytes on the file system of "/.*", a quarter of},
    'which is logged';

# what could be had by removing nearly all

is lookup('claim25_.pdb', 60)->{status}, 503, 'a body of 25 MiB has none, too';
another_pass();
is left(), 30, 'and nothing is removed for that, either';
my $lines = () = $t->helper_log =~ /clean: nothing is removed/g;
cmp_ok $lines, '<=', 4, 'a line for each at most';

# many that take little, and never come

my $end = passes() + 5;
$t->wait_until('passes', sub {
    lookup("claim3_$_.pdb", 0) for 1 .. 12;
    return passes() > $end;
});
cmp_ok left(), '>=', 22, 'many claims take a quarter';
cmp_ok left(), '<', 30, 'of which each alone is believed';
ok -e $files[0], 'what may be in use stays';

# room that is there may be used by anybody

$server->stop;
$server = Test::ScriptedServer->new(log => $t->path('requests'),
    script => sub { $_[0]->reply(200, {}, $pdb) });
$config->{sources}{upstream}{url} = $server->url;
$t->reload_symcached($config);
$t->wait_until('a PDB', sub { lookup('crash.pdb', 60)->{status} == 200 });
pass 'an honest body gets its room';

# a body without a length makes the room for itself, by what it takes

is $t->stop_symcached, 0, 'stopped';
$server->stop;
Test::Symcache::remove_tree($t->path("fs/$_")) for qw(store downloads);
fill();
my $large = $pdb . "\0" x (6 * $mib);
$server = Test::ScriptedServer->new(log => $t->path('requests'),
    script => sub {
        my ($c) = @_;
        $c->reply(200, { 'Content-Length' => undef,
                         'Connection' => 'close' }, $large);
        $c->close;
    });
$config->{sources}{upstream}{url} = $server->url;
$t->start_symcached($config);
is lookup('crash.pdb', 60)->{status}, 503, 'no room for a body without end';
$t->wait_until('a PDB', sub { lookup('crash.pdb', 60)->{status} == 200 });
pass 'it has room in the end';
cmp_ok left(), '>=', 14, 'and took the half at most';
ok -e $files[0], 'nothing that may be in use';

is $t->stop_symcached, 0, 'stopped';
$server->stop;
Test::Mount::gone($t->path('fs'));
$t->finish;
done_testing;
