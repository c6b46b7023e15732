#!/usr/bin/env perl

# symcachectl sort: a folder of builds becomes one of Symbolicator's layout
# "unified".  Where files belong is from getsentry/symbolicator, crates/symsorter
# (get_unified_id and get_target_filename in src/utils.rs, process_file in
# src/app.rs), ids are as readelf, llvm-dwarfdump and llvm-pdbutil print them;
# symcached then makes of the folder what the reference makes of the files.

use strict;
use warnings;

use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::Ctl;
use Test::File qw(slurp spew);
use Test::More;
use Test::Symcache;
use Test::Zip;

plan skip_all => 'no zstd' if system('zstd --version >/dev/null 2>&1') != 0;

my $t = Test::Symcache->new;
my $ctl = Test::Ctl->new($t);
my $data = "$FindBin::Bin/../data";
my $dir = $t->dir;

sub fixture { my $file = "$data/convert/$_[0]";
    return -e $file ? slurp($file) : scalar qx(zstd -qdc '$file.zst') }
sub put { my ($path, $content) = @_;
    make_path("$dir/$path" =~ s{/[^/]+$}{}r);
    spew("$dir/$path", $content) }
sub files { my ($folder) = @_;
    return map { chomp; s{^\Q$dir/$folder\E/}{}r } qx(find '$dir/$folder' -type f | LC_ALL=C sort) }

# --- one of each format

my $wasm_id = join '', map { chr } 1 .. 20;
my $wasm = fixture('wasm/dwarf.wasm') . "\0\x1d\x08build_id$wasm_id";
put('in/lib/libelf.so', fixture('elf/stripped.so'));
put('in/obj/libelf.so', fixture('elf/gcc-5.so'));
put('in/obj/libelf.so.debug', fixture('elf/gcc-5.debug'));
put('in/obj/shapes.o', fixture('elf/gcc.o'));
put('in/App.dSYM/Contents/Resources/DWARF/App', slurp("$data/convert/macho/fat.dwarf"));
put('in/win/basic32.dll', slurp("$data/pdb/basic32.dll"));
put('in/win/basic32.pdb', slurp("$data/pdb/basic32-min.pdb"));
put('in/win/crash.pdb', slurp("$data/pdb/crash.pdb"));
put('in/net/plain.dll', slurp("$data/ppdb/plain.dll"));
put('in/net/plain.pdb', slurp("$data/ppdb/plain.pdb"));
put('in/web/module.wasm', $wasm);
put('in/ring.src.zip', slurp("$data/sourcebundle/ring/ring.src.zip"));
put('in/ring.zip', Test::Zip::zip(['bin/ring', slurp("$data/sourcebundle/ring/ring")],
    ['README', 'none']));
my $aux = "$data/sourcebundle/aux";
my @maps = ('c0ffee00-1111-2222-3333-444455556666.bcsymbolmap',
            'd00dfeed-1111-2222-3333-444455556666.plist');
put("in/BCSymbolMaps/\U$maps[0]" =~ s/BCSYMBOLMAP$/bcsymbolmap/r, slurp("$aux/$maps[0]"));
put("in/App.dSYM/Contents/Resources/$maps[1]", slurp("$aux/$maps[1]"));
put('in/App.dSYM/Contents/Info.plist', slurp("$aux/$maps[1]") =~ s/DBGOriginalUUID/Name/r);
put('in/notes.txt', 'nothing of interest');

my $elf = '1c/173970c5036d4f995668e6b9d8b69be6f25277';
my $ring = 'd1/1f4ac8ee483d6e69b18b9de238d72346637b94';
my $pdb = '32/49d99d0c4049318610f4e4fb0b69361';
my %want = (
    "$elf/executable" => fixture('elf/gcc-5.so'),
    "$elf/debuginfo" => fixture('elf/gcc-5.debug'),
    '4c/4c448955553144a18069a34e2ad5e1/debuginfo' => undef,
    '4c/4c442955553144a1eb1f03cb7b5573/debuginfo' => undef,
    "$pdb/debuginfo" => slurp("$data/pdb/crash.pdb"),
    '19/8a378eec0a47da8fb2289c2bdad68ff37ed789/debuginfo' => slurp("$data/ppdb/plain.pdb"),
    '19/8a378eec0a47da8fb2289c2bdad68ff37ed789/executable' => slurp("$data/ppdb/plain.dll"),
    '34/060d222dbb44e5aa72243ce8326c2f2/executable' => slurp("$data/pdb/basic32.dll"),
    '87/8e82e5e282481b88fcbba2cff8c7f12/debuginfo' => slurp("$data/pdb/basic32-min.pdb"),
    '01/' . substr(unpack('H*', $wasm_id), 2) . '/executable' => $wasm,
    'c0/ffee00111122223333444455556666/bcsymbolmap' => slurp("$aux/$maps[0]"),
    'd0/0dfeed111122223333444455556666/uuidmap' => slurp("$aux/$maps[1]"),
    "$ring/executable" => slurp("$data/sourcebundle/ring/ring"),
    "$ring/sourcebundle" => slurp("$data/sourcebundle/ring/ring.src.zip"),
);
my %modules = map { s{/[^/]+$}{}r => 1 } keys %want;

