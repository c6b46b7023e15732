#!/usr/bin/env perl

# Portable PDBs become PpdbCaches, byte for byte those of the reference writer,
# and --strict refuses what it refuses (t/data/ppdb/README.md); without it, what
# is only odd does not cost the lines of a whole file.  One program makes both
# kinds of cache and never the wrong one.

use strict;
use warnings;

use Cwd qw(abs_path);
use Digest::SHA qw(sha256_hex);
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use FindBin qw($Bin);
use IO::Uncompress::Gunzip qw(gunzip $GunzipError);
use JSON::PP;
use lib "$Bin/../lib";
use Test::File;
use Test::More;

my $top = abs_path("$Bin/../..");
my $program = abs_path($ENV{SYMCACHE_BUILD} // "$top/build") . '/pdb2symcache';
my $data = "$top/t/data/ppdb";
my $dir = tempdir('ppdb.XXXXXX', TMPDIR => 1, CLEANUP => 1);

sub unpacked {
    my ($file) = @_;
    return slurp($file) if $file !~ /\.gz$/;
    gunzip($file, \my $bytes) or die "$file: $GunzipError";
    return $bytes;
}

# Converts; returns the exit code, the output or undef, and what was said.
sub convert {
    my ($file, @options) = @_;
    unlink "$dir/out";
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        open STDERR, '>', "$dir/stderr" or die;
        exec $program, $file, '-o', "$dir/out", @options;
        exit 127;
    }
    waitpid $pid, 0;
    my $code = $? >> 8;
    return ($code, -f "$dir/out" ? slurp("$dir/out") : undef,
        slurp("$dir/stderr"));
}

