#!/usr/bin/perl

# What operators look at: a real Prometheus scrapes nginx, symcached and
# symbolicated as conf-examples/prometheus.yml says, every query of the Grafana
# dashboard gives a series there, and the alert rules say what they should of
# series that are made up (promtool's own unit tests).  Grafana itself is in no
# registry that Debian has: the dashboard is looked at as data.

use strict;
use warnings;

use File::Copy qw(copy);
use FindBin;
use lib "$FindBin::Bin/../lib";
use HTTP::Tiny;
use JSON::PP qw(decode_json encode_json);
use Test::Example;
use Test::More;
use Test::Symcache;

my $top = $Test::Symcache::top;
for my $program (qw(prometheus promtool)) {
    grep { -x "$_/$program" } split /:/, $ENV{PATH}
        or plan skip_all => "no $program (package prometheus)";
}

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $port = $t->free_port;
my $scraped = $t->free_port;

sub example { $t->read_file("$top/conf-examples/$_[0]") }

# --- promtool

copy("$top/conf-examples/alerts.yml", $dir);
copy("$top/t/data/monitoring/alerts_test.yml", $dir);
for (['check', 'rules', 'alerts.yml'], ['test', 'rules', 'alerts_test.yml']) {
    my $out = qx(cd $dir && promtool @$_ 2>&1);
    is $?, 0, "promtool @$_" or diag $out;
}
my %alerts = map { $_ => 1 } example('alerts.yml') =~ /alert: (\w+)/g;
my %tested = map { $_ => 1 }
    $t->read_file('alerts_test.yml') =~ /alertname: (\w+)/g;
is_deeply \%tested, \%alerts, 'each alert is tested';

# --- Prometheus with the example's jobs, and the servers that they name

my $config = $t->default_config('http://127.0.0.1:1');
$config->{stores}{default}{sources} = ['local'];
$config->{sources} = { local => { type => 'filesystem',
    path => $t->path('symbols') } };
$config->{symbolication} = { listen => 'unix:' . $t->symbolicated_socket };
$t->symbol_store('symbols');
$t->start_symcached($config);
$t->start_symbolicated;

Test::Example::start($t, 'metrics.conf',
    put => { 'listen 9145;' => "listen 127.0.0.1:$scraped;" });

my $scrape = example('prometheus.yml');
$scrape =~ s/targets: \[.*\]/targets: ['127.0.0.1:$scraped']/g;
$t->write_file('prometheus.yml',
               "global: { scrape_interval: 1s, evaluation_interval: 1s }\n"
               . $scrape);
$t->spawn('prometheus.out', {}, 'prometheus',
    "--config.file=$dir/prometheus.yml", "--storage.tsdb.path=$dir/tsdb",
    "--web.listen-address=127.0.0.1:$port", '--log.level=warn');

my $client = HTTP::Tiny->new(timeout => 5);

sub api {
    my ($path, %query) = @_;
    my $r = $client->get("http://127.0.0.1:$port/api/v1/$path?"
                         . $client->www_form_urlencode(\%query));
    return $r->{success} ? decode_json($r->{content})->{data} : undef;
}

my $key = substr $Test::Symcache::key{'crash.pdb'}, 0, 32;
$t->wait_until('all three are scraped', sub {
    my $up = api('query', query => 'sum(up)');
    return $up && @{ $up->{result} } && $up->{result}[0]{value}[1] == 3;
});
$t->wait_until('a SymCache', sub {
    $t->get("/symcache/v9.0.0/crash.pdb/$key/1")->{status} == 200 });

# --- every query of the dashboard

my $dashboard = decode_json(example('grafana-dashboard.json'));
is $dashboard->{templating}{list}[0]{type}, 'datasource',
    'the data source is asked for';
my %known = map { $_ => 1 } qw(stat timeseries row);
my $queries = 0;
for my $panel (@{ $dashboard->{panels} }) {
    ok $known{$panel->{type}}, "panel $panel->{title}: $panel->{type}";
    for my $target (@{ $panel->{targets} // [] }) {
        my $query = $target->{expr};
        $query =~ s/\$__rate_interval/10s/g;
        $query =~ s/\$instance/.*/g;
        my $data = api('query', query => $query);
        ok $data, "$panel->{title}: Prometheus takes $target->{refId}"
            or diag $query;
        unlike encode_json($data // []), qr/"NaN"/,
            'which is no NaN where nothing happens';
        $queries++;
    }
}
cmp_ok $queries, '>', 20, 'there are queries';
my $data = $t->wait_until('a ratio of hits', sub {
    $t->get("/symcache/v9.0.0/crash.pdb/$key/1");
    my ($stat) = grep { $_->{title} eq 'Hit ratio' } @{ $dashboard->{panels} };
    my $query = $stat->{targets}[0]{expr};
    $query =~ s/\$__rate_interval/10s/g;
    $query =~ s/\$instance/.*/g;
    my $answer = api('query', query => $query);
    return $answer && @{ $answer->{result} }
        && $answer->{result}[0]{value}[1] > 0 && $answer;
});
cmp_ok $data->{result}[0]{value}[1], '<=', 1, 'of at most one';

# Prometheus loads the rules; an alert of a helper that is gone is pending.
$t->stop_symcached;
ok $t->wait_until('an alert', sub {
    my $alerts = api('alerts') or return;
    return grep { $_->{labels}{alertname} eq 'SymcachedDown' }
        @{ $alerts->{alerts} };
}), 'a helper that is gone is noticed';

$t->finish;
done_testing;
