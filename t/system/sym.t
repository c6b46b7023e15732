#!/usr/bin/perl

# Breakpad's text of modules whose sources have the native file alone: PDB and
# ELF.  It has what Mozilla's dump_syms wrote of the same files
# (t/data/convert/breakpad), and stands in the place of no original.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

plan skip_all => 'no zstd' if system('zstd --version >/dev/null 2>&1') != 0;

my $t = Test::Symcache->new;
my $id = $Test::Symcache::key{'crash.pdb'};
my $crash = $t->read_file($t->data('pdb/crash.pdb'));
my $reference = qx(zstd -qdc @{[$t->data('convert/breakpad/msvc-crash.sym.zst')]});

sub h { Test::Symcache::header(@_) }

# The records of a kind.
sub records {
    my ($text, $kind) = @_;
    return [sort grep { /^$kind / } split /\n/, $text];
}

$t->write_file("native/crash.pdb/$id/crash.pdb", $crash);
$t->write_file("both/crash.pdb/$id/crash.pdb", $crash);
$t->write_file("both/crash.pdb/$id/crash.sym",
    "MODULE windows x86 $id crash.pdb\nPUBLIC 1000 0 of_the_source\n");

# An ELF file lies under its build id, which clients name.
my $so = qx(zstd -qdc @{[$t->data('convert/elf/gcc-5.so.zst')]});
my ($build) = qx(readelf -n @{[$t->write_file('so', $so)]}) =~ /Build ID: (\w+)/
    or die 'no build id';
sub debug_id {
    my @b = map { hex } unpack('(A2)16', $_[0]);
    return sprintf('%02X%02X%02X%02X%02X%02X%02X%02X', @b[3, 2, 1, 0, 5, 4, 7, 6])
        . join('', map { sprintf '%02X', $_ } @b[8 .. 15]) . '0';
}
my $so_id = debug_id($build);
$t->write_file("native/_.debug/elf-buildid-sym-$build/_.debug", $so);

my $our = [$t->program('pdb2symcache'), '-pdb', '{pdb}'];
my %config = (stores => {}, sources => {});
my %layouts = (native => ['symstore', 'ssqp'], alone => ['symstore'], both => ['symstore', 'breakpad']);
for my $name (sort keys %layouts) {
    for (@{ $layouts{$name} }) {
        $config{sources}{"$name-$_"} = { type => 'filesystem', layout => $_,
            path => $t->path($name) };
    }
    $config{stores}{$name} = { root => $t->path("stores/$name"),
        sources => [map { "$name-$_" } @{ $layouts{$name} }],
        transcoders => [{ version => '9.0.0',
            command => ['pdb2symcache', '-pdb', '{pdb}'] }] };
}
$config{stores}{foreign} = { %{ $config{stores}{native} },
    root => $t->path('stores/foreign'),
    transcoders => [{ version => '9.0.0', command => $our }] };
