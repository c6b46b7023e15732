# $upstream_addr, $upstream_status, $upstream_*_time, $upstream_bytes_* and
# $upstream_response_length: which helper was asked, and how it ended.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use Test::More;
use Test::ModuleCase;

my $t = Test::ModuleCase->new;
my $key = Test::ModuleCase::key();

# 40 helpers that are not there
my $many = join "\n", map { "server unix:%%DIR%%/many$_.sock;" } 1 .. 40;

$t->start_nginx($t->location('symcache_async_after 9.0.0;') . <<'EON',
    symcache_hold_timeout 5s;
    symcache_async_after 3.0.0;
    location /poll/ {
        symcache %%DIR%%/store; symcache_pass pair; symcache_read_timeout 1s;
        symcache_next_upstream error timeout invalid_response not_found busy;
    }
    location /one/ { symcache %%DIR%%/store; symcache_pass unix:%%DIR%%/a.sock; }
    location /dead/ { symcache %%DIR%%/store; symcache_pass dead; }
    location /many/ {
        symcache %%DIR%%/store; symcache_pass many;
    }
    location /first/ {
        proxy_pass http://unix:%%DIR%%/a.sock;
        proxy_intercept_errors on;
        error_page 500 = @second;
    }
    location @second { symcache %%DIR%%/store; symcache_pass pair; }
    location /status {
        symcache_zone main; symcache_status; symcache_pass pair;
    }
EON
    http => "upstream many { $many }\n" . <<'EOH');
    symcache_zone main:1m;
    symcache_zone off;
    upstream pair {
        zone pair 64k;
        server unix:%%DIR%%/a.sock max_fails=0;
        server unix:%%DIR%%/b.sock backup max_fails=0;
    }
    upstream dead {
        server unix:%%DIR%%/a.sock fail_timeout=1h;
        server unix:%%DIR%%/c.sock fail_timeout=1h;
    }
    log_format tries '$upstream_addr|$upstream_status|$upstream_connect_time|'
        '$upstream_header_time|$upstream_response_time|'
        '$upstream_bytes_sent|$upstream_bytes_received|'
        '$upstream_response_length';
    access_log %%DIR%%/tries.log tries;
EOH

my ($a, $b, $c) = map { $t->path("$_.sock") } qw(a b c);
my ($at_a, $at_b, $at_c) = map { "unix:$_" } $a, $b, $c;
my $at_h = 'unix:' . $t->helper_socket;
my $n = 0;

sub logged {
    my ($wait) = @_;
    $n++;
    my $line = $t->wait_until("line $n", sub {
        my @lines = split /\n/, $t->read_file('tries.log') // '';
        return @lines >= $n ? $lines[$n - 1] : undef;
    });
    my @field = split /\|/, $line;
    return wantarray ? @field : "$field[0] $field[1]";
}

sub uri { $t->uri('3.1.0', location => "/$_[0]") }

sub asked {
    $t->get(uri(@_));
    return logged();
}

sub absent { $_[0]->reply(404, { 'X-Symcache-Reason' => 'no' }) }

# --- one helper

my $s = $t->helper_says(\&absent, unix => $a);
my @f = asked('one');
is $f[0], $at_a, 'address';
is $f[1], 404, 'status of the helper';
like $f[$_], qr/^0\.\d{3}$/, "time $_" for 2 .. 4;
is $f[5], length(($s->requests)[0]->{head}) + 4, 'bytes sent';
cmp_ok $f[6], '>', 40, 'bytes received';
is $f[7], 0, 'length of the answer';

$t->helper_says(sub { $_[0]->reply(202, {}, 'four') }, unix => $a);
@f = asked('poll');
is "@f[1, 7]", '202 4', 'a job runs';

# --- several

my @faults = (
    ['no socket', undef, 502],
    ['closes', sub { $_[0]->close }, 502],
    ['sends no HTTP', sub { $_[0]->send("garbage\r\n") }, 502],
    ['closes in its answer', sub { $_[0]->send("HTTP/1.1 404 N\r\n"
        . "X-Symcache-Reason: x\r\nContent-Length: 9\r\n\r\n1");
        $_[0]->close }, 502],
    ['is silent', sub { $_[0]->wait_for_peer }, 504],
    ['is busy', sub { $_[0]->reply(503, {}) }, 503],
    ['stops', sub { $_[0]->reply(503, { 'X-Symcache-Reason' => 'stopping',
                                        'Retry-After' => 4 }) }, 503],
    ['knows nothing', \&absent, 404],
);
$t->helper_says(sub { $_[0]->reply(202, {}) }, unix => $b);
for (@faults) {
    my ($name, $script, $status) = @$_;
    $script ? $t->helper_says($script, unix => $a) : $t->helper_stops($a);
    is scalar(asked('poll')), "$at_a, $at_b $status, 202", $name;
}

$t->helper_stops($a);
@f = asked('poll');
like $f[2], qr/^-, \d+\.\d{3}$/, 'connect time of one that is not there';
like $f[4], qr/^\d+\.\d{3}, \d+\.\d{3}$/, 'it has a response time';
like $f[5], qr/^0, \d\d/, 'and was sent nothing';

is scalar(asked('dead')), "$at_a, $at_c 502, 502", 'all fail';
is scalar(asked('dead')), 'dead 502', 'no live upstreams';

@f = asked('many');
is join(' ', $f[0] =~ /many(\d+)/g), join(' ', 1 .. 31, 40),
    'of very many, the first ones and the last';

# --- a helper that was lost in a hold is asked again

$s = $t->helper_says(sub { $_[0]->close });
my $hold = $t->hold('3.1.0');
$t->wait_until('asked', sub { $s->requests });
$t->helper_says(\&absent);
$t->read_response($hold);
like scalar(logged()), qr/^unix:\S+h\.sock, .*h\.sock 502, .*404$/,
    'each question of a hold';

# --- another module before

$t->helper_says(sub { $_[0]->send("HTTP/1.0 500 E\r\n\r\n"); $_[0]->close },
                unix => $a);
$t->helper_says(\&absent, unix => $b);
is scalar(asked('first')), "$at_a : $at_a 500 : 502", 'after proxy_pass';

# --- who waits for another one's question has none; nor what nobody waits for

$s = $t->helper_says(sub {
    $t->wait_until('both wait', sub { -e $t->path('go') });
    absent($_[0]);
});
my @held = map { $t->hold('3.1.0') } 1 .. 2;
$t->wait_until('asked', sub { $s->requests });
$t->get('/nothing');
is scalar(logged()), '- -', 'elsewhere';
$t->write_file('go', '');
$t->read_response($_) for @held;
is join(' ', sort map { scalar logged() } 1 .. 2),
    "- - $at_h 404", 'one asked for two';

$t->put('3.1.0', 'x');
is scalar(asked('s')), '- -', 'a hit';
utime time - 4000, time - 4000, glob $t->path("store/$key/*");
$s = $t->helper_says(\&absent);
is scalar(asked('s')), '- -', 'a hit on a file not used for long';
$t->wait_until('the helper is told', sub { $s->requests });
unlink glob $t->path("store/$key/*");

# --- a client that goes away

$s = $t->helper_says(sub { $_[0]->wait_for_peer });
$hold = $t->hold('3.1.0');
$t->wait_until('asked', sub { $s->requests });
close $hold;
is scalar(logged()), "$at_h -", 'given up';

# --- the status page

$t->helper_says(sub {
    $_[0]->reply(200, { 'Content-Type' => 'application/json' }, '{}') },
    unix => $a);
$t->get('/status?format=json');
is scalar(logged()), "$at_a 200", 'status page';

$t->finish;
done_testing;
