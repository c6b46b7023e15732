# symcache_status: the three formats, their numbers after known requests,
# escaping, and what nginx -t refuses.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use JSON::PP;
use Test::More;
use Test::ModuleCase;
use Time::HiRes ();

my $t = Test::ModuleCase->new;

sub h { Test::Symcache::header(@_) }

$t->start_nginx($t->location('symcache_hold_timeout 5s;') . <<'EON',
    location /status { symcache_status; }
    location /helper {
        symcache_status; symcache_pass unix:%%DIR%%/page.sock;
    }
    location /two { symcache_status; symcache_pass two; }
EON
    workers => 2, http => <<'EOH');
    symcache_zone z:256k;
    symcache_zone z;
    upstream two {
        server unix:%%DIR%%/none.sock;
        server unix:%%DIR%%/page.sock backup;
    }
EOH

sub status { $t->get("/status?format=$_[0]") }

my $r = $t->get('/status');
is $r->{status}, 200, 'page';
is h($r, 'Content-Type'), 'text/html; charset=utf-8', 'page: type';
is h($r, 'Cache-Control'), 'no-store', 'page: not kept';
like h($r, 'Content-Security-Policy'), qr/^default-src 'none';/,
    'page: may load and run nothing';
is h($r, 'X-Content-Type-Options'), 'nosniff', 'page: is what it says';
like $r->{body}, qr{<html lang="en">.*</html>\n\z}s, 'page: whole';
like $r->{body}, qr{id="ratio">0\.0&nbsp;%<}, 'page: no request, no ratio';
unlike $r->{body}, qr{src=|href="[^?]|url\(|import}, 'page: no other resource';
like $r->{body}, qr{http-equiv="refresh" content="5"}, 'page: refreshes itself';
unlike $t->get('/status?refresh=off')->{body}, qr{http-equiv="refresh"},
    'page: until it is told not to';
like $r->{body}, qr{no <code>symcache_pass</code>}, 'page: no helper';
is decode_json(status('json')->{body})->{helper}{state}, 'none',
    'JSON: no helper';
is $t->http($t->nginx_socket, 'HEAD', '/status')->{status}, 200, 'HEAD';
is $t->http($t->nginx_socket, 'POST', '/status')->{status}, 405, 'POST';
is status('xml')->{status}, 400, 'unknown format';

# --- numbers

$t->put('3.1.0', 'x');
$t->ask('3.1.0') for 1 .. 6;
$t->ask('3.9.0', 'If-Version-Exceeds: 3.9.0');
$t->get('/s/');
$t->helper_says(sub {
    my ($c, $req) = @_;
    return $c->reply(404, { 'X-Symcache-Reason' => 'not "found" <b>' })
        if $req->{path} =~ /absent/;
    return $c->reply(202, {}) if $req->{path} =~ /pending/;
    return $c->close if $req->{path} =~ /error/;
    $t->put('3.1.0', 'x', key => 'held.pdb/' . "${Test::ModuleCase::guid}1A");
    $c->reply(200, { 'X-Symcache-Version' => '3.1.0' });
});
my @poll = ('Allow-Retry-After: true');
for my $n (1 .. 3) {
    $t->get($t->uri('3.1.0', pdb => "a&b'absent.pdb"));
    # by either worker, after its answer was sent
    $t->wait_until('it is remembered', sub {
        @{ decode_json(status('json')->{body})->{recent} } == $n });
}
$t->get($t->uri('3.1.0', pdb => 'pending.pdb'), @poll) for 1 .. 2;
$t->get($t->uri('3.1.0', pdb => 'error.pdb'), @poll);
$t->get($t->uri('3.1.0', pdb => 'error.pdb'));
$t->get($t->uri('3.1.0', pdb => 'held.pdb'));

# a request is counted after its answer has been sent
$t->wait_until('all are counted', sub {
    my $n = 0;
    $n += $_ for values %{ decode_json(status('json')->{body})->{requests} };
    return $n == 16;
});

$r = status('json');
is h($r, 'Content-Type'), 'application/json', 'JSON: type';
my $j = decode_json($r->{body});
is $j->{zone}, 'z', 'zone';
is_deeply $j->{requests}, { aborted => 0, hit => 6, stale => 0, miss => 0,
    held => 1, pending => 2, absent => 3, not_modified => 0, bad => 2,
    error => 2 }, 'requests by status';
is $j->{counters}{asked}, 5, 'questions to the helper';
is $j->{counters}{failed}, 2, 'without a valid answer';
is $j->{counters}{known}, 5 + 2 + 1, 'known to the zone';
is $j->{counters}{evicted}, 0, 'evicted';
ok $j->{keys} >= 3, 'keys';
is $j->{size}, 256 * 1024, 'size';
is_deeply [map { "$_->{status} $_->{pdb} $_->{reason}" } @{ $j->{recent} }],
    ['error error.pdb ', 'error error.pdb ',
     q(absent a&b'absent.pdb ), q(absent a&b'absent.pdb ),
     q(absent a&b'absent.pdb not "found" <b>)],
    'recent requests without a file, newest first';
is $j->{recent}[0]{id}, "${Test::ModuleCase::guid}1A", 'their key';
is $j->{recent}[0]{version}, '3.1.0', 'and version';

$r = $t->get('/status');
like $r->{body}, qr{id="hit">6<}, 'page: hits';
like $r->{body}, qr{id="ratio">85\.7&nbsp;%<}, 'page: ratio';
like $r->{body}, qr{not &quot;found&quot; &lt;b&gt;}, 'page: escaped';
unlike $r->{body}, qr{<b>}, 'page: no markup of others';

$r = status('prometheus');
is h($r, 'Content-Type'), 'text/plain; version=0.0.4; charset=utf-8',
    'Prometheus: type';
like $r->{body}, qr/^symcache_requests_total\{zone="z",status="hit"\} 6$/m,
    'Prometheus: hits';
like $r->{body}, qr/^symcache_asked_total\{zone="z"\} 5$/m,
    'Prometheus: questions';
is scalar(grep { !/^(?:# (?:HELP|TYPE) symcache_\w+ .+|symcache_\w+\{[^}]+\} \d+)$/ }
    split /\n/, $r->{body}), 0, 'Prometheus: every line';

# the three formats say the same

my $page_text = $t->get('/status')->{body};
my $metrics = status('prometheus')->{body};
$j = decode_json(status('json')->{body});
for my $part (qw(requests counters)) {
    for my $name (sort keys %{ $j->{$part} }) {
        my ($metric) = $metrics =~ ($part eq 'requests'
            ? qr/^symcache_requests_total\{zone="z",status="$name"\} (\d+)$/m
            : qr/^symcache_${name}_total\{zone="z"\} (\d+)$/m);
        my ($shown) = $page_text =~ /id="$name">(\d+)</;
        is "$metric $shown", join(' ', ($j->{$part}{$name}) x 2),
            "$name: JSON, Prometheus, page";
    }
}
my %told;
$told{$_}++ for $metrics =~ /^# (\w+ \w+) /mg;
is_deeply [grep { $told{$_} != 1 } keys %told], [],
    'Prometheus: HELP and TYPE once for each';

# --- aborts

$t->helper_says(sub { $_[0]->wait_for_peer });
my $c = $t->open_http($t->nginx_socket, 'GET',
                      $t->uri('3.1.0', pdb => 'gone.pdb'));
$t->wait_until('it is asked', sub {
    decode_json(status('json')->{body})->{counters}{asked} == 6 });
close $c;
$t->wait_until('aborted', sub {
    decode_json(status('json')->{body})->{requests}{aborted} == 1 });
pass 'a client that goes away';

# --- long names and hostile ones

$t->helper_says(sub { $_[0]->reply(404,
    { 'X-Symcache-Reason' => "\xff\x01" . 'r' x 500 }) });
$t->get($t->uri('3.1.0', pdb => '%C3%A9' x 50 . "$_.pdb")) for 1 .. 40;
$j = decode_json(status('json')->{body});
is scalar(@{ $j->{recent} }), 16, 'the last sixteen';
is $j->{recent}[0]{pdb}, "\x{e9}" x 32, 'a name is cut between characters';
is $j->{recent}[0]{reason}, '??' . 'r' x 94, 'a reason is cut and cleaned';
like $t->get('/status')->{body}, qr{</html>\n\z}, 'the page is whole';

# --- what the helper says of itself

my $page = $t->path('page.sock');
my $lines = join '', map { join("\t", @$_) . "\n" }
    ['helper', 7, 1, 2, 3, 4],
    ['job', 'default', "a&'\"b.pdb/${Test::ModuleCase::guid}1", '9.0.0',
     'in source', 'msdl', 12345, 3, 1],
    ['job', 'too', 'few'],
    ['source', 'msdl', 'http', 'left alone', 42, 1, 2, 3, 4, 56_700_000, time - 5,
     'HTTP 500 <b>&"'],
    ['source', 'local', 'filesystem', 'ok', '', 9, 8, 7, 6, 5, '', ''],
    ['unknown', 'word'],
    ['miss', time - 9, 'default', "\xc3\xa9.pdb/1", '9.0.0', 'notfound',
     "\xff<script>alert(1)</script>"];
$t->helper_says(sub {
    my ($c, $req) = @_;
    return $c->reply(400, {}, $req->{uri}) if $req->{uri} ne '/v1/status';
    $c->reply(200, {}, $lines . "job\tcut");
}, unix => $page);

$r = $t->get('/helper');
is $r->{status}, 200, 'page with the helper';
like $r->{body}, qr{<h2>\Q$_\E</h2>}, "section: $_"
    for 'Helper', 'Running jobs', 'Upstream sources',
        'Latest jobs without a file', 'Requests',
        'Latest requests without a file';
like $r->{body}, qr{data-key="total">7<}, 'number of jobs';
like $r->{body}, qr{a&amp;'&quot;b\.pdb|a&amp;&#39;&quot;b\.pdb},
    'a hostile name is escaped';
like $r->{body}, qr{>12\.3<}, 'seconds of a job';
like $r->{body}, qr{>56\.7<}, 'megabytes of a source';
like $r->{body}, qr{<td><strong>left alone</strong></td><td class="n">42 s</td>},
    'health is a word';
like $r->{body}, qr{HTTP 500 &lt;b&gt;&amp;&quot;}, 'a failure is escaped';
like $r->{body}, qr{>never<}, 'a source without failure';
unlike $r->{body}, qr{<script|<b>}, 'no markup of others';
like $r->{body}, qr{\?&lt;script&gt;}, 'no UTF-8: a question mark';
unlike $r->{body}, qr{\bcut\b|\bfew\b}, 'lines that are not whole';
ok utf8::decode(my $copy = $r->{body}), 'the page is UTF-8';
is scalar(() = $r->{body} =~ /<th /g),
    scalar(() = $r->{body} =~ /<th scope="(?:col|row)"/g),
    'every header has its scope';
is $t->head('/helper')->{status}, 200, 'HEAD';

sub helper_part {
    decode_json($t->get('/helper?format=json')->{body})->{helper};
}
$j = helper_part();
is $j->{state}, 'answered', 'JSON: answered';
is_deeply $j->{jobs}, { total => 7, queued => 1, downloading => 2,
    transcoding => 3, waiters => 4 }, 'JSON: jobs';
is_deeply $j->{running}, [{ store => 'default',
    key => "a&'\"b.pdb/${Test::ModuleCase::guid}1", version => '9.0.0',
    state => 'in source', source => 'msdl', ms => 12345, waiters => 3,
    upgrade => JSON::PP::true() }], 'JSON: running';
is_deeply [map { "$_->{name} $_->{health} $_->{failed} $_->{failed_at}" }
    @{ $j->{sources} }],
    ['msdl left alone 4 ' . $j->{sources}[0]{failed_at}, 'local ok 6 0'],
    'JSON: sources';
is $j->{misses}[0]{key}, "\x{e9}.pdb/1", 'JSON: a name that is not ASCII';
is $j->{misses}[0]{reason}, '?<script>alert(1)</script>', 'JSON: a reason';

is decode_json($t->get('/two?format=json')->{body})->{helper}{state},
    'answered', 'another helper is asked where the first is down';
is $t->get('/helper?format=prometheus')->{body},
    $t->get('/status?format=prometheus')->{body},
    'Prometheus: the helper is not asked';

for (
    ['no helper', undef],
    ['no answer', sub { $_[0]->wait_for_peer }],
    ['no end', sub { $_[0]->send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n"
        . "\r\nh"); $_[0]->wait_for_peer }],
    ['slow', sub { $_[0]->send("HTTP/1.1 200 OK\r\n"
        . "Content-Length: 10000\r\n\r\n");
        for (1 .. 100) { $_[0]->send('x' x 10); select undef, undef, undef, 0.2 }
    }],
    ['500', sub { $_[0]->reply(500, {}, 'x') }],
    ['404', sub { $_[0]->reply(404, { 'X-Symcache-Reason' => 'x' }, 'x') }],
    ['garbage', sub { $_[0]->send("\0\1\2\r\n\r\n") }],
) {
    my ($name, $script) = @$_;
    $script ? $t->helper_says($script, unix => $page)
            : $t->helper_stops($page);
    my $start = Time::HiRes::time();
    is helper_part()->{state}, 'silent', "$name: does not answer";
    cmp_ok Time::HiRes::time() - $start, '<', 10, "$name: nothing hangs";
}
like $t->get('/helper')->{body}, qr{The helper does not answer}, 'says the page';

# --- a helper that says nothing keeps no worker from its other requests

$t->helper_says(sub { $_[0]->wait_for_peer }, unix => $page);
my $start = Time::HiRes::time();
my @pages = map { $t->open_http($t->nginx_socket, 'GET', '/helper') } 1 .. 8;
is $t->ask('3.1.0')->{status}, 200, 'a hit' for 1 .. 4;
SKIP: {
    skip 'the machine is too busy to tell', 1
        if Time::HiRes::time() - $start > 0.8;
    my $bits = '';
    vec($bits, fileno $_, 1) = 1 for @pages;
    is scalar(select $bits, undef, undef, 0), 0, 'while eight pages wait';
}
like $t->read_response($_)->{body}, qr{does not answer}, 'each has its answer'
    for @pages;

my $big = join '', map { join("\t", 'miss', 1, 'default', 'n' x 250, '9.0.0',
    'notfound', '"' x 290) . "\n" } 1 .. 200;
$t->helper_says(sub { $_[0]->reply(200, {}, $big) }, unix => $page);
$r = $t->get('/helper');
like $r->{body}, qr{</html>\n\z}, 'more than a page takes: it is whole';
like decode_json($t->get('/helper?format=json')->{body})->{helper}{misses}[9]
    {reason}, qr/^"{290}$/, 'with whole rows';

# --- nginx -t

for (
    ['location / { symcache_status; }', '',
     qr/"symcache_status" needs "symcache_zone" in location "\/"/],
    ['location / { symcache_zone z; symcache_status; symcache_status; }',
     'symcache_zone z:64k;', qr/is duplicate/],
    ['location / { symcache_zone z; symcache_status;
                   proxy_pass http://127.0.0.1:1; }', 'symcache_zone z:1m;',
     qr/"symcache_status" and another directive that answers requests/],
    ['location / { symcache /x; symcache_zone z; symcache_status; }',
     'symcache_zone z:64k;', qr/conflicts with another directive/],
    ['location / { symcache_zone z; symcache_status; symcache /x; }',
     'symcache_zone z:64k;', qr/is duplicate|another directive/],
    ['symcache_status;', '', qr/not allowed here/],
    ['location / { symcache_status on; }', '', qr/invalid number/],
) {
    my ($server, $http, $re) = @$_;
    my ($rc, $out) = $t->test_nginx($server, http => $http);
    isnt $rc, 0, "refused: $server";
    like $out, $re, 'with words that help';
}

$t->finish;
done_testing;
