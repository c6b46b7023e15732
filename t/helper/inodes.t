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
$t->write_file("source/p$_.pdb/$id/p$_.pdb", $pdb) for 1 .. $files;
Test::Mount::small($t->path('disk'), '200m,nr_inodes=70');

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
like $t->helper_log, qr/p$n\.pdb.* No space left on device \(no inodes are left\)/, 'said so';
isnt ask($n), 200, 'none of them was unused for long';

# The first one was used the longest ago.
File::Find::find({ no_chdir => 1, wanted => sub {
    my ($i) = m{/p(\d+)\.pdb[^/]*$} or return;
    return unless -f;
    my $used = time - 3600 * (4 + $n - $i);
    utime $used, $used, $_;
} }, $t->path('disk'));
ok $t->wait_until('room for one more', sub { ask($n) == 200 }), 'then files go for new ones';
sub there { scalar grep { -f } glob $t->path("disk/store/p$_[0].pdb/*/*.symcache") }
ok !there(1), 'the one that was unused the longest';
ok there($n - 1), 'not one that was used last';
ok $t->wait_until('room for two more', sub { !grep { ask($_) != 200 } $n + 1, $n + 2 }),
    'and so for others';

is $t->stop_symcached, 0, 'stopped';
Test::Mount::gone($t->path('disk'));
$t->finish;
done_testing;
