#!/usr/bin/env perl

# What changes while a job runs: no answer of before is given as a final one.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my ($asked, $go) = ($t->path('asked'), $t->path('go'));

# has nothing when it is asked first, and the PDB afterwards
my $server = Test::ScriptedServer->new(log => $t->path('requests'),
    script => sub {
        my ($c, $req) = @_;
        return $c->reply(404, {}, '') if $req->{uri} !~ m{/$id/crash\.pdb$};
        return $c->reply(200, {}, $pdb) if -e $asked;
        $t->write_file('asked', '');
        $t->wait_until('go', sub { -e $go });
        $c->reply(404, {}, '');
    });

my @gated = ("$FindBin::Bin/../bin/gated", $t->path('gate'), $t->path('runs'));
my $copy = 'cp "$0" "$1/$(basename "$0")-v4.1.0.symcache"';
my $config = {
    stores => { default => {
        root => $t->path('store'),
        transcoders => [
            { version => '9.0.0', command => [@gated, 'false', '{pdb}'] },
            { version => '4.1.0',
              command => ['/bin/sh', '-c', $copy, '{pdb}', '{out}'] },
        ],
        sources => ['upstream'],
    } },
    sources => {
        upstream => { type => 'http', url => $server->{url},
                      internal => JSON::PP::true() },
        local => { type => 'filesystem', path => $t->path('sym') },
    },
    cache => { retry_errors_after => '1s' },
};

sub hold {
    my ($version) = @_;
    my $before = $t->metric('symcached_waiters');
    my $s = $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/default/crash.pdb/$id?version=$version&wait=60");
    $t->wait_until('held', sub { $t->metric('symcached_waiters') > $before });
    return $s;
}

sub forget {
    $t->helper('POST', "/v1/forget/default/crash.pdb" . ($_[0] // ''));
}

sub reload { $t->reload_symcached($config) }

sub fresh {
    unlink map { $t->path($_) } qw(asked go gate runs);
    forget();
    unlink $t->path("downloads/default/crash.pdb/$id/crash.pdb");
}

$t->symbol_store('sym');
$t->allow_log(qr/outcome=error|the old configuration stays/);
$t->start_symcached($config);

# forget, behind a publication, while the job has asked before it

for my $what ('', "/$id") {
    my $held = hold('4.1.0');
    $t->wait_until('the source is asked', sub { -e $asked });
    forget($what);
    $t->write_file('go', '');
    is $t->read_response($held)->{status}, 200,
        'forget reaches the job that runs: ' . ($what ? 'key' : 'name');
    fresh();
    unlink $t->path("store/crash.pdb/$id/crash.pdb-v4.1.0.symcache");
}

# a source that is new since the job began

my $held = hold('4.1.0');
$t->wait_until('the source is asked', sub { -e $asked });
push @{ $config->{stores}{default}{sources} }, 'local';
reload();
$t->write_file('go', '');
is $t->read_response($held)->{status}, 503,
    'a miss in the former sources is not final';
ok !$t->absence("store/crash.pdb/$id/crash.pdb-v4.1.0.absent"),
    'and not remembered as one';
fresh();

# one transcoder fails, a client waits for the other one

my $nine = hold('9.0.0');
$t->write_file('go', '');
$t->wait_until('the transcoder runs', sub { $t->runs == 1 });
my $four = hold('4.2.0');
reload();
$t->write_file('gate', '');
is $t->read_response($nine)->{status}, 503,
    'malformed, says one of before the reload, which is not final';
is $t->read_response($four)->{status}, 503,
    'nor for who needs the other one';
fresh();

# the store moves

$nine = hold('9.0.0');
$t->write_file('go', '');
$t->wait_until('the transcoder runs', sub { $t->runs == 1 });
$config->{stores}{default}{root} = $t->path('moved');
reload();
my $r = $t->helper('GET',
    "/v1/symcache/default/crash.pdb/$id?version=4.2.0&wait=60");
is $r->{status}, 200, 'a job for the store of now';
ok -e $t->path('moved/' . (Test::Symcache::header($r, 'X-Symcache-Path') // '')),
    'and the file is there';
$t->write_file('gate', '');
is $t->read_response($nine)->{status}, 503, 'the job of before ends its way';

# a configuration that fails half way

mkdir $t->path('other');
mkdir $t->path('other/.transcoders');
$config->{stores}{other} = { %{ $config->{stores}{default} },
                           root => $t->path('other') };
$config->{stores}{$_}{transcoders} = [
    $config->{stores}{default}{transcoders}[1]] for qw(other default);
$t->write_helper_config($config);
kill 'HUP', $t->{helper};
$t->wait_until('the reload fails', sub {
    $t->metric('symcached_reloads_total{result="failed"}')
});
is $t->read_file('moved/.transcoders'), "9.0.0\n4.1.0\n",
    'a reload that fails leaves what nginx is told';

$server->stop;
$t->finish;
done_testing;
