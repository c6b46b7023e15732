#!/usr/bin/perl

# Clients of the symbol server are sent to the tier for what another machine has
# uploaded, where "redirect" says so: who is, with which URL, and who gets the
# file from here all the same.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::Clock;
use Test::S3;
use Test::SigV4;
use Test::Symcache;

my $t = Test::Symcache->new;
my $dir = $t->dir;
my $id = $Test::Symcache::key{'crash.pdb'};
my $path = "crash.pdb/$id/crash.pdb";
my $pdb = $t->read_file($t->data('pdb/crash.pdb'));
my $port = Test::Symcache::free_port();
my $server = "http://127.0.0.1:$port/symbols";
mkdir "$dir/$_" or die for qw(empty other);

my ($access, $secret) = ('AKIDexample', 'se/cr+et=');
my $s3 = Test::S3->new($t, region => 'eu-west-1',
    secrets => { $access => $secret });
my %redirect = (redirect => '10m', redirect_endpoint => $s3->url);

# A machine with the folder of uploads $root.
sub config {
    my ($root, %tier) = @_;
    my $c = $t->default_config('http://127.0.0.1:1');
    $c->{uploads} = { root => "$dir/$root", listen => "unix:$dir/u.sock" };
    $c->{sources} = { empty => { type => 'filesystem', path => "$dir/empty" } };
    $c->{stores}{default}{sources} = ['uploads', 'empty'];
    $c->{stores}{default}{tier} = 'fleet';
    $c->{tiers}{fleet} = { type => 's3', bucket => 'b', region => 'eu-west-1',
        prefix => 'p q', endpoint => $s3->url, path_style => JSON::PP::true(),
        access_key => $access, secret_key => $secret, mac_key => 'm' x 32,
        %tier };
    return $c;
}

