#!/usr/bin/perl

# Three tiers, each nginx and symcached: a client asks the near one, the near
# one has the middle one as its source, that one the far one, and only the far
# one has a symbol server and a transcoder.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::Symcache;

my @names = qw(near middle far);
my %t = map { $_ => Test::Symcache->new } @names;
my %port = map { $_ => Test::Symcache::free_port() } @names, 'symbols';
my %key = %Test::Symcache::key;

my $far = $t{far};
$far->symbol_store('symbols');
my $far_nginx = <<"CONF";
    server {
        listen 127.0.0.1:$port{symbols};
        access_log %%DIR%%/symbols.log symcache;
        root %%DIR%%/symbols;
    }
CONF

sub nginx {
    my ($name, %o) = @_;
    my $t = $t{$name};
    $t->start_nginx($t->default_locations($o{more}), workers => 1,
        http => ($o{zone} ? 'symcache_zone z:1m;' : '')
            . ($name eq 'far' ? $far_nginx : ''),
        listen => "listen 127.0.0.1:$port{$name}; "
                . 'listen unix:' . $t->nginx_socket . ';');
}

sub next_tier {
    my ($name) = @_;
    return {
        stores => { default => { root => $t{$name}->path('store'),
                                 sources => ['next'] } },
        sources => { next => { type => 'symcache', version => '9.0.0',
            url => "http://127.0.0.1:$port{$_[1]}/" . ($_[2] // 'poll'),
            internal => JSON::PP::true() } },
        # longer than the pause of whoever polls, so that it hears of it
        cache => { retry_errors_after => '3s' },
    };
}

$far->start_symcached($far->default_config(
    "http://127.0.0.1:$port{symbols}", gated => 1,
    cache => { retry_errors_after => '1s' }));
$t{middle}->start_symcached(next_tier('middle', 'far'));
$t{near}->start_symcached(next_tier('near', 'middle'));
nginx('far');
nginx('middle', zone => 1, more => 'symcache_zone z;');
nginx('near');

my $near = $t{near};
sub path { $near->request_path(@_) }
sub again { Test::Symcache::header($_[0], 'Retry-After') }
sub file {
    my ($tier, $name) = @_;
    return $t{$tier}->read_file(
        "store/$name/$key{$name}/$name-v9.0.0.symcache");
}

# --- pending, then there

my $r = $near->get('/poll/' . path('crash.pdb'));
is $r->{status}, 404, 'cold: not there yet';
ok again($r), 'ask again';
ok !Test::Symcache::header($r, 'X-Symcache-Reason'), 'it is worked on';
my $held = $near->open_http($near->nginx_socket, 'GET',
                            '/hold/' . path('crash.pdb'));
$near->wait_until('the far transcoder', sub { $far->runs });
for my $tier (qw(near middle)) {
    $near->wait_until("$tier waits", sub {
        my ($job) = @{ $t{$tier}->helper_json('/v1/jobs')->{jobs} };
        $job && $job->{state} eq 'waits for a SymCache server'
            && $job->{source} eq 'next'
            && $t{$tier}->metric('symcached_jobs_downloading') == 0;
    });
    pass "$tier: waits without a slot";
}
$far->write_file('gate', '');
$r = $near->read_response($held);
is $r->{status}, 200, 'whoever waits gets it';
like Test::Symcache::header($r, 'Content-Type'), qr/; version=9\.0\.0$/,
    'with its version';
is $r->{body}, file('far', 'crash.pdb'), 'the bytes of the far one';
is file($_, 'crash.pdb'), $r->{body}, "identical: $_" for qw(middle near);
is scalar(() = $far->read_file('symbols.log') =~ /^200 .*crash\.pdb/mg), 1,
    'one download at the far end';
is $far->runs, 1, 'one conversion';
is_deeply [glob $t{$_}->path("downloads/default/*")], [], "$_: no PDB"
    for qw(middle near);

# --- many at once

my @c = map { $near->open_http($near->nginx_socket, 'GET',
                               '/hold/' . path('basic32.pdb')) } 1 .. 20;
is_deeply [map { $near->read_response($_)->{status} } @c], [(200) x 20],
    'twenty at once';
is scalar(() = $far->read_file('symbols.log') =~ /^200 .*basic32\.pd_/mg), 1,
    'one download';
is $far->runs, 2, 'one conversion';

# --- absent

my $none = 'v9.0.0/none.pdb/3249D99D0C4049318610F4E4FB0B6936/1';
$r = $near->get("/hold/$none");
is $r->{status}, 404, 'absent at the far end';
ok !again($r), 'is final at the near one';
my $asked = () = $far->read_file('symbols.log') =~ /none\.pdb/g;
is $near->get("/hold/$none")->{status}, 404, 'and again';
is scalar(() = $far->read_file('symbols.log') =~ /none\.pdb/g), $asked,
    'without asking';

# --- the far one is down

sub down {
    my ($name, $what) = @_;
    my $path = "v9.0.0/$name.pdb/3249D99D0C4049318610F4E4FB0B6936/1";
    my $r = $near->get("/hold/$path");
    is $r->{status}, 503, "$what: no final answer";
    ok again($r), "$what: ask again";
    $r = $near->get("/poll/$path");
    is $r->{status} . ' ' . (again($r) ? 'again' : ''), '404 again',
        "$what: nor for who polls";
    return $path;
}

$far->stop_symcached;
my $path = down('helper', 'the far helper is down');
$far->start_symcached;
$near->wait_until('the far helper is back', sub {
    my $r = $near->get("/hold/$path");
    $r->{status} == 404 && !again($r);
});
pass 'and is absent when it is back';

$far->stop_nginx;
$path = down('nginx', 'the far nginx is down');
is $near->get('/hold/' . path('crash.pdb'))->{status}, 200,
    'what there is, is served';
nginx('far');
$near->wait_until('the far nginx is back', sub {
    my $r = $near->get("/hold/$path");
    $r->{status} == 404 && !again($r);
});

# --- an older version

my $dir = "store/crash.pdb/$key{'crash.pdb'}";
rename $near->path("$dir/crash.pdb-v9.0.0.symcache"),
    $near->path("$dir/crash.pdb-v8.0.0.symcache") or die $!;
$r = $near->get('/hold/' . path('crash.pdb'));
like Test::Symcache::header($r, 'Content-Type'), qr/version=8\.0\.0$/,
    'the older one at once';
$near->wait_until('the upgrade', sub { file('near', 'crash.pdb') });
$r = $near->get('/hold/' . path('crash.pdb'));
like Test::Symcache::header($r, 'Content-Type'), qr/version=9\.0\.0$/,
    'then the newer one';

# --- circles

# The far one's only source is one that has it as its own.
my $circles;
sub circle {
    my ($what, $tier) = @_;
    my $path = 'v9.0.0/circle' . ++$circles
        . '.pdb/3249D99D0C4049318610F4E4FB0B6936/1';
    my $from = length $t{$tier}->access_log;
    my $r = $near->get("/hold/$path");
    is $r->{status}, 404, "$what: absent";
    ok !again($r), "$what: for good";
    my @r = split /\n/, substr $t{$tier}->access_log, $from;
    cmp_ok scalar(@r), '<=', 4, "$what: no storm" or diag explain \@r;
    is $t{$_}->helper_json('/v1/jobs')->{total}, 0, "$what: $_ is idle"
        for qw(near middle);
}

sub point {
    my ($tier, @next) = @_;
    $t{$tier}->stop_symcached;
    $t{$tier}->start_symcached(next_tier($tier, @next));
}

point('near', 'near');
circle('a server that is its own source', 'near');

# the client waits for what is asked for: the helper must hear of it
point('near', 'near', 'hold');
circle('a server that is its own source, one location', 'near');

point('near', 'middle');
point('middle', 'near');
circle('two that have each other', 'middle');

point('near', 'middle', 'hold');
point('middle', 'near', 'hold');
circle('two that have each other, one location', 'middle');
ok $near->metric('symcached_loops_refused_total')
    + $t{middle}->metric('symcached_loops_refused_total'), 'counted';

# both begin at once: each waits for the other, and is told who waits for it
my @both = map { my $t = $t{$_}; $t->open_http($t->nginx_socket, 'GET',
    '/hold/v9.0.0/both.pdb/3249D99D0C4049318610F4E4FB0B6936/1') }
    qw(near middle);
is_deeply [map { my $r = $near->read_response($_);
                 $r->{status} . (again($r) ? ' again' : '') } @both],
    [404, 404], 'both at once: absent';

$_->finish for @t{@names};
done_testing;
