#!/usr/bin/env perl

# conf-examples/ do what they say: a fleet with helpers that fail, limits,
# the access log, gzip, and metrics as prometheus.yml scrapes them.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Example;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $port = Test::Symcache::free_port();
my $key = $Test::Symcache::key{'crash.pdb'};
my @poll = ('Allow-Retry-After: true');

sub h { Test::Symcache::header(@_) }
sub example { Test::Example::text($t, $_[0]) }

# Starts nginx with an example; %put has what differs on this machine.
sub start_example {
    my ($name, %put) = @_;
    my ($address) = ($put{'listen 80;'} // '') =~ /(127\S+);/;
    Test::Example::start($t, $name, put => \%put, address => $address);
}

sub uri {
    my ($pdb, $id) = @_;
    return "/symcache/v9.0.0/$pdb/" . ($id // substr($key, 0, 32)) . '/1';
}

sub helper_config {
    my ($name, %o) = @_;
    my $config = $t->default_config('http://127.0.0.1:1', %o);
    $config->{listen} = "unix:$dir/$name.sock";
    $config->{downloads} = "$dir/downloads-$name";
    $config->{stores}{default}{sources} = ['local'];
    $config->{sources} = { local => { type => 'filesystem',
        path => $t->path('symbols') } };
    return $config;
}

$t->symbol_store('symbols');

# --- metrics.conf and prometheus.yml

$t->start_symcached(helper_config('h'));
start_example('metrics.conf', 'listen 9145;' => "listen unix:$dir/m.sock;");
is $t->get(uri('crash.pdb'), @poll)->{status}, 404, 'a miss';
$t->wait_until('made', sub { $t->get(uri('crash.pdb'))->{status} == 200 });

my $scrape = example('prometheus.yml');
my @targets = $scrape =~ /targets: \[(.*)\]/g;
is_deeply [grep { !/^'[\w-]+:9145'$/ } map { split /, / } @targets], [],
    'prometheus.yml has the port of metrics.conf';
my ($module, $helper) = $scrape =~ /metrics_path: (\S+)/g;
my ($format) = $scrape =~ /format: \[(\w+)\]/;
my $r = $t->http("$dir/m.sock", 'GET', "$module?format=$format");
like $r->{body}, qr/^symcache_requests_total\{zone="symcache",status="hit"\} \d/m,
    'metrics of the module';
# the file is there before its job has ended
my $published = qr/^symcached_jobs_finished_total\{outcome="published"\} 1$/m;
$t->wait_until('the job ends', sub {
    $r = $t->http("$dir/m.sock", 'GET', $helper);
    return $r->{body} =~ $published;
});
like $r->{body}, $published,
    'metrics of the helper';
like $t->http("$dir/m.sock", 'GET', '/')->{body}, qr/Upstream sources/,
    'and the page';
$t->stop_nginx;

# --- log.conf

start_example('log.conf');
is $t->get(uri('crash.pdb'))->{status}, 200, 'log.conf: a hit';
my $line = $t->wait_until('its line', sub { $t->read_file('symcache.log') });
like $line, qr{^unix:\ \S+T\S+\ 200\ HIT\ crash\.pdb/\w+\ v=9\.0\.0
               \ bytes=\d+\ time=[\d.]+\ helper="-"\ took="-"$}x,
    'log.conf: the line';
my $object = JSON::PP::decode_json($t->wait_until('its object',
    sub { $t->read_file('symcache.json') }));
is_deeply [@$object{qw(method status symcache version)}],
    ['GET', 200, 'HIT', '9.0.0'], 'log.conf: the same as JSON';
$t->stop_nginx;

# --- gzip.conf

$t->stop_symcached;
my $config = helper_config('h');
$config->{stores}{default}{gzip} = JSON::PP::true();
$t->start_symcached($config);
$t->helper('GET', "/v1/symcache/default/crash.pdb/$key?version=9.0.0");
$t->wait_until('a sidecar', sub { $t->metric('symcached_gzip_made_total') });
start_example('gzip.conf');
is h($t->get(uri('crash.pdb'), 'Accept-Encoding: gzip'), 'Content-Encoding'),
    'gzip', 'gzip.conf: compressed';
is h($t->get(uri('crash.pdb')), 'Content-Encoding'), undef,
    'gzip.conf: for who accepts it';
$t->stop_nginx;
$t->stop_symcached;

# --- limits.conf: more than the burst

start_example('limits.conf', 'listen 80;' => "listen 127.0.0.1:$port;");
my %n;
for my $connection (1 .. 12) {
    my $c = Test::Symcache::connect_to("127.0.0.1:$port");
    syswrite $c, join '', map {
        Test::Symcache::request_text('HEAD', uri('crash.pdb'),
            $_ < 100 ? 'Connection: keep-alive' : ()) } 1 .. 100;
    my $got = '';
    1 while sysread $c, $got, 1 << 20, length $got;
    $n{$_}++ for $got =~ m{^HTTP/1\.1 (\d+)}mg;
}
is join(' ', sort keys %n), '200 429', 'limits.conf: served, or later';
cmp_ok $n{200}, '>', 1000, 'limits.conf: a burst is served';
cmp_ok $n{429}, '>', 0, 'limits.conf: and no more';
is $n{200} + $n{429}, 1200, 'limits.conf: all are answered';
$t->stop_nginx;

# --- fleet.conf: three helpers, of which one is down and another one stops

my $count = sub {
    my ($name) = @_;
    my $body = $t->http("$dir/$name.sock", 'GET', '/metrics')->{body};
    my ($absent) = $body =~ /^symcached_lookups_total\{answer="absent"\} (\d+)/m;
    return $absent;
};
my %helper;
for my $name (qw(h1 h2)) {
    my $file = $t->write_file("$name.json",
        JSON::PP->new->encode(helper_config($name)));
    $helper{$name} = $t->spawn('symcached.log', { $t->sanitizer_env(0) },
        $t->program('symcached'), '-c', $file);
}
$t->wait_until($_, sub { Test::Symcache::connects("$dir/$_.sock") })
    for sort keys %helper;

start_example('fleet.conf', map { ("10.0.0.$_:8127" => "unix:$dir/h$_.sock") }
    1 .. 3);

# Asks for keys until every answer is final; returns how many were.
sub ask_fleet {
    my ($from, $to) = @_;
    my %open = map { $_ => 1 } $from .. $to;
    $t->wait_until("keys $from to $to", sub {
        for my $i (sort keys %open) {
            my $r = $t->get(uri("k$i.pdb", sprintf '%032X', $i), @poll);
            delete $open{$i} if $r->{status} == 404 && !h($r, 'Retry-After');
        }
        return !%open;
    });
    return $to - $from + 1 - keys %open;
}

is ask_fleet(1, 30), 30, 'fleet.conf: one helper is down, all is answered';
my ($first, $second) = map { $count->($_) } qw(h1 h2);
cmp_ok $first, '>', 0, 'by the first helper';
cmp_ok $second, '>', 0, 'and by the second';
is $first + $second, 30, 'each key by one of them';

my $status = $t->stop_pid(delete $helper{h1}, 'TERM');
is $status, 0, 'the first helper stops';
is ask_fleet(31, 60), 30, 'all is answered by the second';
is $count->('h2'), $second + 30, 'namely these';
$t->wait_until('made', sub { $t->get(uri('crash.pdb'))->{status} == 200 });
pass 'a file of the shared store';

$t->stop_nginx;
$t->stop_pid($_, 'TERM') for values %helper;

$t->finish;
done_testing;
