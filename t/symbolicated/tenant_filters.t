#!/usr/bin/env perl

# Of which modules a client's sources are asked: filters, the layout native for
# modules of all systems, and what is public.  The rules are those of
# Symbolicator's documents; the servers are real ones that tell what they were
# asked for.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

plan skip_all => 'no zstd' if system('zstd --version >/dev/null 2>&1') != 0;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8->canonical;

sub fixture { my $file = $t->data("convert/$_[0]");
    return -e $file ? $t->read_file($file) : scalar qx(zstd -qdc '$file.zst') }

# As in native.t; and text of Breakpad, whose first line has the id.
my $build = '1c173970c5036d4f995668e6b9d8b69be6f25277';
my $uuid = '4c4c442955553144a1eb1f03cb7b5573';
my $wasm_id = join '', map { chr } 1 .. 16;
my $hex = unpack 'H*', $wasm_id;
my $pe = fixture('pe/mingw-5.dll');
my $at = unpack 'V', substr $pe, 0x3c, 4;
my $image = sprintf '%08x%x', unpack('V', substr $pe, $at + 8, 4),
    unpack('V', substr $pe, $at + 80, 4);
my $sym = fixture('breakpad/inline-nested.sym');
my ($sym_id, $sym_name) = $sym =~ /^MODULE \S+ \S+ (\S+) (\S+)/ or die 'no MODULE';
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $crash_key = $Test::Symcache::key{'crash.pdb'};
my $weave = '6022E78B4BF44D048F9E21D7790ECE60';

my %files = (
    "crash.pdb/$crash_key/crash.pdb" => $crash,
    '1c/' . substr($build, 2) . '.debug' => fixture('elf/gcc-5.so'),
    '4C4C/4429/5555/3144/A1EB/1F03CB7B5573' => fixture('macho/fat.dwarf'),
    '01/' . substr($hex, 2) . '.debug' =>
        fixture('wasm/dwarf.wasm') . "\0\x19\x08build_id$wasm_id",
    'mingw.dll/' . uc(substr $image, 0, 8) . substr($image, 8) . '/mingw.dll' => $pe,
    "$sym_name/$sym_id/" . ($sym_name =~ s/\.pdb$//r) . '.sym' => $sym,
    "weave.pdb/${weave}FFFFFFFF/weave.pdb" => $t->read_file($t->data('ppdb/weave.pdb')),
);
my $server = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    my ($base, $path) = $req->{path} =~ m{^/([^/]+)/(.*)} or return $c->reply(404);
    my $file = $base eq 'lower'
        ? (map { $files{$_} } grep { lc eq $path } keys %files)[0] : $files{$path};
    return defined $file && $base ne 'none' ? $c->reply(200, {}, $file)
        : $c->reply(404);
});
my $port = $server->port;
$t->start_symcached({
    stores => { default => { root => $t->path('store') } },
    limits => { attempts => 1 },
    symbolication => { symbolicator => { sources => 'allow', tenants => {
        root => $t->path('tenants'), count => 100, hosts => ["127.0.0.1:$port"] } } },
});
$t->start_symbolicated;

my %modules = (
    crash => { type => 'pe', debug_file => 'C:\\Build\\crash.pdb',
        code_file => 'C:\\Windows\\System32\\Crash.exe',
        debug_id => '3249d99d-0c40-4931-8610-f4e4fb0b6936-1' },
    elf => { type => 'elf', code_id => $build, code_file => '/lib/libshapes.so' },
    macho => { type => 'macho', debug_id => $uuid, debug_file => 'shapes', code_id => uc $uuid },
    pe => { type => 'pe', code_id => $image, code_file => 'C:\\app\\mingw.dll' },
    wasm => { type => 'wasm', debug_id => $hex, code_id => $hex,
        code_file => 'https://h/module.wasm' },
    sym => { type => 'elf', debug_file => $sym_name, debug_id => $sym_id },
    weave => { type => 'pe_dotnet', debug_file => 'weave.pdb',
        debug_id => '6022e78b-4bf4-4d04-8f9e-21d7790ece60-ed5a93bd' },
);

