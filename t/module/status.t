# symcache_status: the page and its policy, the two forms with numbers after
# known requests, what the helper says of itself, and what nginx -t refuses.
# What a browser makes of the page is in t/system/status_page.t.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use Digest::SHA qw(sha256_base64);
use JSON::PP;
use Test::More;
use Test::ModuleCase;
use Time::HiRes ();

my $t = Test::ModuleCase->new;

sub h { Test::Symcache::header(@_) }

$t->start_nginx($t->location('symcache_hold_timeout 5s;') . <<'EON',
    location /status { symcache_status; }
    location /limited { symcache_status; limit_except POST { allow all; } }
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
is h($r, 'X-Content-Type-Options'), 'nosniff', 'page: is what it says';
my $page_text = $r->{body};
like $page_text, qr{^<!DOCTYPE html>\n<html lang="en">.*</html>\n\z}s,
    'page: whole';
ok utf8::decode(my $copy = $page_text), 'page: UTF-8';
is $page_text, $t->get("/$_")->{body}, "page: the same at $_"
    for 'status?format=html', 'status?refresh=off', 'helper', 'limited';
unlike $page_text, qr{\bsrc=|href="[^?]|url\(|\bimport\b},
    'page: no other resource';
like $page_text, qr{<a href="\?format=$_">}, "page: leads to $_"
    for qw(json prometheus);
is scalar(() = $page_text =~ /<th /g),
    scalar(() = $page_text =~ /<th scope="(?:col|row)"/g),
    'page: every header of a table has its scope';

# The policy lets run, and style, what the page has, and nothing else.  A hash
# is that of the text between the tags (Content Security Policy, 8.4).
my %policy = map { /^\s*(\S+)\s+(.*)/ } split /;/,
    h($r, 'Content-Security-Policy');
sub source { map { "'sha256-" . sha256_base64($_) . "='" } @_ }
is_deeply \%policy, {
    'default-src' => "'none'",
    'connect-src' => "'self'",
    'style-src' => join(' ', source($page_text =~ m{<style>(.*?)</style>}gs)),
    'script-src' =>
        join(' ', source($page_text =~ m{<script>(.*?)</script>}gs)),
    'base-uri' => "'none'", 'form-action' => "'none'",
    'frame-ancestors' => "'none'",
}, 'page: its policy';
unlike $page_text, qr{<[^>]*\s(?:on\w+|style)=}i,
    'page: no attribute that the policy forbids';
my ($script) = $page_text =~ m{<script>(.*?)</script>}s;
unlike $script, qr{innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|Function\(},
    'page: nothing becomes markup or code';

is_deeply decode_json(status('json')->{body})->{helper}, { state => 'none' },
    'JSON: no helper';
is $t->http($t->nginx_socket, 'HEAD', "/status$_")->{status}, 200, "HEAD $_"
    for '', '?format=json';
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
cmp_ok abs($j->{time} - time), '<', 60, 'time';
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

$r = status('prometheus');
is h($r, 'Content-Type'), 'text/plain; version=0.0.4; charset=utf-8',
    'Prometheus: type';
like $r->{body}, qr/^symcache_requests_total\{zone="z",status="hit"\} 6$/m,
    'Prometheus: hits';
like $r->{body}, qr/^symcache_asked_total\{zone="z"\} 5$/m,
    'Prometheus: questions';
is scalar(grep { !/^(?:# (?:HELP|TYPE) symcache_\w+ .+|symcache_\w+\{[^}]+\} \d+)$/ }
    split /\n/, $r->{body}), 0, 'Prometheus: every line';

# the two forms say the same, and the page shows it

my $metrics = status('prometheus')->{body};
$j = decode_json(status('json')->{body});
for my $part (qw(requests counters)) {
    for my $name (sort keys %{ $j->{$part} }) {
        my ($metric) = $metrics =~ ($part eq 'requests'
            ? qr/^symcache_requests_total\{zone="z",status="$name"\} (\d+)$/m
            : qr/^symcache_${name}_total\{zone="z"\} (\d+)$/m);
        is $metric, $j->{$part}{$name}, "$name: JSON, Prometheus";
        like $page_text, qr/data-count="$name"/, "$name: page";
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

# --- what the helper says of itself

my $page = $t->path('page.sock');
my $json = { 'Content-Type' => 'application/json' };

sub helper_says {
    my ($headers, $body) = @_;
    $t->helper_says(sub {
        my ($c, $req) = @_;
        return $c->reply(400, $json, '"asked for something else"')
            if $req->{uri} ne '/v1/status';
        $c->reply(200, $headers, $body);
    }, unix => $page);
}
# It has a second to answer in, which a busy machine may need for itself.
sub until_it_says {
    my ($re) = @_;
    return $t->wait_until("helper: $re", sub {
        my $r = $t->get('/helper?format=json');
        return $r->{body} =~ /,"helper":$re}\n\z/ ? $r : undef });
}

# whatever it is, byte for byte
my $said = qq({"state": "answered",\n\t"x": ["</script>\\u0000\xc3\xa9\\"", 1e3]});
helper_says($json, $said);
$r = until_it_says(quotemeta $said);
is $r->{status}, 200, 'what the helper says is passed on';
is h($r, 'Content-Type'), 'application/json', 'is called JSON';
is h($r, 'X-Content-Type-Options'), 'nosniff', 'and nothing else';
is decode_json($r->{body})->{helper}{x}[0], qq(</script>\0\x{e9}"),
    'and is JSON';
is $t->head('/helper?format=json')->{status}, 200, 'HEAD';
helper_says({ 'content-type' => 'application/json; charset=utf-8' }, $said);
ok until_it_says(quotemeta $said), 'also with a charset';

$t->wait_until('an answer', sub {
    $t->get('/two?format=json')->{body} =~ /"answered"/ });
pass 'another helper is asked where the first is down';
is $t->get('/helper?format=prometheus')->{body},
    $t->get('/status?format=prometheus')->{body},
    'Prometheus: the helper is not asked';

my $head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
for (
    ['no helper', 'no connection', undef],
    ['no answer', 'no answer in time', sub { $_[0]->wait_for_peer }],
    ['closed', 'no connection', sub { $_[0]->close }],
    ['no end', 'no answer in time', sub {
        $_[0]->send("${head}Content-Length: 9\r\n\r\n{");
        $_[0]->wait_for_peer }],
    ['cut', 'no valid answer', sub {
        $_[0]->send("${head}Content-Length: 9\r\n\r\n{\"a\":1}");
        $_[0]->close }],
    ['slow', 'no (?:valid answer|answer in time)', sub {
        $_[0]->send("${head}Content-Length: 10000\r\n\r\n");
        for (1 .. 100) { $_[0]->send('x' x 10); select undef, undef, undef, 0.2 }
    }],
    ['no length', 'no valid answer', sub {
        $_[0]->send("$head\r\n{}"); $_[0]->close }],
    ['chunked', 'no valid answer', sub {
        $_[0]->send("${head}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
    }],
    ['empty', 'no valid answer', sub { $_[0]->reply(200, $json, '') }],
    ['too long', 'no valid answer', sub {
        $_[0]->reply(200, $json, '"' . 'x' x 262143 . '"') }],
    ['text', 'no valid answer', sub {
        $_[0]->reply(200, { 'Content-Type' => 'text/plain' }, '{}') }],
    ['JSON of another kind', 'no valid answer', sub {
        $_[0]->reply(200, { 'Content-Type' => 'application/jsonl' }, '{}') }],
    ['of no type', 'no valid answer', sub { $_[0]->reply(200, {}, '{}') }],
    (map { my $status = $_; [$status, 'no valid answer', sub {
        $_[0]->reply($status, { %$json, 'X-Symcache-Reason' => 'x',
            'X-Symcache-Version' => '3.1.0' }, '{}') }] }
        202, 204, 302, 400, 404, 500, 503),
    ['garbage', 'no valid answer', sub { $_[0]->send("\0\1\2\r\n\r\n") }],
) {
    my ($name, $reason, $answer) = @$_;
    $answer ? $t->helper_says($answer, unix => $page)
            : $t->helper_stops($page);
    ok until_it_says(qr/{"state":"silent","reason":"$reason"}/),
        "$name: $reason";
}

# as much as a page may have
my $most = '"' . 'x' x 262142 . '"';
helper_says($json, $most);
ok until_it_says($most), 'a long one is whole';

# --- a helper that says nothing keeps no worker from its other requests

$t->helper_says(sub { $_[0]->wait_for_peer }, unix => $page);
my $start = Time::HiRes::time();
my @pages = map {
    $t->open_http($t->nginx_socket, 'GET', '/helper?format=json') } 1 .. 8;
is $t->ask('3.1.0')->{status}, 200, 'a hit' for 1 .. 4;
SKIP: {
    skip 'the machine is too busy to tell', 1
        if Time::HiRes::time() - $start > 0.8;
    my $bits = '';
    vec($bits, fileno $_, 1) = 1 for @pages;
    is scalar(select $bits, undef, undef, 0), 0, 'while eight pages wait';
}
like $t->read_response($_)->{body}, qr{"silent"}, 'each has its answer'
    for @pages;
is $t->get('/helper')->{body}, $page_text, 'the page itself needs no helper';

# --- nginx -t

for (
    ['location / { symcache_status; symcache_zone off; }', '',
     qr/"symcache_status" needs a zone, not "symcache_zone off", in location/],
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
