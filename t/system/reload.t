#!/usr/bin/perl

# Mixed load, with a reload every second and one change of the binary by USR2:
# no failed, truncated or wrong answer, and no worker that outlives its last
# request.  SYMCACHE_SOAK sets other seconds than 20; t/full/reload.t 60.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use POSIX ();
use Test::More;
use Test::Symcache;
use Time::HiRes qw(time);

use constant CLIENTS => 4;     # two of them read slowly all the time
use constant BIG => 8 << 20;

my $seconds = $ENV{SYMCACHE_SOAK} // 20;

my ($up, $symbols) = Test::Symcache->symbol_nginx;

my $t = Test::Symcache->new;
my $port = $t->free_port;
my $nginx = "127.0.0.1:$port";
$t->start_symcached($t->default_config($symbols));

my %env = $t->sanitizer_env(1);

# USR2 is ignored by a master that is not a daemon
my $conf = $t->nginx_config(
    $t->default_locations('symcache_zone z; symcache_valid 2s;') . <<'EOC',
    location /slow/ { symcache %%DIR%%/store; limit_rate 2m; }
EOC
    daemon => 'on', workers => 2, listen => "listen 127.0.0.1:$port;",
    http => 'symcache_zone z:1m;',
    main => join '', map { "env $_;" } sort keys %env);
my $env = join ' ', map { "$_='$env{$_}'" } sort keys %env;
my $dir = $t->dir;
mkdir "$dir/html";
is system("env $env $Test::Symcache::nginx -p $dir -c $conf"
          . " >>$dir/nginx.out 2>&1"), 0, 'nginx starts as a daemon';

