#!/usr/bin/env perl

# Files that say what names and lines are: BCSymbolMaps and line mappings of
# il2cpp.  Expected values are those of t/data/sourcebundle/aux, and, for a dSYM
# whose names were hidden here, the digest of the reference's output for the
# same one as it was.

use strict;
use warnings;

use FindBin qw($Bin);
use lib "$Bin/lib";
use Digest::SHA;
use JSON::PP ();
use Test::More;

use Corpus;

my $corpus = Corpus->new;
my $data = $corpus->root . '/t/data';
my $aux = "$data/sourcebundle/aux";
my $work = $corpus->work;
my $out = "$work/out";
my $map = "$aux/c0ffee00-1111-2222-3333-444455556666.bcsymbolmap";

sub slurp { open my $f, '<:raw', $_[0] or die "$_[0]: $!"; local $/; return scalar <$f> }
sub spew { open my $f, '>:raw', $_[0] or die "$_[0]: $!"; print $f $_[1]; close $f; return $_[0] }
sub json { return JSON::PP->new->decode(slurp("$aux/$_[0]")) }

# Exit code and what is said.
sub convert {
    unlink $out;
    my $command = join ' ', map { "'$_'" } $corpus->build . '/pdb2symcache', '-o', $out, @_;
    my $said = `$command 2>&1`;
    return ($? >> 8, $said);
}
sub dump_of { my $program = $corpus->build . '/symcachectl'; return scalar qx('$program' dump '$out') }
sub lookup {
    my ($address) = @_;
    my $program = $corpus->build . '/symcachectl';
    my $line = qx('$program' lookup --json '$out' $address);
    return JSON::PP->new->decode($line)->{frames}[0];
}

my $head = "MODULE mac x86_64 000000000000000000000000000000001 a\n";

# --- names

my $resolve = json('bitcode.expected.json')->{resolve};
my $text = $head . "FILE 0 __hidden#2_\n";
my $n = 0;
$text .= sprintf "FUNC %x 10 0 %s\n%x 10 7 0\n", 0x1000 + 0x10 * $n++, $_->[0],
    0x1000 + 0x10 * ($n - 1) for @$resolve;
my $sym = spew("$work/names.sym", $text);
for my $option ('--symbol-map', '--line-mapping', '--image', '--altlink') {
    my ($code, $said) = convert($option, $work, $sym);
    is $code, 2, "$option: a folder";
    like $said, qr/\Q$work\E: cannot be opened: Is a directory/, '... which is said';
}
is_deeply [convert('--symbol-map', $map, $sym)], [0, ''], 'with a symbol map';
for my $i (0 .. $#$resolve) {
    my ($hidden, $name) = @{ $resolve->[$i] };
    my $frame = lookup(sprintf '%x', 0x1000 + 0x10 * $i);
    is $frame->{function}, $name, $hidden;
    is $frame->{file}, '/Users/build/Cart/Cart.m', '... of a file';
}
my ($without, $told) = convert($sym);
is $without, 0, 'without one';
like $told, qr/note: names are hidden, and there is no UUID map$/, '... that is told';
is lookup('1000')->{function}, '__hidden#0_', '... names stay hidden';

my $bad = spew("$work/bad.map", "BCSymbolMap Version: 1.0\nx\n");
my ($code, $said) = convert('--symbol-map', $bad, $sym);
is $code, 0, 'a map that cannot be read';
like $said, qr/note: the symbol map is no BCSymbolMap of version 2\.0$/, '... is told of';
is lookup('1000')->{function}, '__hidden#0_', '... and has no effect';
convert('--symbol-map', spew("$work/crlf", slurp($map) =~ s/\n/\r\n/gr), $sym);
is lookup('1010')->{function}, '-[Cart addItem:]', 'line ends of Windows';
($code, $said) = convert('--symbol-map', spew("$work/latin", slurp($map) . "\xe9"), $sym);
like $said, qr/note: the symbol map is not UTF-8$/, 'not UTF-8';

# --- a dSYM whose names were hidden: those of DWARF, and of symbols, which have
# an underscore more that no name of a SymCache has

