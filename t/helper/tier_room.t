#!/usr/bin/env perl

# A disk that has no room for a file of a tier in a folder: the disk is named,
# not the tier, and cache.min_free stays free.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Mount;
use Test::More;
use Test::Symcache;
use Test::Uploads;

my $u = Test::Uploads->new;
my ($t, $dir) = ($u->t, $u->t->dir);
my $key = "crash.pdb/$Test::Symcache::key{'crash.pdb'}"; # 1 MB

# A machine whose downloads lie on a disk of their own.
sub machine {
    my ($n, %cache) = @_;
    mkdir "$dir/uploads$n";
    my $c = $u->config;
    $c->{uploads} = { %{ $c->{uploads} }, root => "$dir/uploads$n",
                      spool => "$dir/uploads/.spool" };
    $c->{stores}{default}{root} = "$dir/store$n";
    $c->{stores}{default}{tier} = 'fleet';
    $c->{downloads} = "$dir/downloads$n";
    $c->{tiers} = { fleet => { type => 'filesystem', path => "$dir/tier" } };
    $c->{cache} = { retry_errors_after => '1s', %cache };
    $t->stop_symcached;
    $t->start_symcached($c);
}

sub ask {
    return $t->helper('GET', "/v1/debuginfo/default/$key?version=1.0.0&wait=60")
        ->{status};
}

sub has_no_room {
    my ($reason, $what) = @_;
    is ask(), 503, $what;
    like $t->helper_log, qr{/tier/uploads/\S+ failed \(no room: $reason},
        "$what: the reason";
}

mkdir "$dir/tier";
machine(1);
is $u->put("$key/crash.pdb", $t->read_file($t->data('pdb/crash.pdb')))
    ->{status}, 201, 'uploaded';

Test::Mount::small("$dir/downloads2", '900k');
machine(2);
has_no_room('', 'a disk that is too small');
unlike $t->helper_log, qr/tier fleet: not read/, 'is not the tier\'s fault';
is $t->helper_json('/v1/status')->{tiers}[0]{get}{failure}, undef,
    'nor is it said to be';
Test::Mount::again("$dir/downloads2", 'size=8m');
machine(2, min_free => '7800k');
has_no_room('.*cache.min_free', 'a disk that would have too little left');
machine(2);
is ask(), 200, 'room enough';

$t->stop_symcached;
Test::Mount::gone("$dir/downloads2");
$t->finish;
done_testing;
