#!/usr/bin/env perl

# The status page as a browser has it: its numbers, tables and curves while a
# load runs, and what its policy keeps from it.
#
# SCREENSHOT=folder keeps pictures of the page.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Copy ();
use JSON::PP;
use POSIX ();
use Test::Browser;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;
use Time::HiRes qw(sleep);

plan skip_all => 'no chromium here' unless Test::Browser::program();
plan skip_all => 'chromium loads no library of a sanitizer'
    if $Test::Symcache::san;

my $t = Test::Symcache->new;
my $port = Test::Symcache::free_port();
my $page = "http://127.0.0.1:$port/status";
# Of two colours, "rgb(1, 2, 3)" (WCAG 2.2: contrast ratio)
sub contrast {
    my ($dark, $light) = sort { $a <=> $b } map {
        my @c = map { $_ / 255 } /(\d+)/g;
        @c = map { $_ <= 0.04045 ? $_ / 12.92
                                 : (($_ + 0.055) / 1.055) ** 2.4 } @c;
        0.2126 * $c[0] + 0.7152 * $c[1] + 0.0722 * $c[2];
    } @_;
    return ($light + 0.05) / ($dark + 0.05);
}

sub status { decode_json($t->get('/status?format=json')->{body}) }

# --- one source that fails, one that has the file, a transcoder that waits

my $s = Test::ScriptedServer->new(log => $t->path('requests'), script => sub {
    $_[0]->reply(500, {}, '');
});
my $config = $t->default_config($s->{url}, gated => 1);
$config->{sources}{local} =
    { type => 'filesystem', path => $t->symbol_store('symbols') };
$config->{stores}{default}{sources} = ['local', 'upstream'];
$config->{tiers} = { fleet => { type => 'filesystem',
                                path => $t->path('unmounted') } };
$config->{stores}{default}{tier} = 'fleet';
$t->start_symcached($config);
$t->start_nginx($t->default_locations('symcache_zone z;') . <<'EON',
    location = /status {
        symcache_status; symcache_zone z; symcache_pass unix:%%DIR%%/h.sock;
    }
    location = /alone { symcache_status; symcache_zone z; }
    location = /markup {
        symcache_status; symcache_zone z; symcache_pass unix:%%DIR%%/m.sock;
    }
    location /broken/ {
        symcache %%DIR%%/store; symcache_zone y;
        symcache_pass unix:%%DIR%%/e.sock;
    }
    location = /half { symcache_status; symcache_zone y; }
    location = /silent {
        symcache_status; symcache_zone z; symcache_pass unix:%%DIR%%/none.sock;
    }
EON
    workers => 2, http => 'symcache_zone z:256k; symcache_zone y:256k;',
    listen => "listen unix:%%DIR%%/n.sock; listen 127.0.0.1:$port;");

my @poll = ('Allow-Retry-After: true');
my $running = '/poll/' . $t->request_path('basic32.pdb');
my $hit = '/poll/' . $t->request_path('crash.pdb');

$t->write_file('gate', '');
is $t->get('/hold/' . $t->request_path('crash.pdb'))->{status}, 200, 'made';
unlink $t->path('gate');
is $t->get($running, @poll)->{status}, 404, 'a job that runs on';
my $hostile = "a&'`;b.pdb"; # \ / : * ? " < > | are in no name
$t->wait_until('a failure', sub {
    $t->get("/poll/v9.0.0/a%26'%60;b.pdb/" . ('A' x 32) . '/1', @poll);
    my $status = status();
    return @{ $status->{recent} } && @{ $status->{helper}{misses} }
        && $status->{helper}{jobs}{transcoding} == 1;
});

$t->post($t->helper_socket, '/v1/symbolicated', encode_json({ name => '<b>m',
    version => '1.0', listen => 'unix:/s', started => time, requests => 5,
    frames => 70, dumps => 3, valid => 300 }));

# --- while a load runs

