#!/usr/bin/perl

# What holds for a host, whichever source leads to it: pauses that it asks
# for, its circuit breaker, and how many lookups it gets at a time.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::Clock;
use Test::Ctl;
use Test::More;
use Test::ScriptedServer;
use Test::SourceCase;
use Test::Symcache;

my $t = Test::Symcache->new;
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $id = $Test::SourceCase::id;
my $true = JSON::PP::true();

sub flag { $t->path("flag.$_[0]") }
sub raise { $t->write_file("flag.$_[0]", '') }
sub lower { unlink flag($_[0]) }

# /<store>/<name>.pdb/...: by the name, as long as a flag is raised
sub script {
    my ($c, $req) = @_;
    my ($name) = $req->{path} =~ m{^/\w+/([\w-]+)[.]pdb/}
        or return $c->reply(404, {}, '');
    if ($req->{path} =~ m{^/gated/}) {
        $t->wait_until('the gate opens', sub { !-e flag('gate') });
    }
    return $c->reply(404, {}, '') if $name =~ /^no/;
    return $c->reply(429, { 'Retry-After' => 30 }, '') if $name =~ /^late/;
    return $c->reply(200, { 'Repr-Digest' => 'sha-256=:' . 'A' x 43 . '=:' },
                     $crash) if $name =~ /^other-sum/;
    if ($name =~ /^ssh/) {
        $c->send("SSH-2.0-OpenSSH_9.2\r\n");
        return $c->close;
    }
    return $c->reply(500, {}, '') if -e flag('broken') && $name !~ /other/;
    if ($name =~ /^long/) {
        my $text = $c->reply_text(200, {}, $crash);
        $c->send(substr $text, 0, 4096, '') or return;
        $t->wait_until('the gate opens', sub { !-e flag('gate') });
        return $name =~ /^long-cut/ ? $c->close : $c->send($text);
    }
    if ($name =~ /^slow/) {
        $t->wait_until('the gate opens', sub { !-e flag('gate') });
    }
    return $c->reply(200, {}, $crash);
}
my ($one, $two) = map {
    Test::ScriptedServer->new(log => $t->path("up$_.log"), script => \&script)
} 1, 2;
my $hop = Test::ScriptedServer->new(log => $t->path('hop.log'), script => sub {
    $_[0]->reply(302, { Location => $one->url . $_[1]{path} }, '');
});

my %to = (a => $one->url . '/a', b => $one->url . '/b',
          other => $two->url . '/other', moved => $hop->url . '/moved');

# Sources by the beginning of a name: a-, b-, other-, moved-; of "no" and
# "late", by its end.
sub case {
    my (%limits) = @_;
    $t->stop_symcached;
    return Test::SourceCase->new($t, limits => \%limits,
                                 cache => delete $limits{cache} // {}, sources => {
        map { $_ => { type => 'http', url => $to{$_}, internal => $true,
                      only => "$_\[.]pdb\$" } } keys %to });
}

sub count { scalar grep { $_->{path} =~ $_[1] } $_[0]->requests }

sub host {
    my ($name) = @_;
    my $json = $t->helper_json('/v1/sources');
    return (grep { $_->{name} eq $name } @{ $json->{sources} })[0]{host};
}

# --- a pause

my $c = case();
my $r = $c->undecided('late-a.pdb', 'failed', qr/^429$/,
                      'a server that has enough');
is $r->{retry}, 30, 'its number reaches the client';
my $asked = () = $one->requests;
for ('b', 'moved') {
    $r = $c->undecided("x-$_.pdb", 'failed', qr/wants a pause/,
                       "the same host by way of \"$_\"");
    cmp_ok $r->{retry}, '>', 10, 'has to wait as well';
}
is scalar(() = $one->requests), $asked, 'and is not asked';
$c->found('x-other.pdb', 'another port is another host');
is host('b')->{origin}, $one->url, 'the sources name their host';
cmp_ok host('b')->{not_asked_for}, '>', 10, 'and for how long it is quiet';
ok !exists host('other')->{not_asked_for}, 'the other one is not';
is $t->metric('symcached_fetches_refused_total{reason="pause"}'), 2,
    'counted';
like $t->helper_log, qr/host \Q${\ $one->url}\E: wants a pause of 30 s/,
    'logged';

# --- the circuit breaker

$c = case(breaker_failures => 4, breaker_pause => '6s', attempts => 2);
$c->absent("no$_-a.pdb", qr/^404$/, "miss $_") for 1 .. 3;
is host('a')->{breaker}, 'closed', 'what is not there is no failure';
is host('a')->{failures}, 0, 'and not counted';

$c->undecided('other-sum-a.pdb', 'failed', qr/^damaged on the way/,
              'a file with another SHA-256');
is host('a')->{failures}, 0, 'is no failure of the host, which has sent it';

