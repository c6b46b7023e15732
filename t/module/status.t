# symcache_status: the three formats, their numbers after known requests,
# escaping, and what nginx -t refuses.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use JSON::PP;
use Test::More;
use Test::ModuleCase;

my $t = Test::ModuleCase->new;

sub h { Test::Symcache::header(@_) }

$t->start_nginx($t->location('symcache_hold_timeout 5s;') . <<'EON',
    location /status { symcache_status; }
EON
    workers => 2, http => 'symcache_zone z:256k; symcache_zone z;');

sub status { $t->get("/status?format=$_[0]") }

my $r = $t->get('/status');
is $r->{status}, 200, 'page';
is h($r, 'Content-Type'), 'text/html; charset=utf-8', 'page: type';
is h($r, 'Cache-Control'), 'no-store', 'page: not kept';
like $r->{body}, qr{<html lang="en">.*</html>\n\z}s, 'page: whole';
like $r->{body}, qr{id="ratio">0\.0&nbsp;%<}, 'page: no request, no ratio';
unlike $r->{body}, qr{(?:src|href)=}, 'page: no external resource';
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
$t->get($t->uri('3.1.0', pdb => 'a&absent%22.pdb')) for 1 .. 0;
$t->get($t->uri('3.1.0', pdb => "a&b'absent.pdb")) for 1 .. 3;
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

# --- nginx -t

for (
    ['location / { symcache_status; }', '',
     qr/"symcache_status" needs "symcache_zone" in location "\/"/],
    ['location / { symcache_zone z; symcache_status; symcache_status; }',
     'symcache_zone z:64k;', qr/is duplicate/],
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
