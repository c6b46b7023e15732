#!/usr/bin/env perl

# Both daemons under a service manager as systemd is one, by sd_notify(3) and
# sd_listen_fds(3): the test is the manager.  And where systemd has left its
# programs, under systemd-socket-activate.

use strict;
use warnings;

use Fcntl qw(F_SETFD);
use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Socket::INET;
use IO::Socket::UNIX;
use POSIX ();
use Socket qw(SOCK_DGRAM SOCK_STREAM);
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
$t->allow_log(qr/not valid JSON near column \d+; the old configuration stays|cannot listen on/);
my $id = $Test::Symcache::key{'crash.pdb'};
my $lookup = "/v1/symcache/default/crash.pdb/$id?version=9.0.0&wait=60";

my $config = $t->default_config('http://127.0.0.1:1', gated => 1);
$config->{sources} = { upstream => { type => 'filesystem',
                                     path => $t->path('sym') } };
$t->symbol_store('sym');
$t->write_helper_config($config);

# --- the manager

my $notify = IO::Socket::UNIX->new(Type => SOCK_DGRAM,
    Local => $t->path('notify')) or die "notify: $!";

# The next message.
sub message {
    my $bits = '';
    vec($bits, fileno $notify, 1) = 1;
    select $bits, undef, undef, $Test::Symcache::patience or return 'nothing';
    recv $notify, my $text, 4096, 0;
    return $text;
}

# The next message but signs of life.
sub state_message {
    my $text;
    do { $text = message() } while $text eq 'WATCHDOG=1';
    return $text;
}

# Starts a daemon with these sockets; returns its pid.
sub start {
    my ($name, $sockets, %env) = @_;
    my $pid = fork() // die "fork: $!";
    return $pid if $pid;
    open STDIN, '<', '/dev/null';
    open STDOUT, '>>', $t->path("$name.log");
    open STDERR, '>&', \*STDOUT;
    my $fd = 3;
    my @copies = map { POSIX::dup(fileno $_) } @$sockets;
    my @high = map { my $n = $_ + 50; POSIX::dup2($_, $n); $n } @copies;
    POSIX::dup2($_, $fd++) for @high;
    POSIX::close($_) for $fd .. 200;
    %ENV = (%ENV, $t->sanitizer_env(0), PATH => "$Test::Symcache::build:"
        . $ENV{PATH}, NOTIFY_SOCKET => $t->path('notify'),
        LISTEN_FDS => scalar @$sockets, LISTEN_PID => $$, %env);
    exec $t->program($name), '-c', $t->path('symcached.json')
        or POSIX::_exit(127);
}

sub listen_at {
    my ($path) = @_;
    return IO::Socket::UNIX->new(Local => $path, Listen => 100)
        // die "$path: $!";
}

sub ended { $t->stop_pid($_[0], 'TERM') }

for my $name ('symcached', 'symbolicated') {
    my $path = $name eq 'symcached' ? $t->helper_socket
        : $t->symbolicated_socket;
    mkdir $t->path('store');

    # messages, without a socket of the manager

    my $pid = start($name, []);
    is message(), 'READY=1', "$name: ready";
    is $t->http($path, 'GET', '/healthz')->{status}, 200, 'and so it is';
    kill 'HUP', $pid;
    like message(), qr/^RELOADING=1\nMONOTONIC_USEC=\d+$/, "$name: reloading";
    is message(), 'READY=1', "$name: reloaded";
    rename $t->path('symcached.json'), $t->path('good.json');
    $t->write_file('symcached.json', '{');
    kill 'HUP', $pid;
    like message(), qr/^RELOADING=1\n/, "$name: a bad configuration";
    like message(), qr/^STATUS=the\ configuration\ in\ use\ is\ not\ the
        \ file's:\ .*:1:\ not\ valid\ JSON\ near\ column\ 2$/x, "$name: its status says so";
    is message(), 'READY=1', "$name: the old one serves";
    rename $t->path('good.json'), $t->path('symcached.json');
    kill 'TERM', $pid;
    is message(), 'STOPPING=1', "$name: stopping";
    is ended($pid), 0, "$name: stopped";
    ok !-e $path, "$name: the socket that it made is gone";

    # signs of life

    $pid = start($name, [], WATCHDOG_USEC => 200_000);
    is message(), 'READY=1', "$name: ready";
    is message(), 'WATCHDOG=1', "$name: alive" for 1 .. 2;
    ended($pid);
    is state_message(), 'STOPPING=1', "$name: stopped";
    $pid = start($name, [], WATCHDOG_USEC => 1000, WATCHDOG_PID => 1);
    is message(), 'READY=1', "$name: ready";
    ended($pid);
    is message(), 'STOPPING=1', "$name: another process is watched";

    # a socket of the manager: it outlives the daemon

    my $listener = listen_at($path);
    my $early = $t->open_http($path, 'GET', '/healthz');
    $pid = start($name, [$listener]);
    is message(), 'READY=1', "$name: with a socket";
    is $t->read_response($early)->{status}, 200,
        "$name: who came before it is answered";
    ended($pid);
    is message(), 'STOPPING=1', "$name: stopped";
    ok -S $path, "$name: the socket is the manager's";
    my $between = $t->open_http($path, 'GET', '/healthz');
    $pid = start($name, [$listener]);
    is message(), 'READY=1', "$name: again";
    is $t->read_response($between)->{status}, 200,
        "$name: who came in between is answered";
    ended($pid);
    message();

    # a socket that no address is

    my $other = listen_at($t->path('other.sock'));
    close $listener;
    unlink $path;
    $pid = start($name, [$other]);
    is message(), 'READY=1', "$name: with a wrong socket";
    is $t->http($path, 'GET', '/healthz')->{status}, 200,
        "$name: listens where the configuration says";
    like $t->read_file("$name.log"), qr/\[warn\].*a socket of the service manager is not used/,
        "$name: and warns";
    ended($pid);
    message();

    # variables that are for another process

    unlink $t->path('other.sock');
    $pid = start($name, [$other], LISTEN_PID => 1);
    is message(), 'READY=1', "$name: sockets of another process";
    unlike $t->read_file("$name.log") =~ s/.*not used//sr, qr/not used/,
        "$name: are nothing to it";
    ended($pid);
    message();
}

