#!/usr/bin/env perl

# A helper that starts on a full disk: it is the one that makes room there.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Mount;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $fs = $t->path('fs');
my $list = $t->path('fs/store/.transcoders');

my $config = $t->default_config('http://127.0.0.1:1');
$config->{sources} = { upstream => { type => 'filesystem',
                                     path => $t->path('sym') } };
$config->{downloads} = $t->path('fs/downloads');
$config->{stores}{default}{root} = $t->path('fs/store');
$t->symbol_store('sym');

sub lookup {
    return $t->helper('GET',
        "/v1/symcache/default/crash.pdb/$id?version=9.0.0&wait=60")
        ->{status};
}

# Files that were used so many days ago, until no more go there.
sub fill {
    my ($days, $size) = @_;
    for my $n (1 .. 10000) {
        my $dir = "$fs/store/old$n.pdb/$id";
        my $file = "$dir/old$n.pdb-v9.0.0.symcache";
        (mkdir "$fs/store/old$n.pdb" and mkdir $dir
            and open my $fh, '>', $file) or return;
        my $full = !defined syswrite($fh, 'x' x $size) || -s $fh < $size;
        close $fh;
        utime time - $days * 86400, time - $days * 86400, $file;
        return if $full;
    }
}

sub cache { $config->{cache} = { retry_errors_after => '1s', @_ } }

# no block is left

Test::Mount::small($fs, '5m');
mkdir "$fs/store";
fill(1, 64 * 1024);
cache(min_free => '1m', clean_every => '1s');
$t->start_symcached($config);
like $t->helper_log, qr{fs/store" has no room .*\(28: },
    'it starts, and says so';
$t->wait_until('a pass', sub {
    $t->metric('symcached_cleaned_files_total{reason="min_free"}')
});
pass 'it cleans';
$t->wait_until('the list of versions', sub { -s $list });
is $t->read_file('fs/store/.transcoders'), "9.0.0\n",
    'nginx is told when there is room';
$t->wait_until('a SymCache', sub { lookup() == 200 });
pass 'and all is well';

# the same again, with what the last one left

is $t->stop_symcached, 0, 'stopped';
fill(1, 4096);
cache(min_free => '0', clean_every => '1h');
$t->start_symcached($config);
is $t->read_file('fs/store/.transcoders'), "9.0.0\n",
    'what nginx was told, and is still so, stays';
is $t->stop_symcached, 0, 'stopped';

my $transcoder = $config->{stores}{default}{transcoders}[0];
my $version = $transcoder->{version};
$transcoder->{version} = '8.0.0';
open my $filler, '>>', "$fs/store/filler" or die;
1 while syswrite $filler, 'x' x 4096;
close $filler;
$t->start_symcached($config);
ok !-e $list, 'what is not so any more goes';
cache(min_free => '1m', clean_every => '1s');
$t->reload_symcached($config);
$t->wait_until('the list of versions', sub { -s $list });
is $t->read_file('fs/store/.transcoders'), "8.0.0\n", 'until there is room';
is $t->stop_symcached, 0, 'stopped';
$transcoder->{version} = $version;
Test::Mount::gone($fs);

# no file can be made, not even a folder

Test::Mount::small($fs, '8m,nr_inodes=60');
mkdir "$fs/store";
fill(30, 10);
cache(clean_every => '1s', min_free => '0');
$t->start_symcached($config);
like $t->helper_log, qr{has no room for a work folder \(28: },
    'without a folder to work in';
$t->wait_until('a pass', sub {
    $t->metric('symcached_cleaned_files_total{reason="unused"}')
});
$t->wait_until('the list of versions', sub { -s $list });
$t->wait_until('a SymCache', sub { lookup() == 200 });
pass 'it makes one when there is room';
is $t->stop_symcached, 0, 'stopped';
is_deeply [glob "$fs/store/.tmp/*"], [], 'and leaves nothing';

# who removes uploads makes room

Test::Mount::gone($fs);
Test::Mount::small($fs, '2m');
my $pdb = "crash.pdb/$id/crash.pdb";
system('mkdir', '-p', "$fs/store", "$fs/uploads/crash.pdb/$id") == 0 or die;
system('cp', $t->path("sym/$pdb"), "$fs/uploads/$pdb") == 0 or die;
my %uploads = (admin_listen => 'unix:' . $t->path('a.sock'),
    uploads => { root => "$fs/uploads", listen => 'unix:' . $t->path('u.sock') });
$t->start_symcached({ %$config, %uploads });
open $filler, '>>', "$fs/store/filler" or die;
1 while syswrite $filler, 'x' x 4096;
close $filler;
my $r = $t->http($t->path('a.sock'), 'POST', "/v1/discard/$pdb", 'Content-Length: 0');
is $r->{status}, 200, 'an upload is removed' or diag $r->{raw};
ok !-e "$fs/uploads/$pdb", 'from a full disk';
is $t->stop_symcached, 0, 'stopped';

# everything else is a reason

system('mount', '-o', 'remount,ro', $fs) == 0 or die;
ok !eval { $t->start_symcached($config); 1 }, 'read-only: it does not start';
like $@, qr/Read-only file system/, 'and says why';
$t->allow_log(qr/Read-only file system/);
Test::Mount::gone($fs);

$t->finish;
done_testing;
