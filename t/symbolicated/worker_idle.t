#!/usr/bin/env perl

# A worker that has had no body for 60 seconds ends, and then the next body of
# its scope is read by another one.  Workers, the process that starts them, and
# symbolicated itself are stopped for minutes; clients do not pay for it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use POSIX qw(WNOHANG);
use Test::Clock;
use Test::Form;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $clock = Test::Clock->new($t) or plan skip_all => Test::Clock::why();
my $dump = $t->read_file($t->data('minidump/ring/libring.dmp'));
my $ready = 2;   # workers that have read nothing

mkdir $t->path('store');
$t->start_symbolicated({
    stores => { default => { root => $t->path('store') } },
    symbolication => { threads => 1 },
}, env => $clock->env(all => 1));

sub send_dump {
    my ($scope) = @_;
    my $body = form(['sources', '[]'], ['upload_file_minidump', $dump, 'x']);
    my $s = Test::Symcache::connect_to($t->symbolicated_socket) or die $!;
    print $s Test::Symcache::request_text('POST', "/minidump?scope=$scope",
        "Content-Type: $form_type", 'Content-Length: ' . length $body), $body;
    $s->flush;
    return $s;
}
sub answer { return $t->read_response($_[0], 'POST') }
sub ask { return answer(send_dump(@_))->{status} }
sub workers { return $t->symbolicated_metric('symbolicated_workers') // -1 }
sub started { return scalar $t->symbolicated_metric('symbolicated_workers_started_total') }
sub wait_for {
    my ($n, $why) = @_;
    $t->wait_until("$n workers: $why", sub { workers() == $n });
    pass $why;
}

sub session {
    my ($pid) = @_;
    return ($t->read_file("/proc/$pid/stat") =~ /\) \S \d+ \d+ (\d+)/)[0];
}

is ask('a'), 200, 'a body';
wait_for($ready + 1, 'its worker waits for another one');
is ask('a'), 200, 'another one';
is started(), $ready + 1, '... is read by the same worker';

# A look at them is due every five seconds.  Two requests let it be made.
$clock->set(50);
workers() for 1 .. 2;
is ask('b'), 200, 'a body of another scope, after 50 s';
wait_for($ready + 2, 'the first worker is there');

$clock->set(65);
wait_for($ready + 1, '... and has ended after 65 s, unlike the one of 15 s');
my $before = started();
is ask('a'), 200, 'a body of its scope then';
wait_for($ready + 2, '... has another worker');
is started(), $before + 1, '... and one more was started, to be ready';

$clock->set(200);
wait_for($ready, 'those that have read nothing stay');

# --- stopped for longer than a worker may be silent

sub children {
    my ($parent) = @_;
    open my $c, '<', "/proc/$parent/task/$parent/children" or return;
    return split ' ', <$c> // '';
}
sub running { return $t->symbolicated_metric('symbolicated_requests_running') }

my ($spawner) = children($t->{symbolicated});
SKIP: {
    skip 'this kernel does not list children', 17 unless $spawner;

    # as when a machine, or a container, is paused: all time passes at once
    my ($listener) = $t->read_file('/proc/net/unix') =~
        /^\S+ \S+ \S+ 00010000 \S+ \S+ +(\d+) \Q@{[$t->symbolicated_socket]}\E$/m;
    ok $listener && !(grep { (readlink) =~ /\[$listener\]/ } glob "/proc/$spawner/fd/*"),
        'the process that starts workers would not keep the socket of a daemon that is killed';
    my @workers = children($spawner);
    kill 'STOP', @workers;
    my $s = send_dump('paused');
    $t->wait_until('a worker has the body', sub { running() == 1 });
    $clock->set(300);
    workers() for 1 .. 3;
    kill 'CONT', @workers;
    is answer($s)->{status}, 200, 'a worker after a pause of all';
    unlike $t->symbolicated_log, qr/a worker was killed/, '... is not killed';

    # symbolicated alone, while a client sends the rest of a head
    my @halves = map { Test::Symcache::connect_to($t->symbolicated_socket) } 1, 2;
    syswrite $_, "GET /healthcheck HTTP/1.1\r\nHo" for @halves;
    for (340, 380, 420) {
        workers(); # then both have been read
        kill 'STOP', $t->{symbolicated};
        $clock->set($_);
        syswrite $halves[0], "st: h\r\n\r\n" if $_ == 420;
        kill 'CONT', $t->{symbolicated};
    }
    is answer($halves[0])->{status}, 200, 'a head that was whole when symbolicated went on';
    $clock->pass(31, \&workers);
    is answer($halves[1])->{status}, 408, '... and one that is not, 30 s after that';
    like $t->symbolicated_log,
        qr/\[info\].* request refused: status=408, it was not whole in time/, '... so the log says';

    wait_for($ready, 'after 60 s without a body it has ended');
    @workers = children($spawner);
    kill 'STOP', @workers;
    $s = send_dump('paused');
    $t->wait_until('a worker has the body', sub { running() == 1 });
    $clock->pass(61, \&workers);
    like answer($s)->{body}, qr/"internal error"/,
        'a worker that alone is stopped for 60 s fails';
    like $t->symbolicated_log,
        qr/\[error\].* a worker was killed: it said nothing for 60000 ms: it had the body of protocol=minidump /,
        '... and is killed';
    kill 'CONT', @workers;
    wait_for($ready, '... for which another one was made ready');

    kill 'STOP', $spawner;
    my @s = map { send_dump("stopped$_") } 1 .. $ready + 1;
    is answer($s[$_])->{status}, 200, 'a worker that was ready' for 0 .. $ready - 1;
    $clock->pass(61, \&workers);
    like answer($s[$ready])->{body}, qr/"no worker is available"/,
        'without a spawner there is no other one';
    like $t->symbolicated_log,
        qr/\[warn\].* no worker was started within 60000 ms/, '... so the log says';
    my ($pid, $status) = delete $t->{symbolicated};
    $t->wait_until('symbolicated ends', sub {
        my $ended = waitpid $pid, WNOHANG;
        $status = $?;
        return $ended == $pid;
    });
    is $status >> 8, 71, '... and symbolicated is started again';
    like $t->symbolicated_log, qr/\[emerg\] .*the process that starts workers is gone, or hangs/,
        '... which it says';
    $t->allow_log(qr/the process that starts workers is gone/);
    SKIP: {
        # which is then no orphan for the kernel: docker run --init
        if (session(1) == session($$)) {
            kill 'KILL', $spawner, @workers;
            skip 'the init of this container is in our session', 1;
        }
        $t->wait_until('they are gone', sub {
            !grep { !Test::Symcache::gone($_) } $spawner, @workers;
        });
        pass '... and what was stopped does not outlive it';
    }
}

$t->finish;
done_testing;