# One scope has a quarter of the places: each list has one of eight.
sub post { my ($module, $sources, $query) = @_;
    $query //= '?scope=' . unpack('%32C*', $json->encode($sources)) % 8;
    my $r = $t->post($t->symbolicated_socket, "/symbolicate$query",
        $json->encode({
            modules => [{ image_addr => '0x100000', %$module }],
            stacktraces => [{ frames => [{ instruction_addr => '0x100001' }] }],
            options => { dif_candidates => \1, apply_source_context => \0 },
            sources => $sources }), 'Content-Type: application/json');
    return $r->{status} == 200 ? $json->decode($r->{body})->{modules}[0] : $r }

my $n = 0;
sub web { my (%more) = @_;    # each has a place of its own, thus a tenant
    my $base = delete $more{base} // 'b' . $n++;
    return { type => 'http', id => $base, url => "http://127.0.0.1:$port/$base/",
             layout => { type => 'native' }, %more } }
sub asked { my ($source) = @_;
    return map { $_->{path} =~ m{^/\Q$source->{id}\E/(.*)} ? $1 : () } $server->requests }

# --- the layout native

for my $what (sort keys %modules) {
    my $source = web();
    is post($modules{$what}, [$source])->{debug_status}, 'found', "native: $what";
}
is post($modules{$_}, [web(base => 'lower', layout => { type => 'native',
    casing => 'lowercase' })])->{debug_status}, 'found', "in lower case: $_"
    for qw(macho crash);

# --- types of files

for (['crash', [], 'pdb'], ['crash', ['elf_debug', 'pe', 'breakpad'], 0],
     ['elf', ['elf_debug'], 'elf_debug'], ['elf', ['pdb', 'mach_code'], 0],
     ['elf', ['wasm_debug', 'portablepdb', 'proguard'], 0],
     ['macho', ['mach_debug'], 'mach_debug'], ['pe', ['pe'], 'pe'],
     ['pe', ['pdb'], 0], ['wasm', ['wasm_debug'], 'wasm_debug'],
     ['wasm', ['elf_debug', 'breakpad'], 0], ['sym', ['breakpad'], 'breakpad'],
     ['weave', ['portablepdb'], 'portablepdb'], ['weave', ['pdb'], 0]) {
    my ($what, $types, $found) = @$_;
    my $got = post($modules{$what},
        [web(filters => { filetypes => $types })])->{debug_status};
    is $got, $found ? 'found' : 'missing', "$what of " . join ', ', @$types;
}
{
    my $debug = web(base => 'none', filters => { filetypes => ['elf_debug'] });
    post($modules{elf}, [$debug]);
    is_deeply [asked($debug)], ['1c/' . substr($build, 2) . '.debug'],
        'elf_debug: the program is not asked for';
    my $code = web(filters => { filetypes => ['elf_code'] });
    post($modules{elf}, [$code]);
    is_deeply [asked($code)], ['1c/' . substr $build, 2],
        'elf_code: the debug file is not';
    my $text = web(filters => { filetypes => ['pdb'] });
    post($modules{sym}, [$text]);
    is_deeply [grep { /\.sym/ } asked($text)], [], 'pdb: no text of Breakpad';
}

# --- patterns and checksums

