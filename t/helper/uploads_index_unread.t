#!/usr/bin/env perl

# An index of uploads that cannot be read: a file that it may lead to is not
# called absent.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;
use Test::Uploads;

my $u = Test::Uploads->new(cache => { retry_errors_after => '1s' });
my $t = $u->t;
my $id = $Test::Symcache::key{'crash.pdb'};
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
sub ask { $t->helper('GET', "/v1/debuginfo/default/other.pdb/$id?version=1.0.0&wait=60")
    ->{status} }

is $u->put("crash.pdb/$id/crash.pdb", $pdb, @Test::Uploads::token)->{status}, 201, 'a PDB';
my $folder = $t->path("uploads/.index/$id");
rename $folder, "$folder.away" or die $!;
symlink $id, $folder or die $!; # it leads to itself
is ask(), 503, 'by another name, while the folder of its id cannot be read: 503';
unlink $folder or die $!;
rename "$folder.away", $folder or die $!;
$t->wait_until('it is found when it can', sub { ask() == 200 });
pass 'and then it is found';

done_testing;