my @said = (qr/^(?:[0-9a-f]{2}\/[0-9a-f]+\/\w+\t.+\t\w+, \w+\n)+\z/,
    qr/^symcachectl sort: 17 files read, 14 sorted, 0 bundles of sources made, 0 left out$/m);
$ctl->is($ctl->run('sort', '-o', "$dir/out", '--bundle-id', '1.0_A', "$dir/in"),
    0, @said, 'a folder');
is_deeply [files('out')], [sort keys %want, 'bundles/1.0_A', (map { "$_.meta" } keys %want),
    map { "$_/refs/1.0_A" } keys %modules], 'all have their places'
    or diag explain [files('out')];
for (sort grep { defined $want{$_} } keys %want) {
    ok slurp("$dir/out/$_") eq $want{$_}, $_;
}
is_deeply [map { unpack 'H*', substr slurp("$dir/out/$_/debuginfo"), 0, 4 }
    '4c/4c448955553144a18069a34e2ad5e1', '4c/4c442955553144a1eb1f03cb7b5573'],
    ['cffaedfe', 'cffaedfe'], 'a fat file is cut';
my $json = JSON::PP->new;
sub meta { return $json->decode(slurp("$dir/out/$_[0].meta")) }
is_deeply meta("$elf/debuginfo"),
    { name => 'libelf.so.debug', arch => 'x86_64', file_format => 'elf' }, 'what a module is';
is_deeply meta("$pdb/debuginfo"), { name => 'crash.pdb', arch => 'x86', file_format => 'pdb' }, 'of a PDB';
is_deeply meta('4c/4c448955553144a18069a34e2ad5e1/debuginfo'),
    { name => 'App', arch => 'arm64', file_format => 'macho' }, 'of a slice';
is slurp("$dir/out/$elf/refs/1.0_A"), '', 'a reference to a bundle is empty';
is_deeply $json->decode(slurp("$dir/out/bundles/1.0_A")),
    { name => '1.0_A', timestamp => '1970-01-01T00:00:00Z',
      debug_ids => [sort map { s{/}{}r } keys %modules] }, 'a bundle';

# --- equal files, equal folders; zstd

system("cp -r '$dir/in' '$dir/again' && touch '$dir/again/ring.zip'") == 0 or die;
$ctl->is($ctl->run('sort', '-o', "$dir/out2", '--bundle-id', '1.0_A', "$dir/again"),
    0, @said, 'a copy');
is system("diff -r '$dir/out' '$dir/out2'"), 0, 'makes the same folder';
for my $n (1, 2) {
    $ctl->is($ctl->run('sort', '-o', "$dir/again/a", '--bundle-id', '1.0_A', "$dir/again"),
        0, @said, "into a folder inside, run $n");
    is system("diff -r '$dir/out' '$dir/again/a'"), 0, 'of which nothing is taken';
}
for my $n (1, 2) {
    $ctl->is($ctl->run('sort', '-zz', '-o', "$dir/zstd$n", "$dir/in"), 0, @said, 'packed');
}
is system("diff -r '$dir/zstd1' '$dir/zstd2'"), 0, 'equal bytes, too';
is_deeply [files('zstd1')], [sort keys %want, map { "$_.meta" } keys %want],
    'no bundle is asked for';
is_deeply [grep { my $is = qx(zstd -qdc '$dir/zstd1/$_');
    $is ne slurp("$dir/out/$_") } keys %want], [], 'and all unpack to the same';

# --- as a source: the digests are those of the reference (t/convert/manifest.tsv)

my %digest = map { (split /\t/)[1, 5] } grep { /^tree\t/ }
    split /\n/, slurp("$FindBin::Bin/../convert/manifest.tsv");
