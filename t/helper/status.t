#!/usr/bin/env perl

# /v1/misses and /v1/status: the latest jobs without a file and why, the
# health of sources, and the lines for the module's status page.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;
use Test::ScriptedServer;

my $t = Test::Symcache->new;
my $guid = '0123456789ABCDEF0123456789ABCDEF1';

my $s = Test::ScriptedServer->new(log => $t->path('requests'),
    script => sub {
    my ($c, $req) = @_;
    return $c->reply(500, {}, "a\tb\n") if $req->{path} =~ /error/;
    $c->reply(404, {}, '');
});
$t->start_symcached({
    %{ $t->default_config($s->{url}) },
    cache => { retry_errors_after => '1h' },
});

sub ask {
    my ($name) = @_;
    return $t->helper('GET',
        "/v1/symcache/default/$name/$guid?version=9.0.0&wait=60");
}

sub status { $t->helper('GET', '/v1/status')->{body} }
sub lines { map { [split /\t/, $_, -1] } grep { /^$_[0]\t/ } split /\n/, status() }

is_deeply $t->helper_json('/v1/misses'), { misses => [] }, 'no miss yet';
is((lines('source'))[0][3], 'not asked yet', 'health: not asked yet');
is_deeply [lines('helper')], [[qw(helper 0 0 0 0 0)]], 'nothing runs';

is ask('a&lt;b.pdb')->{status}, 404, 'a miss';
my $m = $t->helper_json('/v1/misses')->{misses};
is scalar(@$m), 1, 'is remembered';
is $m->[0]{outcome}, 'notfound', 'with its outcome';
is $m->[0]{key}, "a&lt;b.pdb/$guid", 'key';
is $m->[0]{version}, '9.0.0', 'version';
is $m->[0]{store}, 'default', 'store';
like $m->[0]{reason}, qr/^upstream: not found \([^;]*404[^;]*$/, 'and reason';
cmp_ok abs(time - $m->[0]{time}), '<', 60, 'and time';
is((lines('source'))[0][3], 'ok', 'health: ok');

ask('a&lt;b.pdb');
is scalar(@{ $t->helper_json('/v1/misses')->{misses} }), 1,
    'what a negative entry answers is no new one';

is ask('error.pdb')->{status}, 503, 'a failure';
is $t->helper_json('/v1/misses')->{misses}[0]{outcome}, 'error',
    'is the newest';
is $t->helper_json('/v1/sources')->{sources}[0]{health}, 'failing',
    'health: failing';
my ($line) = lines('miss');
is scalar(@$line), 7, 'a line of text has its fields';
is_deeply [@$line[2 .. 5]], ['default', "error.pdb/$guid", '9.0.0', 'error'],
    'in their order';
is scalar(@{ (lines('source'))[0] }), 12, 'of a source, too';

ask("m$_.pdb") for 1 .. 25;
$m = $t->helper_json('/v1/misses')->{misses};
is scalar(@$m), 20, 'the latest twenty';
is $m->[0]{key}, "m25.pdb/$guid", 'newest first';
is scalar(() = lines('miss')), 20, 'as lines';

my $long = '%C3%A9' x 100;
ask("$long.pdb");
like status(), qr/^miss\t[^\n]*\n/m, 'a long name';
ok utf8::decode(my $copy = status()), 'the text is UTF-8';

is $t->helper('GET', '/v1/status?x=1')->{status}, 400, 'no query';
is $t->helper('POST', '/v1/misses')->{status}, 405, 'no POST';

# --- a host that wants a pause

$s->stop;
$s = Test::ScriptedServer->new(log => $t->path('requests'), script => sub {
    $_[0]->reply(429, { 'Retry-After' => 300 }, '');
});
my $paused = $t->default_config($s->{url});
$paused->{cache} = { retry_errors_after => '1h' };
$t->write_helper_config($paused);
kill 'HUP', $t->{helper};
$t->wait_until('reload', sub {
    $t->metric('symcached_reloads_total{result="ok"}') == 1 });
ask('pause.pdb');
is $t->helper_json('/v1/sources')->{sources}[0]{health}, 'left alone',
    'health: left alone';
cmp_ok((lines('source'))[0][4], '>', 200, 'and for how long');

# --- what runs

$t->stop_symcached;
$t->start_symcached({
    %{ $t->default_config($s->{url}, gated => 1) },
    sources => { upstream => { type => 'filesystem',
        path => $t->symbol_store('symbols') } },
});
my $key = $Test::Symcache::key{'crash.pdb'};
$t->helper('GET', "/v1/symcache/default/crash.pdb/$key?version=9.0.0");
$t->wait_until('it is transcoded', sub {
    my ($l) = lines('job');
    return $l && $l->[4] eq 'transcoding';
});
is_deeply [@{ (lines('job'))[0] }[1 .. 3]],
    ['default', "crash.pdb/$key", '9.0.0'], 'a job that runs';
is_deeply [lines('helper')], [[qw(helper 1 0 0 1 0)]], 'is counted';
$t->write_file('gate', '');
$t->wait_until('its end', sub { !lines('job') });

$s->stop;
$t->finish;
done_testing;
