#!/usr/bin/perl

# What a debuginfod says of a file beside its bytes goes to the clients of this
# server, also later and after a restart: elfutils' webapi(7) and debuginfod(8)
# have the names.  Other headers, and those of other paths, do not.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib ();
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

plan skip_all => 'no zstd' if system('zstd --version >/dev/null 2>&1') != 0;

my $t = Test::Symcache->new;
my $so = qx(zstd -qdc @{[$t->data('convert/elf/gcc-5.so.zst')]});
my ($build) = qx(readelf -n @{[$t->write_file('so', $so)]}) =~ /Build ID: (\w+)/
    or die 'no build id';
my $signature = '0302' . 'ab' x 520; # of a key of 4096 bits
my %said = (
    'X-DEBUGINFOD-FILE' => '/usr/lib/debug/libshapes.so.debug',
    'X-DEBUGINFOD-ARCHIVE' => '/mirror/shapes-debuginfo-1-1.x86_64.rpm',
    'x-debuginfod-imasignature' => $signature,
);
my $packed;
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my $gz = -e $t->path('packed');
    return $c->reply(404, {}, '') if $req->{path} !~ m{/(?:debuginfo|executable)$};
    $c->reply(200, { %said, 'X-Debuginfod-Size' => 1, 'X-Other' => 'no',
        $gz ? ('Content-Encoding' => 'gzip') : () },
        $gz ? Compress::Zlib::memGzip(my $copy = $so) : $so);
});

my $config = $t->default_config($web->url);
$config->{sources}{upstream}{layout} = 'debuginfod';
$config->{downloads} = $t->path('downloads');
sub start {
    $t->start_symcached($config);
    $t->start_nginx('location /symbols/ {
        symcache_symbols %%DIR%%/downloads;
        symcache_pass unix:%%DIR%%/h.sock;
    }');
}

# The headers of debuginfod in an answer, by names in lower case.
sub headers {
    my ($r) = @_;
    return { map { /^(x-(?:debuginfod|other)[^:]*): (.*?)\r?$/i ? (lc $1, $2) : () }
        split /\n/, $r->{head} };
}
my %wanted = (map({ (lc $_, $said{$_}) } keys %said),
    'x-debuginfod-size' => length $so);

start();
for my $what ('debuginfo', 'executable') {
    my $r = $t->get("/symbols/buildid/$build/$what");
    is $r->{status}, 200, $what or diag $t->helper_log;
    is_deeply headers($r), \%wanted, 'with what upstream said';
    is_deeply headers($t->get("/symbols/buildid/$build/$what")), \%wanted,
        'the second time, too';
}
is_deeply headers($t->get("/symbols/_.debug/elf-buildid-sym-$build/_.debug")),
    {}, 'not where a symbol server is asked';
my $n = () = $web->requests;
$t->stop_nginx;
$t->stop_symcached;
start();
is_deeply headers($t->get("/symbols/buildid/$build/debuginfo")), \%wanted,
    'after a restart';
is scalar(() = $web->requests), $n, 'nobody was asked again';
$t->stop_nginx;
$t->stop_symcached;

$config->{downloads} = $t->path('downloads2');
$t->write_file('packed', '');
$t->start_symcached($config);
$t->start_nginx('location /symbols/ {
    symcache_symbols %%DIR%%/downloads2;
    symcache_pass unix:%%DIR%%/h.sock;
}');
is_deeply headers($t->get("/symbols/buildid/$build/debuginfo")), \%wanted,
    'of a file that came packed';

$t->finish;
done_testing;