# --- TCP

my $port = Test::Symcache::free_port();
my $tcp = IO::Socket::INET->new(LocalAddr => "127.0.0.1:$port", Listen => 10,
    ReuseAddr => 1) or die "port $port: $!";
$t->write_helper_config({ %$config, listen => "127.0.0.1:$port" });
my $pid = start('symcached', [$tcp]);
is message(), 'READY=1', 'TCP';
is $t->http("127.0.0.1:$port", 'GET', '/healthz')->{status}, 200, 'is served';
ended($pid);
message();
close $tcp;
$t->write_helper_config($config);

# --- a socket for administration that is open to everybody, as systemd's are

my $admin = $t->path('admin.sock');
my $open = listen_at($admin);
$t->write_helper_config({ %$config, admin_listen => "unix:$admin" });
chmod 0666, $admin;
$pid = start('symcached', [$open]);
is $t->stop_pid($pid, 0) >> 8, 71, 'admin_listen: it is not taken';
like $t->read_file('symcached.log'), qr/lets others connect, too \(SocketMode=0660\)/,
    'and the reason is told';
chmod 0660, $admin;
$pid = start('symcached', [$open]);
is message(), 'READY=1', 'but with the right mode';
ended($pid);
message();

# --- a socket that somebody has, though it takes no connection

close $open;
unlink $admin;
$open = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => $admin)
    or die "$admin: $!";
$pid = start('symcached', []);
is $t->stop_pid($pid, 0) >> 8, 71, 'a socket in use';
ok -S $admin, 'stays';
$t->write_helper_config($config);

# --- nginx holds a request while symcached is started again

my $listener = listen_at($t->helper_socket);
$t->start_nginx($t->default_locations);
$pid = start('symcached', [$listener]);
is message(), 'READY=1', 'behind nginx';
my $held = $t->open_http($t->nginx_socket, 'GET',
    '/hold/' . $t->request_path('crash.pdb'));
$t->wait_until('its transcoder runs', sub { $t->runs == 1 });
ended($pid);
message();
my $late = $t->open_http($t->nginx_socket, 'GET',
    '/hold/' . $t->request_path('basic32.pdb'));
$t->write_file('gate', '');
$pid = start('symcached', [$listener]);
is message(), 'READY=1', 'started again';
is $t->read_response($held)->{status}, 200,
    'who was held before the restart gets the file';
is $t->read_response($late)->{status}, 200, 'and who came in between';
ended($pid);
message();

# --- the journal: a priority in the place of time and process

my $journal = $t->path('journal');
open my $stderr, '>', $journal or die "$journal: $!";
my ($device, $inode) = stat $stderr;
{
    local $ENV{JOURNAL_STREAM} = "$device:$inode";
    open my $own, '>&', \*STDERR or die;
    open STDERR, '>&', $stderr or die;
    $pid = fork() // die "fork: $!";
    if (!$pid) {
        $ENV{NOTIFY_SOCKET} = $t->path('notify');
        close $listener;
        unlink $t->helper_socket;
        exec $t->program('symcached'), '-c', $t->path('symcached.json')
            or POSIX::_exit(127);
    }
    open STDERR, '>&', $own or die;
}
is message(), 'READY=1', 'with a journal';
ended($pid);
my @lines = split /\n/, $t->read_file($journal);
ok @lines >= 2, 'it has lines';
is_deeply [grep { !/^<[2-7]>[^<\d]/ } @lines], [],
    'each begins with a priority, and has no time';
message();

# --- systemd's own program

SKIP: {
    my ($activate) = grep { -x } map { "$_/systemd-socket-activate" }
        split /:/, $ENV{PATH};
    skip 'no systemd-socket-activate', 1 unless $activate;
    close $listener;
    unlink $t->helper_socket;
    $t->{helper} = $t->spawn('symcached.log', { $t->sanitizer_env(0) },
        $activate, '-l', $t->helper_socket, '-E', 'PATH',
        $t->program('symcached'), '-c', $t->path('symcached.json'));
    # the socket is there before it listens
    my $answer;
    $t->wait_until('it answers', sub { -S $t->helper_socket
        && ($answer = $t->helper('GET', '/healthz')) });
    is $answer->{status}, 200, 'started by systemd-socket-activate';
    $t->stop_symcached;
    unlink $t->helper_socket;
}

$t->stop_nginx;
$t->finish;
done_testing;
