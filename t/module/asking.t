# The connection to a helper, whatever becomes of the question: what is kept,
# who has failed, when a hold ends, and clients that go away.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use IO::Socket::INET;
use Test::More;
use Test::ModuleCase;
use Time::HiRes qw(time);

my $t = Test::ModuleCase->new;

sub h { Test::Symcache::header(@_) }

# A port whose queue of connections is full: connect() neither fails nor ends.
my $full = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 1)
    or die "no port: $!";
my $port = $full->sockport;
my @queue = map { IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port",
                                        Blocking => 0) } 1 .. 4;

my $two = 'server unix:%%DIR%%/a.sock; server unix:%%DIR%%/b.sock;';
(my $never_fail = $two) =~ s/;/ max_fails=0;/g;
(my $backup = $two) =~ s/b\.sock/b.sock backup/;
$backup =~ s/;/ max_fails=0;/g;

$t->start_nginx(<<"EON", http => <<"EOH");
    symcache_zone off;
    symcache_hold_timeout 60s;
    symcache_async_after 9.0.0;
    location /s/ { symcache %%DIR%%/store; symcache_pass a; }
    location /after/ {
        symcache %%DIR%%/store; symcache_pass a; post_action /log;
    }
    location /log { internal; proxy_pass http://unix:%%DIR%%/log.sock; }
    location /default/ { symcache %%DIR%%/store; symcache_pass backup; }
    location /absent/ {
        symcache %%DIR%%/store; symcache_pass backup;
        symcache_next_upstream error timeout not_found;
    }
    location /lost/ { symcache %%DIR%%/store; symcache_pass twice; }
    location /kept/ { symcache %%DIR%%/store; symcache_pass kept; }
    location /full/ {
        symcache %%DIR%%/store; symcache_pass 127.0.0.1:$port;
        symcache_hold_timeout 1s;
    }
    location /second/ {
        symcache %%DIR%%/store; symcache_pass backup; symcache_hold_timeout 3s;
    }
    location /short/ {
        symcache %%DIR%%/store; symcache_pass live; symcache_hold_timeout 1s;
    }
    location /busy/ {
        symcache %%DIR%%/store; symcache_pass live;
        symcache_next_upstream error timeout busy;
    }
    location /brief/ {
        symcache %%DIR%%/store; symcache_pass a; symcache_hold_timeout 900ms;
    }
    location /status { symcache_zone z; symcache_status; symcache_pass live; }
EON
    symcache_zone z:1m;
    upstream a { server unix:%%DIR%%/a.sock; }
    upstream backup { $backup keepalive 4; }
    upstream twice { $never_fail }
    upstream kept { $never_fail keepalive 8; }
    upstream live { $two }
EOH

my ($a, $b) = map { $t->path("$_.sock") } qw(a b);

sub uri { $t->uri('3.1.0', location => "/$_[0]", pdb => $_[1] // 'app.pdb') }

sub open_get { $t->open_http($t->nginx_socket, 'GET', uri(@_)) }

sub answer {
    my ($r) = @_;
    return "$r->{status} " . (h($r, 'Retry-After') ? 'later' : 'final');
}

sub absent { $_[0]->reply(404, { 'X-Symcache-Reason' => 'no' }) }
sub stops { $_[0]->reply(503, { 'X-Symcache-Reason' => 'stopping' }) }

# A wait as long as the question says, or for the peer to go.
sub obeys {
    my ($c, $req) = @_;
    return absent($c) if $req->{path} =~ /known/;
    my $wait = $req->{query}{wait};
    $c->reply(202, {}) if !$wait || !$c->wait_for_peer($wait);
}

# --- a connection whose answer is still to come is not kept

for (['default', \&stops], ['absent', \&absent]) {
    my ($location, $script) = @$_;
    $t->helper_says($script, unix => $a);
    my $s = $t->helper_says(sub {
        my ($c, $req) = @_;
        return $c->reply(202, {}) if $req->{path} !~ /first/;
        $t->wait_until('the second question', sub { -e $t->path('second') });
        absent($c);
    }, unix => $b);
    my $first = open_get($location, 'first.pdb');
    $t->wait_until('asked', sub { $s->requests });
    close $first;
    $t->get('/nowhere');
    my $second = open_get($location, 'second.pdb');
    ok $t->wait_until('asked', sub { $s->requests == 2 }),
        "$location: another connection after a client has gone";
    $t->write_file('second', '');
    close $second;
    unlink $t->path('second');
}

# --- servers that were lost are asked again, one after the other in any way

my $s = $t->helper_says(\&stops, unix => $a);
$t->helper_stops($b);
$t->get(uri('lost'));
cmp_ok scalar($s->requests), '>', 3, 'one stops, the other is not there';

my $stopping = sub { -e $t->path('stop') ? stops(@_) : absent(@_) };
my @s = map { $t->helper_says($stopping, unix => $_) } $a, $b;
$t->get(uri('kept')) for 1 .. 4;
$t->write_file('stop', '');
$t->get(uri('kept'));
cmp_ok scalar(map { $_->requests } @s), '>', 4 + 2 * 3,
    'kept connections to both, and both stop';

# --- a hold ends when it is over

is answer($t->get(uri('full'))), '503 later',
    'no connection for longer than a hold';

$t->helper_says(sub { $_[0]->wait_for_peer(0.3); $_[0]->close }, unix => $a);
$s = $t->helper_says(sub {
    $_[0]->wait_for_peer(4) and return;
    $t->put('3.1.0', 'late');
    $_[0]->reply(200, { 'X-Symcache-Version' => '3.1.0' });
}, unix => $b);
is answer($t->get(uri('second'))), '503 later',
    'a second helper has what is left of a hold';
is scalar($s->requests), 1, 'and was asked';

$t->helper_says(sub {
    my ($c, $req) = @_;
    return $c->reply(202, {}) if !$req->{query}{wait};
    $c->wait_for_peer(0.05) and return;
    $t->put('3.1.0', 'in time');
    $c->reply(200, { 'X-Symcache-Version' => '3.1.0' });
}, unix => $a);
is $t->get(uri('brief'))->{body}, 'in time',
    'a file that is made in the last second of a hold';
unlink glob($t->path('store/*/*/*')), $t->path('store/.absent');

# --- who obeys has not failed

$t->helper_says(\&obeys, unix => $_) for $a, $b;
my @held;
for my $pdb (qw(x.pdb y.pdb)) {
    push @held, open_get('short', $pdb);
    my $begun = time;
    $t->wait_until('one hold ends before the other',
                   sub { time - $begun > 0.15 });
    push @held, open_get('short', $pdb);
}
is answer($t->read_response($_)), '503 later', 'the end of a hold' for @held;
unlike $t->error_log, qr/upstream timed out.*short/, 'no helper was late';
is answer($t->get(uri('short', 'known.pdb'))), '404 final',
    'and they are asked afterwards';

$t->helper_says(sub {
    my ($c, $req) = @_;
    return $c->wait_for_peer if $req->{path} =~ /status/;
    absent($c);
}, unix => $_) for $a, $b;
$t->get('/status?format=json') for 1 .. 2;
like $t->error_log, qr/upstream timed out/, 'the status page does not wait';
is answer($t->get(uri('short', 'known.pdb'))), '404 final',
    'but its helpers have not failed';

$t->helper_says(sub {
    my ($c, $req) = @_;
    return $c->reply(500, {}) if $req->{path} =~ /status/;
    absent($c);
}, unix => $_) for $a, $b;
like $t->get('/status?format=json')->{body}, qr/no valid answer/,
    'a status page that is none' for 1 .. 2;
is answer($t->get(uri('short', 'known.pdb'))), '404 final',
    'is no failure of lookups';

# one that drains, or is busy, is asked for other keys

for my $reason (qw(draining error)) {
    $t->helper_says(sub {
        my ($c, $req) = @_;
        return absent($c) if $req->{path} =~ /known/;
        $c->reply(503, { 'X-Symcache-Reason' => $reason, 'Retry-After' => 1 });
    }, unix => $_) for $a, $b;
    is answer($t->get(uri('busy', "$reason$_.pdb"))), '503 later',
        "both say $reason" for 1 .. 2;
    is answer($t->get(uri('busy', "known$reason$_.pdb"))), '404 final',
        'and both are asked' for 1 .. 2;
}

# --- nobody is told something for long

$t->put('3.1.0', 'x');
utime time - 4000, time - 4000, glob $t->path('store/*/*/*');
$t->helper_says(sub {
    my ($c) = @_;
    $c->send("HTTP/1.1 200 OK\r\n");
    for (1 .. 100) {
        return $t->write_file('left', '') if $c->wait_for_peer(0.1);
        $c->send("X-More: to come\r\n");
    }
}, unix => $a);
is $t->get(uri('s'))->{body}, 'x', 'a file not used for long';
ok $t->wait_until('the connection ends', sub { -e $t->path('left') }),
    'a helper that answers in small pieces is left';
unlink glob($t->path('store/*/*/*')), $t->path('store/.absent');

# --- clients that go away in a hold

my $gone = sub {
    $_[0]->wait_for_peer;
    $t->write_file('gone', '');
};
$s = $t->helper_says($gone, unix => $a);
my $c = open_get('s');
$t->wait_until('asked', sub { $s->requests });
close $c;
ok $t->wait_until('the question ends', sub { -e $t->path('gone') }),
    'a client goes away';
unlink $t->path('gone');

my $log = $t->helper_says(sub {
    $t->wait_until('the question ends', sub { -e $t->path('gone') });
    $_[0]->reply(200, {}, 'logged');
}, unix => $t->path('log.sock'));
$s = $t->helper_says($gone, unix => $a);
$c = open_get('after');
$t->wait_until('asked', sub { $s->requests });
close $c;
$t->wait_until('the action', sub { $log->requests });
ok $t->wait_until('the question ends', sub { -e $t->path('gone') }),
    'a client goes away, and post_action begins';
is scalar(() = $log->requests), 1, 'once';

$t->finish;
done_testing;
