#!/usr/bin/perl

# Files of which nothing is known but the path of three parts by which symbol
# servers have them: PerfView asks for the maps of ReadyToRun images, and SSQP
# names source files by their SHA-1.  Others are a matter of configuration.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $map = '0123456789abcdef' x 2;
my $sha1 = '356a192b7913b04c54574d18c28d46e6395428ab'; # of "1"
my %files = (
    "app.ni.r2rmap/r2rmap-v1-$map/app.ni.r2rmap" => "map\n",
    "program.cs/sha1-$sha1/program.cs" => '1',
    "site.bin/build-$map/site.bin" => "site\n",
    "packed.cs/sha1-$sha1/packed.cs" => "\x1f\x8b no archive",
);
my $web = Test::ScriptedServer->new(log => $t->path('up.log'), script => sub {
    my ($c, $req) = @_;
    my $body = $files{ substr $req->{path}, 1 };
    defined $body ? $c->reply(200, {}, $body) : $c->reply(404, {}, '');
});
sub asked { return scalar(() = $web->requests) }

my $config = $t->default_config($web->url);
$config->{downloads} = $t->path('downloads');
sub start {
    $t->start_symcached($config);
    $t->start_nginx('location /symbols/ {
        symcache_symbols %%DIR%%/downloads;
        symcache_pass unix:%%DIR%%/h.sock;
    }');
}
sub answer {
    my $r = $t->get("/symbols/$_[0]");
    return $r->{status} == 200 ? $r->{body} : join ' ', $r->{status},
        Test::Symcache::header($r, 'Retry-After') // ();
}

start();
for my $path (grep { !/site/ } sort keys %files) {
    is answer($path), $files{$path}, $path or diag $t->helper_log;
}
is answer("App.ni.r2rmap/r2rmap-v1-\U$map\E/APP.ni.r2rmap"), "map\n", 'in any case';
is answer("ap/app.ni.r2rmap/r2rmap-v1-$map/app.ni.r2rmap"), "map\n", 'in two tiers';
my $asked = asked();
is answer("site.bin/build-$map/site.bin"), '404', 'a path that is not configured';
is answer("program.cs/sha1-$map/program.cs"), '404', 'a hash of another length';
is answer("program.cs/r2rmap-v1-$map/program.cs"), '404', 'a map of another name';
is asked(), $asked, 'nobody was asked for these';
is answer("gone.cs/sha1-$sha1/gone.cs"), '404', 'what is nowhere';
cmp_ok asked(), '>', $asked, 'after the source was asked';
is $t->http($t->helper_socket, 'GET',
    "/v1/file/default/program.cs/hash-$sha1?version=1.0.0&wait=60")->{status}, 404,
    'a key that stands for no path';
$t->stop_nginx;
$t->stop_symcached;

$config->{sources}{upstream}{paths} = ['^site[.]bin/build-[0-9a-f]{32}$'];
$config->{downloads} = $t->path('downloads2');
$t->start_symcached($config);
$t->start_nginx('location /symbols/ {
    symcache_symbols %%DIR%%/downloads2;
    symcache_pass unix:%%DIR%%/h.sock;
}');
is answer("site.bin/build-$map/site.bin"), "site\n", 'a path that is configured';
is answer("program.cs/sha1-$sha1/program.cs"), '404', 'replaces the usual ones';

$t->finish;
done_testing;
