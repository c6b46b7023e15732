#!/usr/bin/env perl

# Frames of modules that are no PDBs, from a source to names: ELF, Mach-O, PE
# with DWARF, WebAssembly, by both protocols.  What is at an address is what the
# symbolic library found there in its own SymCache of the same file
# (tools/corpus/reference.py lookup).

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

plan skip_all => 'no zstd' if system('zstd --version >/dev/null 2>&1') != 0;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8->canonical;

sub fixture { my $file = $t->data("convert/$_[0]");
    return -e $file ? $t->read_file($file) : scalar qx(zstd -qdc '$file.zst') }

# As readelf -n, llvm-dwarfdump --uuid and the headers of the image say; the
# WebAssembly module gets an id.
my $build = '1c173970c5036d4f995668e6b9d8b69be6f25277';
my $elf = '7039171C-03C5-4F6D-9956-68E6B9D8B69B';
my $uuid = '4c4c442955553144a1eb1f03cb7b5573';
my $wasm_id = join '', map { chr } 1 .. 16;
my $pe = fixture('pe/mingw-5.dll');
my $at = unpack 'V', substr $pe, 0x3c, 4;
my $image = sprintf '%08x%x', unpack('V', substr $pe, $at + 8, 4),
    unpack('V', substr $pe, $at + 80, 4);
my ($rsds, $age) = $pe =~ /RSDS(.{16})(.{4})/s or die 'no RSDS';
my $pe_id = sprintf '%08x-%04x-%04x-%s-%s-%x', unpack('VvvH4H12', $rsds),
    unpack 'V', $age;

$t->write_file("debuginfod/buildid/$build/debuginfo", fixture('elf/gcc-5.so'));
$t->write_file("symstore/_.dwarf/mach-uuid-sym-$uuid/_.dwarf",
               fixture('macho/fat.dwarf'));
$t->write_file('symstore/mingw.dll/' . uc(substr $image, 0, 8)
    . substr($image, 8) . '/mingw.dll', $pe);
my $hex = unpack 'H*', $wasm_id;
$t->write_file('unified/' . substr($hex, 0, 2) . '/' . substr($hex, 2)
    . '/debuginfo', fixture('wasm/dwarf.wasm') . "\0\x19\x08build_id$wasm_id");

# the id as linkers write it, with its length: Sentry's SDK sends all of that
my $linked = unpack 'H*', "\x10" . $wasm_id;
$t->write_file('unified/' . substr($linked, 0, 2) . '/' . substr($linked, 2) . '/executable',
    $t->read_file($t->data('javascript/wasm/calc.wasm')) . "\0\x1a\x08build_id\x10$wasm_id");

# a module whose debug file has another name, in a layout of programs' names
my $console = 'a1' x 20;
(my $game = fixture('elf/gcc-5.so')) =~ s/\Q@{[pack 'H*', $build]}/pack 'H*', $console/e or die 'no build id';
$t->write_file("slashsymbols/eboot.bin/\U$console\E/symbols", $game);

my $config = $t->default_config('');
$config->{stores}{default}{transcoders}[0]{inputs} =
    ['pdb', 'elf', 'macho', 'pe', 'wasm'];
# run by symcached itself, it knows which of a module's ids is wanted
$config->{stores}{default}{transcoders}[0]{command} = ['pdb2symcache', '-pdb', '{pdb}'];
my @sources = qw(debuginfod symstore unified slashsymbols);
$config->{sources} = { map { $_ => { type => 'filesystem', layout => $_,
    path => $t->path($_) } } @sources };
$config->{stores}{default}{sources} = \@sources;
$config->{symbolication} = { stores => ['default'] };
$t->start_symcached($config);
$t->start_symbolicated;

sub post { my ($path, $body) = @_;
    my $r = $t->post($t->symbolicated_socket, $path, $json->encode($body),
        'Content-Type: application/json');
    return $r->{status} == 200 ? $json->decode($r->{body}) : $r->{status} }

