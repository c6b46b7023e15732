#!/usr/bin/env perl

# Source bundles among the uploads: where they belong, by whatever name they are
# found, and that a new one ends what was known before.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Ctl;
use Test::File qw(slurp);
use Test::More;
use Test::Symcache;
use Test::Uploads;
use Test::Zip;

my $u = Test::Uploads->new;
my $t = $u->t;
my $data = "$FindBin::Bin/../data/sourcebundle";
my $bundle = slurp("$data/ring/ring.src.zip");
my $id = 'C84A1FD148EE6E3D69B18B9DE238D7230';

my $config = $u->config;
my $transcoder = $config->{stores}{default}{transcoders}[0];
$config->{stores}{default}{transcoders} = [{ %$transcoder,
    command => ['pdb2symcache', '{pdb}'] }];
$t->reload_symcached($config);

sub lookup {
    my ($name, $id) = @_;
    return $t->helper('GET',
        "/v1/sourcecache/default/$name/$id?version=1.0.0&wait=60");
}

is lookup('ring', $id)->{status}, 404, 'there is none';
is $u->put("ring/$id/ring.src.zip", $bundle)->{status}, 201, 'one is uploaded';
ok -f $t->path("uploads/ring/$id/ring.src.zip"), 'where it belongs';
is lookup('ring', $id)->{status}, 200, 'from now on there is a SourceCache';
is lookup('other', $id)->{status}, 200, 'by another name, too';

my $file = $t->helper('GET', '/v1/source/default/%252fbuild%252fring%252fmain.c/'
    . 'buildid-d11f4ac8ee483d6e69b18b9de238d72346637b94?version=1.0.0&wait=60');
is $file->{status}, 200, 'a file of it, by the build id' or diag $file->{raw};

# --- what is refused

my $r = $u->put("ring/${id}1/ring.src.zip", $bundle);
is $r->{status}, 400, 'another id';
like $r->{body}, qr/has the id $id, and not ${id}1/, 'it says so';
$r = $u->put("ring/$id/ring.zip", $bundle);
like $r->{body}, qr/is called ring\.src\.zip there/, 'another name of the file';
$r = $u->put("a/$id/a.src.zip", slurp("$data/own/by-release.zip"));
like $r->{body}, qr/a source bundle of no module/, 'a bundle of scripts';
$r = $u->put("a/$id/a.src.zip", slurp("$data/own/bad-unknown-type.zip"));
like $r->{body}, qr/the type of a file is unknown/, 'a damaged one';

# --- symcachectl upload finds the place itself; the stamp of a portable PDB is
# no age

my $port = Test::Symcache::free_port();
$t->stop_nginx;
Test::Example::start($t, 'uploads.conf', address => "127.0.0.1:$port", put => {
    'listen 80;' => "listen 127.0.0.1:$port;",
    '/run/symcached/uploads.sock' => $t->path('u.sock'),
    '/srv/uploads' => $t->path('uploads') });
$t->write_file('token', "0123456789abcdef0123456789abcdef\n");
$t->write_file('x.zip', "SYSB\2\0\0\0" . Test::Zip::zip(['manifest.json',
    '{"files":{},"debug_id":"ccbcacce-dca5-467b-ae40-59282ce78bce-9e227866",'
    . '"object_name":"C:\\\\build\\\\Sample.pdb"}']));
my $said = Test::Ctl->new($t)->run('upload', '--url',
    "http://127.0.0.1:$port/symbols", '--token', '@' . $t->path('token'),
    $t->path('x.zip'));
is $said->{code}, 0, 'symcachectl upload' or diag explain $said;
my $key = 'CCBCACCEDCA5467BAE4059282CE78BCEFFFFFFFF';
ok -f $t->path("uploads/sample.pdb/$key/sample.src.zip"), 'of a portable PDB';
is lookup('sample.pdb', $key)->{status}, 200, 'and found';

$t->finish;
done_testing;