my $nothing = 'No object files listed on this source';
for (['?:/windows/**', 1], ['*/CRASH.EXE', 1], ['*/crash.pdb', 1], ['?:/[a-x]*/crash.???', 1],
     ['c:/[!a-v]*.exe', 1], ['**/crash.exe', 1], ['c:/**/windows/**/system32/**', 1],
     ['*[!0-9][a-z].exe', 1], ['', 0], ['crash.exe', 0], ['*/crash', 0],
     ['?:/windows/*.dll', 0], ['c:\\\\windows\\\\*', 0], ['[d-z]:/*', 0], ['*a*a*a*a*a*a*a*a*b', 0]) {
    my ($pattern, $is_asked) = @$_;
    my $source = web(filters => { path_patterns => ['*/no', $pattern] });
    my $other = web(base => 'none');
    my $module = post($modules{crash}, [$source, $other]);
    is $module->{debug_status}, $is_asked ? 'found' : 'missing', "pattern: $pattern";
    my @places = map { $_->{location} }
        grep { $_->{source} eq $source->{id} } @{ $module->{candidates} };
    if ($is_asked) {
        cmp_ok scalar(asked($source)), '>', 0, '... is asked';
    } else {
        is_deeply [asked($source)], [], '... is not asked';
        is_deeply \@places, [$nothing], '... which is told';
    }
}
{
    # the same tenant, asked by turns for modules that a source is asked for and
    # others; what was not found without it is looked for with it
    my $source = web(filters => { path_patterns => ['*/crash.exe'] });
    my %other = (%{ $modules{crash} }, code_file => 'other.exe');
    is post(\%other, [$source, web(base => 'none')])->{debug_status}, 'missing',
        'another name';
    is post($modules{crash}, [$source, web(base => 'none')])->{debug_status}, 'found',
        'and the right one behind it';
    my %nameless = %{ $modules{crash} };
    delete $nameless{code_file};
    is post(\%nameless, [web(filters => { path_patterns => [] })])->{debug_status},
        'found', 'no pattern';
    is post(\%nameless, [web(filters => { path_patterns => ['*.exe'] })])->{debug_status},
        'missing', 'no name';

    my $strict = web(filters => { requires_checksum => \1 });
    is post($modules{weave}, [$strict])->{debug_status}, 'missing', 'no checksum';
    is_deeply [asked($strict)], [], '... is not asked';
    is post({ %{ $modules{weave} }, debug_checksum => 'x:00' }, [$strict])
        ->{debug_status}, 'found', 'with a checksum';
    is post($modules{weave}, [web(filters => { requires_checksum => \0 })])
        ->{debug_status}, 'found', 'none is required';
}

# --- what is public

sub tenants { return scalar grep { -d } glob $t->path('tenants/*') }
{
    my $private = web();
    my $public = web(is_public => \1);
    my $before = tenants();
    post($modules{crash}, [$public], "?scope=$_") for 'a', 'b';
    is tenants(), $before + 1, 'one store for what is public';
    is scalar(grep { /\.pdb$/ } asked($public)), 1, 'which is asked once';
    post($modules{crash}, [$private], "?scope=$_") for 'a', 'b';
    is tenants(), $before + 3, 'one for each scope for what is not';
    post($modules{crash}, [$public, web(base => 'none')], "?scope=$_") for 'a', 'b';
    is tenants(), $before + 5, 'and where both are';
}

# --- what cannot be is refused, in words

for ([{ layout => { type => 'debuginfod' } }, 'url: must end with /buildid'],
     [{ type => 'gcs', bucket => 'b', layout => { type => 'debuginfod' } },
      'layout.type: debuginfod is not'],
     [{ accept_invalid_certs => \1 }, 'accept_invalid_certs: certificates are'],
     [{ is_public => 1 }, 'is_public: invalid type: integer `1`, expected a boolean'],
     [{ has_index => 'yes' }, 'has_index: invalid type: string "yes", expected a boolean'],
     [{ filters => { path_patterns => 'a' } }, 'filters.path_patterns: invalid type: string "a", expected '],
     [{ filters => { path_patterns => ['a[b'] } }, 'filters.path_patterns: is too'],
     [{ filters => { path_patterns => ['a' x 200] } }, 'filters.path_patterns: is too'],
     [{ filters => { path_patterns => [('a') x 65] } }, 'too many path_patterns'],
     [{ filters => { requires_checksum => 1 } }, 'filters.requires_checksum: invalid type'],
     [{ filters => [] , layout => { casing => 'x' } }, 'layout.casing: unknown variant']) {
    my ($wrong, $said) = @$_;
    my $r = post($modules{crash}, [web(%$wrong)]);
    is $r->{status}, 422, $said;
    like $r->{body}, qr/: sources\[0\](\.|: )\Q$said\E/, '... and where';
}
is post($modules{crash}, [web(accept_invalid_certs => \0, has_index => \1)])
    ->{debug_status}, 'found', 'what changes nothing is taken';

$server->stop;
$t->finish;
done_testing;
