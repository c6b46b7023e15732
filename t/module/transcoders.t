# What the helper makes (<root>/.transcoders) against what is on disk: hits,
# upgrades in the background, 304, and when the helper is asked instead.

use strict;
use warnings;
use FindBin qw($Bin);
use lib "$Bin/../lib";

use Test::More;
use Test::ModuleCase;
use Time::HiRes qw(time sleep);

my $t = Test::ModuleCase->new;
my $key = Test::ModuleCase::key();

sub h { Test::Symcache::header(@_) }

# Every root is looked at once a second: each case has one of its own.
$t->start_nginx(<<'EON');
    location ~ ^/(?<root>[^/]+)/ {
        symcache %%DIR%%/$root;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_hold_timeout 2s;
        symcache_read_timeout 1h;
        send_timeout 1s;
        error_page 404 =200 /index.html;
    }
    location ^~ /alone/ { symcache %%DIR%%/alone; }
EON

my $n = 0;

# disk, .transcoders (undef: no file), asked, exceeds =>
#   status, version served or undef, requests at the helper
my @cases = (
    [['3.1.0'], [], '3.1.0', undef, 200, '3.1.0', 0],
    [['3.1.0'], ['3.1.0'], '3.1.0', undef, 200, '3.1.0', 0],
    [['3.1.0'], ['3.2.0'], '3.1.0', undef, 200, '3.1.0', 1],
    [['3.1.0'], ['4.0.0'], '3.9.0', undef, 200, '3.1.0', 0],
    [['3.1.0'], ['3.0.5'], '3.9.0', undef, 200, '3.1.0', 0],
    [['3.1.0'], ['3.0.0'], '3.9.0', undef, 200, '3.1.0', 0],
    [['3.1.0'], undef, '3.9.0', undef, 200, '3.1.0', 0],
    [['3.1.0'], ['3.2.0'], '3.9.0', '3.0.1', 200, '3.1.0', 1],
    [['3.1.0'], ['3.1.0'], '3.9.0', '3.1.0', 304, undef, 0],
    [['3.1.0'], ['3.2.0'], '3.9.0', '3.2.0', 304, undef, 0],
    [['3.1.0'], ['3.2.0'], '3.9.0', '3.1.5', 404, undef, 1],
    [['3.1.0'], ['4.2.0'], '3.9.0', '3.1.5', 304, undef, 0],
    [['3.1.0'], [], '3.9.0', '3.1.5', 304, undef, 0],
    [['3.1.0'], undef, '3.9.0', '3.1.5', 404, undef, 1],
    [[], ['3.1.0'], '3.9.0', '3.1.0', 304, undef, 0],
    [[], ['3.2.0'], '3.9.0', '3.1.0', 404, undef, 1],
    [[], ['3.2.0'], '3.9.0', undef, 404, undef, 1],
    [[], ['4.0.0'], '3.9.0', undef, 404, undef, 1],
    [[], undef, '3.9.0', undef, 404, undef, 1],
    [['2.0.0'], ['x', '', '3.1.0 ', '3.2.0'], '3.9.0', '3.2.0', 304, undef, 0],
);

my $s = $t->helper_says(sub { $_[0]->reply(202, {}) });

