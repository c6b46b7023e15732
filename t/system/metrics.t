#!/usr/bin/env perl

# Metrics of helper and module: in base units, under names that tell their
# type, and nothing that promtool, where it is there, has a word against.  The
# former names of this release's are left out, but for their values.

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
$t->start_symcached($config);
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

my $former = qr/_milliseconds(?:_total)?\b/;
my %text = (
    helper => $t->helper('GET', '/metrics')->{body},
    module => $t->get('/status?format=prometheus')->{body},
);

my %value = $text{helper} =~ /^(\w+) (\S+)$/mg;
for (qw(download_%s_total transcode_%s_total clean_%s)) {
    my $name = "symcached_$_";
    my ($new, $old) = map { $value{sprintf $name, $_} }
        qw(seconds milliseconds);
    cmp_ok abs($new - $old / 1000), '<', 0.001, "$_: the former is the same";
}
cmp_ok $value{symcached_transcode_milliseconds_total}, '>', 0, 'a run';

my $promtool = grep { -x "$_/promtool" } split /:/, $ENV{PATH};
for my $name (sort keys %text) {
    my $text = join '', grep { !/$former/ } split /^/, $text{$name};
    my @wrong = grep { !/_total counter$|(?<!_total) gauge$/ }
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
