#!/usr/bin/perl

# The pictures of the documents, taken of what runs: the status page, and a
# profile as a flame graph before and after its names.
#
# PICTURES=docs/pictures puts them there.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Path qw(make_path);
use Test::Browser;
use Test::More;
use Test::Peer;
use Test::ScriptedServer;
use Test::Symcache;

plan skip_all => 'no chromium here' unless Test::Browser::program();
plan skip_all => 'chromium loads no library of a sanitizer'
    if $Test::Symcache::san;

my $t = Test::Symcache->new;
my $speedscope = Test::Peer::folder('speedscope')
    . '/node_modules/speedscope/dist/release';
my $port = Test::Symcache::free_port();
my $browser;

sub wait_for {
    my ($what, $expression) = @_;
    $t->wait_until($what, sub { $browser->value($expression) });
}

sub picture {
    my ($name, $width, $height) = @_;
    $browser->call('Emulation.setDeviceMetricsOverride', width => $width,
        height => $height, deviceScaleFactor => 1,
        mobile => JSON::PP::false());
    my $png = $browser->picture(x => 0, y => 0, width => $width,
                                height => $height, scale => 1);
    like $png, qr/^\x89PNG/, "a picture: $name";
    return unless $ENV{PICTURES};
    open my $f, '>:raw', "$ENV{PICTURES}/$name.png" or die "$name: $!";
    print $f $png;
    close $f or die "$name: $!";
}

# --- a server with a source that works, and one that fails

my $vendor = Test::ScriptedServer->new(log => $t->path('requests'),
    script => sub { $_[0]->reply(503, {}, '') });
my $config = $t->default_config($vendor->url);
my $store = $config->{stores}{default};
$config->{sources} = {
    builds => { type => 'filesystem', path => $t->symbol_store('symbols') },
    vendor => { type => 'http', url => $vendor->url,
                internal => JSON::PP::true() },
};
$store->{sources} = ['builds', 'vendor'];
$t->start_symcached($config);
$t->start_symbolicated($config);
$t->start_nginx($t->default_locations('symcache_zone z;') . <<"EON",
    location = /status {
        symcache_status; symcache_zone z; symcache_pass unix:%%DIR%%/h.sock;
    }
    location /speedscope/ { alias $speedscope/; }
    location /profiles/ { alias %%DIR%%/profiles/; }
EON
    http => 'symcache_zone z:256k; include /etc/nginx/mime.types;',
    listen => "listen unix:%%DIR%%/n.sock; listen 127.0.0.1:$port;");

my @paths = map { '/hold/' . $t->request_path($_) } 'crash.pdb', 'basic32.pdb';
is $t->get($_)->{status}, 200, 'made' for @paths;
is $t->get('/hold/v9.0.0/driver.pdb/' . 'A' x 32 . '/1')->{status}, 503,
    'one that fails';
$browser = Test::Browser->start($t->path('browser'));
$browser->visit("http://127.0.0.1:$port/status");
wait_for('symcached has answered', "document.readyState === 'complete'"
    . " && document.getElementById('live')?.hidden === false"
    . " && !document.querySelector('div[data-state=answered]').hidden");
$t->wait_until('curves', sub {
    $t->get($_) for (@paths) x 8;
    $browser->value(
        "document.querySelector('#ratio-caption').parentNode"
        . ".querySelector('path')?.getAttribute('d')?.length > 40");
});
ok((grep { /vendor.*failing/ } $browser->texts('ul.bad li')),
   'what fails stands first') or diag $browser->texts('body');
picture('status-page', 1200, 1500);

# --- a profile

$t->write_file('app.c', <<'EOC');
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static unsigned long hash(const char *s)
{
    unsigned long h = 5381;
    while (*s) { h = h * 33 + (unsigned char)*s++; }
    return h;
}
static int compare(const void *a, const void *b)
{
    unsigned long x = hash(a), y = hash(b);
    return (x > y) - (x < y);
}
static void swap(char *a, char *b)
{
    char t[64];
    memcpy(t, a, 64);
    memcpy(a, b, 64);
    memcpy(b, t, 64);
}
static void read_keys(char (*keys)[64], int n)
{
    for (int i = 0; i < n; i++) {
        snprintf(keys[i], 64, "module-%d.pdb/%032x", rand(), rand());
    }
}
static void sort_keys(char (*keys)[64], int n)
{
    int i, last = 0;
    if (n < 2) { return; }
    for (i = 1; i < n; i++) {
        if (compare(keys[i], keys[0]) < 0) { swap(keys[++last], keys[i]); }
    }
    swap(keys[0], keys[last]);
    sort_keys(keys, last);
    sort_keys(keys + last + 1, n - last - 1);
}
static unsigned long write_answer(char (*keys)[64], int n)
{
    unsigned long sum = 0;
    for (int r = 0; r < 40; r++) {
        for (int i = 0; i < n; i++) { sum ^= hash(keys[i]); }
    }
    return sum;
}
static unsigned long serve(int n)
{
    char (*keys)[64] = malloc(64 * n);
    read_keys(keys, n);
    sort_keys(keys, n);
    unsigned long sum = write_answer(keys, n);
    free(keys);
    return sum;
}
int main(void)
{
    unsigned long sum = 0;
    for (int i = 0; i < 60; i++) { sum += serve(5000); }
    return sum == 1;
}
EOC
my ($dir, $app) = ($t->dir, $t->path('app'));
system("cd '$dir' && cc -O0 -g -static"
    . ' -Wl,--build-id -o app.debug app.c'
    . ' && strip -o app app.debug') == 0 or die;
# perf keeps names of what it has seen in its user's folder
local $ENV{HOME} = $dir;
my $sampled = system("perf record -q -e cpu-clock -F 997 --buildid-mmap -g"
    . " -o '$dir/perf.data' '$app' >'$dir/perf.log' 2>&1");
SKIP: {
    skip 'perf cannot sample here', 4 if $sampled != 0;
    make_path("$dir/profiles");
    my $text = `cd '$dir' && perf script -i perf.data --show-mmap-events 2>/dev/null`;
    $t->write_file('before.txt', $text =~ s/^swapper .*\n//mgr);
    my ($id) = $text =~ /<(\w{32})\w+>\]: \S+ \Q$app\E$/m or die;
    my @id = unpack 'a8 a4 a4 a16', $id;
    my $folder = "$dir/store2/_/" . uc join('', # as a debug id
        (map { unpack 'H*', reverse pack 'H*', $_ } @id[0 .. 2]), $id[3], 0);
    make_path($folder);
    system($t->program('symcachectl'), 'convert', '-o',
           "$folder/_-v9.0.0.symcache", "$dir/app.debug") == 0 or die;
    system("'" . $t->program('symcachectl') . "' symbolicate --root"
        . " '$dir/store2' '$dir/before.txt' >'$dir/after.txt'") == 0 or die;
    # which speedscope would take for samples
    $t->write_file("profiles/$_.txt",
        $t->read_file("$_.txt") =~ s/^.*PERF_RECORD.*\n//mgr)
        for qw(before after);
    ok $t->read_file('profiles/before.txt') !~ /sort_keys/, 'no names';
    ok $t->read_file('profiles/after.txt') =~ /sort_keys/, 'names';
    for my $when (qw(before after)) {
        $browser->visit("http://127.0.0.1:$port/speedscope/index.html"
            . "#profileURL=/profiles/$when.txt&view=left-heavy");
        wait_for('it is drawn', '/^app.* - speedscope$/.test(document.title)');
        picture("flame-graph-$when", 1000, 320);
    }
}
$browser->stop;
$t->finish;
done_testing;
