# symcache_pass with upstream blocks: failover, keepalive, choice by key; TCP;
# a helper that is restarted during a hold.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use JSON::PP ();
use Test::More;
use Test::ModuleCase;

my $t = Test::ModuleCase->new;

sub h { Test::Symcache::header(@_) }

my $tcp = Test::ScriptedServer->new(log => $t->path('tcp.requests'),
    script => sub { $_[0]->reply(404, { 'X-Symcache-Reason' => 'tcp' }) });
my $port = $tcp->port;

$t->start_nginx(<<"EON", http => <<"EOH");
    symcache_zone off;
    symcache_hold_timeout 5s;
    symcache_async_after 3.0.0;
    location /pair/ {
        symcache %%DIR%%/store; symcache_pass pair;
        symcache_next_upstream error timeout invalid_response not_found busy;
    }
    location /default/ { symcache %%DIR%%/store; symcache_pass pair; }
    location /off/ {
        symcache %%DIR%%/store; symcache_pass pair; symcache_next_upstream off;
    }
    location /once/ {
        symcache %%DIR%%/store; symcache_pass pair;
        symcache_next_upstream error timeout busy;
        symcache_next_upstream_tries 1;
    }
    location /timeout/ {
        symcache %%DIR%%/store; symcache_pass pair;
        symcache_read_timeout 1s;
    }
    location /hash/ { symcache %%DIR%%/store; symcache_pass hash; }
    location /front/ {
        proxy_pass http://front;
        add_header X-Key \$symcache_key always;
    }
    location /held/ {
        symcache %%DIR%%/store; symcache_pass pair;
        symcache_async_after 9.0.0;
        symcache_next_upstream error timeout invalid_response not_found busy;
    }
    location /told/ {
        symcache %%DIR%%/store; symcache_pass pair; symcache_zone told;
        symcache_async_after 9.0.0;
        symcache_next_upstream error timeout invalid_response not_found busy;
    }
    location /marked/ {
        symcache %%DIR%%/store; symcache_pass marked;
        symcache_next_upstream error timeout busy;
    }
    location = /status { symcache_zone told; symcache_status; }
    location /tcp/ { symcache %%DIR%%/store; symcache_pass 127.0.0.1:$port; }
EON
    symcache_zone told:1m;
    upstream pair {
        server unix:%%DIR%%/a.sock max_fails=0;
        server unix:%%DIR%%/b.sock backup max_fails=0;
        keepalive 4;
    }
    upstream marked {
        server unix:%%DIR%%/a.sock max_fails=0;
        server unix:%%DIR%%/b.sock fail_timeout=1d;
    }
    upstream hash {
        hash \$symcache_key consistent;
        server unix:%%DIR%%/a.sock;
        server unix:%%DIR%%/b.sock;
    }
    upstream front {
        hash \$symcache_key consistent;
        server unix:%%DIR%%/a.sock;
        server unix:%%DIR%%/b.sock;
    }
EOH

my ($a, $b) = map { $t->path("$_.sock") } qw(a b);

# After another helper has taken the place of one, nginx must have seen that
# its kept connections are closed: events come in order, so a request that is
# answered is the proof.

sub helper_says {
    my $s = $t->helper_says(@_);
    $t->get('/nowhere');
    return $s;
}

sub helper_stops {
    $t->helper_stops(@_);
    $t->get('/nowhere');
}

sub absent { $_[0]->reply(404, { 'X-Symcache-Reason' => 'no' }) }

sub final {
    my ($uri) = @_;
    my $r = $t->get($uri);
    return $r->{status} == 404 && !h($r, 'Retry-After') ? 1 : 0;
}

sub uri { $t->uri('3.1.0', location => "/$_[0]") }

my @faults = (
    # pair: all conditions; default: error and timeout
    ['no socket', undef, 1, 1],
    ['closes', sub { $_[0]->close }, 1, 1],
    ['closes in mid-body', sub { $_[0]->send("HTTP/1.1 404 N\r\n"
        . "X-Symcache-Reason: x\r\nContent-Length: 9\r\n\r\n1");
        $_[0]->close }, 1, 1],
    ['garbage', sub { $_[0]->send("garbage\r\n") }, 1, 0],
    ['500', sub { $_[0]->reply(500, {}) }, 1, 0],
    ['stops', sub { $_[0]->reply(503, { 'X-Symcache-Reason' => 'stopping',
                                        'Retry-After' => 4 }) }, 1, 1],
    ['drains', sub { $_[0]->reply(503, { 'X-Symcache-Reason' => 'draining',
                                         'Retry-After' => 4 }) }, 1, 1],
    ['busy', sub { $_[0]->reply(503, { 'Retry-After' => 4 }) }, 1, 0],
);

for (@faults) {
    my ($name, $script, $all, $default) = @$_;
    $script ? helper_says($script, unix => $a) : helper_stops($a);
    helper_says(\&absent, unix => $b);
    is final(uri('pair')), $all, "first helper $name: the second is asked";
    is final(uri('default')), $default, "by default, $name";
    is final(uri('off')), 0, "symcache_next_upstream off, $name";
    is final(uri('once')), 0, "symcache_next_upstream_tries 1, $name";
}

helper_says(\&absent, unix => $a);
helper_says(sub { $_[0]->reply(202, { 'Retry-After' => 8 }) }, unix => $b);
is h($t->get(uri('pair')), 'Retry-After'), 8,
    'not_found: the second helper may know it';
is final(uri('default')), 1, 'by default the first is believed';

