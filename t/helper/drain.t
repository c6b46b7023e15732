#!/usr/bin/env perl

# A drain: what runs is answered, new jobs are refused, until it ends.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my %id = %Test::Symcache::key;
my ($one, $two) = sort keys %id;

sub header { Test::Symcache::header(@_) }

sub uri {
    my ($pdb, $wait) = @_;
    return "/v1/symcache/default/$pdb/"
        . ($id{$pdb} // $id{$one}) . '?version=9.0.0' . ($wait ? "&wait=$wait" : '');
}

sub ask { $t->helper('GET', uri(@_)) }

sub drains {
    my ($name, $page) = @_;
    my $r = $t->helper('POST', "/v1/$page");
    is $r->{status}, 200, $name;
    my $expect = $page eq 'drain' ? 1 : 0;
    is $t->helper('GET', '/healthz')->{status}, 200, "$name: it runs";
    is !!$t->helper_json('/v1/status')->{jobs}{draining}, !!$expect,
        "$name: in the status";
    is $t->metric('symcached_draining'), $expect, "$name: in the metrics";
    ok $t->wait_until("$name: /readyz", sub {
        my $ready = $t->helper('GET', '/readyz');
        my $why = header($ready, 'X-Symcache-Reason') // '';
        return $expect ? $ready->{status} == 503 && $why eq 'draining'
            : $ready->{status} == 200;
    }), "$name: /readyz";
    return JSON::PP->new->decode($r->{body});
}

sub is_refused {
    my ($name, $r) = @_;
    is $r->{status}, 503, "$name: refused";
    is header($r, 'X-Symcache-Reason'), 'draining', "$name: why";
    ok header($r, 'Retry-After'), "$name: a time";
}

my $config = $t->default_config('http://127.0.0.1:1', gated => 1);
$config->{sources} = { upstream => { type => 'filesystem',
                                     path => $t->path('sym') } };
$t->symbol_store('sym');
$t->start_symcached($config);

is ask('absent.pdb', 60)->{status}, 404, 'absent';
my $held = $t->open_http($t->helper_socket, 'GET', uri($one, 60));
$t->wait_until('a job runs', sub { $t->runs });

my $answer = drains('drain', 'drain');
is $answer->{total}, 1, 'it tells what runs';
is $answer->{waiters}, 1, 'and who waits';
is_refused('a new key', ask($two, 60));
is_refused('without wait', ask($two));
is ask('absent.pdb', 60)->{status}, 404, 'what is remembered is answered';
is ask($one)->{status}, 202, 'a poll of what runs';
like $t->post($t->helper_socket, '/v1/lookups?version=9.0.0',
              "/v1/symcache/default/$two/$id{$two}\n")->{body},
    qr/^0 503 \d+ draining$/m, 'one of many lookups';
my $later = $t->open_http($t->helper_socket, 'GET', uri($one, 60));
$t->wait_until('waits, too', sub { $t->metric('symcached_waiters') == 2 });

$t->write_file('gate', '');
is $t->read_response($_)->{status}, 200, 'who waits is answered'
    for $held, $later;
is ask($one)->{status}, 200, 'a hit';
is_refused('still', ask($two));
is $t->metric('symcached_jobs_refused_total'), 4, 'they are counted';

$t->reload_symcached($config);
is_refused('after a reload', ask($two));

drains('its end', 'undrain');
is ask($two, 60)->{status}, 200, 'new jobs again';
like $t->helper_log, qr/drain begins, 1 requests wait.*drain ends, 0/s,
    'the log has both';

# a restart ends it

drains('again', 'drain');
$t->stop_symcached;
$t->start_symcached;
is $t->metric('symcached_draining'), 0, 'a restart ends it';

is $t->helper('GET', '/v1/drain')->{status}, 405, 'no GET';
is $t->helper('POST', '/v1/drain?x=1')->{status}, 400, 'no query';

$t->finish;
done_testing;
