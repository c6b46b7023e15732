#!/usr/bin/env perl

# One address, or one user, that takes all the connections that it can get:
# others are answered as before, at once.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Select;
use IO::Socket::INET;
use POSIX ();
use Test::More;
use Test::Symcache;

plan skip_all => 'needs prlimit(1)'
    if system('prlimit --version >/dev/null 2>&1') != 0;

my $t = Test::Symcache->new;
my $limit = 256;
my $places = $limit / 4 * 3;
my $free = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1')
    or die "listen: $!";
my $port = $free->sockport;
close $free;
my $config = { stores => { default => { root => $t->path('store') } } };
my @wrapper = ('prlimit', "--nofile=$limit:$limit");
my $healthz = "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n";

sub tcp {
    my ($from) = @_;
    return IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port,
                                 LocalAddr => $from, Proto => 'tcp');
}

# Whether a request on a new connection is answered.
sub answered {
    my ($s) = @_;
    my $text = '';
    local $SIG{PIPE} = 'IGNORE';
    $s and syswrite $s, $healthz and sysread $s, $text, 4096;
    return $text =~ m{^HTTP/1.1 200 };
}

sub is_open {
    my ($s) = @_;
    return $s && !IO::Select->new($s)->can_read(0);
}

# The connections on which a request was answered, and which stay open.
sub ask_often {
    my ($connect) = @_;
    my @kept;
    for (1 .. $limit + 50) {
        my $s = $connect->();
        push @kept, $s if answered($s);
    }
    return @kept;
}

$t->start_symcached({ %$config, listen => "127.0.0.1:$port" },
    wrapper => \@wrapper, address => "127.0.0.1:$port");

# whole requests, on connections that stay

my @kept = ask_often(sub { tcp('127.0.0.2') });
cmp_ok scalar @kept, '<=', $places / 4 * 3,
    'an address has three times as many connections as are left';
cmp_ok scalar @kept, '>=', $places / 2, 'and so has many of them';
ok answered(tcp('127.0.0.1')), 'another one is answered';
ok answered(tcp('127.0.0.3')), 'and a third one';
like $t->helper_log,
    qr/\[warn\].*connections of address 127\.0\.0\.2 are closed: it has its share of the $places that/,
    'which is logged';
@kept = ();

# half requests, of an address that others use as well

my @half = map { my $s = tcp('127.0.0.1'); syswrite $s, 'G' if $s; $s }
    1 .. $limit + 50;
ok answered(tcp('127.0.0.1')), 'beside half requests the same address is answered';
ok !is_open($half[0]), 'the oldest of them have ended';
@half = ();

# many of them at once, before the first byte of any is read

kill 'STOP', $t->{helper};
@half = map { my $s = tcp('127.0.0.1'); syswrite $s, 'G' if $s; $s } 1 .. $limit + 50;
kill 'CONT', $t->{helper};
$t->wait_until('one that asks again is answered', sub { answered(tcp('127.0.0.1')) });
# all have their time, as long as there is room
cmp_ok scalar(grep { is_open($_) } @half), '>', 0, 'also when they come at once';
@half = ();
$t->wait_until('what is closed is free again', sub { answered(tcp('127.0.0.2')) });
my $metrics = $t->http("127.0.0.1:$port", 'GET', '/metrics')->{status};
is $metrics, 403, 'metrics need a right, as before';
is $t->stop_symcached, 0, 'the same process, to the end';

# a user of this machine, on the socket that nginx asks

SKIP: {
    skip 'two users need root', 3 if $> != 0;
    $t->start_symcached($config, wrapper => \@wrapper);
    pipe my $count, my $counted or die "pipe: $!";
    pipe my $wait, my $end or die "pipe: $!";
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
        close $end;
        POSIX::setgid(54321);
        POSIX::setuid(54321);
        my @held = ask_often(sub {
            Test::Symcache::connect_to($t->helper_socket) });
        syswrite $counted, scalar(@held) . "\n";
        sysread $wait, my $byte, 1;
        POSIX::_exit(0);
    }
    close $counted;
    my $n = readline $count;
    cmp_ok $n, '<=', $places / 4 * 3, 'a user has no more than a share';
    ok answered(Test::Symcache::connect_to($t->helper_socket)),
        'our own user is answered';
    cmp_ok $t->metric('symcached_connections_closed_total{why="share"}'), '>',
        0, 'connections over it were closed';
    close $end;
    waitpid $pid, 0;
    $t->stop_symcached;
}

$t->finish;
done_testing;
