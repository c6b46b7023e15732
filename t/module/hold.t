# Requests that wait for the helper: how long, who asks for all of them, and
# what happens when a client, the helper or the worker goes away.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use Test::More;
use Test::ModuleCase;
use Time::HiRes qw(time sleep);

my $t = Test::ModuleCase->new;
my $key = Test::ModuleCase::key();
my $pdb = $Test::ModuleCase::pdb;

sub h { Test::Symcache::header(@_) }

$t->start_nginx($t->location('symcache_hold_timeout 10m;
                              symcache_read_timeout 1s;
                              symcache_zone z; symcache_valid 0;')
    . <<'EON', http => <<'EOH');
    location /short/ {
        symcache %%DIR%%/store;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_hold_timeout 1s;
        symcache_retry_after 9s;
    }
    location /never/ {
        symcache %%DIR%%/store;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_hold_timeout 0;
    }
    location = /state { stub_status; }
    location = /page { symcache_zone z; symcache_status; }
EON
    symcache_zone z:64k;
    log_format held '$status $symcache_status $uri';
    access_log %%DIR%%/held.log held;
EOH

sub held_log { $t->read_file('held.log') // '' }

sub requests {
    my ($s, $n) = @_;
    $t->wait_until("$n requests at the helper", sub { $s->requests >= $n });
    return $s->requests;
}

# Waits until nginx has read n requests, this one not counted.
sub waiting {
    my ($n) = @_;
    $t->wait_until("$n requests in nginx", sub {
        $t->get('/state')->{body} =~ /Writing: (\d+)/ && $1 == $n + 1;
    });
}

# A helper whose replies wait for a file.
sub gated {
    my ($script) = @_;
    unlink $t->path('gate');
    return $t->helper_says(sub {
        my ($c, $req) = @_;
        # nginx going away ends the wait, too
        until (-e $t->path('gate')) {
            return $c->close if $c->wait_for_peer(0.01);
        }
        $script->($c, $req);
    });
}

sub open_gate { $t->write_file('gate', '') }

sub make {
    my ($version) = @_;
    return sub {
        $t->put($version, "made $version");
        $_[0]->reply(200, { 'X-Symcache-Version' => $version });
    };
}

sub unmake { unlink glob $t->path("store/$key/*") }

# --- held until the answer is there, past symcache_read_timeout

my $s = gated(make('3.1.0'));
my $begin = time;
my $c = $t->hold('3.1.0');
requests($s, 1);
sleep 1.3;
open_gate();
my $r = $t->read_response($c);
is $r->{status}, 200, 'held: 200';
is $r->{body}, 'made 3.1.0', 'held: the file';
cmp_ok time - $begin, '>', 1.2, 'symcache_read_timeout does not cut a hold';
$t->wait_until('the log line', sub { held_log() =~ /^200 HELD /m });
undef $c;
unmake();

# --- all who wait for one key share one question

$s = gated(make('3.1.0'));
my @held = map { $t->hold('3.1.0') } 1 .. 50;
my @others = map { $t->hold('3.0.9') } 1 .. 5;
requests($s, 2);
waiting(55);
my $poll = $t->ask('3.1.0', 'Allow-Retry-After: true');
is $poll->{status}, 404, 'a poll meanwhile: 404';
is h($poll, 'Retry-After'), 1, 'a poll meanwhile: with Retry-After';
open_gate();
$t->wait_until('all', sub { -e $t->path("store/$key/$pdb-v3.1.0.symcache") });
is scalar(grep { $t->read_response($_)->{body} eq 'made 3.1.0' } @held), 50,
    'fifty held for one key: all get it';
is scalar(grep { $t->read_response($_)->{status} == 200 } @others), 5,
    'another version of it is another question';
is scalar($s->requests), 2, 'the helper was asked twice';
undef $c;
unmake();

# --- final answers and failures are shared, too

$s = gated(sub { $_[0]->reply(404, { 'X-Symcache-Reason' => 'none' }) });
@held = map { $t->hold('3.1.0') } 1 .. 10;
waiting(10);
requests($s, 1);
open_gate();
@held = map { $t->read_response($_) } @held;
is scalar(grep { $_->{status} == 404 && !h($_, 'Retry-After') } @held), 10,
    'known absent after a hold: ten final 404';
is scalar(() = $t->get('/page?format=json')->{body} =~ /"reason":"none"/g),
    10, 'ten times with the reason of the one who asked';

$s = gated(sub { });
@held = map { $t->hold('3.1.0') } 1 .. 10;
waiting(10);
requests($s, 1);
$t->helper_stops;
@held = map { $t->read_response($_) } @held;
is scalar(grep { $_->{status} == 503 && h($_, 'Retry-After') } @held), 10,
    'SIGKILL of the helper: ten 503 with Retry-After';

# --- a root that is not the helper's: nobody finds what was made, and the
# helper is not asked by each of them in turn

$t->allow_log(qr/is not there though symcached has made it/);
$s = gated(sub { $_[0]->reply(200, { 'X-Symcache-Version' => '3.1.0' }) });
@held = map { $t->hold('3.1.0') } 1 .. 40;
waiting(40);
open_gate();
@held = map { $t->read_response($_) } @held;
is scalar(grep { $_->{status} == 503 && h($_, 'Retry-After') } @held), 40,
    'made elsewhere: forty 503 with Retry-After';
is scalar($s->requests), 3, 'the helper was asked three times for all of them';

# --- a helper that is back soon, or was never there: those who wait go on

$s = gated(sub { });
@held = map { $t->hold('3.1.0') } 1 .. 10;
waiting(10);
requests($s, 1);
$t->helper_stops;
push @held, $t->hold('3.1.0');
$s = gated(make('3.1.0'));
open_gate();
@held = map { $t->read_response($_) } @held;
is scalar(grep { $_->{status} == 200 } @held), 11,
    'the helper restarts: nobody is sent away';
requests($s, 1);
unmake();

# --- the client that asked first goes away: the next one asks

$s = gated(make('3.1.0'));
@held = map { $t->hold('3.1.0') } 1 .. 4;
waiting(4);
requests($s, 1);
close shift @held;
requests($s, 2);
close pop @held;                       # a follower, too
close shift @held;                     # and the one that asked second
requests($s, 3);
$t->wait_until('three aborts in the log',
               sub { (() = held_log() =~ /^499 /mg) == 3 });
open_gate();
is $t->read_response($held[0])->{status}, 200, 'the last one is answered';
undef $c;
unmake();

# a client that goes away after its body, which is discarded meanwhile

for ([ 'Content-Length: 1', 'x' ], [ 'Content-Length: 2', 'x' ],
     [ 'Transfer-Encoding: chunked', "1\r\nx\r\n0\r\n\r\n" ]) {
    my ($header, $sent) = @$_;
    my $n = () = held_log() =~ /^499 /mg;
    $s = gated(sub { $_[0]->reply(404, { 'X-Symcache-Reason' => 'x' }) });
    my $client = $t->hold('3.1.0', $header);
    requests($s, 1);
    syswrite $client, $sent;
    close $client;
    $t->wait_until("noticed: $header", sub {
        (() = held_log() =~ /^499 /mg) == $n + 1;
    });
    pass "a client that goes away with its body: $header, $sent";
}

# all go away: the helper's connection is closed, nothing is left

$s = $t->helper_says(sub {
    my ($c) = @_;
    $c->wait_for_peer;
    $t->write_file('gone', '');
    $c->close;
});
@held = map { $t->hold('3.1.0') } 1 .. 3;
requests($s, 1);
close $_ for @held;
$t->wait_until('the helper sees the end', sub { -e $t->path('gone') });
$t->wait_until('no request is left', sub {
    $t->get('/state')->{body} =~ /Active connections: 1 /;
});
pass 'aborts leave no connection';

# --- hold timeout

$s = $t->helper_says(sub { $_[0]->wait_for_peer });
$begin = time;
@held = map {
    $t->open_http($t->nginx_socket, 'GET',
                  $t->uri('3.1.0', location => '/short'))
} 1 .. 5;
@held = map { $t->read_response($_) } @held;
is scalar(grep { $_->{status} == 503 } @held), 5, 'hold timeout: 503';
is h($held[0], 'Retry-After'), 9, 'hold timeout: symcache_retry_after';
cmp_ok time - $begin, '>', 0.8, 'not before it';

$s = $t->helper_says(sub { $_[0]->reply(202, {}) });
$r = $t->get($t->uri('3.1.0', location => '/never'));
is $r->{status}, 503, 'symcache_hold_timeout 0: nothing is held';
is(($s->requests)[0]{query}{wait}, undef, 'and the helper asked not to wait');

# a helper that answers "still running" too early is asked again

$s = $t->helper_says(sub {
    my ($c, $req) = @_;
    return make('3.1.0')->($c) if $req->{n} == 2;
    $c->reply(202, { 'Retry-After' => 1 });
});
$r = $t->ask('3.1.0');
is $r->{status}, 200, '202 before its time: asked again';
is scalar($s->requests), 2, 'twice';
my @wait = map { $_->{query}{wait} } $s->requests;
is $wait[0], 600, 'first with the whole hold';
cmp_ok $wait[1], '<', $wait[0], 'then with what is left of it';
undef $c;
unmake();

$s = $t->helper_says(sub { $_[0]->reply(202, { 'Retry-After' => 1 }) });
$r = $t->get($t->uri('3.1.0', location => '/short'));
is $r->{status}, 503, '202 to the end: 503';

# the one that leads leaves at the end of its hold, the others go on: a
# follower that came later is promoted

$s = gated(make('3.1.0'));
my $first = $t->open_http($t->nginx_socket, 'GET',
                          $t->uri('3.1.0', location => '/short'));
requests($s, 1);
my $second = $t->hold('3.1.0');
is $t->read_response($first)->{status}, 503, 'the first hold is over';
requests($s, 2);
open_gate();
is $t->read_response($second)->{status}, 200, 'the second is answered';
undef $c;
unmake();

# --- pipelined and kept client connections

$s = gated(make('3.1.0'));
$c = $t->open_http($t->nginx_socket, 'GET', $t->uri('3.1.0'),
                   'Connection: keep-alive');
syswrite $c, Test::Symcache::request_text('GET', '/s/');
requests($s, 1);
open_gate();
$r = $t->read_response($c);
is $r->{status}, 200, 'held with the next request already there';
if (length $r->{raw} == length($r->{head}) + 4 + 10) {
    $r = $t->read_response($c);
} else {
    $r = Test::Symcache::parse_response(
        substr($r->{raw}, length($r->{head}) + 4 + 10), 'GET');
}
is $r->{status}, 404, 'which is answered next';
undef $c;
unmake();

# a request body does not disturb the hold

$s = gated(make('3.1.0'));
$c = $t->open_http($t->nginx_socket, 'GET', $t->uri('3.1.0'),
                   'Content-Length: 200000');
syswrite $c, 'x' x 1000;
requests($s, 1);
syswrite $c, 'x' x 199_000;
open_gate();
is $t->read_response($c)->{status}, 200, 'held with a request body';
undef $c;
unmake();

# --- reload: what is held stays in the old worker and is answered

$s = gated(make('3.1.0'));
@held = map { $t->hold('3.1.0') } 1 .. 5;
waiting(5);
requests($s, 1);
my ($old) = $t->workers;
$t->reload_nginx;
open_gate();
is scalar(grep { $t->read_response($_)->{status} == 200 } @held), 5,
    'held across a reload';
$t->wait_until('the old worker ends',
               sub { !grep { $_ == $old } $t->workers });
pass 'the old worker ends after its last request';
undef $c;
unmake();

# --- a graceful stop waits for what is held

$s = gated(make('3.1.0'));
@held = map { $t->hold('3.1.0') } 1 .. 3;
waiting(3);
requests($s, 1);
kill 'QUIT', $t->{nginx};
$t->wait_until('nginx does not accept any more',
               sub { !Test::Symcache::connects($t->nginx_socket) });
open_gate();
is scalar(grep { $t->read_response($_)->{status} == 200 } @held), 3,
    'held across a graceful stop';

$t->finish;
done_testing;