my %key = (
    'libelf.so' => ['elf/gcc-5.so.zst', sprintf('%s0', uc unpack 'H*', pack 'VvvA*',
        unpack 'NnnA*', pack 'H32', '1c173970c5036d4f995668e6b9d8b69b'),
        '&code_id=buildid-1c173970c5036d4f995668e6b9d8b69be6f25277'],
    'App' => ['slice', '4C4C448955553144A18069A34E2AD5E10'],
    'crash.pdb' => [undef, '3249D99D0C4049318610F4E4FB0B69361'],
);
my $config = $t->default_config('');
$config->{sources} = {};
$digest{'t/data/convert/slice'} = # of t/convert/slices.t
    '7ed6b0915e1dbc831cf5ede1e94dc92725ada384e32aa3c97a7525a0d8db8488';
for (qw(out zstd1)) {
    $config->{sources}{$_} = { type => 'filesystem', layout => 'unified',
        path => "$dir/$_" };
    $config->{stores}{$_} = { %{ $config->{stores}{default} }, root => "$dir/store-$_",
        sources => [$_], transcoders => [{ version => '9.0.0',
        command => ['pdb2symcache', '--like-symbolic', '-pdb', '{pdb}'],
        inputs => ['pdb', 'elf', 'macho', 'pe', 'wasm'] },
        map { { makes => $_->[0], version => $_->[1], command => ['pdb2symcache', '{pdb}'] } }
            ['sourcecache', '1.0.0'], ['ppdbcache', '1.0.0']] };
}
delete $config->{stores}{default};
$t->start_symcached($config);
for my $store (qw(out zstd1)) {
    for my $name (sort keys %key) {
        my ($file, $id, $more) = @{ $key{$name} };
        my $r = $t->helper('GET', "/v1/symcache/$store/$name/$id?version=9.0.0&wait=60"
            . ($more // ''));
        is $r->{status}, 200, "$store has $name" or diag $r->{body};
        my $path = "$dir/store-$store/\L$name\E/$id/\L$name\E-v9.0.0.symcache";
        my $want = $digest{ defined $file ? "t/data/convert/$file" : "t/data/pdb/$name" };
        is $t->sha256(slurp($path)), $want, '... as the reference';
    }
    for (['sourcecache', 'ring', 'C84A1FD148EE6E3D69B18B9DE238D7230',
            '&code_id=buildid-d11f4ac8ee483d6e69b18b9de238d72346637b94'],
         ['ppdbcache', 'plain.pdb', '198A378EEC0A47DA8FB2289C2BDAD68FFFFFFFFF',
            '&stamp=f37ed789']) {
        my ($kind, $name, $id, $more) = @$_;
        my $r = $t->helper('GET', "/v1/$kind/$store/$name/$id?version=1.0.0&wait=60$more");
        is $r->{status}, 200, "$store has a $kind" or diag $r->{body};
    }
}
$t->stop_symcached;

# --- bundles of sources

SKIP: {
    skip 'cc is needed', 5 if system('command -v cc >/dev/null 2>&1') != 0;
    put('build/main.c', slurp("$data/sourcebundle/ring/main.c"));
    put('build/lib/ring.h', slurp("$data/sourcebundle/ring/lib/ring.h"));
    system("cd '$dir/build' && cc -g -Wl,--build-id=0x" . 'ab' x 20
        . " -o ring main.c") == 0 or die;
    $ctl->is($ctl->run('sort', '--with-sources', '-o', "$dir/sources", "$dir/build/ring"),
        0, qr/\tring|ring\t/, qr/ring: 2 of 2 source files.*1 bundle of sources made/s,
        'with sources');
    my $bundle = slurp("$dir/sources/ab/" . 'ab' x 19 . '/sourcebundle');
    is substr($bundle, 0, 4), 'SYSB', 'one is made';
    $ctl->is($ctl->run('bundle-sources', '-o', "$dir/one", "$dir/build/ring"), 0, undef,
        qr/2 of 2/, 'as alone');
    ok $bundle eq slurp("$dir/one"), 'with the same bytes';
}

# --- what cannot be

put('bad/cut.pdb', substr slurp("$data/pdb/crash.pdb"), 0, 5000);
put('bad/crash.sym', "MODULE windows x86 3249D99D0C4049318610F4E4FB0B69361 crash.pdb\n");
put('bad/plain.wasm', fixture('wasm/dwarf.wasm'));
put('bad/crash.pdb', slurp("$data/pdb/crash.pdb"));
$ctl->is($ctl->run('sort', '-o', "$dir/some", "$dir/bad"), 1, qr/^32.*crash\.pdb\t/,
    qr/crash\.sym: is a Breakpad.*cut\.pdb: .*plain\.wasm: has no id.*4 files read, 1 sorted, .* 3 left out/s,
    'the rest is sorted');
put('empty/app.pdb', '');
put('empty/app.txt', '');
put('empty/crash.pdb', slurp("$data/pdb/crash.pdb"));
$ctl->is($ctl->run('sort', '-o', "$dir/empties", "$dir/empty"), 1, qr/crash\.pdb/,
    qr{\Asymcachectl sort: \S+/app\.pdb: is damaged: it is empty; left out\n.*3 files read, 1 sorted, .* 1 left out$}s,
    'a debug file without bytes is an error');
put('empty.zip', Test::Zip::zip(['bin/', ''], ['bin/a.dll', ''], ['bin/a.txt', ''],
    ['lib/libz.so.1.2.13', ''], ['lib/libz.so.1-gdb.py', ''],
    ['bin/crash.pdb', slurp("$data/pdb/crash.pdb")]));
$ctl->is($ctl->run('sort', '-o', "$dir/packed", "$dir/empty.zip"), 1, qr/empty\.zip: bin\/crash\.pdb/,
    qr{\Asymcachectl sort: \S+/empty\.zip: bin/a\.dll: is damaged: it is empty; left out
[^\n]*: lib/libz\.so\.1\.2\.13: is damaged: it is empty; left out\n[^\n]* 1 sorted, .* 2 left out$}s,
    '... in an archive, too');
put('split/app.dwo', fixture('split/clang++-5.dwo'));
put("split/$_.pdb", slurp("$data/pdb/crash.pdb")) for 1 .. 3;
$ctl->is($ctl->run('sort', '-o', "$dir/splits", "$dir/split"), 0, qr/1\.pdb/,
    qr/4 files read, 1 sorted, .* 0 left out, 2 there already, 1 \.dwo or \.dwp without an id of their own: "symcachectl upload" sends/,
    'copies and split DWARF are counted');
$ctl->is($ctl->run('sort', '-o', "$dir/some", "$dir/in/notes.txt"), 1, undef,
    qr/ 0 sorted, .* 0 left out: no file is of a format of this layout$/, 'nothing to sort');
$ctl->is($ctl->run('sort', '-o', "$dir/none/out", "$dir/split"), 3, undef,
    qr{none/out: cannot be made: the folder above it is not there}, 'no folder above the output');
$ctl->is($ctl->run('sort', '-o', "$dir/in/notes.txt", "$dir/split"), 3, undef,
    qr/notes\.txt: Not a directory$/, 'a file in the place of the folder');
$ctl->is($ctl->run('sort', "$dir/in"), 2, undef, qr/no -o/, 'no -o');
$ctl->is($ctl->run('sort', '-o', "$dir/some", '--bundle-id', $_, "$dir/in"), 2, undef,
    qr/no id of a bundle/, "the bundle $_") for '..', 'a/b', 'a__b', '';
$ctl->is($ctl->run('sort', '-o', "$dir/in/notes.txt/x", "$dir/in"), 3, undef,
    qr/Not a directory/, 'no folder');
$ctl->is($ctl->run('sort', '-o', "$dir/some", "$dir/none"), 3, undef,
    qr/none: No such file/, 'nothing there');
symlink 'nowhere', "$dir/link" or die "symlink: $!";
$ctl->is($ctl->run('sort', '-o', "$dir/some", "$dir/link", "$dir/bad/crash.pdb"), 3,
    qr/crash/, qr/link: No such file.* 1 sorted, .* 0 left out, 1 could not be read$/s,
    'a link to nowhere: the others are sorted');
$ctl->is($ctl->run('sort', '-o', "$dir/some", '/dev/null', "$dir/bad/crash.pdb"), 1,
    qr/crash/, qr{/dev/null: is no regular file; left out\n.* 1 left out}, 'a device');

# of a fat file that is cut, what is there is sorted, and the rest named

my $fat = slurp("$data/convert/macho/fat.dwarf");
put('fat/App', substr $fat, 0, -100);
$ctl->is($ctl->run('sort', '-o', "$dir/some", "$dir/fat"), 1, qr/^4c.*x86_64/,
    qr/App: arm64: is cut off; left out\n.* 1 sorted/, 'a fat file without its end');
put('fat/App', substr $fat, 0, 5000);
$ctl->is($ctl->run('sort', '-o', "$dir/some", "$dir/fat"), 1, undef,
    qr/App: arm64: is truncated: the file ends before it; left out\n.* 0 sorted, .* 2 left out/s,
    'one of which only the beginning is there');
put('fat/App', scalar qx(zstd -qdc '$data/convert/macho/fat-archive.zst'));
$ctl->is($ctl->run('sort', '-o', "$dir/some", "$dir/fat"), 0, qr/x86_64/,
    qr/\A[^\n]* 1 sorted, .* 0 left out\n\z/, 'an archive in one is no damage');

$t->finish;
done_testing;
