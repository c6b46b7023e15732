#!/usr/bin/env perl

# A full disk and one that is read-only: nothing final, nothing partial.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Mount;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};

sub lookup {
    return $t->helper('GET',
        "/v1/symcache/default/crash.pdb/$id?version=9.0.0&wait=60");
}

sub forget { $t->helper('POST', '/v1/forget/default/crash.pdb') }

sub files { grep { !m{/\.} } glob $t->path('store/*/*/*') }

Test::Mount::small($t->path('store'), '1m');

my $config = $t->default_config('http://127.0.0.1:1');
$config->{sources} = { upstream => { type => 'filesystem',
                                     path => $t->path('sym') } };
$t->symbol_store('sym');
$t->start_symcached($config);

# not enough room: the transcoder fails and leaves nothing

$t->write_file('store/filler', 'x' x (1000 * 1024));
my $r = lookup();
is $r->{status}, 503, 'a full disk is no reason of the PDB';
ok Test::Symcache::header($r, 'Retry-After'), 'ask again';
like $r->{body}, qr/disk of the store is full/, 'which is said';
is_deeply [files()], [], 'nothing is published';

# no room at all, not even for an entry

open my $fh, '>>', $t->path('store/filler') or die;
1 while syswrite $fh, 'x' x 4096;
close $fh;
forget();
is lookup()->{status}, 503, 'no block left';

# read-only

unlink $t->path('store/filler');
$t->wait_until('nobody has a file open for writing', sub {
    system("mount -o remount,ro '" . $t->path('store') . "' 2>/dev/null") == 0
});
forget();
is lookup()->{status}, 503, 'read-only';
is_deeply [files()], [], 'nothing is published';
sub absent {
    return $t->helper('GET', "/v1/symcache/default/$_[0].pdb/$id?version=9.0.0&wait=60");
}
sub unwritten { scalar(() = $t->helper_log =~ /negative entries are not written/g) }
my $unwritten = unwritten();
is absent($_)->{status}, 503, 'nor can be noted that it is absent' for qw(a b c a);
is unwritten(), $unwritten + 1, '... of which the log tells once, and not of each key';

# and again

system('mount', '-o', 'remount,rw,size=8m', $t->path('store')) == 0 or die;
forget();
is lookup()->{status}, 200, 'room again: it succeeds';
is absent('d')->{status}, 404, '... and a key is absent';
like $t->helper_log, qr/store": negative entries are written again/, '... as the log says';
system('mount', '-o', 'remount,ro', $t->path('store')) == 0 or die;
is lookup()->{status}, 200, 'what is published is served read-only';
system('mount', '-o', 'remount,rw', $t->path('store')) == 0 or die;

# cleaning keeps some of it free, and what was used last

sub old {
    my ($name, $hours) = @_;
    my $file = $t->write_file($name, 'x' x (512 * 1024));
    utime 0, time - $hours * 3600, $file;
    return $file;
}

sub percent_free {
    my ($size, $free) = (split ' ', qx(df -P @{[$t->path('store')]} | tail -1)
        )[1, 3];
    return 100 * $free / $size;
}

my @old = map { old("store/old$_.pdb/$id/old$_.pdb-v9.0.0.symcache", $_) }
    1 .. 12;
cmp_ok percent_free(), '<', 50, 'little is free';
$config->{cache} = { min_free => '50%', clean_every => '1s' };
$t->write_helper_config($config);
kill 'HUP', $t->{helper};
$t->wait_until('a pass', sub {
    $t->metric('symcached_cleaned_files_total{reason="min_free"}')
});
cmp_ok percent_free(), '>=', 50, 'min_free holds';
my @left = grep { -e } @old;
is_deeply \@left, [@old[0 .. $#left]], 'those used last are left';
# room that the jobs above did not find is made, too
cmp_ok scalar @left, '>=', 4, 'and no more is removed than has to be';
ok -e $t->path("store/crash.pdb/$id/crash.pdb-v9.0.0.symcache"),
    'what was used just now stays';

is $t->stop_symcached, 0, 'stopped';
Test::Mount::gone($t->path('store'));
$t->finish;
done_testing;