local $ENV{PATH} = $t->program('') . ":$ENV{PATH}";
$t->start_symcached(\%config);
$t->start_nginx(join('', map { "location /$_/ {
        symcache_symbols %%DIR%%/downloads;
        symcache_pass unix:%%DIR%%/h.sock;
        symcache_store $_;
        symcache_zone z;
    }\n" } sort keys %{ $config{stores} }), http => 'symcache_zone z:64k;');

# --- of a PDB

my $uri = "crash.pdb/$id/crash.sym";
my $r = $t->get("/native/$uri");
is $r->{status}, 200, 'text of a PDB' or diag $t->helper_log;
sub first_line { $_[0]{body} =~ s/\n.*//sr }
is first_line($r), "MODULE windows x86 $id crash.pdb", 'its first line is that of dump_syms';
is_deeply records($r->{body}, 'STACK'), records($reference, 'STACK'),
    'the same unwind information';

# Parameter sizes and the mark of folded functions are not known.
sub functions {
    my ($text) = @_;
    return [sort map { s/^FUNC (?:m )?(\w+ \w+) \w+ .*/$1/r }
        @{ records($text, 'FUNC') }];
}
is_deeply functions($r->{body}), functions($reference), 'the same functions';
sub names {
    my ($text) = @_;
    return { map { /^FUNC (?!m )(\w+) \w+ \w+ (.*)/ ? ($1, $2) : () }
        @{ records($text, 'FUNC') } };
}
my ($got, $wanted) = (names($r->{body}), names($reference));
my @other = grep { ($got->{$_} // '') ne $wanted->{$_} } sort keys %$wanted;
is_deeply [map { $got->{$_} } @other],
    [map { $wanted->{$_} =~ s/\(anonymous namespace\)/`anonymous namespace'/r }
        @other], 'of the same names, but for one that LLVM writes otherwise';
cmp_ok scalar @other, '<=', 1, 'which is one at most';

my $again = $t->get("/native/$uri");
is h($again, 'ETag'), h($r, 'ETag'), 'the second time it is there';
ok -s $t->path("downloads/native/crash.pdb/$id/crash.pdb.breakpad"),
    'among the downloads';
ok !-e $t->path("downloads/native/crash.pdb/$id/crash.pdb.sym"),
    'in a place of its own';
is $t->get("/native/crash.pdb/$id/crash.pdb")->{body}, $crash,
    'the PDB is not another';

# --- of ELF, by the code id that minidump-stackwalk sends

$r = $t->get("/native/libshapes.so/$so_id/libshapes.so.sym"
    . "?code_file=libshapes.so&code_id=$build");
is $r->{status}, 200, 'text of an ELF file' or diag $t->helper_log;
like $r->{body}, qr/^MODULE Linux x86_64 $so_id libshapes\.so\nINFO CODE_ID \U$build\E\n/,
    'its head is that of dump_syms';
like $r->{body}, qr/^FUNC \w+ \w+ 0 outer::/m,
    'names are readable';
like $r->{body}, qr/^INLINE 0 \d+ \d+ \d+ \w+ \w+$/m, 'inlined calls';
like $r->{body}, qr/^STACK CFI INIT /m, 'unwind information';

# --- of files that lie under another name: a program, and one whose name no other
#     transcoder gets to see

my $program = qx(zstd -qdc @{[$t->data('convert/elf/clang-5.so.zst')]});
my ($program_build) = qx(readelf -n @{[$t->write_file('program', $program)]})
    =~ /Build ID: (\w+)/ or die 'no build id';
$t->write_file("native/app/elf-buildid-$program_build/app", $program);
my $program_id = debug_id($program_build);
$r = $t->get("/native/app/$program_id/app.sym?code_file=app&code_id=$program_build");
is $r->{status}, 200, 'text of a program' or diag $t->helper_log;
is first_line($r), "MODULE Linux x86_64 $program_id app", 'has its name';
$t->write_file("native/my crash.pdb/$id/my crash.pdb", $crash);
$r = $t->get("/native/my%20crash.pdb/$id/my%20crash.sym");
is first_line($r), "MODULE windows x86 $id my crash.pdb", 'a name with a blank';

# --- of a PDB for x64, with the unwind information of its image

my ($pdb, $dll) = map { scalar qx(zstd -qdc @{[$t->data("convert/msvc/$_.zst")]}) }
    'attach_amd64.pdb', 'attach_amd64.dll';
$t->write_file('dll', $dll);
my $pe = unpack 'x60 V', $dll;
my $code_id = sprintf '%08X%x', unpack("x$pe x8 V", $dll), unpack("x$pe x80 V", $dll);
my $cfi = qx(@{[$t->program('pdb2symcache')]} --kind cficache --text -o - @{[$t->path('dll')]});
my $attach_id = qx(zstd -qdc @{[$t->data('convert/breakpad/msvc-attach_amd64.sym.zst')]} | head -1)
    =~ s/^MODULE windows x86_64 (\w+) .*\n/$1/r;
$t->write_file("native/attach_amd64.pdb/$attach_id/attach_amd64.pdb", $pdb);
$t->write_file("alone/attach_amd64.pdb/$attach_id/attach_amd64.pdb", $pdb);
$t->write_file("native/attach_amd64.dll/$code_id/attach_amd64.dll", $dll);
my $attach = "attach_amd64.pdb/$attach_id/attach_amd64.sym";
my $named = 'code_file=C%3A%5Cx%5CAttach_amd64.dll&code_id=' . lc $code_id;

$r = $t->get("/native/$attach?$named");
is $r->{status}, 200, 'text of a PDB whose image is named' or diag $t->helper_log;
is join('', map { "$_\n" } @{ records($r->{body}, 'STACK') }),
    join('', map { "$_\n" } sort split /\n/, $cfi), 'has what the image has';
cmp_ok scalar @{ records($r->{body}, 'STACK') }, '>', 80, 'all of it' or diag $t->helper_log;
is scalar @{ records($r->{body}, 'FUNC') },
    scalar(() = qx(zstd -qdc @{[$t->data('convert/breakpad/msvc-attach_amd64.sym.zst')]})
        =~ /^FUNC /mg), 'and the functions of the PDB';
$r = $t->get("/alone/$attach?$named");
is $r->{status}, 200, 'an image that is nowhere' or diag $t->helper_log;
is scalar @{ records($r->{body}, 'STACK') }, 0, 'there are no records then';
is $t->get("/native/$attach?code_file=..&code_id=$code_id")->{status}, 200,
    'what is not a name is passed over';

# --- who has text, or cannot make it

like $t->get("/both/$uri")->{body}, qr/of_the_source/,
    'what a source has comes first';
ok !-e $t->path("downloads/both/crash.pdb/$id/crash.pdb.breakpad"),
    'and nothing is made then';
$r = $t->get("/foreign/$uri");
is join(' ', $r->{status}, h($r, 'Retry-After') // '-'), '404 -',
    'other transcoders make none';
$r = $t->get("/native/nowhere.pdb/$id/nowhere.sym");
is join(' ', $r->{status}, h($r, 'Retry-After') // '-'), '404 -',
    'a module that is nowhere';

$t->finish;
done_testing;
