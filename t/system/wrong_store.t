#!/usr/bin/perl

# symcache_store names a store that symcached does not have: clients are told
# to ask again, as nothing is known, and both logs say why nothing will come
# of that.

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
$t->start_symcached($config);
$t->start_nginx(<<'EON');
    symcache_pass unix:%%DIR%%/h.sock; symcache_async_after 20.0.0;
    location /wrong/ { symcache %%DIR%%/store; symcache_store defualt; }
    location /right/ { symcache %%DIR%%/store; }
EON

my $path = $t->request_path('crash.pdb');
my $key = $Test::Symcache::key{'crash.pdb'};
for (['Allow-Retry-After: true', 404], [undef, 503]) {
    my ($header, $status) = @$_;
    my $r = $t->get("/wrong/$path", $header);
    is $r->{status}, $status, "$status: asked to come back";
    is Test::Symcache::header($r, 'Retry-After'), 60, 'later';
}
my @lines = grep { /\[error\]/ } split /\n/, $t->error_log;
is @lines, 2, 'a line of nginx for each request';
like $_, qr{"crash\.pdb/$key"\ is\ not\ looked\ for,\ and\ clients\ are\ told\ to
            \ ask\ again:\ symcached\ has\ no\ store\ "defualt"\ of
            \ "symcache_store"\ .*\ request:\ "GET\ /wrong/}x,
    'with store, key and what follows' for @lines;
is scalar(() = $t->helper_log =~ /\[warn\].*store=defualt key=crash\.pdb/g), 1,
    'one of symcached for the minute';

is $t->get("/right/$path")->{status}, 200, 'the store that is there';
unlike $t->error_log, qr/no store "default"/, 'is not complained of';

$t->finish;
done_testing;
