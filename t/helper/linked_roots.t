#!/usr/bin/env perl

# Roots of stores, of downloads and of uploads that are symbolic links, as to
# another disk: what lies there is cleaned, and uploads are found by their ids.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Path qw(make_path);
use Test::More;
use Test::Symcache;
use Test::Uploads;

my $id = $Test::Symcache::key{'crash.pdb'};
my @old = ("store/old.pdb/$id/old.pdb-v9.0.0.symcache",
           "downloads/default/old.pdb/$id/old.pdb");

# A file that was used so many days ago.
sub used {
    my ($t, $name, $days) = @_;
    my $then = time - $days * 86400;
    utime $then, $then, $t->write_file($name, 'x') or die $!;
}

my $u = Test::Uploads->new(cache => { clean_every => '1s' }, prepare => sub {
    my ($t) = @_;
    make_path(map { $t->path($_) } qw(disk/store disk/downloads disk/uploads
                                      downloads));
    rmdir $t->path('uploads') or die $!;
    symlink $t->path("disk/$_->[0]"), $t->path($_->[1]) or die $!
        for ['store', 'store'], ['downloads', 'downloads/default'],
            ['uploads', 'uploads'];
    used($t, $_, 30) for @old;
    # it tells that the clock was right while the others were not used
    used($t, "store/new.pdb/$id/new.pdb-v9.0.0.symcache", 1);
    $t->write_file("uploads/crash.pdb/$id/crash.pdb",
                   $t->read_file($t->data('pdb/crash.pdb')));
});
my $t = $u->t;

sub passes { $t->metric('symcached_clean_passes_total{result="ok"}') }

$t->wait_until('a pass', sub { passes() > 0 });
is_deeply [grep { -e $t->path($_) } @old], [],
    'what was not used for long is gone';
is $t->metric('symcached_clean_failed'), 0, 'everything could be read';
is $t->helper('GET', "/v1/debuginfo/default/other.pdb/$id?version=1.0.0&wait=60")
    ->{status}, 200, 'what lies among the uploads is found by its id';

$t->finish;
done_testing;
