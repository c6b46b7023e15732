#!/usr/bin/env perl

# A file that only symbolicated reads counts as used: cleaning keeps it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Copy qw(copy);
use File::Path qw(make_path);
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $key = $Test::Symcache::key{'crash.pdb'};
my $unused = "other.pdb/$key";

$t->fill_store('store', $t->data('pdb/crash.pdb'));
my $used = $t->path("store/crash.pdb/$key/crash.pdb-v9.0.0.symcache");
make_path($t->path("store/$unused"));
copy($used, $t->path("store/$unused/other.pdb-v9.0.0.symcache")) or die $!;
my $old = time - 30 * 86400;
utime $old, $old, $used, $t->path("store/$unused/other.pdb-v9.0.0.symcache")
    or die $!;

# its own pass is far away, and takes a store of which it knows nothing for one
# that was off
my $config = $t->write_helper_config({
    stores => { default => { root => $t->path('store') } },
    cache => { max_unused_for => '7d', min_free => '0' },
});
$t->start_symcached;
$t->start_symbolicated;
for (1 .. 3) {
    my $r = $t->post($t->symbolicated_socket, '/symbolicate/v5',
        qq({"memoryMap": [["crash.pdb", "$key"]], "stacks": [[[0, 4096]]]}));
    like $r->{body}, qr/"function"/, 'a use';
}
$t->wait_until('symcached notes it', sub { (stat $used)[9] > $old });
is $t->metric('symcached_touched_total'), 1, 'once';

is system("$Test::Symcache::build/symcached", '--clean', '-c', $config), 0,
    'cleaning';
ok -e $used, 'keeps what symbolicated uses';
ok !-e $t->path("store/$unused"), 'and removes what nobody does';

$t->finish;
done_testing;