sub master { (($t->read_file('nginx.pid') // '') =~ /^(\d+)/)[0] }

sub workers {
    my $pid = master() or return;
    my $list = $t->read_file("/proc/$pid/task/$pid/children") // '';
    return split ' ', $list;
}

$t->wait_until('nginx accepts', sub { Test::Symcache::connects($nginx) });
END { kill 'TERM', master() // () if $t && !$t->{finished} && $$ == $t->{owner} }

# --- what every kind of request must be answered

my $crash = $t->request_path('crash.pdb');
my $basic = $t->request_path('basic32.pdb');
my $later = $t->request_path('crash.pdb', '9.0.1');
my $guid = '0123456789ABCDEF0123456789ABCDEF';
my $big = "v9.0.0/big.pdb/$guid/1";
my $fill = join '', map { chr $_ * 7 % 256 } 0 .. 1023;
$t->write_file("store/big.pdb/${guid}1/big.pdb-v9.0.0.symcache",
               $fill x (BIG / 1024));

my (%want, %etag);
for my $p ($crash, $basic) {
    my $r = $t->http($nginx, 'GET', "/hold/$p");
    is $r->{status}, 200, "made: $p";
    $want{$p} = $r->{body};
    $etag{$p} = Test::Symcache::header($r, 'ETag');
}
like $want{$crash}, qr/^SYMC/, 'a SymCache';

sub retry { defined Test::Symcache::header($_[0], 'Retry-After') }

# [weight, name, method, URI or code, headers, check]
my @kinds = (
    [20, 'hit', 'GET', "/poll/$crash", [], sub {
        $_->{status} == 200 && $_->{body} eq $want{$crash}
        || $_->{status} == 404 && retry($_) }],
    [5, 'HEAD', 'HEAD', "/hold/$crash", [], sub {
        $_->{status} == 200 && $_->{headers}{'content-length'}[0]
                               == length $want{$crash} }],
    [5, 'range', 'GET', "/hold/$crash", ['Range: bytes=100-199'], sub {
        $_->{status} == 206
        && $_->{body} eq substr $want{$crash}, 100, 100 }],
    [5, 'not newer', 'GET', "/hold/$later", ['If-Version-Exceeds: 9.0.0'],
        sub { $_->{status} == 304 }],
    [5, 'absent', 'GET', "/poll/v9.0.0/none.pdb/$guid/1", [], sub {
        $_->{status} == 404 }],
    [5, 'unknown, held', 'GET', sub {
        sprintf '/hold/v9.0.0/none.pdb/%032X/1', rand 1 << 30 }, [], sub {
        $_->{status} == 404 && !retry($_) }],
    [10, 'made again, held', 'GET', "/hold/$basic", [], sub {
        $_->{status} == 200 && $_->{body} eq $want{$basic} }],
    [2, 'bad', 'GET', "/hold/$crash", ['If-Version-Exceeds: x'], sub {
        $_->{status} == 400 }],
    [2, 'method', 'POST', "/hold/$crash", ['Content-Length: 0'], sub {
        $_->{status} == 405 }],
    [0, 'slow', 'GET', "/slow/$big", [], sub {
        $_->{status} == 200 && $_->{body} eq $fill x (BIG / 1024) }],
);
my @deck = map { ($_) x $_->[0] } @kinds;
my @slow = grep { $_->[0] == 0 } @kinds;

# One client: requests over connections that live for a few of them.  A kept
# connection may be closed by the server before the next request is read, and
# then the request is sent again; anything else that is cut off is a failure.
sub client {
    my ($n, $stop) = @_;
    my (%done, @wrong, $s, $kept);
    srand 4711 + $n;

    until (-e $stop) {
        my $kind = $n <= 2 ? $slow[0] : $deck[rand @deck];
        my (undef, $name, $method, $uri, $headers, $check) = @$kind;
        $uri = $uri->() if ref $uri;
        $kept = defined $s;
        $s //= Test::Symcache::connect_to($nginx);
        my $last = rand() < 0.2;
        my $r = $s && eval {
            local $SIG{PIPE} = 'IGNORE';
            syswrite $s, Test::Symcache::request_text($method, $uri,
                @$headers, 'Connection: ' . ($last ? 'close' : 'keep-alive'));
            $t->read_response($s, $method);
        };
        if ($kept && $r && $r->{raw} eq '') {
            undef $s;
            redo;
        }
        local $_ = $r;
        if ($r && $r->{complete} && $check->()) {
            $done{$name}++;
        } else {
            push @wrong, "$name: $method $uri: "
                . ($r ? substr $r->{raw}, 0, 400 : $@ || 'no connection');
            last if @wrong == 5;
        }
        undef $s if $last || !$r
            || ($r->{headers}{connection}[0] // '') eq 'close';
    }

    $t->write_file("client.$n", JSON::PP::encode_json([\%done, \@wrong]));
}

my $stop = $t->path('stop');
my @clients = map {
    my $pid = fork() // die "fork: $!";
    if (!$pid) { client($_, $stop); POSIX::_exit(0) }
    $pid;
} 1 .. CLIENTS;

# --- meanwhile

my ($reloads, $begin, $changed) = (0, time);
while (time < $begin + $seconds) {
    select undef, undef, undef, 1;

    # files may vanish at any time
    my ($f) = glob $t->path('store/basic32.pdb/*/*.symcache');
    unlink $f if $f;

    if (!$changed && time > $begin + $seconds / 2) {
        my $old = master();
        kill 'USR2', $old;
        $t->wait_until('a new binary runs', sub {
            my $new = master();
            return $new && $new != $old && workers() >= 2;
        });
        kill 'QUIT', $old;
        $changed = $old;
        next;
    }

    kill 'HUP', master();
    $reloads++;
}

my @last = workers();
$t->write_file('stop', '');
waitpid $_, 0 for @clients;

# --- nothing was lost

my (%done, @wrong);
for (1 .. CLIENTS) {
    my ($d, $w) = @{ JSON::PP::decode_json($t->read_file("client.$_")) };
    $done{$_} += $d->{$_} for keys %$d;
    push @wrong, @$w;
}
is_deeply \@wrong, [], 'no failed, truncated or wrong answer';
cmp_ok $done{$_->[1]} // 0, '>', 0, "answered: $_->[1]" for @kinds;
my $all = 0;
$all += $_ for values %done;
cmp_ok $reloads, '>=', $seconds / 3, 'reloads';
diag "$all answers, $reloads reloads, in $seconds s";

ok $changed, 'the binary was changed';
$t->wait_until('the old master has gone', sub { Test::Symcache::gone($changed) });
pass 'and the old one has gone';
$t->wait_until('two workers are left', sub { workers() == 2 });
pass 'no worker is left of all the old ones';

my $pid = master();
kill 'QUIT', $pid;
$t->wait_until('nginx ends', sub { Test::Symcache::gone($pid) });

# the first master's shared memory and its locks were not left in a bad state
unlike $t->error_log, qr/shared memory zone .* was not|could not build/,
    'no word about the zone';

$t->finish;
$up->finish;
done_testing;
