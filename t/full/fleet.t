#!/usr/bin/env perl

# The fleet of conf-examples/fleet-front.conf as it is written there: three
# machines with fleet-machine.conf, two fronts and a symbol server, each with
# an address, a network and a disk of its own.  Machines are killed, stopped,
# unplugged, drained, upgraded one by one, and lose their disks, while clients
# are held and poll.  Each row of the table is a number of keys that nobody has
# asked for before: none stays unanswered, none is answered wrongly, and none
# is downloaded twice but those that the machine at fault had begun.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Network;
use File::Path qw(make_path remove_tree);
use JSON::PP qw(decode_json encode_json);
use POSIX ();
use Test::Example;
use Test::More;
use Test::Symcache;
use Time::HiRes qw(time);

my $id = $Test::Symcache::key{'crash.pdb'};
my $pdbs = 0;
my $whole;    # of every SymCache

sub h { Test::Symcache::header(@_) }

sub machine {
    my ($name, $address) = @_;
    my $t = Test::Symcache->new;
    Test::Network::join($name, $address);
    @$t{qw(name address under)} = ($name, $address,
        [Test::Network::under($name)]);
    return $t;
}

sub start_example {
    my ($m, $file, %put) = @_;
    unlink $m->nginx_socket;    # a killed nginx leaves it
    Test::Example::start($m, $file, put => { %put,
        'listen 80;' => "listen $m->{address}:80; listen unix:"
            . $m->nginx_socket . ';' });
}

# --- the symbol server, which takes two seconds for each PDB

