#!/usr/bin/env perl

# Debug files that are no PDBs, from a source to a SymCache: ELF, Mach-O, PE
# with DWARF and WebAssembly.  What is published has the digest of the
# reference's output (t/convert/manifest.tsv, t/convert/slices.t).

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

# The same as linkers write it: the length of the id is in front of it
# (BuildId.md of WebAssembly's tool conventions).  Who takes that for a byte of
# the id, as the "symbolic" library does, asks for it by the other one.
my $linked = fixture('wasm/dwarf.wasm') . "\0\x1a\x08build_id\x10$wasm_id";
my $with_length = substr "\x10$wasm_id", 0, 16;

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
    'linked.wasm' => [uc(unpack 'H*', $wasm_id) . '0', $linked,
                      digest_of('wasm/dwarf.wasm')],
    'length.wasm' => [uc(unpack 'H*', $with_length) . '0', $linked,
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
# our converter is told by which of several ids a file was asked for
$transcoder->{command} = ['pdb2symcache', '-pdb', '{pdb}'];
local $ENV{PATH} = $t->program('') . ":$ENV{PATH}";
$transcoder->{inputs} = ['pdb', 'elf', 'macho', 'pe', 'wasm'];
$config->{sources} = {
    symstore => { type => 'filesystem', path => $t->path('symstore') },
};
$config->{stores}{default}{sources} = ['symstore'];
# code that lies elsewhere in a file than in memory is listed, and names of x64
# keep their underscores, which the reference does not do
$config->{stores}{alike} = { %{ $config->{stores}{default} },
    root => $t->path('alike'), transcoders => [{ %$transcoder,
        command => ['pdb2symcache', '--like-symbolic', '-pdb', '{pdb}'] }] };
$t->start_symcached($config);

sub lookup { my ($name, $id, $store) = @_;
    $store //= 'default';
    return $t->helper('GET',
        "/v1/symcache/$store/$name/$id?version=9.0.0&wait=60") }
sub why { my ($name, $id) = @_;
    return join "\n", map { "$_->{source} $_->{outcome}: $_->{detail}" }
        @{ $t->helper_json("/v1/why/default/$name/$id")->{attempts} } }
sub published { my ($name, $id, $root) = @_;
    $root //= 'store';
    my $file = $t->read_file("$root/$name/$id/$name-v9.0.0.symcache");
    $file =~ s/\Q$wasm_id\E|\Q$with_length\E/"\0" x 16/e if defined $file;
    return defined $file ? $t->sha256($file) : 'nothing' }

for (sort keys %files) {
    my ($id, undef, $digest) = @{ $files{$_} };
    is lookup($_, $id)->{status}, 200, "$_ is converted"
        or diag why($_, $id);
    if ($_ eq 'big.so' || $_ eq 'mingw.dll') {
        is lookup($_, $id, 'alike')->{status}, 200, '... like the reference';
        is published($_, $id, 'alike'), $digest, '... as the reference has it';
        next;
    }
    is published($_, $id), $digest, '... as the reference has it';
}

# The same in stores that know other ids.  What the client says of the code id
# leads there, and each source has what it has under one path only.

my $build = '1c173970c5036d4f995668e6b9d8b69be6f25277';
my $elf = 'libelf.so';
my $elf_id = $files{$elf}[0];
my $uuid = '4c4c448955553144a18069a34e2ad5e1';
my $at = unpack 'V', substr $pe, 0x3c, 4; # the header of PE
my $image = sprintf '%08X%x', unpack('V', substr $pe, $at + 8, 4),
    unpack('V', substr $pe, $at + 80, 4);

my @places = (
    # layout, path, name, code id
    ['debuginfod', "buildid/$build/debuginfo", $elf, "buildid-$build"],
    ['debuginfod', "buildid/$build/executable", $elf, "buildid-$build"],
    ['symstore', "_.debug/elf-buildid-sym-$build/_.debug", $elf,
     "buildid-$build"],
    ['symstore', "$elf/elf-buildid-$build/$elf", $elf, "buildid-$build"],
    ['two_tier', "_/_.debug/elf-buildid-sym-$build/_.debug", $elf,
     "buildid-$build"],
    ['ssqp', "$elf/elf-buildid-$build/$elf", $elf, "buildid-$build"],
    ['unified', "1c/" . substr($build, 2) . '/debuginfo', $elf,
     "buildid-$build"],
    ['unified', "1c/" . substr($build, 2) . '/executable', $elf,
     "buildid-$build"],
    ['slashsymbols', "$elf/\U$build\E/symbols", $elf, "buildid-$build"],
    ['slashsymbols', "$elf/$build/symbols", $elf, "buildid-$build"],
    ['slashsymbols', "arm64/$uuid/symbols", 'arm64'],
    ['slashsymbols', "mingw.dll/$image/symbols", 'mingw.dll', $image],
    ['breakpad', "$elf/$elf_id/$elf.dbg", $elf],
    ['breakpad', "$elf/$elf_id/$elf.dbg.gz", $elf],
    ['flat', $elf, $elf],
    # of Mach-O and WebAssembly the debug id is all
    ['ssqp', "_.dwarf/mach-uuid-sym-$uuid/_.dwarf", 'arm64'],
    ['symstore', "arm64/mach-uuid-$uuid/arm64", 'arm64'],
    ['unified', '4c/' . substr($uuid, 2) . '/debuginfo', 'arm64'],
    ['unified', '01/' . substr(unpack('H*', $wasm_id), 2) . '/debuginfo',
     'module.wasm'],
    ['symstore', "mingw.dll/$image/mingw.dll", 'mingw.dll', $image],
    ['unified', lc(substr $files{'mingw.dll'}[0], 0, 2) . '/'
        . lc(substr $files{'mingw.dll'}[0], 2) . '/executable', 'mingw.dll'],
);

my @stores = map { "place$_" } 0 .. $#places;
for my $i (0 .. $#places) {
    my ($layout, $path, $name) = @{ $places[$i] };
    my $body = $files{$name}[1];
    $body = Compress::Zlib::memGzip($body) if $path =~ /\.gz$/;
    $t->write_file("places/$i/$path", $body);
    $config->{sources}{$stores[$i]} = { type => 'filesystem',
        layout => $layout, path => $t->path("places/$i") };
    my $like = $name eq 'mingw.dll' ? 'alike' : 'default';
    $config->{stores}{$stores[$i]} = { %{ $config->{stores}{$like} },
        root => $t->path("roots/$i"), sources => [$stores[$i]] };
}

# What was stripped of debug information is taken only if nobody has that.
my $program = "programs/buildid/$build/executable";
$t->write_file($program, fixture('elf/stripped.so'));
$t->write_file("debug/$elf/$elf_id/$elf.dbg", fixture('elf/gcc-5.debug'));
$t->write_file("both/$elf/$elf_id/$elf", fixture('elf/stripped.so'));
$t->write_file("both/_.debug/elf-buildid-sym-$build/_.debug",
               fixture('elf/gcc-5.debug'));
$config->{sources}{programs} = { type => 'filesystem',
    layout => 'debuginfod', path => $t->path('programs') };
$config->{sources}{debug} = { type => 'filesystem',
    layout => 'breakpad', path => $t->path('debug') };
$config->{sources}{damaged} = { type => 'filesystem',
    layout => 'breakpad', path => $t->path('damaged') };
$config->{sources}{both} = { type => 'filesystem', path => $t->path('both') };
# A header of DWARF 5 whose unit is too long for its section.
(my $damaged = fixture('elf/gcc-5.debug'))
    =~ s/.{4}(?=\x05\0\x01\x08)/\xf0\xff\xff\xff/s or die 'no unit';
$t->write_file("damaged/$elf/$elf_id/$elf.dbg", $damaged);
$t->write_file("beside/buildid/$build/debuginfo", $damaged);
$t->write_file("beside/buildid/$build/executable", fixture('elf/stripped.so'));
$config->{sources}{beside} = { type => 'filesystem',
    layout => 'debuginfod', path => $t->path('beside') };
mkdir $t->path('none') or die;
$config->{sources}{none} = { type => 'filesystem', path => $t->path('none') };
my %best = (alone => ['stripped', 'programs'],
            last => ['gcc-5', 'programs', 'debug'],
            first => ['gcc-5', 'debug', 'programs'],
            one => ['gcc-5', 'both'],
            damaged => ['stripped', 'programs', 'damaged'],
            beside => ['stripped', 'beside'],
            behind => ['gcc-5', 'beside', 'debug'],
            nobody => ['stripped', 'programs', 'none']);
for (keys %best) {
    my (undef, @sources) = @{ $best{$_} };
    $config->{stores}{$_} = { %{ $config->{stores}{default} },
        root => $t->path("roots/$_"), sources => \@sources };
}

$config->{stores}{warm} = { %{ $config->{stores}{default} },
    root => $t->path('roots/warm'), sources => ['place0'] };

# A SymCache server is told the code id as well.
my $peer = Test::ScriptedServer->new(log => $t->path('peer.log'), script => sub {
    my ($c, $req) = @_;
    $c->reply(404, {}, '') });
$config->{sources}{peer} = { type => 'symcache', url => $peer->url,
    internal => JSON::PP::true() };
$config->{stores}{peer} = { %{ $config->{stores}{default} },
    root => $t->path('peer'), sources => ['peer'] };
$t->reload_symcached($config);

for my $i (0 .. $#places) {
    my ($layout, $path, $name, $code_id) = @{ $places[$i] };
    my $id = $files{$name}[0];
    my $query = '?version=9.0.0&wait=60';
    my $target = "/v1/symcache/$stores[$i]/$name/$id$query";
    my $answer;
    if (defined $code_id) {
        is $t->helper('GET', $target)->{status}, 404,
            "$layout: $path is not found by the debug id";
        (my $wrong = $code_id) =~ s/(\d)/($1 + 1) % 10/e;
        is $t->helper('GET', "$target&code_id=$wrong")->{status}, 404,
            '... nor by another code id';
    }
    $target .= "&code_id=$code_id" if defined $code_id;
    is $t->helper('GET', $target)->{status}, 200, "$layout: $path"
        or diag $t->helper('GET',
            "/v1/why/$stores[$i]/$name/$id")->{body};
    my $made = $t->read_file("roots/$i/$name/$id/$name-v9.0.0.symcache") // '';
    $made =~ s/\Q$wasm_id\E|\Q$with_length\E/"\0" x 16/e;
    is $t->sha256($made), $files{$name}[2], '... as the reference has it';
}

# A build id belongs to one debug id.  The file of another one proves nothing,
# and is not fetched.
is $t->helper('GET', "/v1/symcache/$stores[0]/$elf/$files{x86_64}[0]"
    . "?version=9.0.0&wait=60&code_id=buildid-$build")->{status}, 404,
    "another module's build id leads nowhere";

for (sort keys %best) {
    my ($what, @sources) = @{ $best{$_} };
    my $target = "$_/$elf/$elf_id";
    is $t->helper('GET', "/v1/symcache/$target?version=9.0.0&wait=60"
        . "&code_id=buildid-$build")->{status}, 200, "@sources"
        or diag $t->helper('GET', "/v1/why/$target")->{body};
    is $t->sha256($t->read_file("roots/$_/$elf/$elf_id/$elf-v9.0.0.symcache")
        // ''), digest_of("elf/$what.so"), "... the SymCache of $what";
}

# The operator's command finds the ids in the module itself.
$t->write_file($elf, fixture('elf/stripped.so'));
my @command = ($t->program('symcachectl'), 'warm', '--store', 'warm',
    '--socket', 'unix:' . $t->helper_socket, $t->path($elf));
open my $out, '-|', @command or die "symcachectl: $!";
is join('', <$out>), "1 module: 1 cached, 0 missing, 0 failed\n", 'warm';
close $out;
is $t->sha256($t->read_file("roots/warm/$elf/$elf_id/$elf-v9.0.0.symcache")
    // ''), digest_of('elf/gcc-5.so'), '... made it of its debug file';

$t->helper('GET', "/v1/symcache/peer/$elf/$elf_id?version=9.0.0&wait=60"
    . "&code_id=buildid-$build");
my ($asked) = $peer->requests;
is $asked->{headers}{'x-symcache-code-id'}, "buildid-$build", 'a peer is told';

$t->finish;
done_testing;
