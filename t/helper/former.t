#!/usr/bin/env perl

# What was learned of a source stays over a reload, unless the reload drops
# the source: then it goes when no job of before runs any more.

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

# The PDB, or 500; "slow" waits for the gate.
my ($good, $bad) = map {
    my $status = $_;
    Test::ScriptedServer->new(log => $t->path("$_.log"), script => sub {
        my ($c, $req) = @_;
        $t->wait_until('the gate', sub { -e $t->path('gate') })
            if $req->{path} =~ m{^/slow};
        $c->reply($status, {}, $crash);
    });
} 200, 500;

$t->write_file('flat/some.pdb', $crash);
my $config = {
    stores => { default => {
        root => $t->path('store'), sources => [qw(flat bad good)],
        transcoders => [{ version => '9.0.0', command => ['/bin/sh', '-c',
            'cp "$0" "$1/$(basename "$0")-v9.0.0.symcache"',
            '{pdb}', '{out}'] }] } },
    sources => {
        flat => { type => 'filesystem', layout => 'flat',
                  path => $t->path('flat'), only => '^flat' },
        bad => { type => 'http', url => $bad->url, only => '^bad',
                 internal => JSON::PP::true() },
        good => { type => 'http', url => $good->url, only => '^(good|slow)',
                  internal => JSON::PP::true() } },
    limits => { breaker_failures => 1, breaker_pause => '1h', attempts => 1 },
};

sub begin {
    return $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/default/$_[0].pdb/$id?version=9.0.0&wait=60");
}
sub lookup { $t->read_response(begin(@_))->{status} }

sub reload { $t->reload_symcached($config) }

# What is known: indexes of flat directories, hosts and directories, sources
# that were asked.
sub known {
    $t->helper('GET', '/healthz'); # what it was at is done then
    my @fds = map { readlink // () } glob "/proc/$t->{helper}/fd/*";
    return [scalar(grep { m{^/memfd:index\b} } @fds),
        (map { $t->metric("symcached_hosts{state=\"$_\"}") } qw(open closed)),
        (map { $t->metric('symcached_source_attempts_total{source="'
            . "$_\",outcome=\"not_found\"}") // 'none' } qw(flat bad good))];
}

$t->start_symcached($config);
is lookup('flat'), 200, 'from a flat directory';
is lookup('good'), 200, 'from a server';
is lookup('bad'), 503, 'a server that fails';
my $all = known();
is_deeply [@$all[0 .. 2]], [1, 1, 2], 'what is known of them';
reload();
is_deeply known(), $all, 'stays over a reload';

my $held = begin('slow');
$t->wait_until('the job asks', sub {
    grep { $_->{path} =~ /slow/ } $good->requests });
$all = known();
delete @{ $config->{sources} }{qw(flat bad)};
$config->{stores}{default}{sources} = ['good'];
reload();
is_deeply known(), $all, 'of sources that are gone, while a job runs';
$t->write_file('gate', '');
is $t->read_response($held)->{status}, 200, 'which ends well';
is_deeply known(), [0, 0, 1, 'none', 'none', $all->[5]], 'and not after it';

$config->{sources}{good}{url} .= '/elsewhere';
$config->{sources}{new} = delete $config->{sources}{good};
$config->{stores}{default}{sources} = ['new'];
reload();
is_deeply known(), [0, 0, 1, ('none') x 3],
    'another source of the same host: the host stays';
delete $config->{sources}{new};
$config->{stores}{default}{sources} = [];
reload();
is_deeply known(), [0, 0, 0, ('none') x 3], 'and goes, without a job';

is $t->stop_symcached, 0, 'stopped';
$_->stop for $good, $bad;
$t->finish;
done_testing;