my %modules = (
    # without a debug file and a debug id, as clients on Linux have it
    elf => { type => 'elf', code_id => $build, code_file => '/lib/libshapes.so' },
    console => { type => 'elf', code_id => $console, code_file => '/app0/eboot.bin',
                 debug_id => 'a1a1a1a1-a1a1-a1a1-a1a1-a1a1a1a1a1a1', debug_file => '/build/game.elf' },
    macho => { type => 'macho', debug_id => $uuid, debug_file => 'shapes',
               code_id => uc $uuid },
    pe => { type => 'pe', debug_id => $pe_id, code_id => $image,
            code_file => 'C:\\app\\mingw.dll' },
    wasm => { type => 'wasm', debug_id => $hex, code_id => $hex,
              code_file => 'https://h/module.wasm' },
);
# What the files have, as readelf -S, objdump -h and otool -l list it.
my %features = (
    elf => [qw(has_debug_info has_symbols has_unwind_info)],
    console => [qw(has_debug_info has_symbols has_unwind_info)],
    macho => [qw(has_debug_info has_symbols has_unwind_info)],
    pe => [qw(has_debug_info has_symbols has_unwind_info)],
    wasm => [qw(has_debug_info has_symbols)],
);
my $box = '_ZN5outer5inner3Box';
my @lookups = (
    # module, address, then for each frame, inner ones first: symbol, path, line
    ['elf', 0x20a3, ['operator()', '/src/shapes.cpp', 73],
        ['anonymous_inline', '/src/shapes.cpp', 76],
        ['_ZN12_GLOBAL__N_113anonymous_outEi', '/src/shapes.cpp', 79]],
    ['elf', 0x2586, ["${box}IiLi4EE6level3EiPVi", '/src/shapes.h', 27],
        ["${box}IiLi4EE6level2Ei", '/src/shapes.h', 23],
        ["${box}IiLi4EE6level1Ei", '/src/shapes.h', 18],
        ['_ZNK5outer5inner3BoxIiLi4EE6methodEi', '/src/shapes.cpp', 21]],
    ['elf', 0x2889, ['second0', '/src/second.cpp', 14]],
    ['elf', 0x2892],
    ['console', 0x2889, ['second0', '/src/second.cpp', 14]],
    ['macho', 0x2eb, ['_ZL5twicei', '/src/tiny.cpp', 3],
        ['tiny', '/src/tiny.cpp', 7]],
    ['pe', 0x171a, ["${box}IiLi4EE6level2Ei", '/src/shapes.h', 22],
        ["${box}IiLi4EE6level1Ei", '/src/shapes.h', 18],
        ['entry', '/src/shapes.cpp', 125]],
    # Symbolicator looks up the multiple of 4 below, where the library has line 26
    ['wasm', 0xe93, ['outer::inner::Box<float, 2>::level3(int, int volatile*)',
                     '/src/shapes.h', 26]],
);

# The frames at an address, as Symbolicator's protocol has them.
sub frames { my ($module, $address) = @_;
    my $answer = post('/symbolicate', { modules => [{ %{ $modules{$module} },
            image_addr => '0x100000', image_size => 0x10000 }],
        stacktraces => [{ frames => [{
            instruction_addr => sprintf '0x%x', 0x100000 + $address }] }] });
    return ($answer->{modules}[0],
            [grep { $_->{status} eq 'symbolicated' }
                 @{ $answer->{stacktraces}[0]{frames} }]) }

for (@lookups) {
    my ($module, $address, @expected) = @$_;
    my ($told, $frames) = frames($module, $address);
    my $name = sprintf '%s, 0x%x', $module, $address;
    is $told->{debug_status}, 'found', $name;
    is_deeply [map { [@$_{qw(symbol abs_path lineno)}] } @$frames], \@expected,
        '... has these frames';
    is_deeply [grep { $told->{features}{$_} } sort keys %{ $told->{features} }],
        $features{$module}, '... features';
    is_deeply [@$told{qw(debug_id code_id)}],
        [@{ $modules{$module} }{qw(debug_id code_id)}], '... ids as they were'
        if $module eq 'elf';
}