helper_says(\&absent, unix => $b);
is final(uri('pair')), 1, 'not_found at all helpers is final';

helper_says(sub { $_[0]->wait_for_peer }, unix => $a);
is final(uri('timeout')), 1, 'timeout: the second is asked';

# --- both fail

helper_stops($_) for $a, $b;
my $r = $t->get(uri('pair'));
is $r->{status}, 404, 'all helpers down';
is h($r, 'Retry-After'), 1, 'with Retry-After';

# --- one refuses, and the other fails: the refusal is the answer

my %refusals = (busy => 'queue-full', draining => 'draining');
for my $name (sort keys %refusals) {
    my $refuses = sub { $_[0]->reply(503, { 'X-Symcache-Reason' =>
        $refusals{$name}, 'Retry-After' => 7 }) };
    my %down = (
        'is down' => undef,
        'closes' => sub { $_[0]->close },
        'breaks off' => sub { $_[0]->send("HTTP/1.1 503 S\r\n"
            . "X-Symcache-Reason: x\r\nRetry-After: 9\r\n"); $_[0]->close },
        'stops' => sub { $_[0]->reply(503,
            { 'X-Symcache-Reason' => 'stopping', 'Retry-After' => 9 }) },
    );
    for my $fault (sort keys %down) {
        helper_says($refuses, unix => $a);
        $down{$fault} ? helper_says($down{$fault}, unix => $b)
                      : helper_stops($b);
        for my $where (qw(pair told)) {
            $r = $t->get(uri($where));
            is h($r, 'Retry-After'), 7, "$name, the second $fault ($where)";
        }
        my $page = $t->get('/status?format=json');
        is JSON::PP::decode_json($page->{body})->{recent}[0]{reason}, $refusals{$name},
            'and its reason';
    }
}

helper_stops($b);
is_deeply [map { h($t->get(uri('marked')), 'Retry-After') } 1 .. 4],
    [(7) x 4], 'the same while the second is not asked, as it has failed';

# --- failover during a hold

helper_says(sub { my ($c) = @_; $c->wait_for_peer(0.3); $c->close },
                unix => $a);
my $s = helper_says(sub {
    $t->put('3.1.0', 'made');
    $_[0]->reply(200, { 'X-Symcache-Version' => '3.1.0' });
}, unix => $b);
$r = $t->get(uri('held'));
is $r->{body}, 'made', 'a helper dies in a hold: the other one goes on';
is scalar($s->requests), 1, 'and was asked once';
unlink glob($t->path('store/*/*/*')), $t->path('store/.absent');

# --- keepalive: a restarted helper is found again on the next request

helper_says(\&absent, unix => $a);
is final(uri('default')), 1, 'kept connection';
helper_says(\&absent, unix => $a);
is final(uri('default')), 1, 'after a restart';

# --- a helper by key, and a server by key in front of all

my $sa = helper_says(\&absent, unix => $a);
my $sb = helper_says(\&absent, unix => $b);
for my $n (1 .. 20) {
    $t->get($t->uri('3.1.0', location => '/hash', pdb => "h$n.pdb"))
        for 1 .. 2;
}
my %seen;
for (map { $_->requests } $sa, $sb) { $seen{$_->{path}}++ }
is scalar(keys %seen), 20, 'twenty keys';
my ($na, $nb) = map { scalar(() = $_->requests) } $sa, $sb;
ok $na && $nb, "both helpers are used ($na, $nb)";
my %at_a = map { $_->{path} => 1 } $sa->requests;
is scalar(grep { $at_a{$_->{path}} } $sb->requests), 0,
    'the same key goes to the same helper';

$r = $t->get($t->uri('3.1.0', location => '/front'));
is h($r, 'X-Key'), Test::ModuleCase::key(),
    '$symcache_key in a location without symcache';
$r = $t->get('/front/else');
is h($r, 'X-Key'), undef, 'and not for other requests';

# --- TCP

is final(uri('tcp')), 1, 'host:port';
like((($tcp->requests)[0])->{headers}{host}, qr/^127\.0\.0\.1:\d+$/,
     'Host of a TCP helper');

$tcp->stop;
$r = $t->get(uri('tcp'));
is $r->{status}, 404, 'a port that refuses: it may restart';
is h($r, 'Retry-After'), 1, 'with Retry-After';

# --- balancers that read the times of the last server: a notification, which
# is in no log, has them too

my $timed = <<'EOH';
    upstream timed {
        least_time header;
        server unix:%%DIR%%/a.sock max_fails=0;
        server unix:%%DIR%%/b.sock max_fails=0;
    }
EOH

SKIP: {
    my ($rc) = $t->test_nginx('', http => $timed);
    skip 'this nginx has no least_time', 2 if $rc != 0;
    $t->stop_nginx;
    $t->start_nginx('location / { symcache %%DIR%%/store; symcache_pass timed; }',
                    http => $timed);
    my @says = map { helper_says(sub { $_[0]->reply(200,
        { 'X-Symcache-Version' => '3.2.0' }) }, unix => $_) } $a, $b;
    $t->put('3.1.0', 'old');
    $t->made('3.2.0');
    is $t->get($t->uri('3.2.0', location => ''))->{body}, 'old', 'least_time';
    $t->wait_until('the notification', sub { grep { $_->requests } @says });
    is $t->get($t->uri('3.1.0', location => ''))->{body}, 'old',
        'nginx goes on after the notification';
}

$t->finish;
done_testing;
