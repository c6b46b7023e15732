#!/usr/bin/perl

# Many lookups of every outcome leave no descriptor, no process and no file
# behind, and a stop in the middle of each step none either.

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
my $id = $Test::SourceCase::id;

my $up = Test::ScriptedServer->new(log => $t->path('up.log'), script => sub {
    my ($c, $req) = @_;
    my ($name) = $req->{path} =~ m{^/([a-z]+)\d*\.pdb/};
    return $c->reply(200, {}, $crash) if $name eq 'good';
    return $c->reply(200, {}, '<html>') if $name eq 'html';
    return $c->reply(403, {}, '') if $name eq 'denied';
    return $c->reset if $name eq 'reset';
    if ($name eq 'slow') {
        $c->send(substr $c->reply_text(200, {}, $crash), 0, 300000);
        $c->wait_for_peer(60);
        return $c->close;
    }
    return $c->reply(404, {}, '');
});
my %sources = (
    local => { type => 'filesystem', path => $t->path('sym'),
               layout => 'symstore' },
    up => { type => 'http', url => $up->url, layout => 'symstore',
            internal => JSON::PP::true() },
);
mkdir $t->path('sym');

sub fds {
    opendir my $dir, "/proc/$t->{helper}/fd" or die $!;
    return scalar grep { !/^\./ } readdir $dir;
}

sub children {
    my $list = $t->read_file("/proc/$t->{helper}/task/$t->{helper}/children");
    return split ' ', $list // '';
}

my $c = Test::SourceCase->new($t, sources => \%sources);
my @kinds = qw(good html denied reset never);

$c->ask("${_}0.pdb") for @kinds;
my $before = fds();
for my $n (1 .. 10) {
    # a reset is tried again, which takes time
    $c->ask("$_$n.pdb") for grep { $n < 3 || $_ ne 'reset' } @kinds;
}
$t->wait_until('no process is left', sub { !children() });
pass 'many lookups leave no process';
$t->wait_until('connections are gone', sub { fds() <= $before + 5 });
pass 'and no descriptors';
$t->wait_until('files are gone',
    sub { !(() = glob $t->path('downloads/.tmp/*/*')) });
pass 'and no files';

# A stop in the middle of a transfer; finish() looks for what is left.
my $s = $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/slow.pdb/$id?version=9.0.0&wait=60");
$t->wait_until('the transfer runs', sub {
    grep { -s } map { glob $t->path("downloads/.tmp/$_.part") } '*/*',
        '*/*/*';
});
is $t->stop_symcached, 0, 'a stop in the middle of a transfer';

# ... of a transcoder
$c = Test::SourceCase->new($t, sources => \%sources,
    command => ['/bin/sh', '-c', 'echo $$ >"$0"; sleep 1000 & wait',
                $t->path('pid'), '{pdb}']);
$s = $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/good99.pdb/$id?version=9.0.0&wait=60");
$t->wait_until('the transcoder runs', sub { -s $t->path('pid') });
my ($pid) = $t->read_file('pid') =~ /(\d+)/;
is $t->stop_symcached, 0, 'a stop in the middle of a transcoder';
$t->wait_until('the transcoder is gone', sub { Test::Symcache::gone($pid) });
pass 'kills it';

# a helper that is killed takes along what its transcoder started
unlink $t->path('pid');
$c = Test::SourceCase->new($t, sources => \%sources,
    command => ['/bin/sh', '-c', 'sleep 1000 & echo $$ $! >"$0"; wait',
                $t->path('pid'), '{pdb}']);
$s = $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/good98.pdb/$id?version=9.0.0&wait=60");
$t->wait_until('the transcoder runs',
    sub { ($t->read_file('pid') // '') =~ /\n/ });
my @pids = $t->read_file('pid') =~ /(\d+)/g;
my ($guard) = map { m{/(\d+)/} } grep {
    my $stat = $t->read_file($_) // '';
    $stat =~ /\(symcached-guard\)/
        && (readlink($_ =~ s/stat$/exe/r) // '') eq $t->program('symcached')
} glob '/proc/[0-9]*/stat';
ok $guard, 'there is a guard';
is scalar(grep { Test::Symcache::gone($_) } @pids), 0, 'a transcoder with a child of its own';
$t->stop_symcached('KILL');
$t->wait_until('both are gone', sub { !grep { !Test::Symcache::gone($_) } @pids });
pass 'dies with a helper that is killed';

$t->start_symcached; # cleans up
$t->wait_until('work is gone', sub {
    1 >= (() = glob $t->path('store/.tmp/*'))
});
$t->finish;
done_testing;
