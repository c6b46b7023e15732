#!/usr/bin/env perl

# The package of a program with split DWARF (.dwp) has no id of it: it is found
# under the program's, in folders and among uploads, to which symcachectl sends
# it, and its functions are in the SymCache.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Ctl;
use Test::More;
use Test::Symcache;
use Test::Uploads;

for my $tool (qw(g++ llvm-dwp objcopy readelf)) {
    plan skip_all => "no $tool" if system("$tool --version >/dev/null 2>&1");
}
my $u = Test::Uploads->new(inputs => ['elf']);
my $t = $u->t;
my $dir = $t->path('make');
mkdir $dir or die $!;

sub run {
    my ($command) = @_;
    my $out = qx(cd $dir && $command);
    die "$command: $?" if $?;
    return $out;
}

# llvm-dwp takes for ever on DWARF 5 of gcc 12
$t->write_file('make/a.cc', <<'C');
inline __attribute__((always_inline)) int twice(int x)
{ return x * 2 + (x > 100 ? x / 7 : 0); }
__attribute__((noinline)) int work(int x) { return twice(x) + 3; }
int main(int argc, char **argv) { return work(argc); }
C
run('g++ -O2 -g -gdwarf-4 -gsplit-dwarf -Wl,--build-id -c a.cc -o a.o && g++ -Wl,--build-id a.o -o app'
    . ' && timeout 20 llvm-dwp -e app -o app.dwp && objcopy --only-keep-debug app app.debug');
my ($build) = run('readelf -n app') =~ /Build ID: (\w+)/ or die;
my @b = unpack '(A2)16', $build;
my $id = uc(join '', @b[3, 2, 1, 0, 5, 4, 7, 6, 8 .. 15]) . '0';

my $debug = $t->read_file('make/app.debug');
my $package = $t->read_file('make/app.dwp');
sub expected {
    my ($file, @options) = @_;
    run(join ' ', $t->program('pdb2symcache'), @options, "-o out $file 2>/dev/null");
    return $t->read_file('make/out');
}
mkdir "$dir/alone";
run('cp app.debug alone');
my ($with, $without) = (expected('alone/app.debug', '--dwp app.dwp'), expected('alone/app.debug'));
ok $with ne $without, 'the package has functions';

# --- folders

my $config = $u->config;
my $below = substr($build, 0, 2) . '/' . substr($build, 2);
for (['unified', "$below/debuginfo", "$below/dwp"], ['build_id', "$below.debug", "$below.dwp"]) {
    my ($layout, $file, $beside) = @$_;
    $t->write_file("$layout/$file", $debug);
    $t->write_file("$layout/$beside", $package);
    $config->{sources}{$layout} = { type => 'filesystem', layout => $layout, path => $t->path($layout) };
    $config->{stores}{$layout} = { root => $t->path("stores/$layout"), sources => [$layout],
        transcoders => [{ version => '9.0.0', inputs => ['elf'],
                          command => ['pdb2symcache', '-pdb', '{pdb}'] }] };
}
$t->write_file("packages/$below.dwp", $package);
$config->{sources}{packages} = { type => 'filesystem', layout => 'build_id', path => $t->path('packages') };
$config->{stores}{mixed} = { root => $t->path('stores/mixed'), sources => ['uploads', 'packages'],
    transcoders => $config->{stores}{unified}{transcoders} };
$config->{stores}{default}{transcoders} = $config->{stores}{unified}{transcoders};
local $ENV{PATH} = $t->program('') . ":$ENV{PATH}";
$t->stop_symcached;
$t->start_symcached($config);

sub made {
    my ($store, $query) = @_;
    $query //= "&code_id=buildid-$build";
    my $r = $t->http($t->dir . '/h.sock', 'GET',
        "/v1/symcache/$store/app/$id?version=9.0.0&wait=60$query");
    is $r->{status}, 200, "$store: a SymCache" or diag $r->{body};
    return $t->read_file($t->path(($store eq 'default' ? 'store' : "stores/$store")
        . "/app/$id/app-v9.0.0.symcache"));
}
ok made($_) eq $with, "$_: the package is found" for 'unified', 'build_id';

# --- uploads: the program first, then a build with its package

my @upload = ('--url', '');
my $ctl = Test::Ctl->new($t);
my $port = Test::Symcache::free_port();
$t->stop_nginx;
Test::Example::start($t, 'uploads.conf', address => "127.0.0.1:$port", put => {
    'listen 80;' => "listen 127.0.0.1:$port;",
    '/run/symcached/uploads.sock' => $t->dir . '/u.sock',
    '/srv/uploads' => $t->dir . '/uploads' });
$t->write_file('token', "0123456789abcdef0123456789abcdef\n");
@upload = ('upload', '--url', "http://127.0.0.1:$port/symbols", '--token', '@' . $t->path('token'));
my $r = $ctl->run(@upload, "$dir/app.debug");
is $r->{code}, 0, 'a debug file is sent' or diag $r->{err};
ok made('default') eq $without, '... and inlined calls are missing';
ok made('mixed', '') eq $with, 'by its build id a package is found elsewhere, also for who does not know that';
$r = $ctl->run(@upload, "$dir/app.dwp");
is $r->{code}, 0, 'its package, beside the program' or diag $r->{err};
ok -f $t->path("uploads/dwp/$id/dwp"), '... has the id of the program';
ok made('default') eq $with, '... and the functions are there at once';
run('mkdir -p lone && cp app.dwp lone');
$r = $ctl->run(@upload, "$dir/lone/app.dwp");
is $r->{code}, 1, 'without the program it belongs nowhere';
like $r->{err}, qr/needs a UUID in its name/, '... and why';

# another file in its place is no package
$t->write_file("unified/$below/dwp", $debug);
unlink glob $t->path("stores/unified/app/$id/*");
system('rm', '-rf', $t->path('downloads/unified'));
ok made('unified') eq $without, 'another ELF file is not taken for a package';
like $t->helper_log, qr/no package of split DWARF/, '... and the log says why';

$t->finish;
done_testing;
