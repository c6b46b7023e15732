#!/usr/bin/env perl

# The status page as a browser has it: a headless Chromium reads its numbers
# while a load runs, and they are those of the JSON form and of the load.
#
# SCREENSHOT=file keeps a picture of the page.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Path qw(make_path remove_tree);
use JSON::PP;
use POSIX ();
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;
use Time::HiRes qw(sleep time);

my ($chromium) = grep { -x } map { "$_/chromium" } split /:/, $ENV{PATH};
plan skip_all => 'no chromium here' unless $chromium;
plan skip_all => 'chromium loads no library of a sanitizer'
    if $Test::Symcache::san;

my $t = Test::Symcache->new;
my $port = Test::Symcache::free_port();
my $page = "http://127.0.0.1:$port/status";
my $profile = $t->path('profile');
make_path($profile);

# Runs Chromium to its end, in a group of its own; returns what it prints.
sub chromium {
    my (@args) = @_;
    my $out = $t->path('chromium.out');
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        POSIX::setpgid(0, 0);
        open STDIN,  '<', '/dev/null';
        open STDOUT, '>', $out;
        open STDERR, '>', $t->path('chromium.err');
        $ENV{HOME} = $profile;
        exec $chromium, qw(--headless --no-sandbox --disable-gpu
            --disable-quic --no-first-run --disable-background-networking
            --disable-component-update --disable-sync --disable-dev-shm-usage
            --hide-scrollbars), "--user-data-dir=$profile", @args
            or POSIX::_exit(127);
    }
    my $end = time + $Test::Symcache::patience;
    sleep 0.05 while waitpid($pid, POSIX::WNOHANG()) == 0 && time < $end;
    my $status = time < $end ? $? : -1;
    kill 'KILL', -$pid;
    waitpid $pid, 0;
    is $status, 0, 'chromium has ended well'
        or diag $t->read_file('chromium.err');
    return $t->read_file($out);
}

sub numbers {
    my ($dom) = @_;
    my %n;
    $n{$1} = $2 while $dom =~ m{<td[^>]* id="(\w+)"[^>]*>(\d+)<}g;
    $n{"jobs.$1"} = $2 while $dom =~ m{data-key="(\w+)">(\d+)<}g;
    ($n{ratio}) = $dom =~ m{id="ratio">([\d.]+)};
    return \%n;
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
$t->start_symcached($config);
$t->start_nginx($t->default_locations('symcache_zone z;') . <<'EON',
    location = /status {
        symcache_status; symcache_zone z; symcache_pass unix:%%DIR%%/h.sock;
    }
EON
    workers => 2, http => 'symcache_zone z:256k;',
    listen => "listen unix:%%DIR%%/n.sock; listen 127.0.0.1:$port;");

my @poll = ('Allow-Retry-After: true');
my $running = '/poll/' . $t->request_path('basic32.pdb');
my $hit = '/poll/' . $t->request_path('crash.pdb');

$t->write_file('gate', '');
is $t->get('/hold/' . $t->request_path('crash.pdb'))->{status}, 200, 'made';
unlink $t->path('gate');
is $t->get($running, @poll)->{status}, 404, 'a job that runs on';
$t->get("/poll/v9.0.0/a%26'b.pdb/" . ('A' x 32) . '/1', @poll);
$t->wait_until('a failure', sub {
    my $h = status()->{helper};
    return @{ $h->{misses} } && $h->{jobs}{transcoding} == 1;
});

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

my $before = status();
my $dom = chromium('--dump-dom', $page);
my $after = status();
my $n = numbers($dom);
cmp_ok $n->{hit}, '>=', $before->{requests}{hit}, 'hits: not before';
cmp_ok $n->{hit}, '<=', $after->{requests}{hit}, 'hits: not after';
cmp_ok $after->{requests}{hit}, '>', $before->{requests}{hit}, 'a load runs';
is $n->{"jobs.$_"}, $after->{helper}{jobs}{$_}, "jobs: $_"
    for qw(total queued downloading transcoding);
is $after->{helper}{jobs}{transcoding}, 1, 'one of them is that job';
like $dom, qr{<td>default</td><td class="k">basic32\.pdb/\w+</td>.*transcoding}s,
    'it is on the page';
like $dom, qr{<td>upstream</td><td>http</td><td><strong>failing},
    'the source that fails';
like $dom, qr{<td>local</td><td>filesystem</td><td>ok</td>},
    'and the one that does not';
like $dom, qr{<td class="k">a&amp;'b\.pdb/A+1</td>}, 'a miss, its name as text';
like $dom, qr{<td>error</td><td class="t">local: not found .*; upstream: failed .*500},
    'with its reason';

$t->write_file('enough', '');
waitpid $load, 0;
my $sent = $t->read_file('load');

# --- after it

$t->wait_until('all are counted', sub {
    status()->{requests}{hit} == $sent });
$n = numbers(chromium('--dump-dom', "$page?refresh=off"));
my $json = status();
is $n->{hit}, $sent, 'hits: as many as were made';
is_deeply { map { $_ => $n->{$_} } keys %{ $json->{requests} } },
    $json->{requests}, 'every number is that of the JSON form';
is $n->{ratio}, sprintf('%.1f', int(1000 * $sent / ($sent + 1)) / 10),
    'hit ratio';

my $picture = $ENV{SCREENSHOT} // $t->path('page.png');
chromium("--screenshot=$picture", '--window-size=1200,1900',
         "$page?refresh=off");
like $t->read_file($picture), qr/^\x89PNG/, 'a picture';

remove_tree($profile);
ok !-e $profile, 'nothing of the browser is left';

$t->write_file('gate', '');
$t->wait_until('the job ends', sub { status()->{helper}{jobs}{total} == 0 });
$s->stop;
$t->finish;
done_testing;
