#!/usr/bin/env perl

# A symcached that stands still, lies, ends in the middle or answers too late
# while a request waits: the request is answered in time with what there is,
# and nothing of it is remembered.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use POSIX ();
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical;
my $key = $Test::Symcache::key{'crash.pdb'};
my $other = $Test::Symcache::key{'basic32.pdb'};
my ($crash, $basic) = ("crash.pdb/$key", "basic32.pdb/$other");

sub found {
    my (@modules) = @_;
    my $r = $t->post($t->symbolicated_socket, '/symbolicate/v5',
        $json->encode({ memoryMap => [map { [split m{/}] } @modules],
            stacks => [[map { [$_, 0x2913] } 0 .. $#modules]] }));
    return "status $r->{status}" if $r->{status} != 200;
    my $found = $json->decode($r->{body})->{results}[0]{found_modules};
    return { map { $_ => $found->{$_} ? 1 : 0 } keys %$found };
}

my $config = $t->default_config('http://127.0.0.1:1');
$config->{sources} = { upstream => { type => 'filesystem',
    path => $t->symbol_store('sym') } };
$config->{cache} = { clean_every => '1s' };
# one thread: each remembers for itself that nobody listened
$config->{symbolication} = { threads => 1, mozilla => { wait => '1s', code => JSON::PP::true() } };
mkdir $t->path('store');
$t->start_symbolicated($config);

# --- one that is not there, and one that is not symcached

is_deeply found($crash), { $crash => 0 }, 'nobody listens';

my $head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
sub length_of { $head =~ s/(?=\r\n\r\n)/\r\nContent-Length: $_[0]/r }
my %say = (
    nothing => sub { $_[0]->close },
    'nothing, and resets' => sub { $_[0]->reset },
    'no HTTP' => sub { $_[0]->send("garbage\r\n\r\n") },
    'an endless head' => sub { $_[0]->send("HTTP/1.1 200 OK\r\nX: "
        . 'x' x 100_000) },
    'half a head' => sub { $_[0]->send("HTTP/1.1 200 OK\r\nX") },
    'another status' => sub { $_[0]->send(
        "HTTP/1.1 404 Not Found\r\n\r\n0 404 1000 notfound\n") },
    'a head alone' => sub { $_[0]->send($head) },
    'half a line' => sub { $_[0]->send($head . '0 404 1000 not') },
    'no line' => sub { $_[0]->send("$head\0\n") },
    'an endless line' => sub { $_[0]->send($head . 'x' x 100_000) },
    'a line of another key' => sub { $_[0]->send($head . "7 404 1000 x\n") },
    'a negative line' => sub { $_[0]->send($head . "-1 404 1000 x\n") },
    'a status that is none' => sub { $_[0]->send($head . "0 999 1000 x\n") },
    'that it is there' => sub { $_[0]->send($head . "0 200 0\n") },
    'that it is on its way' => sub { $_[0]->send($head . "0 202 1\n") },
    'a length of nothing' => sub { $_[0]->send(length_of(0)) },
    'a length that is too small' => sub { $_[0]->send(length_of(3)
        . "0 200 0\n") },
    'a length that is too large' => sub { $_[0]->send(length_of(1e9)
        . "0 200 0\n") },
    'a length that is none' => sub { $_[0]->send(length_of('-x')
        . "0 200 0\n") },
    'bytes, slowly' => sub { $_[0]->send_bytewise($head . 'x' x 10_000, 0.01) },
);
my $script = sub {
    my ($c, $req) = @_;
    return $c->close if $req->{path} ne '/v1/lookups';
    my $what = $t->read_file('say');
    $say{$what} ? $say{$what}->($c) : $c->send($head . $what);
    $c->close unless $c->{closed};
};
my $liar = Test::ScriptedServer->new(unix => $t->helper_socket,
                                     script => $script);
# a symcached that was not there is left alone for a second
sub asked { scalar grep { $_->{path} eq '/v1/lookups' } $liar->requests }
$t->write_file('say', 'nothing');
$t->wait_until('it is asked', sub { found($crash); asked() });
for my $what (sort keys %say) {
    $t->write_file('say', $what);
    my $before = asked();
    is_deeply found($crash), { $crash => 0 }, "says $what";
    is asked(), $before + 1, 'and was asked';
}

# --- a program: a line of the log says why it is not available

sub asm {
    my $r = $t->post($t->symbolicated_socket, '/asm/v1', $json->encode({
        debugName => 'crash.pdb', debugId => $key, startAddress => '0x0', size => '0x10' }));
    return "$r->{status} " . $json->decode($r->{body})->{error};
}
sub asm_lines { my @lines = $t->symbolicated_log =~ /( protocol=asm .*)/g; return @lines }
my $retry = '503 the program could not be had, please try again';
my $code = "codecache:$crash of store default";
for (['503 60 error', $retry, 'symcached answered 503 error, and tries again in 60 s'],
     ['503 5 ' . 'x' x 60, $retry,
      'symcached answered 503 ' . 'x' x 31 . ', and tries again in 5 s'],
     ['202 1', $retry, 'symcached works on it, and goes on'],
     ['200 0', $retry, 'symcached has it, and it is not there'],
     ['xyz', $retry, 'symcached did not answer'],
     ['404 0 notfound', '200 the program of the module is not to be had here', undef]) {
    my ($line, $answer, $why) = @$_;
    $t->write_file('say', "0 404 0 notfound\n1 $line\n");
    my $before = () = asm_lines();
    is asm(), $answer, "a program: $line";
    $t->wait_until('the log has it', sub { asm_lines() > $before });
    my $last = (asm_lines())[-1];
    is $last =~ / failure=(.*)$/ ? $1 : undef, $why && "$code: $why", '... and the log says why';
}
$t->write_file('say', "0 503 60 error\n1 404 0 notfound\n");
is asm(), '200 the program of the module is not to be had here',
    'names that are not available do not matter without a program';

# what is on disk needs nobody

$t->fill_store('store', $t->data('pdb/crash.pdb'));
$t->write_file('say', 'no HTTP');
is_deeply found($basic, $crash), { $basic => 0, $crash => 1 },
    'a file on disk is used all the same';

# --- the real one is believed at once

$liar->stop;
my $pid = $t->start_symcached($config);
$t->wait_until('the real one is believed', sub { found($basic)->{$basic} });
pass 'nothing of what was said is remembered';

# --- one that stands still

Test::Symcache::remove_tree($t->path('store/basic32.pdb'));
kill 'STOP', $pid;
my $r = found($basic, $crash);
kill 'CONT', $pid;
is_deeply $r, { $basic => 0, $crash => 1 }, 'symcached is stopped';
$t->wait_until('and goes on', sub { found($basic)->{$basic} });

# one that ends

Test::Symcache::remove_tree($t->path('store/basic32.pdb'));
kill 'STOP', $pid;
my $child = fork() // die "fork: $!";
if ($child == 0) {
    my $found = found($basic);
    POSIX::_exit(ref $found && !$found->{$basic} ? 0 : 1);
}
kill 'KILL', $pid;
waitpid $child, 0;
is $?, 0, 'symcached is killed';
waitpid $pid, 0;
delete $t->{helper};
$t->start_symcached;
$t->wait_until('and there again', sub { found($basic)->{$basic} });
$t->wait_until('a pass of cleaning has removed what the killed one left', sub {
    2 == (() = glob $t->path('{store,downloads}/.tmp/run-*'));
});

$t->finish;
done_testing;
