#!/usr/bin/env perl

# symcache_gzip, end to end: the helper makes the file and then its sidecar,
# and nginx sends either.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Uncompress::Gunzip qw(gunzip);
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my @gzip = ('Accept-Encoding: gzip');

sub h { Test::Symcache::header(@_) }

$t->symbol_store('symbols');
$t->start_symcached({
    stores => { default => {
        root => $t->path('store'), gzip => JSON::PP::true(),
        transcoders => [{ version => '9.0.0',
            command => [$t->program('pdb2symcache'), '-pdb', '{pdb}'] }],
        sources => ['local'],
    } },
    sources => { local => { type => 'filesystem',
        path => $t->path('symbols') } },
});
$t->start_nginx($t->default_locations('symcache_gzip on; symcache_zone z;
    symcache_valid present 1s;'), http => 'symcache_zone z:64k;');

for my $pdb (sort keys %Test::Symcache::key) {
    my $uri = '/hold/' . $t->request_path($pdb);
    my $plain = $t->get($uri, @gzip);
    is $plain->{status}, 200, "$pdb: made";
    is h($plain, 'Content-Encoding'), undef, "$pdb: the file itself";

    my $gz = $t->wait_until("$pdb: the sidecar", sub {
        my $r = $t->get($uri, @gzip);
        return h($r, 'Content-Encoding') ? $r : undef;
    });
    my $out;
    gunzip \$gz->{body} => \$out;
    ok $out eq $plain->{body}, "$pdb: inflates to the file";
    cmp_ok length $gz->{body}, '<', length($out), "$pdb: is smaller";
    ok $t->get($uri)->{body} eq $plain->{body}, "$pdb: the file for others";
}

$t->finish;
done_testing;
