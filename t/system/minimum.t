#!/usr/bin/perl

# symcache_min_version raised above what is in the store: symcached makes a
# newer file at once for who is held, or says that it cannot.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $config = $t->default_config('http://127.0.0.1:1');
$config->{sources} = { upstream => { type => 'filesystem',
                                     path => $t->path('symbols') } };
$t->symbol_store('symbols');
$t->start_symcached($config);    # makes 9.0.0

my $pass = 'symcache_pass unix:%%DIR%%/h.sock; symcache_async_after 20.0.0;';
$t->start_nginx(<<"EON");
    location /raised/ {
        symcache %%DIR%%/store; $pass symcache_min_version 9.0.0;
    }
    location /beyond/ {
        symcache %%DIR%%/store; $pass symcache_min_version 9.1.0;
    }
EON

my $key = $Test::Symcache::key{'crash.pdb'};
my $old = "store/crash.pdb/$key/crash.pdb-v3.1.0.symcache";
my $path = $t->request_path('crash.pdb', '9.1.0');

$t->write_file($old, 'old');
my $r = $t->get("/raised/$path");
is $r->{status}, 200, 'held for a newer file';
like Test::Symcache::header($r, 'Content-Type'), qr/version=9\.0\.0/,
    'which is sent';

for my $state ('9.0.0 is there', 'only 3.1.0 is there') {
    $r = $t->get("/beyond/$path");
    is $r->{status}, 404, "nothing is new enough, $state";
    is Test::Symcache::header($r, 'Retry-After'), undef, 'nor will be';
    unlink $t->path("store/crash.pdb/$key/crash.pdb-v9.0.0.symcache");
}

$t->finish;
done_testing;