sub table {
    my ($name) = @_;
    return map { [split /\t/] } grep { !/^#/ } split /\n/, slurp("$data/$name");
}

# what compilers make

for my $made (glob "$data/*.ppdbc $data/*.ppdbc.gz") {
    my ($name) = $made =~ m{([^/]+)\.ppdbc};
    my ($pdb) = glob "$data/$name.pdb*";
    spew("$dir/$name.pdb", unpacked($pdb));
    for my $options ([], ['--strict']) {
        my ($code, $out, $said) = convert("$dir/$name.pdb", @$options);
        is $code, 0, "$name @$options" or diag $said;
        ok defined $out && $out eq unpacked($made), "$name @$options: the bytes";
    }
}

# Exactly 65,535 rows in a table: the reference takes their indexes for wide
# ones and finds the tables too long.  What is expected is of another reader.

spew("$dir/wide65535.pdb", unpacked("$data/wide65535.pdb.gz"));
my ($code, $out, $said) = convert("$dir/wide65535.pdb", '--strict');
is $code, 8, '65,535 rows, strict';
like $said, qr/wide65535.*is damaged: table 0x37 ends beyond/, 'says where';
($code, $out, $said) = convert("$dir/wide65535.pdb");
is $code, 0, '65,535 rows' or diag $said;
my ($files, $ranges) = unpack 'x40 VV', $out;
my %got;
for my $i (0 .. $ranges - 1) {
    my ($line) = unpack 'V', substr $out, 72 + 8 * ($files + $i), 4;
    my ($row, $il) = unpack 'VV', substr $out, 72 + 8 * ($files + $ranges + $i), 8;
    $got{sprintf '0x%08x+%d', 0x06000000 + $row, $il} = $line;
}
my %want = map { ("$_->{token}+$_->{il}" => $_->{line}) } grep { !$_->{hidden} }
    map { decode_json($_) } split /\n/, slurp("$data/wide65535.points.jsonl");
is_deeply \%got, \%want, '65,535 rows: every point';

# in an image, of which little is needed

my $dll = slurp("$data/parcel.dll");
for my $options ([], ['--strict']) {
    my ($code, $out, $said) = convert("$data/parcel.dll", @$options);
    ok $code == 0 && $out eq slurp("$data/parcel.ppdbc"),
        "a PDB in an image @$options" or diag $said;
}
my $mpdb = index $dll, 'MPDB';
cmp_ok $mpdb, '>', 0, 'it is there';
for (
    ['stated smaller', 8, qr/has not the 100 bytes/, 4 => pack('V', 100)],
    ['stated larger', 8, qr/has not the 16745 bytes/, 4 => pack('V', 16745)],
    ['stated much larger', 8, qr/has not the 536870912/, 4 => pack('V', 512 << 20)],
    ['stated too large', 9, qr/too large/, 4 => pack('V', -1)],
    ['no deflate', 8, qr/cannot be unpacked/, 8 => "\xff" x 16],
    ['another magic', 8, qr/no portable PDB where/, 0 => 'MPDX'],
) {
    my ($name, $want, $re, $at, $bytes) = @$_;
    my $bad = $dll;
    substr($bad, $mpdb + $at, length $bytes) = $bytes;
    spew("$dir/bad.dll", $bad);
    my ($code, $out, $said) = convert("$dir/bad.dll");
    is $code, $want, "in an image, $name";
    like $said, qr/bad\.dll: .*$re/, "$name: why";
}
is((convert("$data/plain.dll", '--kind', 'ppdbcache'))[0], 3,
    'an image without one');

# one peculiarity each

my %lenient = map { ("$_.pdb" => 1) } qw(language-nil links-bad-tag links-bom
    links-comma links-no-documents links-number name-not-utf8);
for (table('craft.tsv')) {
    my ($name, $answer) = @$_;
    (my $expected = $name) =~ s/pdb$/ppdbc/;
    my ($code, $out, $said) = convert("$data/craft/$name", '--strict');
    if ($answer eq 'cache') {
        ok $code == 0 && $out eq slurp("$data/craft/$expected"), $name
            or diag $said;
        ($code, $out) = convert("$data/craft/$name");
        ok $code == 0 && $out eq slurp("$data/craft/$expected"),
            "$name, not strict";
        next;
    }
    ok $code == 8 && !defined $out, "$name is refused";
    like $said, qr{^pdb2symcache: \S*\Q$name\E: is damaged: \S}, "$name: why";
    ($code, $out) = convert("$data/craft/$name");
    is $code, $lenient{$name} ? 0 : 8, "$name, not strict";
}

# what leniency gives: all four points, and U+FFFD for what is not UTF-8

my $usual = slurp("$data/craft/usual.ppdbc");
($code, $out) = convert("$data/craft/links-comma.pdb");
is $out, $usual, 'without source links that are wrong';
($code, $out) = convert("$data/craft/language-nil.pdb");
is $out, slurp("$data/craft/language-unknown.ppdbc"),
    'no language is an unknown one';
($code, $out) = convert("$data/craft/name-not-utf8.pdb");
like $out, qr/\xEF\xBF\xBD/, 'a name that is not UTF-8';

# Damaged files, a part of them: t/full/portablepdb.t takes all.  Whoever wants
# to see where it fails runs one file by hand.

my $part = $ENV{PPDB_ALL} ? 1 : 8;
my ($same, @wrong, $n) = (0);
for (table('mutations.tsv')) {
    next if $n++ % $part;
    my ($base, $size, $changes, $answer, undef, $sha) = @$_;
    my ($from) = grep { -f } "$data/$base", "$data/craft/$base";
    my $bytes = slurp($from);
    for (split /,/, $changes) {
        my ($at, $new) = split /:/;
        substr($bytes, $at, length($new) / 2) = pack 'H*', $new;
    }
    spew("$dir/damaged.pdb", substr $bytes, 0, $size);
    my ($code, $out, $said) = convert("$dir/damaged.pdb", '--strict');
    my $good = $answer eq 'cache' ? $code == 0 && sha256_hex($out) eq $sha
        : ($code == 8 || $code == 3 || $code == 9) && $said =~ /damaged\.pdb: \w/;
    $good ? $same++ : push @wrong, "row $n: $base $changes: $code $said";
}
is scalar @wrong, 0, "$same damaged files: cache or none, as the reference"
    or diag join "\n", @wrong[0 .. ($#wrong < 9 ? $#wrong : 9)];

# the kind that is wanted, or none

($code, $out, $said) = convert("$data/plain.pdb", '--kind', 'symcache');
ok $code == 4 && !defined $out, 'a portable PDB for a SymCache';
like $said, qr/plain\.pdb: is a portable PDB of \.NET/, 'says so';
($code, $out, $said) = convert("$top/t/data/pdb/crash.pdb", '--kind', 'ppdbcache');
ok $code == 3 && !defined $out, 'a Windows PDB for a PpdbCache';
like $said, qr/crash\.pdb: is not a portable PDB: only those of \.NET/, 'says so';
($code, $out) = convert("$data/plain.pdb", '--kind', 'ppdbcache');
is $out, slurp("$data/plain.ppdbc"), 'a portable PDB for a PpdbCache';
is((convert("$data/plain.pdb", '--kind', 'source'))[0], 1, 'an unknown kind');

# as a transcoder, and in this folder

mkdir "$dir/made" or die;
chdir $dir or die;
$ENV{_NT_SYMCACHE_PATH} = "$dir/made";
is system($program, '-pdb', "$data/plain.pdb"), 0, '-pdb';
is slurp("$dir/made/plain.pdb/198A378EEC0A47DA8FB2289C2BDAD68FFFFFFFFF/"
    . 'plain.pdb-v1.0.0.ppdbcache'), slurp("$data/plain.ppdbc"),
    'in its place under the root';
is system($program, "$data/plain.pdb"), 0, 'FILE alone';
ok -f "$dir/plain.pdb-v1.0.0.ppdbcache", 'in this folder';

# symcachectl convert: the same, with exit codes of its own

my $ctl = dirname($program) . '/symcachectl';
sub ctl {
    my $said = `cd '$dir' && '$ctl' convert @_ 2>&1 >stdout`;
    return ($? >> 8, $said);
}
is_deeply [ctl("$data/weave.pdb")], [0, ''], 'symcachectl convert FILE';
is slurp("$dir/weave.pdb-v1.0.0.ppdbcache"), slurp("$data/weave.ppdbc"),
    'in this folder';
is_deeply [ctl("$data/weave.pdb -o -")], [0, ''], '-o -';
is slurp("$dir/stdout"), slurp("$data/weave.ppdbc"), 'standard output';
is_deeply [ctl("$data/craft/links-comma.pdb -o $dir/links")], [0, ''], '-o OUT';
($code, $said) = ctl("--strict $data/craft/links-comma.pdb -o $dir/strict");
is $code, 1, '--strict';
like $said, qr{^symcachectl: \S+links-comma\.pdb: is damaged: source links},
    'says why';
ok !-e "$dir/strict", 'and leaves nothing';
is((ctl("$dir/none"))[0], 3, 'no such file');
is((ctl(''))[0], 2, 'no FILE');
chdir '/';

done_testing;
