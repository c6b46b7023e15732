#!/usr/bin/env perl

# A download that has no room beside min_free makes the cleaner make some.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Mount;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));

Test::Mount::small($t->path('fs'), '12m');

my $server = Test::ScriptedServer->new(log => $t->path('requests'),
    script => sub {
        my ($c, $req) = @_;
        return $c->reply(200, {}, $pdb) if $req->{uri} =~ m{/crash\.pdb$};
        $c->reply(404, {}, '');
    });
my $config = $t->default_config($server->url, cache => {
    min_free => '5m', clean_every => '1h', retry_errors_after => '1s' });
$config->{downloads} = $t->path('fs/downloads');
$config->{stores}{default}{root} = $t->path('fs/store');

sub lookup {
    return $t->helper('GET',
        "/v1/symcache/default/crash.pdb/$id?version=9.0.0&wait=60");
}

# as much as may be used, but for a little
my @old;
for my $n (1 .. 13) {
    my $file = $t->write_file(
        "fs/store/old$n.pdb/$id/old$n.pdb-v9.0.0.symcache",
        'x' x (512 * 1024));
    utime 0, time - $n * 3600, $file;
    push @old, $file;
}

$t->start_symcached($config);
my $r = lookup();
is $r->{status}, 503, 'no room';
like $r->{body}, qr/no room: \d+ bytes needed/, 'which is said';
$t->wait_until('a pass', sub {
    $t->metric('symcached_cleaned_files_total{reason="min_free"}')
});
pass 'not an hour later';
my @left = grep { -e } @old;
is_deeply \@left, [@old[0 .. $#left]], 'what was used last is left';
cmp_ok scalar @left, '>=', 8, 'and no more is removed than is needed';
$t->wait_until('the same key', sub { lookup()->{status} == 200 });
pass 'then it is received';

is $t->stop_symcached, 0, 'stopped';
$server->stop;

# no room is made for what would not be taken

$config->{sources}{upstream} = { type => 'filesystem',
                                 path => $t->path('sym') };
$config->{limits} = { download_size => '20m' };
truncate $t->write_file("sym/large.pdb/$id/large.pdb", $pdb), 64 << 20 or die;
$t->start_symcached($config);
$t->helper('GET', "/v1/symcache/default/large.pdb/$id?version=9.0.0&wait=60");
like $t->helper_json("/v1/why/default/large.pdb/$id")->{attempts}[0]{detail},
    qr/larger than download_size/, 'a file of a folder that is too large';
is $t->stop_symcached, 0, 'stopped';
Test::Mount::gone($t->path('fs'));
$t->finish;
done_testing;
