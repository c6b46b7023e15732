#!/usr/bin/env perl

# Debug files that are no PDBs, from a source to a SymCache: ELF, Mach-O, PE
# with DWARF and WebAssembly.  What is published has the digest of the
# reference's output (t/convert/manifest.tsv, t/convert/slices.t).

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

plan skip_all => 'no zstd' if system('zstd --version >/dev/null 2>&1') != 0;

my $t = Test::Symcache->new;

my %digest = map { (split /\t/)[1, 5] }
    grep { m{/convert/(elf|macho|pe|wasm)/} } split /\n/,
    $t->read_file($t->data('../convert/manifest.tsv'));

sub fixture { my $file = $t->data("convert/$_[0]");
    return -e $file ? $t->read_file($file) : scalar qx(zstd -qdc '$file.zst') }
sub digest_of { $digest{"t/data/convert/$_[0].zst"} // die $_[0] }

# A GUID is written with its first three numbers reversed.
sub guid { my ($bytes) = @_;
    return uc unpack 'H*', pack 'NnnA*', unpack 'VvvA*', $bytes }

my $pe = fixture('pe/mingw-5.dll');
my ($rsds, $age) = $pe =~ /RSDS(.{16})(.{4})/s or die 'no RSDS';

# A custom section with an id, which is all that it adds to the SymCache.
my $wasm_id = join '', map { chr } 1 .. 16;
my $wasm = fixture('wasm/dwarf.wasm') . "\0\x19\x08build_id$wasm_id";

# name, id, content, digest of the reference's output
my %files = (
    # as readelf -n prints their build ids
    'libelf.so' => [guid(pack 'H32', '1c173970c5036d4f995668e6b9d8b69b') . '0',
                    fixture('elf/gcc-5.so'), digest_of('elf/gcc-5.so')],
    'big.so' => ['C5F3FAF9D7D150486A8F1EA6A40C12CB0',
                 fixture('elf/powerpc.so'), digest_of('elf/powerpc.so')],
    'mingw.dll' => [guid($rsds) . sprintf('%X', unpack 'V', $age), $pe,
                    digest_of('pe/mingw-5.dll')],
    'module.wasm' => [uc(unpack 'H*', $wasm_id) . '0', $wasm,
                      digest_of('wasm/dwarf.wasm')],
    # as llvm-dwarfdump --uuid prints them
    'arm64' => ['4C4C448955553144A18069A34E2AD5E10',
        fixture('macho/fat.dwarf'),
        '7ed6b0915e1dbc831cf5ede1e94dc92725ada384e32aa3c97a7525a0d8db8488'],
    'x86_64' => ['4C4C442955553144A1EB1F03CB7B55730',
        fixture('macho/fat.dwarf'),
        'a423d06e21b2172a0355fe0b867524f3935e7144407fad849e965dae663ebb8e'],
);

for (keys %files) {
    $t->write_file("symstore/$_/$files{$_}[0]/$_", $files{$_}[1]);
}

my $config = $t->default_config('');
my ($transcoder) = @{ $config->{stores}{default}{transcoders} };
$transcoder->{inputs} = ['pdb', 'elf', 'macho', 'pe', 'wasm'];
$config->{sources} = {
    symstore => { type => 'filesystem', path => $t->path('symstore') },
};
$config->{stores}{default}{sources} = ['symstore'];
$t->start_symcached($config);

sub lookup { my ($name, $id) = @_;
    return $t->helper('GET',
        "/v1/symcache/default/$name/$id?version=9.0.0&wait=60") }
sub why { my ($name, $id) = @_;
    return join "\n", map { "$_->{source} $_->{outcome}: $_->{detail}" }
        @{ $t->helper_json("/v1/why/default/$name/$id")->{attempts} } }
sub published { my ($name, $id) = @_;
    my $file = $t->read_file("store/$name/$id/$name-v9.0.0.symcache");
    $file =~ s/\Q$wasm_id/"\0" x 16/e if defined $file;
    return defined $file ? $t->sha256($file) : 'nothing' }

for (sort keys %files) {
    my ($id, undef, $digest) = @{ $files{$_} };
    is lookup($_, $id)->{status}, 200, "$_ is converted"
        or diag why($_, $id);
    is published($_, $id), $digest, '... as the reference has it';
}

done_testing;
