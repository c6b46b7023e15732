#!/usr/bin/perl

# Source maps and scripts of 26 packages of npm: 4.5 million segments beside
# @jridgewell/trace-mapping, and with PEERS=reference-js all rows beside the
# libraries that Symbolicator uses, names of functions among them (bench/maps);
# then which scripts our parser reads beside acorn (bench/scripts).

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Peer;
use Test::Symcache;

plan skip_all => 'no node'
    if system('node --version >/dev/null 2>&1') != 0;
my $trace = Test::Peer::folder('trace-mapping');
my $acorn = Test::Peer::folder('acorn');
my $top = $Test::Symcache::top;
my $folder = "$Test::Symcache::build/javascript-packages";
local $ENV{SYMCACHE_BUILD} = $Test::Symcache::build;

my @reference;
if (" @{[$ENV{PEERS} // '']} " =~ / reference-js /) {
    @reference = ('--reference',
        Test::Peer::folder('reference-js') . '/reference_js');
} else {
    note 'names of functions: PEERS=reference-js compares them';
}
my $out = qx('$top/bench/maps' @reference '$trace' '$top/bench/maps.tsv' '$folder' 2>&1);
is $?, 0, 'every difference of places is explained' or diag $out;
my ($packages, $segments) = $out =~ /^(\d+) packages, \d+ maps, (\d+) segments/m;
cmp_ok $packages // 0, '>=', 20, 'twenty packages';
cmp_ok $segments // 0, '>', 1_000_000, '... with more than a million segments';
note $out;

$out = qx('$top/bench/scripts' '$acorn' '$top/bench/maps.tsv' '$folder' 2>&1);
is $?, 0, 'of all scripts 99 % and more are read' or diag $out;
note $out;
done_testing;