# A frame as @sentry/wasm 10.70 makes it of Chrome's; llvm-symbolizer has line 3.
my $sdk = post('/symbolicate', { modules => [{ type => 'wasm', code_id => $linked,
        code_file => 'https://h/calc.wasm', debug_file => undef,
        debug_id => substr($linked, 0, 32) . '0' }],
    stacktraces => [{ frames => [{ platform => 'native', addr_mode => 'rel:0',
        instruction_addr => '0xc8', filename => 'https://h/calc.wasm' }] }] });
is_deeply [$sdk->{modules}[0]{debug_status},
           @{ $sdk->{stacktraces}[0]{frames}[0] }{qw(function abs_path lineno)}],
    ['found', 'inner', '/src/calc.c', 3], 'WebAssembly, with the id that the SDK sends';

# Mozilla's protocol has debug ids only; the file is the same.
my $answer = post('/symbolicate/v5', {
    memoryMap => [['libshapes.so', ($elf =~ tr/-//dr) . '0']],
    stacks => [[[0, 0x2586]]] })->{results}[0];
my ($frame) = @{ $answer->{stacks}[0] };
is $frame->{function},
    'outer::inner::Box<int, 4>::method(int) const', 'v5: the function';
is_deeply [@$frame{qw(file line)}], ['/src/shapes.cpp', 21], '... its place';
is_deeply [map { [@$_{qw(function file line)}] } @{ $frame->{inlines} }],
    [['outer::inner::Box<int, 4>::level3(int, int volatile*)',
      '/src/shapes.h', 27],
     ['outer::inner::Box<int, 4>::level2(int)', '/src/shapes.h', 23],
     ['outer::inner::Box<int, 4>::level1(int)', '/src/shapes.h', 18]],
    '... and what is inlined there';

# A code id that is a stranger's says nothing of the module to others.  One that
# does not make the debug id is not looked for.
my $near = substr($build, 0, 32) . 'abababab';
$t->write_file("debuginfod/buildid/$_/debuginfo", fixture('elf/clang-5.so'))
    for $near, 'cd' x 20;
$modules{other} = { type => 'elf', debug_file => 'other.so', debug_id => $elf };
for ([$near, 'malformed'], ['cd' x 20, 'missing'], [undef, 'missing'],
     [$build, 'found']) {
    my ($code_id, $status) = @$_;
    $modules{other}{code_id} = $code_id;
    my ($told) = frames('other', 0x2586);
    is $told->{debug_status}, $status, 'code id ' . ($code_id // 'none');
}

# A type that nobody knows: the code id tells what the module is.  Symbolicator
# finds these too.
for (['elf', 0x2586], ['pe', undef], ['macho', 0x2eb]) {
    my ($module, $address) = @$_;
    ($address) = map { $_->[1] } grep { $_->[0] eq $module } @lookups if !defined $address;
    for my $type ('unknown', '', 'weird') {
        my ($known, $same) = frames($module, $address);
        $modules{foreign} = { %{ $modules{$module} }, type => $type };
        my ($told, $frames) = frames('foreign', $address);
        is "$told->{type} $told->{debug_status}", 'unknown found', "type '$type' of $module";
        is_deeply $frames, $same, '... with the same frames';
    }
}

# A name is not needed where files lie by their ids.
for (['elf', 'code_file', undef, 0x2586], ['macho', 'debug_file', undef, 0x2eb],
     ['elf', 'code_file', '/lib/..', 0x2586],
     ['wasm', 'code_file', "\n", 0xe93]) {
    my ($module, $member, $name, $address) = @$_;
    local $modules{$module}{$member} = $name;
    my ($told, $frames) = frames($module, $address);
    is_deeply [$told->{debug_status}, scalar @$frames > 0], ['found', 1],
        "$module without a name" or diag explain $told;
}

# Nor is a type that is known.
{
    local $modules{wasm}{type} = 'other';
    my ($told, $frames) = frames('wasm', 0xe93);
    is_deeply [$told->{debug_status}, $told->{type}, scalar @$frames],
        ['found', 'unknown', 1], 'a module of another type';
}

$t->finish;
done_testing;
