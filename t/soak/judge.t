#!/usr/bin/env perl

# The rules by which a campaign judges final answers, with what campaigns saw.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Soak::Guests;
use Test::Soak::Judge;
use Test::Soak::Upstream;
use Test::Soak;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = 'E418FF2FFE875EC54A3E5951ED555A161';

# --- what symbolicated says of a module, with what became of its places

for my $case (
    [1, 'missing', 'notfound', 'notfound'],
    [1, 'missing'],
    [1, 'malformed', 'notfound', 'malformed'],
    [0, 'missing', 'notfound', 'error'],
    [0, 'missing', 'notfound', 'noperm'],
    [0, 'malformed', 'notfound', 'malformed', 'error'],
    [0, 'fetching_failed', 'error', 'notfound'],
    # seed 81234568: a page, which is no verdict
    [0, 'missing', 'notfound', 'malformed'],
    [0, 'missing', 'notfound', 'malformed', 'notfound', 'notfound'],
    [0, 'malformed', 'malformed', 'notfound'],
    [0, 'malformed', 'malformed', 'malformed'],
) {
    my ($final, $status, @said) = @$case;
    my @candidates = map { { source => 'web', download => { status => $said[$_] },
        location => 'http://web/sym/a.pdb/' . ($_ < 2 ? $id : lc $id) . '/a.'
            . ($_ % 2 ? 'pdb' : 'pd_') } } 0 .. $#said;
    is 0 + Test::Soak::Guests::is_final($status, { modules => [{ debug_status => $status,
        candidates => \@candidates }] }), $final, "$status after @said: " . ($final ? 'final' : 'not final');
}

# --- what upstream said, and when

my @places = map { my $i = $_; map { "/sym/none.pdb/$i/$_" } qw(none.pdb none.pd_ file.ptr) } $id, lc $id;
$t->write_file('notes', join '', map { "1000.0 web $_ absent s404\n" } @places, '/sym/index2.txt');
my $judge = Test::Soak::Judge->new(host => { web => {} });
$judge->read_notes($t->path('notes'));
sub silent {
    my ($at, @back) = @_;
    return join ' ', $judge->unexcused({ began => $at, ended => $at + 1, store => 'web', how => 'poll',
        name => 'none.pdb', id => $id, hint => '-' }, \@back, 'web');
}
is silent(1001), '', 'all places said so: a final 404';
is silent(1029), '', 'of a while ago';
is silent(1031), 'web', 'that is too old';
is silent(998), 'web', 'they say so only later';
is silent(1031, 30), '', 'and is remembered again when the clock is set back';
is silent(1031, 3600), 'web', 'to a time when it was so, not to any other';

# --- a file that drips: seed 102300001 had one whose last bytes were others

{
    package Drips;
    sub roll { $_[0]{part} - 1 }
    sub note { }
    sub calm { 0 }
    sub send { $_[0]{sent} .= $_[1] }
    sub wait_for_peer { 0 }
    sub close { }
}
for my $part (1, 70, 99) {
    my $u = bless { part => $part }, 'Drips';
    Test::Soak::Faults::drip($u, $u, { host => 'web', truth => { body => 'p' x 100 } }, 'drip');
    my ($length, $body) = $u->{sent} =~ /^Content-Length: (\d+).*?\r\n\r\n(.*)/ms;
    cmp_ok length $body, '<', $length, "of $part bytes: never the whole length";
}

# --- whose clock was set back

{
    package Events;
    sub events { @{ $_[0] } }
}
my $chaos = bless [{ at => 10, what => 'helper KILL' }, { at => 20, until => 22, what => 'clock step', by => -30 },
    { at => 24, until => 25, what => 'clock step', by => 60 }], 'Events';
for my $case ([15, ''], [19.5, '30'], [21, '30'], [26, '30'], [28, '']) {
    my ($at, $expected) = @$case;
    is join(' ', Test::Soak::clock_back($chaos, { began => $at, ended => $at + 1 })), $expected,
        "at $at: " . ($expected eq '' ? 'not' : "$expected s");
}

$t->finish;
done_testing;
