#!/usr/bin/env perl

# Stop and restart: what is answered, what is removed, what is taken over.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Select;
use IO::Socket::UNIX;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my %id = %Test::Symcache::key;

sub header { Test::Symcache::header(@_) }

sub uri {
    my ($pdb, $wait) = @_;
    return "/v1/symcache/default/$pdb/$id{$pdb}?version=9.0.0&wait=$wait";
}

sub tmp_files {
    return map { glob $t->path("$_/.tmp/*") } qw(store downloads);
}

sub pid_of_run {
    my ($i) = @_;
    return (split /\n/, $t->read_file('runs'))[$i];
}

my $config = $t->default_config('http://127.0.0.1:1', gated => 1);
$config->{sources} = { upstream => { type => 'filesystem',
                                     path => $t->path('sym') } };
$t->symbol_store('sym');

# stop while a transcoder runs

for my $signal ('TERM', 'INT') {
    my $runs = $t->runs;
    $t->start_symcached($config);
    my @held = map { $t->open_http($t->helper_socket, 'GET',
        uri($_, 60), 'Connection: keep-alive') } sort keys %id, sort keys %id;
    $t->wait_until('waiters', sub { $t->metric('symcached_waiters') == 4 });
    $t->wait_until('transcoders', sub { $t->runs == $runs + 2 });
    my @pids = map { pid_of_run($runs + $_) } 0, 1;

    is $t->stop_symcached($signal), 0, "$signal: exit code";
    for my $r (map { $t->read_response($_) } @held) {
        is $r->{status}, 503, "$signal: a held request is answered";
        ok header($r, 'Retry-After'), "$signal: to be asked again";
        is header($r, 'X-Symcache-Reason'), 'stopping', "$signal: and why";
    }
    $t->wait_until('no transcoder', sub { !grep { !Test::Symcache::gone($_) } @pids });
    ok !-e $t->helper_socket, "$signal: the socket is gone";
    is_deeply [tmp_files()], [], "$signal: no temporary file";
    is_deeply $t->absences('store'), {},
        "$signal: no negative entry";
}
like $t->helper_log, qr/outcome=stopped.*, the helper stops/, 'logged';

# the same keys, after the restart

$t->write_file('gate', '');
$t->start_symcached;
is $t->helper('GET', uri($_, 60))->{status}, 200, "restarted: $_"
    for sort keys %id;

# a second one beside it

my $out = $t->path('second.out');
my $second = $t->spawn('second.out', { $t->sanitizer_env(0) },
    $t->program('symcached'), '-c', $t->path('symcached.json'));
waitpid $second, 0;
is $? >> 8, 71, 'a second helper on the socket does not start';
like $t->read_file($out), qr/cannot listen on "unix:.*": Address already in use/,
    'and says why';
is $t->helper('GET', '/healthz')->{status}, 200, 'the first is unharmed';

# a child of one that was killed has the socket until it executes its program

my $late = Test::Symcache->new;
my $socket = IO::Socket::UNIX->new(Listen => 5, Local => $late->helper_socket)
    or die $!;
$late->write_helper_config($late->default_config('http://127.0.0.1:9/'));
my $waits = $late->spawn('late.out', { $late->sanitizer_env(0) },
    $late->program('symcached'), '-c', $late->path('symcached.json'));
IO::Select->new($socket)->can_read($Test::Symcache::patience)
    or die 'nobody has tried it';
close $socket;
$late->wait_until('symcached listens', sub {
    !Test::Symcache::alive($waits)
        || Test::Symcache::connects($late->helper_socket) });
is $late->stop_pid($waits, 'TERM'), 0, 'a socket is waited for';

# killed: everything is left behind, and taken over

unlink $t->path('gate');
Test::Symcache::remove_tree($t->path('store/crash.pdb'));
my $runs = $t->runs;
my $held = $t->open_http($t->helper_socket, 'GET', uri('crash.pdb', 60));
$t->wait_until('a transcoder runs', sub { $t->runs == $runs + 1 });
my $transcoder = pid_of_run($runs);
$t->stop_symcached('KILL');
is $t->read_response($held)->{status}, 0, 'killed: no answer';
ok -e $t->helper_socket, 'killed: the socket is left';
ok scalar(tmp_files()), 'killed: work is left';
$t->wait_until('the transcoder ends', sub { Test::Symcache::gone($transcoder) });

$t->write_file('store/.tmp/old', 'from another time');
my @stale = tmp_files();
$t->write_file('gate', '');
$t->start_symcached;
$t->wait_until('old work is removed', sub { !grep { -e } @stale });
pass 'restarted: old work is removed';
is $t->helper('GET', uri('crash.pdb', 60))->{status}, 200,
    'restarted: the same key succeeds';

# a process that lives keeps its work

my $other = { %$config, listen => 'unix:' . $t->path('b.sock') };
$t->write_file('b.json', JSON::PP::encode_json({ %$other,
    downloads => $t->path('downloads') }));
my @own = tmp_files();
my $b = $t->spawn('b.out', { $t->sanitizer_env(0) },
    $t->program('symcached'), '-c', $t->path('b.json'));
$t->wait_until('it accepts',
    sub { Test::Symcache::connects($t->path('b.sock')) });
is_deeply [grep { -e } @own], \@own,
    'another helper on the store leaves the work of the first';
is $t->stop_pid($b, 'TERM'), 0, 'and stops';

# the socket's file

is $t->stop_symcached, 0, 'stopped';
$t->write_file('h.sock', 'not a socket');
my $c = $t->spawn('c.out', { $t->sanitizer_env(0) },
    $t->program('symcached'), '-c', $t->path('symcached.json'));
waitpid $c, 0;
is $? >> 8, 71, 'a file in the place of the socket';
is $t->read_file('h.sock'), 'not a socket', 'is not removed';
unlink $t->helper_socket;

$t->start_symcached;
is sprintf('%o', (stat $t->helper_socket)[2] & 0777), '666',
    'every user may connect';
unlink $t->helper_socket;
my $mine = IO::Socket::UNIX->new(Local => $t->helper_socket, Listen => 1);
is $t->stop_symcached, 0, 'stopped';
ok -S $t->helper_socket, "somebody else's socket is not removed";
unlink $t->helper_socket;

$t->finish;
done_testing;
