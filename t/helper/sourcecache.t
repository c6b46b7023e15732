#!/usr/bin/env perl

# SourceCaches: of source bundles, where each layout has them, before portable
# PDBs; a bundle that is damaged is no absence.  No nginx here.

use strict;
use warnings;

use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::File qw(slurp spew);
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $data = "$FindBin::Bin/../data";
my $bundle = slurp("$data/sourcebundle/ring/ring.src.zip");
my $build = 'd11f4ac8ee483d6e69b18b9de238d72346637b94';
my $elf = 'C84A1FD148EE6E3D69B18B9DE238D7230';
my $uuid = '67E9247C814E392BA027DBDE6748FCBF0';
my $pdb = '3249D99D0C4049318610F4E4FB0B69361';
my $dotnet = '3249D99D0C4049318610F4E4FB0B6936FFFFFFFF';

sub put {
    my ($path, $text) = @_;
    $path = $t->path("symbols/$path");
    make_path($path =~ s{/[^/]+$}{}r);
    spew($path, $text // $bundle);
}

sub start {
    my ($layout) = @_;
    $t->stop_symcached if $t->{started}++;
    Test::Symcache::remove_tree($t->path($_)) for qw(store downloads);
    my $config = $t->default_config('');
    $config->{sources} = { local => { type => 'filesystem',
        path => $t->path('symbols'), layout => $layout } };
    $config->{stores}{default}{sources} = ['local'];
    my $transcoder = $config->{stores}{default}{transcoders}[0];
    $config->{stores}{default}{transcoders} = [{ %$transcoder,
        command => ['pdb2symcache', '{pdb}'] }];
    $t->start_symcached($config);
}

sub lookup {
    my ($name, $id, $more) = @_;
    return $t->helper('GET', "/v1/sourcecache/default/$name/$id"
        . '?version=1.0.0&wait=60' . ($more // ''));
}
sub is_made {
    my ($text, @key) = @_;
    my $r = lookup(@key);
    is $r->{status}, 200, $text or diag $r->{raw};
    my $path = Test::Symcache::header($r, 'X-Symcache-Path') // return;
    my @command = ($t->program('symcachectl'), 'dump', $t->path("store/$path"));
    return qx(@command 2>&1);
}

mkdir $t->path('symbols');

# --- where each layout has them

put("d1/" . substr($build, 2) . '/sourcebundle');
put("67/e9247c814e392ba027dbde6748fcbf/sourcebundle");
put('32/' . lc(substr $pdb, 2) . '/sourcebundle');
start('unified');
my $dump = is_made('unified: an ELF file by its build id', 'ring', $elf,
    "&code_id=buildid-$build");
like $dump, qr{^  /build/ring/main\.c, lines \d+$}m, 'the source files are in it';
is_made('unified: a Mach-O file by its UUID', 'a', $uuid);
is_made('unified: a PDB by its debug id', 'crash.pdb', $pdb);

Test::Symcache::remove_tree($t->path('symbols'));
put('d1/' . substr($build, 2) . '.src.zip');
put("a/$uuid/a.src.zip");
put("crash.pdb/$pdb/crash.src.zip");
start('native');
is_made('native: an ELF file by its build id', 'ring', $elf,
    "&code_id=buildid-$build");
is_made('native: a Mach-O file by its debug id', 'a', $uuid);
is_made('native: a PDB by its debug id', 'crash.pdb', $pdb);

Test::Symcache::remove_tree($t->path('symbols'));
put("crash.pdb/$pdb/crash.src.zip");
put("app.pdb/$dotnet/app.src.zip");
put("ring/$elf/ring.src.zip");
start('symstore');
is_made('symstore: a PDB', 'crash.pdb', $pdb);
is_made('symstore: one of .NET', 'app.pdb', $dotnet);
is lookup('ring', $elf)->{status}, 404, 'symstore: no other module';
is lookup('other.pdb', $pdb)->{status}, 404, 'symstore: a PDB without one';
{
    my @command = ($t->program('symcachectl'), 'why', '--socket',
        $t->helper_socket, '--kind', 'sourcecache', "other.pdb/$pdb");
    my $said = qx(@command 2>&1);
    is $? >> 8, 1, 'symcachectl why: there is none';
    like $said, qr{other\.pdb/$pdb/other\.src\.zip}, 'and where it was looked for'
        or diag $said;
}
is $t->helper('GET', "/v1/sourcebundle/default/crash.pdb/$pdb"
    . '?version=1.0.0&wait=60')->{status}, 200, 'the bundle itself can be had';

# --- a portable PDB, if there is no bundle

Test::Symcache::remove_tree($t->path('symbols'));
my $sources = slurp("$data/sourcebundle/ppdb-sourcelink-sample.pdb");
my $id = 'CCBCACCEDCA5467BAE4059282CE78BCEFFFFFFFF';
put("sample.pdb/$id/sample.pdb", $sources);
start('symstore');
$dump = is_made('of a portable PDB', 'sample.pdb', $id);
like $dump, qr/^links$/m, 'its links are in it';
put("sample.pdb/$id/sample.src.zip");
start('symstore');
unlike is_made('a bundle goes first', 'sample.pdb', $id), qr/https:/,
    'and nothing of the PDB is in it';
start('symstore');
is $t->helper('GET', "/v1/ppdbcache/default/sample.pdb/$id?version=1.0.0&wait=60")
    ->{status}, 200, 'names first';
unlike is_made('a bundle goes first', 'sample.pdb', $id), qr/https:/,
    'also if the PDB is among the downloads';
unlink $t->path("symbols/sample.pdb/$id/sample.src.zip");
start('symstore');
$t->helper('GET', "/v1/ppdbcache/default/sample.pdb/$id?version=1.0.0&wait=60");
like is_made('or else the PDB', 'sample.pdb', $id), qr/https:/, 'with its links';

# --- what is no bundle

put("crash.pdb/$pdb/crash.src.zip",
    slurp("$data/sourcebundle/own/bad-unknown-type.zip"));
start('symstore');
my $r = lookup('crash.pdb', $pdb);
is $r->{status}, 503, 'a damaged bundle is no absence';
my $why = $t->helper_json("/v1/why/default/crash.pdb/$pdb?kind=sourcecache");
ok scalar(grep { $_->{detail} =~ /the type of a file is unknown/ }
        @{ $why->{attempts} }), 'why says what is wrong'
    or diag explain $why->{attempts};

# --- an id for which the layout has no place

rename $t->path('symbols'), $t->path('elsewhere') or die $!;
is lookup('b.pdb', $pdb)->{status}, 503, 'the folder of the source is gone';
$why = $t->helper_json("/v1/why/default/b.pdb/$pdb?kind=sourcecache");
like $why->{attempts}[-1]{detail}, qr/^its layout has no place/,
    'an id that the source cannot be asked for'
    or diag explain $why->{attempts};
my ($source) = @{ $t->helper_json('/v1/sources')->{sources} };
is_deeply [@$source{qw(health failed not_found)}], ['failing', 1, 0],
    'counts as no answer, and the source is failing'
    or diag explain $source;

is $t->stop_symcached, 0, 'symcached stops';
$t->finish;
done_testing;