my %digest = map { (split /\t/)[1, 5] } grep { /^tree\t/ } split /\n/,
    slurp($corpus->root . '/t/convert/manifest.tsv');
for my $file ('arm64.dwarf', 'x86_64.dwarf') {
    my $plain = slurp($corpus->unpacked("$data/convert/macho/$file.zst"));
    my (%number, @names);
    $plain =~ s{\0([\w.:/<>,~()\@ +-]{13,})(?=\0)}{
        my $name = $1;
        my $hide = $name =~ /^_+Z|\.(?:cpp|h)$/;
        my $original = $name =~ s/^_(?=_Z)//r;
        push @names, $original if $hide && !defined $number{$name};
        $number{$name} //= $#names if $hide;
        $hide ? "\0__hidden#" . sprintf('%0*d', length($name) - 10, $number{$name}) . '_'
              : "\0$name";
    }ge;
    cmp_ok scalar(@names), '>', 5, "$file: names are hidden";
    my $hidden = spew("$work/$file", $plain);
    my $names = spew("$work/$file.map", join "\n", 'BCSymbolMap Version: 2.0', @names);
    convert('--like-symbolic', $hidden);
    like dump_of(), qr/__hidden#/, '... which a SymCache has';
    is_deeply [convert('--like-symbolic', '--symbol-map', $names, $hidden)], [0, ''],
        '... and with a map';
    is +Digest::SHA->new(256)->addfile($out)->hexdigest,
        $digest{"t/data/convert/macho/$file.zst"}, '... is as the reference';
}

# --- lines

my $expected = json('il2cpp.expected.json');
my (%files, @records);
for my $i (0 .. $#$expected) {
    my ($path, $line) = @{ $expected->[$i] };
    $files{$path} //= keys %files;
    push @records, sprintf "FUNC %x 10 0 f%d\n%x 10 %d %d\n", 0x1000 + 0x10 * $i, $i,
        0x1000 + 0x10 * $i, $line, $files{$path};
}
$sym = spew("$work/lines.sym", join '', $head,
    (map { "FILE $files{$_} $_\n" } sort keys %files), @records);
is_deeply [convert('--line-mapping', "$aux/il2cpp.json", $sym)], [0, ''], 'with a line mapping';
for my $i (0 .. $#$expected) {
    my ($path, $line, $answer) = @{ $expected->[$i] };
    my $frame = lookup(sprintf '%x', 0x1000 + 0x10 * $i);
    is_deeply [@$frame{qw(function file line)}], ["f$i", @{ $answer // [$path, $line] }],
        "$path:$line";
}
like dump_of(), qr{/u/Assets/B\.cs}, 'files of C#';

# inlined functions, and where they are called
spew($sym, join '', $head, "FILE 0 /b/gen/A.cpp\nINLINE_ORIGIN 0 inlined\n",
    "FUNC 1000 10 0 outer\nINLINE 0 12 0 0 1000 8\n1000 8 16 0\n1008 8 20 0\n");
convert('--line-mapping', "$aux/il2cpp.json", $sym);
my $program = $corpus->build . '/symcachectl';
my $frames = JSON::PP->new->decode(scalar qx('$program' lookup --json '$out' 1000))->{frames};
is_deeply [map { "$_->{function} $_->{file}:$_->{line}" } @$frames],
    ['inlined /u/Assets/B.cs:77', 'outer /u/Assets/A.cs:3'], 'calls, too';

for (@{ json('il2cpp.bad.json') }) {
    my ($mapping, $what) = @$_;
    my ($code, $said) = convert('--line-mapping', spew("$work/mapping", $mapping), $sym);
    is $code, 0, "$mapping: $what";
    $what =~ /refused/ ? like($said, qr/note: the line mapping (?:has a line|is no JSON)/, '... is told')
                       : is($said, '', '... is taken');
}
($code, $said) = convert('--line-mapping', spew("$work/mapping", '{"a":' x 200), $sym);
like $said, qr/note: the line mapping is no JSON: .*line 1$/, 'too deep';

done_testing;