$c->undecided('ssh-a.pdb', 'failed', qr/HTTP/, 'another protocol');
is host('a')->{failures}, 2, 'is a failure of the host';
$c->found('after-ssh-a.pdb', 'which goes on');

raise('broken');
$c->undecided('one-a.pdb', 'failed', qr/^500$/, 'failures 1 and 2');
is host('a')->{failures}, 2, 'are counted';
$c->undecided('two-b.pdb', 'failed', qr/^500$/, 'failures 3 and 4');
is host('a')->{breaker}, 'open', 'the breaker opens';
my $ctl = Test::Ctl->new($t);
like $ctl->run('sources', $ctl->socket)->{out},
    qr/^a: http:\S+ failed 4 times in a row, first \d{4}-.*, last \d{4}-.*: 500$/m,
    'symcachectl sources tells since when, and why';
$asked = () = $one->requests;
for ('a', 'b', 'moved') {
    $r = $c->undecided("three-$_.pdb", 'failed', qr/failed 4 times in a row; the last time: 500$/,
                       "nothing is asked for by way of \"$_\"");
}
is scalar(() = $one->requests), $asked, 'no request is made';
is host('a')->{cause}, '500', 'the cause is known';
cmp_ok host('a')->{failed_first}, '<=', host('a')->{failed_last},
    'and when it was first and last seen';
$c->found('y-other.pdb', 'the other host is asked');
like $t->metric('symcached_hosts{state="open"}'), qr/^1$/, 'a metric';
is $t->metric('symcached_fetches_refused_total{reason="breaker"}'), 3,
    'what was not asked is counted';

# half open: one request, which fails
sub wait_for_pause {
    $t->wait_until('the pause is over',
                   sub { !exists host('a')->{not_asked_for} });
}
wait_for_pause();
$c->undecided('four-a.pdb', 'failed', qr/in a row/, 'the probe fails');
is count($one, qr{/four-a}), 1, 'after one request';
is host('a')->{breaker}, 'open', 'the breaker is open again';

wait_for_pause();
lower('broken');
raise('gate');
my $s = $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/slow-a.pdb/$id?version=9.0.0&wait=60");
$t->wait_until('the probe is out', sub { count($one, qr{/slow-a}) });
is host('a')->{breaker}, 'half_open', 'half open while a probe is out';
$c->undecided('five-a.pdb', 'failed', qr/in a row/,
              'nobody else is let through meanwhile');
lower('gate');
is $t->read_response($s)->{status}, 200, 'the probe succeeds';
is host('a')->{breaker}, 'closed', 'the breaker closes';
$c->found('six-b.pdb', 'and all goes on');

my $host = quotemeta $one->url;
is_deeply [$t->helper_log =~ m{host $host: (failed 4|asked once|works)}g],
    ['failed 4', 'asked once', 'asked once', 'works'],
    'one line for each change' or diag $t->helper_log;
for (['open', 2], ['half_open', 2], ['closed', 1]) {
    is $t->metric("symcached_breaker_changes_total{to=\"$_->[0]\"}"), $_->[1],
        "changes to $_->[0] are counted";
}

# a probe whose file comes, and takes its time: the others do not wait for it
$c = case(breaker_failures => 2, breaker_pause => '2s', attempts => 1);
for (['long-a', 200], ['long-cut-a', 503]) {
    my ($name, $status) = @$_;
    raise('broken');
    $c->undecided("$name$_-b.pdb", 'failed', qr/^500$/, "failure $_ of 2")
        for 1, 2;
    is host('a')->{breaker}, 'open', 'the breaker opens';
    wait_for_pause();
    lower('broken');
    raise('gate');
    $s = $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/default/$name.pdb/$id?version=9.0.0&wait=60");
    $t->wait_until('a part of it has come', sub {
        count($one, qr{/$name[.]}) && host('a')->{breaker} eq 'closed' });
    $c->found("beside-$name.pdb", "$name: others are let through meanwhile");
    if ($status == 503) {
        raise('broken');
        $c->undecided('beside-b.pdb', 'failed', qr/^500$/, 'one failure');
        is host('a')->{breaker}, 'closed', 'behind a success is the first';
        lower('broken');
    }
    lower('gate');
    is $t->read_response($s)->{status}, $status, 'it comes to its end';
}
is host('a')->{breaker}, 'open', 'one that is cut in the end is the second'
    or diag $t->helper_log;

# a key that was asked for during the pause is remembered no longer than it
raise('broken');
$c = case(breaker_failures => 1, breaker_pause => '3s', attempts => 1,
          cache => { retry_errors_after => '1h' });
$r = $c->undecided('learnt-b.pdb', 'failed', qr/^500$/, 'the only failure');
cmp_ok $r->{retry}, '>', 60, 'which is remembered for long';
$r = $c->undecided('unasked-a.pdb', 'failed', qr/^not asked/, 'during the pause');
cmp_ok $r->{retry}, '<=', 3, 'this one is not';
lower('broken');
$t->wait_until('it is found', sub { $c->ask('unasked-a.pdb')->{status} == 200 });