my $up = machine('up', '10.0.0.20');
my $pdb = $up->read_file($up->data('pdb/crash.pdb'));
my $uri_of = sub { "/sym/$_[0]/$id/$_[0]" };
$up->write_file('crash.pdb', $pdb);
$up->start_nginx("rewrite ^/sym/gone.* /none last;
    location ^~ /sym/late { try_files /published =404; }
    location ^~ /elf/ { alias %%DIR%%/elf/; limit_rate 8k; }
    rewrite ^/sym/f.*\\.pdb\$ /crash.pdb last;
    location = /crash.pdb { internal; root %%DIR%%; limit_rate 500k; }",
    listen => "listen 10.0.0.20:80 backlog=64; listen unix:"
        . $up->nginx_socket . ';',
    http => 'log_format who \'$remote_addr $status $request_uri\';
        access_log %%DIR%%/who.log who;');

# name => the machines that downloaded it, whole or in part
sub downloads {
    my %who;
    for (split /\n/, $up->read_file('who.log') // '') {
        my ($from, $status, $name) = m{^(\S+) (\d+) /sym/([^/]+)/} or next;
        push @{ $who{$name} }, $from if $status == 200;
    }
    return \%who;
}

# --- machines and fronts

my @machines = map { machine("m$_", "10.0.0.$_") } 1 .. 3;
my @fronts = map { machine("front$_", '10.0.0.' . (9 + $_)) } 1, 2;

my $tier;    # a folder that all machines share
my $uploads; # whether they take uploads

sub start_helper {
    my ($m) = @_;
    my $config = $m->default_config('http://10.0.0.20/sym');
    $config->{admin_listen} = 'unix:' . $m->path('admin.sock');
    $config->{sources}{upstream}{forms} = ['plain'];
    $config->{sources}{elf} = { type => 'http', internal => JSON::PP::true(),
        url => 'http://10.0.0.20/elf', layout => 'debuginfod' };
    push @{ $config->{stores}{default}{sources} }, 'elf';
    if ($tier) {
        $config->{tiers}{fleet} = { type => 'filesystem', path => $tier };
        $config->{stores}{default}{tier} = 'fleet';
    }
    if ($uploads) {
        $config->{uploads} = { root => $m->path('uploads'),
            peers => [map { "$_->{address}:80" } @machines] };
        push @{ $config->{stores}{default}{sources} }, 'uploads';
    }
    $m->start_symcached($config);
}

sub start_nginx {
    my ($m) = @_;
    my $dir = $m->dir;
    start_example($m, 'fleet-machine.conf',
        '/var/cache/symcached/default;' => "$dir/store;",
        '/var/cache/symcached/downloads;' => "$dir/downloads;",
        'unix:/run/symcached/symcached.sock' => "unix:$dir/h.sock",
        'unix:/run/symcached-admin/admin.sock' => "unix:$dir/admin.sock",
        'symcache_error 502;' =>
            'symcache_error 502; symcache_async_after 65535.65535.65535;');
}

sub start_front {
    my ($m) = @_;
    start_example($m, 'fleet-front.conf',
        'symcache_hold_timeout 0;' =>
            'symcache_hold_timeout 0; symcache_async_after 65535.65535.65535;');
    Test::Network::ip(qw(netns exec), $m->{name}, 'sh', '-c',
        'cd /proc/sys/net/ipv4; echo 5 > tcp_keepalive_time;
         echo 2 > tcp_keepalive_intvl; echo 3 > tcp_keepalive_probes');
}

sub kill_nginx {
    my ($m) = @_;
    my @workers = $m->workers;
    $m->stop_nginx('KILL');
    kill 'KILL', @workers;
}

# --- clients

sub names { map { 'f' . ++$pdbs . '.pdb' } 1 .. $_[0] }

sub uri { "/symcache/v9.0.0/$_[0]/" . ($_[1] // substr $id, 0, 32) . '/1' }

sub send_request {
    my ($c) = @_;
    my @poll = $c->{poll} ? ('Allow-Retry-After: true') : ();
    $c->{at} = undef;
    $c->{raw} = '';
    $c->{socket} = $fronts[0]->open_http("$c->{front}{address}:80", 'GET',
        uri($c->{name}), @poll);
    $c->{end} = 'refused' unless $c->{socket};
}

# What came, when the connection has ended or all is there.
sub take_answer {
    my ($c) = @_;
    my $r = Test::Symcache::parse_response($c->{raw}, 'GET');
    delete $c->{socket};
    if ($c->{poll} && $r->{status} == 404 && h($r, 'Retry-After')) {
        $c->{at} = time + 0.5;
        return;
    }
    my $digest = $fronts[0]->sha256($r->{body});
    $whole //= $digest if $r->{status} == 200;
    $c->{end} = $r->{status} != 200 ? "status $r->{status}"
        : $digest ne $whole ? 'another body' : 'good';
    $c->{took} = time - $c->{began};
}

sub read_some {
    my (@reading) = @_;
    my $bits = '';
    vec($bits, fileno $_->{socket}, 1) = 1 for @reading;
    select $bits, undef, undef, 0.1;
    for my $c (grep { vec $bits, fileno $_->{socket}, 1 } @reading) {
        my $n = sysread $c->{socket}, $c->{raw}, 1 << 20, length $c->{raw};
        take_answer($c) if !$n
            || Test::Symcache::parse_response($c->{raw}, 'GET')->{complete};
    }
}

# Asks for all names at all fronts, $o{at_once} of them at a time if that is
# set; $o{during} runs when the first is answered.
sub ask {
    my ($names, %o) = @_;
    my @clients = map { my $front = $_;
        map { { name => $_, front => $front, poll => $o{poll}, at => 0 } }
            @$names } @{ $o{fronts} // [$fronts[0]] };
    my $during = $o{during};
    my $end = time + 150;
    while (my @open = grep { !$_->{end} } @clients) {
        last if time > $end;
        splice @open, $o{at_once} if $o{at_once} && @open > $o{at_once};
        for (grep { defined $_->{at} && $_->{at} <= time } @open) {
            $_->{began} //= time;
            send_request($_);
        }
        read_some(grep { $_->{socket} && !$_->{end} } @open);
        if ($during && grep { $_->{end} } @clients) {
            $during->();
            $during = undef;
        }
    }
    return [map { { end => $_->{end} // 'unanswered',
        took => $_->{took} // 150 } } @clients];
}

# The same in a process of its own while $meanwhile runs.
sub ask_meanwhile {
    my ($meanwhile, @arguments) = @_;
    my $pid = open(my $pipe, '-|') // die "fork: $!";
    if ($pid == 0) {
        print encode_json(ask(@arguments));
        STDOUT->flush;
        POSIX::_exit(0);
    }
    $meanwhile->();
    local $/;
    return decode_json(<$pipe>);
}

sub row {
    my ($what, $names, %o) = @_;
    my ($began, $fault) = (downloads(), $o{fault});
    my @before = map { scalar @{ $began->{$_} // [] } } @$names;
    my $clients = $o{meanwhile} ? ask_meanwhile($o{meanwhile}, $names, %o)
                                : ask($names, %o);
    my ($longest) = sort { $b <=> $a } map { $_->{took} } @$clients;
    my %end;
    $end{ $_->{end} }++ for @$clients;
    my $who = downloads();
    my ($all, $twice, @needless) = (0, 0);
    for my $name (@$names) {
        my @from = @{ $who->{$name} // [] };
        splice @from, 0, shift @before;
        $all += @from;
        $twice++ if @from > 1;
        my @others = grep { !$fault || $_ ne $fault->{address} } @from;
        push @needless, "$name by @from" if @others > 1;
    }
    is_deeply \%end, { good => scalar @$clients }, "$what: all are answered";
    is_deeply \@needless, [], "$what: nothing is downloaded twice needlessly";
    is $all, 0, "$what: nothing is downloaded at all" if $o{shared};
    note sprintf '| %-26s | %5d | %4d | %9.1f | %9d | %5d |', $what,
        scalar @$clients, $end{good} // 0, $longest, $all, $twice;
}

start_helper($_), start_nginx($_) for @machines;
start_front($_) for @fronts;
note '| what happens               | asked | good | longest s | downloads | '
    . 'twice |';

row('nothing, held', [names(30)]);
row('nothing, polled', [names(30)], poll => 1);
row('two fronts at once', [names(30)], fronts => \@fronts);

# Fronts leave a machine alone for ten seconds after a failure, and its breaker
# leaves the symbol server alone when the machine had no network.
# They are asked by another id: what was uploaded is found by its id.
my $absent = 0;
my $other_id = 'E' x 32;
sub is_asked {
    my ($machine) = @_;
    $machine->wait_until("$machine->{name} asks the symbol server", sub {
        my $r = $machine->get(uri('gone' . ++$absent . '.pdb', $other_id));
        return $r->{status} == 404 && !h($r, 'Retry-After');
    });
    for my $front (@fronts) {
        $machine->wait_until("$front->{name} asks $machine->{name}", sub {
            my $name = 'gone' . ++$absent . '.pdb';
            $front->get(uri($name, $other_id));
            # not a former question that comes late
            return $machine->access_log
                =~ /^\Q$front->{address}\E .*\b\Q$name\E\b/m;
        });
    }
}

my ($m) = @machines;
for my $poll (0, 1) {
    my $how = $poll ? 'polled' : 'held';
    row("drained, $how", [names(30)], poll => $poll,
        during => sub {
            $m->http($m->path('admin.sock'), 'POST', '/v1/drain',
                'Content-Length: 0');
        });
    $m->http($m->path('admin.sock'), 'POST', '/v1/undrain',
        'Content-Length: 0');
    row("killed, $how", [names(30)], poll => $poll, fault => $m,
        during => sub { kill_nginx($m); $m->stop_symcached('KILL') });
    start_helper($m);
    start_nginx($m);
    is_asked($m);
    row("symcached killed, $how", [names(30)], poll => $poll, fault => $m,
        during => sub { $m->stop_symcached('KILL') });
    start_helper($m);
    is_asked($m);
    row("cable pulled, $how", [names(30)], poll => $poll, fault => $m,
        during => sub { Test::Network::unplug($m->{name}) });
    row("cable still out, $how", [names(10)], poll => $poll);
    Test::Network::plug($m->{name});
    is_asked($m);
}
row('nginx stopped, polled', [names(30)], poll => 1, fault => $m,
    during => sub { kill 'STOP', $m->{nginx}, $m->workers });
kill 'CONT', $m->{nginx}, $m->workers;
is_asked($m);
row('symcached stopped, polled', [names(30)], poll => 1, fault => $m,
    during => sub { kill 'STOP', $m->{helper} });
kill 'CONT', $m->{helper};
is_asked($m);

# --- all are upgraded, one after the other, drained first

sub upgrade {
    my ($machine) = @_;
    $machine->wait_until('drained', sub {
        !decode_json($machine->http($machine->path('admin.sock'), 'POST',
            '/v1/drain', 'Content-Length: 0')->{body})->{total};
    });
    $machine->stop_nginx;
    $machine->stop_symcached;
    start_helper($machine);
    start_nginx($machine);
    is_asked($machine);
}

for my $machine (@machines) {
    row("$machine->{name} upgraded, $_", [names(40)], poll => $_ eq 'polled',
        fault => $machine, at_once => 6,
        meanwhile => sub { upgrade($machine) }) for 'held', 'polled';
}

# --- a disk is lost

my @kept = names(30);
row('before a disk is lost', \@kept);
$m->stop_symcached;
remove_tree($m->path('store'), $m->path('downloads'));
start_helper($m);
row('after, held', \@kept);

# --- build ids: elfutils remembers an absence for ten minutes, for all its
# clients of a user

sub debuginfod_finds {
    my ($what, $good, $during, @ids) = @_;
    my %pid;
    for my $build (@ids) {
        my $pid = fork // die "fork: $!";
        if ($pid == 0) {
            $ENV{DEBUGINFOD_URLS} = 'http://10.0.0.10/symbols';
            $ENV{DEBUGINFOD_CACHE_PATH} = $up->path('elfutils');
            open STDOUT, '>', $up->path("found.$build");
            open STDERR, '>&', \*STDOUT;
            exec qw(debuginfod-find debuginfo), $build or POSIX::_exit(127);
        }
        $pid{$pid} = $build;
    }
    $during->();
    my $found = 0;
    while (%pid) {
        my $build = delete $pid{ wait() } // next;
        $found++ if $? == 0;
        my $file = $up->path("elfutils/$build/debuginfo");
        ok !-e $file || -s $file, "$what: no negative entry";
    }
    is $found, $good ? scalar @ids : 0, "$what: found";
}

SKIP: {
    skip 'no debuginfod-find (package debuginfod)', 1
        if system('debuginfod-find --version >/dev/null 2>&1') != 0;
    my @ids;
    $up->write_file('main.c', 'int main(void) { return 0; }');
    for my $n (1 .. 12) {
        push @ids, sprintf '%040x', 0xabcd00 + $n;
        my $file = $up->write_file("elf/buildid/$ids[-1]/debuginfo", '');
        system('gcc', '-g', "-Wl,--build-id=0x$ids[-1]", '-o', $file,
            $up->path('main.c')) == 0 or die 'gcc';
    }
    debuginfod_finds('a machine is killed', 1, sub {
        $m->wait_until('downloads', sub {
            glob $m->path('downloads/default/_/*') });
        kill_nginx($m);
        $m->stop_symcached('KILL');
    }, splice @ids, 0, 8);
    kill_nginx($_), $_->stop_symcached('KILL') for @machines[1, 2];
    debuginfod_finds('all are dead', 0, sub { }, @ids);
    start_helper($_), start_nginx($_) for @machines;
    is_asked($_) for @machines;
    debuginfod_finds('they are back', 1, sub { }, @ids);
}

# --- with a tier, what was made is downloaded by nobody again

$tier = $up->path('tier');
mkdir $tier or die $!;
for (@machines) {
    $_->stop_symcached;
    start_helper($_);
}
@kept = names(30);
row('made, with a tier', \@kept);
$m->wait_until('all are in the tier', sub {
    no warnings 'once';
    my $n = 0;
    File::Find::find({ no_chdir => 1,
        wanted => sub { $n++ if -f && !m{/\.} } }, $tier);
    return $n == @kept;
});
$m->stop_symcached;
remove_tree($m->path('store'), $m->path('downloads'));
start_helper($m);
row('a disk is lost, with a tier', \@kept, shared => 1);
row('killed, with a tier', \@kept, shared => 1,
    during => sub { kill_nginx($m); $m->stop_symcached('KILL') });
start_helper($m);
start_nginx($m);
is_asked($m);

# --- what is published, everybody sees at once; absence is believed for 60 s

sub absent {
    my ($name) = @_;
    return grep { my $r = $_->get(uri($name));
        $r->{status} == 404 && !h($r, 'Retry-After') } @fronts, @machines;
}

my $published = $up->path('html/published');
is scalar(absent('late.pdb')), 5, 'absent, whomever one asks';
$up->write_file($published, $pdb);
is scalar(absent('late.pdb')), 5, 'and remembered by all';
my $peers = join ',', map { "$_->{address}:80" } @machines;
my $began = time;
is system(@{ $fronts[0]{under} }, "$Test::Symcache::build/symcachectl",
    'forget', '--peers', $peers, 'late.pdb') >> 8, 0, 'forget --peers';
my $took = time - $began;
is_deeply [map { $_->get(uri('late.pdb'))->{status} } @fronts, @machines],
    [(200) x 5], 'the next requests see it';
note sprintf 'forget at three machines: %.0f ms', 1000 * $took;

# --- what is uploaded at one machine, everybody sees before it is answered

$uploads = 1;
for (@machines) {
    make_path($_->path('uploads/.spool'));
    $_->stop_symcached;
    start_helper($_);
}
is_asked($_) for @machines;

sub upload {
    my ($machine, $bytes, $query) = @_;
    my $name = 'gone-but-uploaded.pdb';
    my $began = time;
    my $r = $machine->http($machine->path('admin.sock'), 'PUT',
        "/v1/uploads/$name/$id/$name$query", 'Content-Length: 0',
        'X-Symcached-Body: ' . $machine->write_file('uploads/.spool/1',
            $bytes));
    unlink $machine->path('uploads/.spool/1');
    return ($r->{status}, decode_json($r->{body})->{untold},
        1000 * (time - $began));
}

sub statuses {
    return [map { $_->get(uri('gone-but-uploaded.pdb'))->{status} } @fronts,
        @machines];
}

sub made_of_it {
    my @files = glob $_[0]->path('store/gone-but-uploaded.pdb/*/*.symcache');
    return @files;
}

is scalar(absent('gone-but-uploaded.pdb')), 5, 'absent, whomever one asks';
my ($status, $untold, $ms) = upload($m, $pdb, '');
is_deeply [$status, $untold], [201, undef], 'uploaded at one machine';
is_deeply statuses(), [(200) x 5], 'the next requests see it';
note sprintf 'an upload that three machines hear of: %.0f ms', $ms;
my $other = substr($pdb, 0, -1) . chr(1 ^ ord substr $pdb, -1);
($status, $untold, $ms) = upload($machines[1], $other, '?force=1');
is_deeply [$status, $untold], [201, undef], 'replaced at another';
is scalar(map { made_of_it($_) } @machines), 0,
    'what was made of it is gone everywhere';
is_deeply statuses(), [(200) x 5], 'and made again';
note sprintf 'a file that is replaced: %.0f ms', $ms;
Test::Network::unplug($machines[2]{name});
($status, $untold, $ms) = upload($m, $pdb, '?force=1');
is_deeply [$status, $untold], [201, '10.0.0.3:80'],
    'replaced while a cable is pulled';
note sprintf 'while a cable is pulled: %.0f ms', $ms;
Test::Network::plug($machines[2]{name});
$m->wait_until('the third machine hears of it',
    sub { !-e $m->path('uploads/.untold') });
is scalar(made_of_it($machines[2])), 0, 'and has dropped what it had';
is_asked($_) for @machines;
is_deeply statuses(), [(200) x 5], 'all have it';

$_->finish for @machines, @fronts, $up;
done_testing;
