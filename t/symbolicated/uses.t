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

# it hears of each once, also of a file that makes room for others in between

$t->fill_store('store', $t->data('pdb/crash.pdb'));
my @names = map { "copy$_.pdb" } 0 .. 2;
for my $name (@names) {
    make_path($t->path("store/$name/$key"));
    copy($used, $t->path("store/$name/$key/$name-v9.0.0.symcache")) or die $!;
}
$t->stop_symbolicated;
$t->write_helper_config({
    stores => { default => { root => $t->path('store') } },
    symbolication => { limits => { files => 1 } },
});
$t->start_symbolicated;
my $heard = sub { $t->metric('symcached_lookups_total{answer="hit"}') };
my $use = sub {
    my $r = $t->post($t->symbolicated_socket, '/symbolicate/v5',
        qq({"memoryMap": [["$_[0]", "$key"]], "stacks": [[[0, 4096]]]}));
    return $r->{body} =~ /"function"/;
};
my $before = $heard->();
ok $use->($_), "a use of $_" for @names[0, 1];
$t->wait_until('symcached hears of both', sub { $heard->() - $before >= 2 });
$t->wait_until('each is mapped again', sub {
    $use->($_) for @names[0, 1];
    $t->symbolicated_metric('symbolicated_files_returned_total') >= 4
});
ok $use->($names[2]), 'a use of another';
$t->wait_until('symcached hears of it', sub { $heard->() - $before > 2 });
is $heard->() - $before, 3, 'and of no file twice';
$t->allow_log(qr/limits\.files .* is too low/);

$t->finish;
done_testing;