# off
raise('broken');
$c = case(breaker_failures => 0, attempts => 1);
$c->undecided("off$_-a.pdb", 'failed', qr/^500$/, "failure $_ of 6")
    for 1 .. 6;
lower('broken');
$c->found('on-a.pdb', 'breaker_failures 0: it never opens');

# --- lookups at a time

raise('gate');
$c = case(downloads => 4, downloads_per_host => 2,
          slow_downloads_per_host => 0, breaker_failures => 0);
my @s = map {
    $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/default/slow$_.pdb/$id?version=9.0.0&wait=60")
} '1-a', '2-b', '3-a', '4-b', '5-a';
$t->wait_until('the host has its two', sub {
    host('a')->{lookups} == 2 && count($one, qr{/slow\d-\w}) == 2 });
$c->found('quick-other.pdb', 'a slow host does not keep others waiting');
is $t->metric('symcached_jobs_downloading'), 2,
    'who waits for the host holds no slot';
is $t->metric('symcached_jobs_queued'), 3, 'but waits';
is count($one, qr{/slow\d-\w}), 2, 'and the host gets no more than its two';
lower('gate');
is $t->read_response($_)->{status}, 200, 'found in the end' for @s;
my @order = map { $_->{path} =~ m{/slow(\d)-} } $one->requests;
is_deeply [sort @order], [1 .. 5], 'each asked for once';
is_deeply [sort @order[0, 1]], [1, 2], 'first come, first served';

# who is quick does not wait for a few that are slow: two lookups that have
# taken long leave their places to others, and no more than two
raise('gate');
$c = case(downloads_per_host => 2, slow_downloads_per_host => 2,
          breaker_failures => 0);
sub begin {
    return map { $t->open_http($t->helper_socket, 'GET',
        "/v1/symcache/default/$_.pdb/$id?version=9.0.0&wait=60") } @_;
}
@s = begin(qw(slow11-a slow12-b slow13-a));
for (map { $t->read_response($_) } begin(map { "quick$_-a" } 1 .. 6)) {
    is $_->{status}, 200, 'found while three others are slow'
        or diag $_->{body}, $t->helper_log;
}
# two places become free at once, and who is seen first there is chance
my @first = map { $_->{path} =~ m{/(slow1\d|quick1)-} } $one->requests;
is_deeply [(sort @first[0, 1]), sort @first[2, 3]],
    [qw(slow11 slow12 quick1 slow13)], 'though they had come before';
push @s, begin('slow14-a', 'quick7-b');
$t->wait_until('a fourth is slow', sub { host('a')->{lookups} == 4 });
$t->wait_until('for some time', sub {
    grep { $_->{key} =~ /^slow14/ && $_->{ms} > 3000 }
        @{ $t->helper_json('/v1/jobs')->{jobs} } });
is host('a')->{lookups}, 4, 'but the host never gets more than the sum';
is count($one, qr{/quick7}), 0, 'and who comes then has to wait';
lower('gate');
is $t->read_response($_)->{status}, 200, 'found in the end' for @s;

# a host is free when its lookup has ended, though the job goes on elsewhere
$t->stop_symcached;
raise('gate');
$c = Test::SourceCase->new($t, order => ['first', 'second'],
    limits => { downloads_per_host => 1 }, sources => {
        first => { type => 'http', url => $one->url . '/a',
                   internal => $true },
        second => { type => 'http', url => $two->url . '/gated',
                    internal => $true } });
@s = map { $t->open_http($t->helper_socket, 'GET',
    "/v1/symcache/default/none$_.pdb/$id?version=9.0.0&wait=60") } 1 .. 3;
$t->wait_until('all have left the first', sub {
    count($one, qr{/none\d[.]pd_}) >= 3 && host('second')->{lookups} == 1 });
$c->found('here.pdb', 'the first source is free for others');
lower('gate');
is $t->read_response($_)->{status}, 404, 'all come to their end' for @s;

# a host that nobody asks any more

$t->stop_symcached;
SKIP: {
    my $clock = Test::Clock->new($t) or skip Test::Clock::why(), 4;
    raise('broken');
    $c = Test::SourceCase->new($t, env => $clock->env(all => 1),
        limits => { breaker_failures => 1, breaker_pause => '30s', attempts => 1 },
        sources => { a => { type => 'http', url => $one->url . '/a', internal => $true } });
    $c->undecided('five-a.pdb', 'failed', qr/500/, 'it fails');
    my $open = sub {
        $t->metric('symcached_hosts{state="open"}') . ' ' . host('a')->{breaker};
    };
    is $open->(), '1 open', 'the breaker opens';
    $clock->set(600);
    is $open->(), '1 open', '... which an alert has time to tell';
    $clock->set(660);
    is $open->(), '0 closed', '... and ends though nobody asks';
    lower('broken');
}

$t->finish;
done_testing;
