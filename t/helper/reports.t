#!/usr/bin/env perl

# What daemons beside symcached report of themselves, in its status: for as
# long as they say, and no more of it than there is room for.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical->utf8;
$t->start_symcached($t->default_config('http://127.0.0.1:1'));

sub shown { $t->helper_json('/v1/status')->{symbolicated} }

sub send_text {
    my ($text) = @_;
    my $r = $t->post($t->helper_socket, '/v1/symbolicated', $text);
    return "$r->{status}" . ($r->{body} =~ /"(bad-report)"/ ? " $1" : '');
}

my %good = (name => 'm', version => '1.0', listen => 'unix:/s',
    started => 1_800_000_000, requests => 5, frames => 70, dumps => 3,
    apple_reports => 2, sources => 4, mappings => 6, programs => 3, valid => 300);
sub report { send_text($json->encode({ %good, @_ })) }

is_deeply shown(), [], 'nobody yet';
is report(), 200, 'a report';
my ($one) = @{ shown() };
cmp_ok abs(time - delete $one->{reported}), '<', 60, 'with its time';
is_deeply $one, { config_stale => JSON::PP::false(),
        map { $_ => $good{$_} } grep { $_ ne 'valid' } keys %good },
    'is in the status';
is report(requests => 6), 200, 'another of the same';
is_deeply [map { $_->{requests} } @{ shown() }], [6], 'takes its place';

my $bad = '400 bad-report';
is report(dumps => undef), $bad, 'null minidumps';
delete local @good{qw(dumps apple_reports sources mappings programs)};
is report(), 200, 'an older release says nothing of crash reports';
is_deeply [map { @$_{qw(dumps apple_reports sources mappings programs)} } @{ shown() }],
    [0, 0, 0, 0, 0],
    'which are none then';

# --- what is none

for (['', 'nothing'], ['{', 'no JSON'], ['[]', 'a list'],
     ['[' x 2000, 'depth'], ['{"name": "' . 'x' x 5000, 'too long'],
     ["\0" x 100, 'NULs']) {
    is send_text($_->[0]), $bad, $_->[1];
}
for (['name', ''], ['name', 'x' x 129], ['listen', undef], ['version', []],
     ['requests', -1], ['requests', 1e16], ['frames', '1'],
     ['started', undef], ['valid', 0], ['valid', 301],
     ['valid', JSON::PP::true]) {
    my ($name, $value) = @$_;
    is report($name => $value), $bad, "$name that is none";
}
is send_text($json->encode(\%good) =~ s/"requests":5/"requests":1e999/r),
    $bad, 'a number without end';
is $t->helper('GET', '/v1/symbolicated')->{status}, 405, 'only told';
is $t->helper('POST', '/v1/symbolicated?x=1', 'Content-Length: 0')->{status},
    400, 'no query';
is_deeply [map { $_->{requests} } @{ shown() }], [5], 'nothing of it is shown';

# --- as many as there is room for; who is gone makes room

is report(name => "m$_"), 200, "one more, $_" for 1 .. 15;
is report(name => 'm16'), $bad, 'one too many';
is report(name => 'm3', frames => 7), 200, 'those that are known go on';
is scalar(@{ shown() }), 16, 'all are shown';
is report(name => 'm4', valid => 1), 200, 'one that says it leaves';
$t->wait_until('it is gone', sub { @{ shown() } == 15 });
is report(name => 'm16', listen => '</script>' . 'x' x 119), 200,
    'there is room again';
is report(name => "m5\x{e9}"), $bad, 'and no more';

$t->finish;
done_testing;
