#!/usr/bin/env perl

# conf-examples/fleet-front.conf before three machines with fleet-machine.conf,
# of which one is killed, stopped, drained, and fleet-equal.conf: no request
# stays unanswered, and none is answered wrongly.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Example;
use Test::More;
use Test::Symcache;

my @poll = ('Allow-Retry-After: true');
my $front = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my @machines = map { Test::Symcache->new } 1 .. 3;
my $pdbs = 0;

sub h { Test::Symcache::header(@_) }

sub socket_of { $_[0]->nginx_socket }

# New PDBs, in the folder that all machines have as their source.
sub publish {
    my ($n) = @_;
    my $text = $front->read_file($front->data('pdb/crash.pdb'));
    return map {
        my $name = 'f' . ++$pdbs . '.pdb';
        $front->write_file("symbols/$name/$id/$name", $text);
        $name;
    } 1 .. $n;
}

sub uri { "/symcache/v9.0.0/$_[0]/" . substr($id, 0, 32) . '/1' }

sub start_helper {
    my ($m) = @_;
    my $config = $m->default_config('http://127.0.0.1:1');
    $config->{admin_listen} = 'unix:' . $m->path('admin.sock');
    $config->{sources} = { upstream => { type => 'filesystem',
        path => $front->path('symbols') } };
    $m->start_symcached($config);
}

sub start_machine {
    my ($m) = @_;
    my $dir = $m->dir;
    Test::Example::start($m, 'fleet-machine.conf', put => {
        'listen 80;' => "listen unix:$dir/n.sock;",
        '/var/cache/symcached/default;' => "$dir/store;",
        'unix:/run/symcached/symcached.sock' => "unix:$dir/h.sock",
        'unix:/run/symcached-admin/admin.sock' => "unix:$dir/admin.sock",
        'allow 10.0.0.10;' => 'allow unix:;',
        'symcache_error 502;' =>
            'symcache_error 502; symcache_async_after 65535.65535.65535;',
    });
}

