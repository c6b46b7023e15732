#!/usr/bin/env perl

# Metrics of module and daemons: in base units, under names that tell their
# type, and nothing that promtool, where it is there, has a word against.
# Histograms add up, and a process says of itself what the kernel says of it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $config = $t->default_config('', cache => { clean_every => '1s' });
$config->{sources}{upstream} = { type => 'filesystem',
                                 path => $t->path('symbols') };
$t->symbol_store('symbols');
$config->{symbolication} = { listen => 'unix:' . $t->symbolicated_socket };
$t->start_symcached($config);
$t->start_symbolicated;
$t->start_nginx(<<'EON', http => 'symcache_zone z:1m; symcache_zone z;');
    location /s/ {
        symcache %%DIR%%/store;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_async_after 20.0.0;
    }
    location = /status { symcache_status; }
EON

is $t->get('/s/' . $t->request_path('crash.pdb'))->{status}, 200, 'a file';
$t->wait_until('a pass of cleaning', sub {
    $t->metric('symcached_clean_passes_total{result="ok"}');
});

my %text = (
    helper => $t->helper('GET', '/metrics')->{body},
    module => $t->get('/status?format=prometheus')->{body},
    symbolicated =>
        $t->http($t->symbolicated_socket, 'GET', '/metrics')->{body},
);

# --- histograms, of one job that one lookup waited for

for my $name (qw(lookup job download transcode)) {
    my $of = qr/symcached_${name}_seconds/;
    my %bucket = $text{helper} =~ /^${of}_bucket\{le="([^"]+)"\} (\d+)$/mg;
    my @bounds = $text{helper} =~ /^${of}_bucket\{le="([\d.]+)"\}/mg;
    is_deeply \@bounds, [sort { $a <=> $b } @bounds],
        "$name: bounds that grow";
    is $bucket{'+Inf'}, 1, "$name: one value";
    my ($sum) = $text{helper} =~ /^${of}_sum (\S+)$/m;
    my ($count) = $text{helper} =~ /^${of}_count (\d+)$/m;
    is $count, 1, "$name: is counted";
    is_deeply [grep { $_ ne '+Inf' && $bucket{$_} != ($sum <= $_ ? 1 : 0) }
        keys %bucket], [], "$name: is in its bucket and all above";
}
my ($job, $run) = map { $text{helper} =~ /^symcached_${_}_seconds_sum (\S+)$/m }
    qw(job transcode);
cmp_ok $run, '>', 0, 'a transcoder takes time';
cmp_ok $job, '>=', $run, 'and is a part of its job';

# --- the processes

for ([helper => $t->{helper}], [symbolicated => $t->{symbolicated}]) {
    my ($daemon, $pid) = @$_;
    my %value = $text{$daemon} =~ /^process_(\w+) (\S+)$/mg;
    my %kernel = map { /^(\w+):\s+(\d+)/ ? ($1 => $2) : () }
        split /\n/, $t->read_file("/proc/$pid/status");
    my ($max) = $t->read_file("/proc/$pid/limits")
        =~ /^Max open files +(\d+)/m;
    is $value{max_fds}, $max, "$daemon: limit of descriptors";
    cmp_ok $value{open_fds}, '>', 3, "$daemon: open ones";
    cmp_ok $value{open_fds}, '<', $max, "$daemon: below the limit";
    cmp_ok $value{resident_memory_bytes}, '<=', 1024 * $kernel{VmHWM},
        "$daemon: memory, at most the highest so far";
    cmp_ok $value{resident_memory_bytes}, '>', 0, "$daemon: and some";
    cmp_ok $value{virtual_memory_bytes}, '<=', 1024 * $kernel{VmPeak},
        "$daemon: address space";
    cmp_ok $value{cpu_seconds_total}, '>', 0, "$daemon: processor";
    my ($own) = $text{$daemon} =~ /^symb?\w+_start_time_seconds (\d+)$/m;
    # the kernel's is that of the fork
    cmp_ok abs($value{start_time_seconds} - $own), '<', 60, "$daemon: the time of its start";
}

# --- names and units

my $promtool = grep { -x "$_/promtool" } split /:/, $ENV{PATH};
for my $name (sort keys %text) {
    my $text = $text{$name};
    my @wrong = grep { !/_total counter$|(?<!_total) (?:gauge|histogram)$/ }
        $text =~ /^# TYPE (.*)$/mg;
    is_deeply \@wrong, [], "$name: counters end in _total, and only they";
    unlike $text, qr/milli|micro|kilo|mega|minutes|percent/,
        "$name: base units";
    SKIP: {
        skip 'no promtool (package prometheus)', 1 unless $promtool;
        my $file = $t->write_file($name, $text);
        is qx(promtool check metrics <$file 2>&1), '', "$name: promtool";
    }
}

SKIP: {
    skip 'no promtool (package prometheus)', 1 unless $promtool;
    my $file = "$Test::Symcache::top/conf-examples/prometheus.yml";
    my $out = qx(promtool check config $file 2>&1);
    is $?, 0, 'prometheus.yml: promtool' or diag $out;
}

$t->finish;
done_testing;
