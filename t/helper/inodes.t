#!/usr/bin/env perl

# A disk that has bytes but no inodes: files go for new ones, and the log says
# what there is too little of.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Find ();
use JSON::PP ();
use Test::More;
use Test::Mount;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my $files = 20;
$t->write_file("source/p$_.pdb/$id/p$_.pdb", $pdb) for 1 .. $files, 101 .. 108;
Test::Mount::small($t->path('disk'), '200m,nr_inodes=90');
$t->write_file("disk/filler/$_", '') for 1 .. 20;

my $config = $t->default_config('http://127.0.0.1:1');
$config->{sources}{upstream} = { type => 'filesystem', path => $t->path('source'),
                                 copy => JSON::PP::true() };
$config->{stores}{default}{root} = $t->path('disk/store');
$config->{downloads} = $t->path('disk/downloads');
$config->{cache} = { clean_every => '1s', retry_errors_after => '1s', min_free => '0',
                     downloads_max_unused_for => '30d', max_unused_for => '30d' };
$t->start_symcached($config);

sub ask { $t->helper('GET', "/v1/symcache/default/p$_[0].pdb/$id?version=9.0.0&wait=20")->{status} }

my $n = 1;
$n++ while $n <= $files && ask($n) == 200;
cmp_ok $n, '>', 3, 'some files are made';
cmp_ok $n, '<', $files, 'until no inodes are left';
like $t->helper_log, qr{p$n\.pdb.*(?:No space left on device|no inodes are left)}, 'said so';
isnt ask($n), 200, 'none of them was unused for long';

# The first one was used the longest ago, also for a pass of cleaning that comes
# before the last one has its time.
sub age {
    my @files;
    File::Find::find({ no_chdir => 1, wanted => sub {
        push @{ $files[$1] }, $_ if m{/p(\d+)\.pdb[^/]*$} && -f;
    } }, map { $t->path("disk/$_") } qw(store downloads));
    for my $i (1 .. $#files) {
        my $used = time - 3600 * (4 + @files - $i);
        utime $used, $used, @{ $files[$i] // [] };
    }
}
age();
ok $t->wait_until('room for one more', sub { ask($n) == 200 }), 'then files go for new ones';
sub there { scalar grep { -f } glob $t->path("disk/store/p$_[0].pdb/*/*.symcache") }
ok !there(1), 'the one that was unused the longest';
ok there($n - 1), 'not one that was used last';
ok $t->wait_until('room for two more', sub { !grep { ask($_) != 200 } $n + 1, $n + 2 }),
    'and so for others';

# Wherever the last inode went: the download, its folders, the work folder, the
# file that the transcoder makes, or those of the store.
my $filler = 20;
for my $left (1 .. 8) {
    age();
    1 while open my $f, '>', $t->path('disk/filler/' . ++$filler);
    unlink((glob $t->path('disk/filler/*'))[0 .. $left - 1]);
    ok $t->wait_until("$left inodes", sub { ask($left + 100) == 200 }),
        "made where $left inodes are left";
}

is $t->stop_symcached, 0, 'stopped';
Test::Mount::gone($t->path('disk'));
$t->finish;
done_testing;
