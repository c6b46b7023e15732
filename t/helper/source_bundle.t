#!/usr/bin/env perl

# Source files in debuginfod's way, of source bundles: by build id and path, for
# gdb and debuginfod-find, which ask nginx.

use strict;
use warnings;

use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::File qw(slurp spew);
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $data = "$FindBin::Bin/../data/sourcebundle";
my $build = 'd11f4ac8ee483d6e69b18b9de238d72346637b94';
my $place = $t->path('symbols/d1/' . substr $build, 2);
my %text = map { $_ => slurp("$data/ring/$_") } qw(main.c lib/ring.h);

make_path($place);
spew("$place/debuginfo", slurp("$data/ring/ring"));
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    $c->reply($req->{path} =~ m{/source/build/ring/other\.c$} ? 200 : 404, {}, "other\n");
});

my $config = $t->default_config('');
$config->{sources} = {
    local => { type => 'filesystem', layout => 'unified', path => $t->path('symbols') },
    server => { type => 'http', layout => 'debuginfod', url => $web->url,
                internal => JSON::PP::true } };
$config->{stores}{default}{sources} = ['local', 'server'];
my $transcoder = $config->{stores}{default}{transcoders}[0];
$config->{stores}{default}{transcoders} = [{ %$transcoder,
    inputs => ['pdb', 'elf'], command => ['pdb2symcache', '{pdb}'] }];
$config->{cache} = { retry_misses_after => '1s', retry_errors_after => '1s' };
$t->start_symcached($config);
my $port = Test::Symcache::free_port();
$t->start_nginx("location /symbols/ {
    symcache_symbols %%DIR%%/downloads; symcache_pass unix:%%DIR%%/h.sock; }",
    listen => 'listen unix:' . $t->nginx_socket . "; listen 127.0.0.1:$port;");

sub source {
    my ($path, $id) = @_;
    my $r;
    $t->wait_until("an answer about $path", sub {
        $r = $t->get('/symbols/buildid/' . ($id // $build) . "/source$path");
        return $r->{status} != 404 || !Test::Symcache::header($r, 'Retry-After');
    });
    return $r;
}

# --- without a bundle, servers of debuginfod are asked

is source('/build/ring/other.c')->{body}, "other\n", 'a file of a server';
is source('/build/ring/main.c')->{status}, 404, 'one that nobody has';

# --- of a bundle

spew("$place/sourcebundle", slurp("$data/ring/ring.src.zip"));
$t->wait_until('the bundle is found', sub {
    $t->get("/symbols/buildid/$build/source/build/ring/main.c")->{status} == 200 });
for (sort keys %text) {
    my $r = source("/build/ring/$_");
    is $r->{status}, 200, "$_: answered";
    is $r->{body}, $text{$_}, '... as it is in the bundle';
}
is source('/build/ring/missing.c')->{status}, 404, 'a file that the bundle has not';
is source('/build/ring/x.c', 'ff' x 20)->{status}, 404, 'of no module';
is source('/build/ring/MAIN.C')->{status}, 404, 'case counts';
my $why = $t->helper_json('/v1/why/default/%252fbuild%252fring%252fmissing.c/'
    . "buildid-$build?kind=source");
ok scalar(grep { ($_->{detail} // '') eq 'the bundle has no such file' }
    @{ $why->{attempts} // [] }), 'why says that it was looked for there'
    or diag explain $why;

# --- with the clients that people use

$ENV{DEBUGINFOD_URLS} = "http://127.0.0.1:$port/symbols";
$ENV{DEBUGINFOD_CACHE_PATH} = $t->path('client');
SKIP: {
    skip 'debuginfod-find is not installed (package debuginfod)', 1
        if system('command -v debuginfod-find >/dev/null') != 0;
    my $file = qx(debuginfod-find source $build /build/ring/main.c);
    chomp $file;
    is slurp($file), $text{'main.c'}, 'debuginfod-find source';
}
SKIP: {
    skip 'gdb is not installed', 1 if system('command -v gdb >/dev/null') != 0;
    my $out = qx(cd @{[$t->dir]} && HOME=@{[$t->dir]} gdb -nx -batch -iex 'set debuginfod enabled on' -ex 'list main.c:10,10' $data/ring/ring 2>&1);
    skip 'this gdb has no debuginfod', 1 if $out =~ /not compiled|Undefined/;
    my $line = (split /\n/, $text{'main.c'})[9];
    like $out, qr/^10\s+\Q$line\E$/m, 'gdb lists the line';
    is scalar(my @got = glob $t->path("client/$build/source*")) > 0, 1,
        'which it has got from the server';
}

$t->finish;
done_testing;