my $n = 0;
sub put {
    my ($where, $bytes, $query) = @_;
    mkdir $_ for map { "$dir/$_" } 'uploads', 'uploads/.spool';
    my $file = $t->write_file('uploads/.spool/' . ++$n, $bytes);
    my $r = $t->http("$dir/u.sock", 'PUT', "/v1/uploads/$where" . ($query // ''),
        'Content-Length: 0', "X-Symcached-Body: $file");
    return $r->{status};
}

# Status and Location of an answer, and the last URL and the body with curl -L.
sub ask {
    my ($what, @options) = @_;
    my $format = '%{http_code} %{redirect_url} %{url_effective}';
    my $out = qx(curl -s -o $dir/body -w '$format' @options $server/$what);
    return split / /, $out, 3;
}

sub start_helper {
    $t->stop_symcached;
    $t->start_symcached(config(@_));
}

# --- another machine has taken the uploads

start_helper('uploads');
is put($path, $pdb), 201, 'an upload';
my $build = '0123456789abcdef0123456789abcdef01234567';
$t->write_file('x.c', "int seven(int a) { return a + 7; }\n");
system("cd $dir && gcc -g -shared -nostdlib -Wl,--build-id=0x$build -o x.so x.c"
    . ' && objcopy --only-keep-debug x.so x.dbg') == 0 or BAIL_OUT('gcc');
my $debug = $t->read_file('x.dbg');
is put("_.debug/elf-buildid-sym-$build/_.debug", $debug), 201, 'a debug file';

$t->start_nginx('location /symbols/ {
    symcache_symbols %%DIR%%/downloads;
    symcache_pass unix:%%DIR%%/h.sock;
    symcache_zone z;
}', listen => "listen 127.0.0.1:$port;", address => "127.0.0.1:$port",
    http => 'symcache_zone z:64k;
    log_format s "$status $symcache_status $request_uri"; access_log logs s;');

# --- this one does not have them

start_helper('other', %redirect);
my ($status, $url) = ask($path);
is $status, 302, 'a client is sent to the tier';
my $object = $s3->url . "/b/p%20q/uploads/$path";
like $url, qr{^\Q$object\E\?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=
    $access%2F\d{8}%2Feu-west-1%2Fs3%2Faws4_request&X-Amz-Date=\w+
    &X-Amz-Expires=600&X-Amz-SignedHeaders=host&X-Amz-Signature=\w{64}$}x,
    'with a URL that is good for ten minutes';
my $raw = $t->http("127.0.0.1:$port", 'GET', "/symbols/$path");
is Test::Symcache::header($raw, 'Cache-Control'), 'no-store', 'not to be kept';
like $t->read_file('logs'), qr{^302 HELD /symbols/crash}m, 'logged';
ok !-e "$dir/downloads/default/$path", 'nothing is downloaded';
is_deeply [(ask($path, '-L'))[0], $t->read_file('body') eq $pdb], [200, 1],
    'who follows it has the file';
my ($last) = grep { $_->{uri} =~ /Amz/ } reverse $s3->requests;
is $last->{headers}{authorization}, undef, 'without keys of his own';
is((ask("\LCRASH.PDB/$id/Crash.pdb", '-L'))[0], 200, 'in any case');
($status, $url) = ask('none.pdb/' . 'A' x 32 . '1/none.pdb');
is $status, 404, 'what nobody has is absent';
is $t->metric('symcached_lookups_total{answer="redirect"}'), 4, 'counted';

is $url, '', 'no URL then';
($status, $url) = ask($path);
is qx(curl -s -o $dir/body -w '%{http_code}' '@{[$url =~ s/crash/trash/r]}'), 403,
    'a URL is for one file';

# --- clients that do not follow it, or need not

my $by_id = "buildid/$build/debuginfo";
is((ask($by_id))[0], 302, 'a build id');
SKIP: {
    skip 'no debuginfod-find', 2 if !-x '/usr/bin/debuginfod-find';
    mkdir "$dir/home";
    my $got = qx(HOME=$dir/home DEBUGINFOD_URLS=$server DEBUGINFOD_VERBOSE=1 \\
        debuginfod-find debuginfo $build 2>$dir/find.err);
    is $?, 0, 'elfutils follows' or diag $t->read_file('find.err');
    chomp $got;
    ok $t->read_file($got =~ s{^\Q$dir/}{}r) eq $debug, 'and has the file';
}
is((ask($by_id, '-H User-Agent:'))[0], 200, 'LLVM gets it from here');
is $t->read_file('body'), $debug, 'whole';
is((ask($by_id))[0], 200, 'then it is on the disk, and everybody does');
is((ask($path, '-I'))[0], 200, 'HEAD is 200');
ok -e "$dir/downloads/default/$path", 'and so it is fetched';
is((ask($path))[0], 200, 'what is on the disk is sent from there');

# --- what is not as it was stored, or not ours

sub forget_all { system("rm -rf $dir/downloads/default $dir/store") == 0 or die }

for my $case (['another size', sub { $_[1] .= 'x' }],
              ['another digest in its metadata', sub {
                  $_[0]{'x-amz-meta-symcache-sha256'} =~ s/^./x/ }],
              ['no MAC', sub { delete $_[0]{'x-amz-meta-symcache-mac'} }]) {
    my ($what, $damage) = @$case;
    forget_all();
    my ($headers, $body) = $s3->load("/b/p q/uploads/$path");
    $damage->(my $h = { %$headers }, my $b = $body);
    $s3->save("/b/p q/uploads/$path", $h, $b);
    isnt((ask($path, '--max-time 20'))[0], 302, "$what: no redirect");
    $s3->save("/b/p q/uploads/$path", $headers, $body);
}

# --- a tier that fails, or is slow

forget_all();
start_helper('other', %redirect);
$s3->fail('busy');
isnt((ask($path, '--max-time 20'))[0], 302, 'a tier that fails: no redirect');
$s3->fail('');
$s3->fail('silent');
forget_all();
start_helper('other', %redirect);
my $pid = fork() // die;
exec 'curl', '-s', '-o', '/dev/null', "$server/$path" if !$pid;
$t->wait_until('it is asked', sub { grep { $_->{method} eq 'HEAD' } $s3->requests });
is $t->stop_symcached, 0, 'the helper stops meanwhile';
$s3->fail('');
$t->start_symcached(config('other', %redirect));
waitpid $pid, 0;
is $? >> 8, 0, 'and the client has its answer';

# --- a clock that is wrong by hours, and right again

SKIP: {
    my $clock = Test::Clock->new($t) or skip Test::Clock::why(), 6;
    for my $hours (3, -3) {
        forget_all();
        $clock->set(0);
        $t->stop_symcached;
        $t->start_symcached(config('other', %redirect), env => $clock->env);
        is((ask($path))[0], 302, 'a clock that is right');
        $clock->set(3600 * $hours);
        is((ask($path, '--max-time 20'))[0], 503, "$hours hours: no URL that is not valid");
        ok !-e "$dir/downloads/default/$path", '... and nothing in its place';
    }
}

# --- the machine that has the file itself, and one without the key

start_helper('uploads', %redirect);
is((ask($path))[0], 200, 'who has the upload sends it');
forget_all();
start_helper('other');
is((ask($path))[0], 200, 'without "redirect" it is fetched');

# --- the configuration

for my $case (
    [{ redirect => '10m' }, qr/"redirect" needs "redirect_endpoint"/],
    [{ %redirect, mac_key => undef }, qr/"redirect" needs "mac_key"/],
    [{ redirect_endpoint => $s3->url }, qr/is without "redirect"/],
    [{ %redirect, redirect => '1s' }, qr/redirect/],
    [{ %redirect, redirect => '8d' }, qr/redirect/]) {
    my ($tier, $why) = @$case;
    my $c = config('other', %$tier);
    my $fleet = $c->{tiers}{fleet};
    delete @$fleet{grep { !defined $fleet->{$_} } keys %$fleet};
    my $file = $t->write_helper_config($c);
    like qx($Test::Symcache::build/symcached -t -c $file 2>&1), $why,
        'refused: ' . join ', ', sort keys %$tier;
}

$t->stop_nginx;
$t->finish;
done_testing;