my $load = fork() // die "fork: $!";
if ($load == 0) {
    my $n = 0;
    until (-e $t->path('enough')) {
        $n++ if ($t->get($hit) // { status => 0 })->{status} == 200;
        sleep 0.002;
    }
    $t->write_file('load', $n);
    POSIX::_exit(0);
}
$t->wait_until('hits', sub { status()->{requests}{hit} > 10 });

my $browser = Test::Browser->start($t->path('profile'));

# What the page shows where an expression is true.
sub wait_for {
    my ($what, $expression) = @_;
    $t->wait_until($what, sub { $browser->value($expression) });
}
sub visit {
    my ($path) = @_;
    $browser->visit("http://127.0.0.1:$port$path");
    wait_for("$path is shown", "document.readyState === 'complete'"
        . " && document.getElementById('live')?.hidden === false");
}
# A helper has a second to answer in, and at the next poll another one.
sub visit_with_helper {
    visit(@_);
    wait_for('its helper has answered',
        "!document.querySelector('div[data-state=answered]').hidden");
}
sub counts {
    my %n = @{ $browser->value("[...document.querySelectorAll('[data-count]')]"
        . '.flatMap(e => [e.dataset.count, e.textContent])') };
    return { map { $_ => $n{$_} =~ tr/,//dr } keys %n };
}
sub rows {
    my ($table) = @_;
    return @{ $browser->value("[...document.querySelectorAll('#$table tbody "
        . "tr')].map(tr => [...tr.cells].map(td => td.textContent))") };
}
sub curve {
    my ($series) = @_;
    return $browser->value("[...document.querySelectorAll('figure')].map(f =>"
        . " f.querySelectorAll('path')[[...f.querySelectorAll('[data-series]')]"
        . ".findIndex(li => li.dataset.series === '$series')])"
        . ".find(path => path).getAttribute('d')");
}

my $before = status();
visit_with_helper('/status');
my $n = counts();
my $after = status();
cmp_ok $n->{hit}, '>=', $before->{requests}{hit}, 'hits: not before';
cmp_ok $n->{hit}, '<=', $after->{requests}{hit}, 'hits: not after';
cmp_ok $after->{requests}{hit}, '>', $before->{requests}{hit}, 'a load runs';
is_deeply [sort keys %$n],
    [sort map { keys %{ $after->{$_} } } qw(requests counters)],
    'a number for each counter';
is(($browser->texts("[data-job=$_]"))[0], $after->{helper}{jobs}{$_},
   "jobs: $_") for qw(total queued downloading transcoding waiters);
is $after->{helper}{jobs}{transcoding}, 1, 'one of them is that job';
is_deeply [$browser->texts('#stale:not([hidden])')], [],
    'the configuration is the file\'s';
is(($browser->texts('#version'))[0], $after->{helper}{version}, 'version');
like +($browser->texts('#uptime'))[0], qr/^\d+ (?:s|min)$/, 'uptime';
is_deeply [map { "@$_[0, 2]" } rows('disks')],
    ['store ' . $t->path('store'), 'downloads ' . $t->path('downloads')], 'disks';
like $_->[6], qr/^[\d.]+ .?B \([\d.]+ %\)$/, 'what is free' for rows('disks');
my @troubles = $browser->texts('#troubles:not([hidden]) li');
is scalar(grep { /^Source upstream is failing: .*500/ } @troubles), 1,
    'trouble comes first: a source';
is scalar(grep { /^Tier fleet: the breaker for its reads is open: its folder / }
    @troubles), 1, 'and a tier';
is scalar($browser->texts('#fine:not([hidden])')), 0, 'so not all is well';
like $browser->value('document.title'), qr/^\x{26a0} SymCache: z$/,
    'which a tab in the background says, too';

my ($job) = rows('running');
like join('|', @$job), qr{^default\|basic32\.pdb/\w+\|9\.0\.0\|transcoding\|\|[\d.]+ (?:s|min)\|0\|no$},
    'it is on the page';
is_deeply [map { join '|', @$_[0 .. 2] } rows('sources')],
    ['local|filesystem|ok', 'upstream|http|failing'], 'sources';
like join('|', @{ (rows('sources'))[1] }), qr{\|\d+ s ago\|[^|]*500},
    'with the failure';
is_deeply [$browser->texts('#sources .warn')], ['failing'],
    'which stands out';
like join('|', map { @$_ } rows('tiers')),
    qr{^fleet\|filesystem\|open\|\w+\|\d+\|0\|0\|0\|\d+\|0\|\d+\|its folder },
    'a tier';
ok scalar(grep { $_ eq 'open' } $browser->texts('#tiers .warn')),
    'which stands out, too';
like join('|', map { @$_ } rows('symbolicated')),
    qr{^<b>m\|unix:/s\|1\.0\|\d+ s ago\|5\|70\|3\|0\|0\|0\|0\|\d+ s ago\|the file.s$},
    'a symbolicated that has reported';
my ($miss) = rows('misses');
is $miss->[2], $hostile . '/' . 'A' x 32 . '1', 'a miss, its name as text';
like $miss->[5], qr{^upstream: failed .*500.*; local: not found},
    'with its reason';
like join('|', @{ (rows('recent'))[0] }),
    qr{^\d+ s ago\|error\|\Q$hostile\E/A+1\|9\.0\.0\|}, 'and as a request';

# --- curves grow while the page is there

wait_for('two points', 'points.length >= 2');
wait_for('requests are seen', 'points.at(-1).values.sent > 0');
like curve($_), qr/^M[\d.]+ [\d.]+h0/, "a curve: $_"
    for qw(sent ratio transcoding);
is curve($_), '', "none hides the axis: $_"
    for qw(pending absent error queued downloading waiters found not_found
           unusable failed);
like curve('transcoding'), qr/^(?:M\S+ 50\.0h0|L\S+ 50\.0)+$/,
    'one job all the time, in the middle of a scale to two';
is_deeply [$browser->texts('figure:nth-of-type(3) .y span')], [2, 1, 0],
    'which has labels';
is_deeply [$browser->texts('figure:nth-of-type(3) .x span')],
    ['1 min ago', 'now'], 'as time has';
is(($browser->texts('[data-series=ratio] b'))[0], 100, 'a hit ratio');
my %stroke = @{ $browser->value("[...document.querySelectorAll('path')]"
    . '.flatMap(p => [p.dataset.series, getComputedStyle(p).stroke])') };
my $red = $stroke{error};
is_deeply [sort grep { $stroke{$_} eq $red } keys %stroke], [qw(error failed)],
    'red is for what fails';

$t->write_file('enough', '');
waitpid $load, 0;
my $sent = $t->read_file('load');
$t->wait_until('all are counted', sub {
    status()->{requests}{hit} == $sent });
wait_for('it follows by itself',
    "document.querySelector('[data-count=hit]').textContent"
    . ".replaceAll(',', '') === '$sent'");
is_deeply { map { $_ => counts()->{$_} } keys %{ status()->{requests} } },
    status()->{requests}, 'every number is that of the JSON form';
is(($browser->texts('#ratio'))[0],
   sprintf('%.1f %%', int(1000 * $sent
       / ($sent + 1 + status()->{requests}{error})) / 10),
   'hit ratio: an error is no hit');
is_deeply [$browser->complaints], [], 'nothing in the console';

for my $scheme (qw(light dark)) {
    $browser->call('Emulation.setEmulatedMedia', features =>
        [{ name => 'prefers-color-scheme', value => $scheme }]);
    my $picture = $browser->picture;
    like $picture, qr/^\x89PNG/, "a picture: $scheme";
    my ($text, $back) = map { $browser->value(
        "getComputedStyle(document.body).$_") } 'color', 'backgroundColor';
    cmp_ok contrast($text, $back), '>=', 7, "readable: $scheme";
    $t->write_file("$scheme.png", $picture);
    File::Copy::copy($t->path("$scheme.png"), "$ENV{SCREENSHOT}/$scheme.png")
        if $ENV{SCREENSHOT};
}

# --- narrow screens

for my $width (390, 500, 800, 1280) {
    $browser->call('Emulation.setDeviceMetricsOverride', width => $width,
        height => 800, deviceScaleFactor => 1, mobile => JSON::PP::false());
    is $browser->value('document.documentElement.scrollWidth'), $width,
        "nothing is cut off at $width pixels";
}
$browser->call('Emulation.setDeviceMetricsOverride', width => 390,
    height => 800, deviceScaleFactor => 1, mobile => JSON::PP::false());
is $browser->value("[...document.querySelectorAll('#sources td')]"
    . '.filter(td => td.textContent && getComputedStyle(td, "::before")'
    . '.content !== JSON.stringify(td.dataset.label)).length'), 0,
    'each value has its name beside it';
$browser->call('Emulation.clearDeviceMetricsOverride');

# --- it asks while somebody looks

# How often it has asked since.
sub asked {
    my ($since) = @_;
    return $browser->value("performance.getEntriesByType('resource').length")
        - ($since // 0);
}
# A time of the page's in which it would have asked.
sub let_time_pass {
    $browser->value('new Promise(done => setTimeout(done, INTERVAL + 1000))');
}

$browser->value("document.getElementById('pause').focus()");
$browser->call('Input.dispatchKeyEvent', type => $_, key => ' ',
    code => 'Space', text => ' ', windowsVirtualKeyCode => 32)
    for qw(keyDown keyUp);
is $browser->value("document.getElementById('pause').ariaPressed"), 'true',
    'a key presses the button';
wait_for('nothing is under way', '!asking');
my $so_far = asked();
let_time_pass();
is asked($so_far), 0, 'it asks no more';
$browser->value("document.getElementById('pause').click()");
wait_for('it asks again', "!asking && performance"
    . ".getEntriesByType('resource').length > $so_far");

# what a browser does with a tab that is not in front
my $turn = "Object.defineProperty(document, 'hidden', {value: %s,"
    . " configurable: true});"
    . " document.dispatchEvent(new Event('visibilitychange'))";
$browser->value(sprintf $turn, 'true');
wait_for('nothing is under way', '!asking');
$so_far = asked();
let_time_pass();
is asked($so_far), 0, 'a hidden page does not ask';
$browser->value(sprintf $turn, 'false');
wait_for('it asks when it is back',
    "performance.getEntriesByType('resource').length > $so_far");

visit('/status?refresh=off');
wait_for('nothing is under way', '!asking');
is_deeply counts()->{hit}, $sent, 'without refreshing, it has asked once';
let_time_pass();
is asked(), 1, 'and does not again';

# --- without a helper, and without nginx

visit('/alone');
is $browser->value("[...document.querySelectorAll('[data-state]')]"
    . ".filter(e => !e.hidden).map(e => e.dataset.state).join(' ')"), 'none',
    'no helper here';
visit('/silent');
like join(' ', $browser->texts('[data-state=silent]:not([hidden])')),
    qr{The helper does not answer:\s+no connection}, 'a helper that is silent';
is_deeply [rows('recent')]->[0][1], 'error', 'what nginx knows is there';
is_deeply [$browser->complaints], [], 'nothing in the console';

# --- half of the requests are errors

my $broken = Test::ScriptedServer->new(unix => $t->path('e.sock'),
    script => sub { $_[0]->reply(500, {}, '') });
for my $n (1 .. 5) {
    is $t->get('/broken/' . $t->request_path('crash.pdb'))->{status}, 200,
        'a file of the store';
    $t->get("/broken/v9.0.0/none$n.pdb/" . ('A' x 32) . '/1');
}
visit('/half');
is(($browser->texts('#ratio'))[0], '50.0 %', 'are no hits');
is(($browser->texts('#errors'))[0], '50.0 %', 'but errors');
$broken->stop;

# --- words for numbers

my %words = (
    'duration(0)' => '0 s', 'duration(1)' => '1 s', 'duration(59.9)' => '59 s',
    'duration(1004)' => '16 min', 'duration(7200)' => '2 h',
    'duration(86400)' => '1 day', 'duration(172800)' => '2 days',
    'bytes(0)' => '0 B', 'bytes(999)' => '999 B', 'bytes(1500)' => '1.5 kB',
    'bytes(999999)' => '1.0 MB', 'bytes(5e10)' => '50 GB',
    'percent(999999, 1000000)' => '99.9 %', 'percent(0, 0)' => "\x{2013}",
    'plural(1, "job")' => '1 job', 'plural(2, "job")' => '2 jobs',
    'compact(20000)' => '20K', 'compact(0.25)' => '0.25',
);
is $browser->value($_), $words{$_}, $_ for sort keys %words;
is_deeply [map { $browser->value("scaleFor($_)") } 0.1, 0.11, 1, 3, 5, 19, 500],
    [0.1, 0.2, 1, 4, 6, 20, 600], 'ends of scales';

# --- troubles, as a helper tells of them, and none

sub helper_says {
    my (%says) = @_;
    my $server = Test::ScriptedServer->new(unix => $t->path('m.sock'),
        script => sub {
        $_[0]->reply(200, { 'Content-Type' => 'application/json' },
            encode_json({ state => 'answered', started => time - 1004, %says }));
    });
    visit_with_helper('/markup');
    my @texts = $browser->texts('#fine:not([hidden]), #stale:not([hidden]),'
        . '#troubles:not([hidden]) li');
    $server->stop;
    return map { s/\s+/ /gr } @texts;
}
is_deeply [helper_says()], ['No trouble is known.'], 'all is well';
is(($browser->texts('#uptime'))[0], '16 min', 'for a quarter of an hour');
is_deeply [helper_says(not_ready => 'no-room', disks => [{ store => '',
        path => '/d', failure => 'No space left on device', size => 1e12,
        free => 4e10, kept => 5e10 }])],
    ['The disk of /d is full: 40 GB are free, cache.min_free keeps 50 GB.'],
    'a full disk';
is_deeply [helper_says(not_ready => 'no-disk', disks => [{ store => 's',
        path => '/d', failure => 'Read-only file system', size => 1e12,
        free => 4e11, kept => 5e10 }])],
    ['No file can be written in /d: Read-only file system'], 'a dead one';
is_deeply [helper_says(not_ready => 'no-disk')],
    ['A disk of symcached does not answer.'], 'one that hangs';
is_deeply [helper_says(uploads_not_ready => 'no-disk')],
    ['The disk of uploads does not answer.'], 'that of uploads';
is_deeply [helper_says(uploads_not_ready => 'no-tier')],
    ['Uploads are refused: their tier takes no files.'], 'their tier';
is_deeply [helper_says(jobs => { queued => 10000, queue => 10000 })],
    ['The queue is full: 10,000 jobs wait for a slot, and more are refused.'],
    'a full queue';
is_deeply [helper_says(sources => [{ name => 's', health => 'left alone',
        not_asked_for => 1004, failure => 'HTTP 500' }])],
    ['Source s is left alone for 16 min: HTTP 500'], 'a dead source';
is_deeply [helper_says(config_stale => 'line 3')],
    ["The configuration in use is not the file\x{2019}s: line 3."],
    'a configuration that is not loaded';
is_deeply [helper_says(not_ready => 'draining')],
    ['symcached drains: lookups that need a new job are refused.'],
    'a machine that drains';

# --- texts of others are texts, whatever is in them

my $markup = q{</td></script><img src=x onerror="window.ran = 1"><b id=live>};
my $liar = Test::ScriptedServer->new(unix => $t->path('m.sock'),
    script => sub {
    $_[0]->reply(200, { 'Content-Type' => 'application/json' }, encode_json({
        state => 'answered', config_stale => $markup,
        jobs => { total => $markup },
        running => [{ map { $_ => $markup } qw(store key version state) }],
        sources => [{ map { $_ => $markup } qw(name health failure found) }],
        misses => [{ map { $_ => $markup } qw(store key reason time) }] }));
});
visit_with_helper('/markup');
is scalar(grep { $_ eq $markup } map { @$_ } map { rows($_) }
    qw(running sources misses)), 11, 'markup is shown';
is_deeply [$browser->texts('[data-job=total]')], [$markup], 'everywhere';
is_deeply [$browser->texts('#stale:not([hidden]) span')], [$markup],
    'also why the configuration is not the file\'s';
is $browser->value("document.querySelectorAll('img, td b').length"), 0,
    'and is none';
is_deeply [$browser->complaints], [], 'so there is nothing to forbid';
$liar->stop;

# --- the policy of the page holds: what it forbids is refused, and told

$browser->value('document.body.appendChild(Object.assign('
    . "document.createElement('script'), {textContent: 'window.ran = 1'}))");
$browser->value("document.body.insertAdjacentHTML('beforeend',"
    . " '<img src=x onerror=\"window.ran = 1\">')");
$t->wait_until('both are told', sub {
    $browser->value('1');
    return 2 <= grep { /Content Security Policy/ } $browser->complaints });
is $browser->value('typeof window.ran'), 'undefined', 'nothing else runs';

# --- without JavaScript

$browser->visit($page, no_script => 1);
wait_for('it is there', "document.readyState === 'complete'"
    . ' && document.links.length === 2');
like $browser->value('document.body.innerText'),
    qr{needs JavaScript.*JSON.*Prometheus}s, 'it says where the numbers are';
is_deeply [map { $browser->value("document.links[$_].href") } 0, 1],
    ["$page?format=json", "$page?format=prometheus"], 'with links';

is $browser->stop, 0, 'the browser has ended well';
ok !-e $t->path('profile'), 'nothing of it is left';

$t->write_file('gate', '');
$t->wait_until('the job ends', sub { status()->{helper}{jobs}{total} == 0 });
$s->stop;
$t->finish;
done_testing;