# Asks for each PDB at once, held, while $during runs; then all are answered.
sub held {
    my ($name, $during, @pdbs) = @_;
    my @open = map { $front->open_http($front->nginx_socket, 'GET', uri($_)) }
        @pdbs;
    $during->();
    my @bad = grep { ($_->{status} // 0) != 200 }
        map { $front->read_response($_) } @open;
    is scalar(@bad), 0, "$name: all who are held are answered";
}

sub polled {
    my ($name, @pdbs) = @_;
    for my $pdb (@pdbs) {
        my $wrong = '';
        $front->wait_until("$name: $pdb", sub {
            my $r = $front->get(uri($pdb), @poll);
            $wrong = "$r->{status}" if $r->{status} != 200
                && !($r->{status} == 404 && h($r, 'Retry-After'));
            return $r->{status} == 200;
        });
        is $wrong, '', "$name: $pdb is polled for, and made";
    }
}

$front->write_file('symbols/pingme.txt', '');
for my $m (@machines) {
    start_helper($m);
    start_machine($m);
}
my $dir = $front->dir;
Test::Example::start($front, 'fleet-front.conf', put => {
    'listen 80;' => "listen unix:$dir/n.sock;",
    'allow 10.0.0.0/24;' => 'allow unix:;',
    'symcache_hold_timeout 0;' =>
        'symcache_hold_timeout 0; symcache_async_after 65535.65535.65535;',
    'proxy_read_timeout 5s;' => 'proxy_read_timeout 1s;',
    map({ my $n = $_ + 1; my $s = socket_of($machines[$_]);
          ("server 10.0.0.$n:80 " => "server unix:$s ",
           "proxy_pass http://10.0.0.$n" => "proxy_pass http://unix:$s:") }
        0 .. 2) });

held('cold', sub { }, publish(6));
polled('cold', publish(3));

# --- drain: of one machine, in the middle

my ($m) = @machines;
is $m->http($m->path('admin.sock'), 'POST', '/v1/drain', 'Content-Length: 0')
    ->{status}, 200, 'drain';
is $m->get('/readyz')->{status}, 503, 'the health location says so';
my $runs = $m->runs;
held('drained', sub { }, publish(6));
polled('drained', publish(3));
is $m->runs, $runs, 'and makes nothing new';
$m->http($m->path('admin.sock'), 'POST', '/v1/undrain', 'Content-Length: 0');
$m->wait_until('ready again', sub { $m->get('/readyz')->{status} == 200 });

# --- symcached is killed while clients are held

held('symcached killed', sub { $m->stop_symcached('KILL') }, publish(6));
polled('symcached killed', publish(3));
is $m->get('/readyz')->{status}, 502, 'the health location';
start_helper($m);

# --- nginx is stopped: those who poll are answered by the others

kill 'STOP', $m->{nginx}, $m->workers;
polled('nginx hangs', publish(3));
kill 'CONT', $m->{nginx}, $m->workers;

# --- forget, at all machines

my $r = $front->get(uri('late.pdb'));
is $r->{status} . (h($r, 'Retry-After') ? ' later' : ''), 404, 'absent';
$front->write_file("symbols/late.pdb/$id/late.pdb",
                   $front->read_file($front->data('pdb/crash.pdb')));
is $front->get(uri('late.pdb'))->{status}, 404, 'still absent';
is $front->http($front->nginx_socket, 'POST', "/v1/forget/default/late.pdb",
                'Content-Length: 0')->{status}, 200, 'forget';
$front->wait_until('all machines have heard of it', sub {
    !grep { !-e $_->path('store/.forgotten') } @machines;
});
is $front->get(uri('late.pdb'))->{status}, 200, 'the next request is served';

# --- what all of them do

my $ctl = "$Test::Symcache::build/symcachectl";
my $peers = join ',', map { socket_of($_) } @machines;
my $json = JSON::PP::decode_json(qx($ctl status --json --peers $peers));
is join(',', sort keys %$json), join(',', sort split /,/, $peers),
    'status --peers: an answer of each';
is_deeply [map { $_->{state} } values %$json], [('answered') x 3], 'whole';
my $text = qx($ctl status --peers $peers,/nowhere 2>$dir/ctl.err);
is $? >> 8, 3, 'status --peers: one cannot be reached';
is scalar(() = $text =~ m{^/.*/n\.sock:\nsymcached: jobs \d}mg), 3,
    'and the others are told all the same';
like $front->read_file('ctl.err'), qr{/nowhere: cannot connect}, 'as is that';
like $machines[0]->helper('GET', '/metrics')->{body},
    qr/^symcached_info\{node="[^"]+",version="[\d.]+"\} 1$/m,
    'metrics tell the machine';

# --- all are down

$_->stop_nginx for @machines;
for my $headers ([], \@poll) {
    $r = $front->get(uri('nobody.pdb'), @$headers);
    is $r->{status}, @$headers ? 404 : 503, "all down: @$headers";
    ok h($r, 'Retry-After'), 'to be asked again';
}

# --- the same machines, equal, without a front: fleet-equal.conf

for my $n (0 .. 2) {
    $m = $machines[$n];
    my $port = Test::Symcache::free_port();
    my $config = $m->default_config('http://127.0.0.1:1');
    my ($origin) = delete $config->{stores}{default};
    $config->{stores} = {
        origin => { %$origin, root => $m->path('origin') },
        edge => { root => $m->path('edge'), sources => ['peers'] },
    };
    $config->{sources} = {
        upstream => { type => 'filesystem', path => $front->path('symbols') },
        peers => { type => 'symcache', internal => JSON::PP::true(),
            version => '9.0.0', url => "http://127.0.0.1:$port/symcache" },
    };
    $m->stop_symcached;
    $m->start_symcached($config);
    my $dir = $m->dir;
    Test::Example::start($m, 'fleet-equal.conf', put => {
        'listen 80;' => "listen unix:$dir/n.sock;",
        'listen 81;' => "listen unix:$dir/peer.sock;",
        'listen 127.0.0.1:82;' => "listen 127.0.0.1:$port;",
        'allow 10.0.0.0/24;' => 'allow unix:;',
        '/var/cache/symcached/edge;' =>
            "$dir/edge; symcache_async_after 65535.65535.65535;",
        '/var/cache/symcached/origin;' => "$dir/origin;",
        'unix:/run/symcached/symcached.sock' => "unix:$dir/h.sock",
        map({ my $i = $_ + 1; ("server 10.0.0.$i:81 " => 'server unix:'
              . $machines[$_]->path('peer.sock') . ' ') } 0 .. 2) });
}

# Asks the machines for each PDB at once, as held() does.
sub equal {
    my ($name, $asked, $during, @pdbs) = @_;
    my @open = map {
        my $machine = $_;
        map { $front->open_http($machine->nginx_socket, 'GET', uri($_)) } @pdbs;
    } @$asked;
    $during->();
    my @bad = grep { ($_->{status} // 0) != 200 }
        map { $front->read_response($_) } @open;
    is scalar(@bad), 0, "$name: all are answered";
}

sub runs_of_all { my $n = 0; $n += $_->runs for @machines; return $n }

$runs = runs_of_all();
equal('equal', \@machines, sub { }, publish(4));
is runs_of_all(), $runs + 4, 'and each key is made once';
$m = shift @machines;
equal('one is killed', \@machines, sub {
    $m->stop_symcached('KILL');
}, publish(4));
push @machines, $m;
$m->start_symcached;
$m->wait_until('what it left is removed', sub {
    !grep { @{[glob "$_/run-*"]} > 1 } glob $m->path('*/.tmp');
});

$_->finish for @machines, $front;
done_testing;