for (@cases) {
    my ($disk, $made, $asked, $exceeds, $status, $version, $asks) = @$_;
    my $root = 'r' . ++$n;
    $t->put($_, $_, root => $root) for @$disk;
    $t->write_file("$root/.transcoders", join '', map { "$_\n" } @$made)
        if $made;
    my $name = sprintf 'disk [%s], made [%s], %s exceeds %s', "@$disk",
        join(' ', @{ $made // ['?'] }), $asked, $exceeds // '-';
    my $before = $s->requests;
    # a PDB name of its own for each: upgrades are not asked for too often
    my $r = $t->get($t->uri($asked, location => "/$root"),
                    'Allow-Retry-After: true',
                    defined $exceeds ? "If-Version-Exceeds: $exceeds" : ());
    is $r->{status}, $status, $name;
    like h($r, 'Content-Type') // '', $version ? qr/version=\Q$version\E$/ : qr/^$/,
        "version: $name";
    if ($asks && $status == 200) {
        # upgrades of one key are asked for once in ten seconds
        next if $n > 3;
        $t->wait_until('the upgrade', sub { $s->requests > $before });
    }
    is $s->requests - $before, $asks, "helper: $name";
}

# --- a file that was not used for an hour: the helper is told, and no ETag of
# it changes

$s = $t->helper_says(sub { $_[0]->reply(200,
    { 'X-Symcache-Version' => '3.1.0' }) });
my $used = $t->put('3.1.0', 'used', root => 'used',
                   key => "used.pdb/${Test::ModuleCase::guid}1A");
$t->write_file('used/.transcoders', "3.1.0\n");
my $uri = $t->uri('3.1.0', location => '/used', pdb => 'used.pdb');
my $etag = h($t->get($uri), 'ETag');
is scalar($s->requests), 0, 'a file that is new: the helper is not told';
utime time - 4000, time - 4000, $used;
my $r = $t->get($uri);
is $r->{body}, 'used', 'a file that is not: served';
is h($r, 'ETag'), $etag, 'with the same ETag';
$t->wait_until('the helper is told', sub { $s->requests == 1 });
$t->get($uri) for 1 .. 3;
is scalar($s->requests), 1, 'once';

# the log says what the request is doing, not what its notification did

my $slow = $t->put('3.1.0', 'x' x 8_000_000, root => 'used',
                   key => "slow.pdb/${Test::ModuleCase::guid}1A");
utime time - 4000, time - 4000, $slow;
my $idle = $t->open_http($t->nginx_socket, 'GET',
    $t->uri('3.1.0', location => '/used', pdb => 'slow.pdb'));
$t->wait_until('a client that reads nothing', sub {
    $t->error_log =~ /client timed out/ });
is scalar($s->requests), 2, 'the helper is told of its file';
like $t->error_log, qr/client timed out .* while sending response to client/,
    'it is not said to wait for the helper';
close $idle;

# --- an upgrade does not delay its client, nor the next on the connection

$s = $t->helper_says(sub { $_[0]->wait_for_peer });
$t->put('3.1.0', 'old', root => 'up', key => "up.pdb/${Test::ModuleCase::guid}1");
$t->write_file('up/.transcoders', "3.2.0\n");
$uri = "/up/v3.2.0/up.pdb/$Test::ModuleCase::guid/1";
my $c = $t->open_http($t->nginx_socket, 'GET', $uri, 'Connection: keep-alive');
$r = $t->read_response($c);
is $r->{body}, 'old', 'the old file at once';
syswrite $c, Test::Symcache::request_text('GET', $uri);
is $t->read_response($c)->{body}, 'old', 'and again, though the helper hangs';
my @r = $s->requests;
is scalar(@r), 1, 'one question for both';
is $r[0]{uri}, "/v1/symcache/default/up.pdb/${Test::ModuleCase::guid}1"
    . '?version=3.2.0', 'without wait';

# --- HEAD, ranges and a helper that is down: the old file is served

$t->helper_stops;
$t->put('3.1.0', 'old', root => 'down',
        key => "down.pdb/${Test::ModuleCase::guid}1");
$t->write_file('down/.transcoders', "3.2.0\n");
$uri = "/down/v3.2.0/down.pdb/$Test::ModuleCase::guid/1";
is $t->get($uri)->{body}, 'old', 'no helper: the old file';
is $t->http($t->nginx_socket, 'HEAD', $uri)->{status}, 200, 'HEAD';
is $t->get($uri, 'Range: bytes=1-1')->{body}, 'l', 'range';

# --- the file is looked at again after a second

$s = $t->helper_says(sub { $_[0]->reply(202, {}) });
$t->put('3.1.0', 'x', root => 'again');
$t->write_file('again/.transcoders', "3.1.0\n");
$uri = $t->uri('3.9.0', location => '/again');
my @h = ('If-Version-Exceeds: 3.1.0', 'Allow-Retry-After: true');
is $t->get($uri, @h)->{status}, 304, 'nothing newer is made';
$t->write_file('again/.transcoders.new', "3.2.0\n");
rename $t->path('again/.transcoders.new'), $t->path('again/.transcoders');
$t->wait_until('a new transcoder is seen',
               sub { $t->get($uri, @h)->{status} == 404 });
pass 'a new transcoder is seen';
unlink $t->path('again/.transcoders');
my $before = $s->requests;
$t->wait_until('its end is seen', sub {
    $t->get($uri, @h);
    return $s->requests > $before;
});

# --- more roots than are remembered

my $wrong = 0;
for my $i (1 .. 40, 1 .. 40) {
    $t->write_file("many$i/.transcoders", "3.1.0\n") unless -d $t->path("many$i");
    $wrong++ if $t->get($t->uri('3.9.0', location => "/many$i"), @h)->{status}
        != 304;
}
is $wrong, 0, 'forty roots';

# --- without symcache_pass nothing is made

$t->put('3.1.0', 'alone', root => 'alone');
$t->write_file('alone/.transcoders', "3.2.0\n");
is $t->get($t->uri('3.9.0', location => '/alone'),
           'If-Version-Exceeds: 3.1.0')->{status}, 304, 'nobody to ask: 304';
$r = $t->get($t->uri('3.9.0', location => '/alone', pdb => 'no.pdb'), @h);
is $r->{status}, 404, 'nobody to ask, nothing cached: 404';
is h($r, 'Retry-After'), undef, 'final';

$t->finish;
done_testing;
