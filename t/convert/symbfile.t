#!/usr/bin/env perl

# Symbfiles: the worked example of the format's description (two files, byte by
# byte, and what is found in them), variants of it, damaged files, and round
# trips: what is found in the symbfile of a debug file is what is found in its
# SymCache.

use strict;
use warnings;

use FindBin qw($Bin);
use lib "$Bin/lib", "$Bin/../lib";
use Test::File;
use Test::More;

use Corpus;
use Test::ScriptedServer;

my $corpus = Corpus->new;
my ($root, $work) = ($corpus->root, $corpus->work);
my $ctl = $corpus->build . '/symcachectl';
my $data = "$root/t/data/convert/symbfile";

# Runs symcachectl; returns exit code, standard output and standard error.
sub ctl {
    my ($stdin, @args) = @_;
    spew("$work/in", $stdin);
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        open STDIN, '<', "$work/in" or die;
        open STDOUT, '>', "$work/out" or die;
        open STDERR, '>', "$work/err" or die;
        exec $ctl, @args or die "$ctl: $!";
    }
    waitpid $pid, 0;
    return ($? & 127 ? "signal " . ($? & 127) : $? >> 8,
            slurp("$work/out"), slurp("$work/err"));
}

sub symbfile {
    my (@args) = @_;
    return ctl('', 'symbfile', @args);
}

# --- the example

my ($ranges, $pads) = map { slurp("$data/$_.symbfile") }
    qw(ranges return-pads);
is length $ranges, 101, 'range file of the example';
is length $pads, 86, 'return-pad file of the example';

my ($loop, $push) = ('run_loop at /src/app.c', 'vec_push at /src/vec.h');
my %at = (
    0x1fff => '', 0x2040 => '', 0x2000 => "$loop:18\n", 0x200f => "$loop:19\n",
    0x2010 => "$loop:21\n$push:40\n", 0x2024 => "$loop:21\n$push:44\n",
    0x2027 => "$loop:21\n$push:44\n", 0x2028 => "$loop:24\n",
    0x203b => "$loop:24\n",
);
for my $address (sort keys %at) {
    my $hex = sprintf '0x%x', $address;
    is_deeply [symbfile('lookup', "$data/ranges.symbfile", $hex)],
        [$at{$address} eq '' ? 1 : 0, $at{$address}, ''], "ranges: $hex";
    my $pad = $address == 0x2024 || $address == 0x203b ? $at{$address} : '';
    is_deeply [symbfile('lookup', "$data/return-pads.symbfile", $hex)],
        [$pad eq '' ? 1 : 0, $pad, ''], "return pads: $hex";
}
is_deeply [ctl("2000\n\n0x1fff\n2028\n", 'symbfile', 'lookup',
               "$data/ranges.symbfile")],
    [0, "$loop:18\n$loop:24\n", ''], 'addresses from standard input';
is_deeply [symbfile('show', "$data/ranges.symbfile")], [0, <<'EOS', ''], 'show';
range 0x2000 size 0x40 depth 0 run_loop in /src/app.c
    0x2000 line 18
    0x2008 line 19
    0x2028 line 24
range 0x2010 size 0x18 depth 1 vec_push in /src/vec.h called at /src/app.c:21
    0x2010 line 40
    0x201c line 44
EOS
is_deeply [symbfile('show', "$data/return-pads.symbfile")], [0, <<'EOS', ''],
return pad 0x2024
    run_loop at /src/app.c:21
    vec_push at /src/vec.h:44
return pad 0x203b
    run_loop at /src/app.c:24
EOS
    'show: return pads';

# the same as Breakpad's text becomes the same bytes, and they stay the same by
# way of a SymCache

spew("$work/example.sym", <<'EOS');
MODULE Linux x86_64 000102030405060708090A0B0C0D0E0F0 app
FILE 0 /src/app.c
FILE 1 /src/vec.h
INLINE_ORIGIN 0 vec_push
FUNC 2000 40 0 run_loop
INLINE 0 21 0 0 2010 18
2000 8 18 0
2008 8 19 0
2010 c 40 1
201c c 44 1
2028 18 24 0
EOS
for my $from ("$work/example.sym", "$data/ranges.symbfile") {
    my $name = $from =~ s{.*/}{}r;
    is_deeply [symbfile('make', '-o', "$work/made", $from)], [0, '', ''],
        "make of $name";
    is slurp("$work/made"), $ranges, '... the bytes of the example';
    is_deeply [ctl('', 'convert', '-o', "$work/made.symcache", $from)],
        [0, '', ''], "convert of $name";
    is_deeply [symbfile('make', '-o', "$work/made", "$work/made.symcache")],
        [0, '', ''], '... and make of that';
    is slurp("$work/made"), $ranges, '... gives the same bytes';
}
ctl('', 'convert', '-o', "$work/pads.symcache", "$data/return-pads.symbfile");
is +(ctl('', 'lookup', "$work/pads.symcache", '2024', '2025', '203b'))[1],
    "0x2024\n    $push:44 (inlined)\n    $loop:21\n0x2025\n    not found\n"
    . "0x203b\n    $loop:24\n", 'a SymCache of return pads';

# --- other ways to say it

my $magic = "symbfile\0\1";
sub varint {
    my ($n) = @_;
    my $bytes = '';
    for (; $n > 127; $n >>= 7) { $bytes .= chr($n & 127 | 128) }
    return $bytes . chr $n;
}
sub record {
    my ($type, $payload) = @_;
    return varint(length $payload) . varint($type) . $payload;
}
sub text { return chr($_[0] << 3 | 2) . varint(length $_[1]) . $_[1] }
sub number { return varint($_[0] << 3) . varint($_[1]) }
sub strings { return record(4, join '', map { text(1, $_) } @_) }

# The records of a file, and what is found at each address.
sub found_in {
    my ($name, $records, %want) = @_;
    spew("$work/file", $magic . $records);
    for my $address (sort keys %want) {
        my ($code, $out, $err) = symbfile('lookup', "$work/file", $address);
        is "$code $out$err", ($want{$address} eq '' ? 1 : 0)
            . " $want{$address}", "$name: $address";
    }
}

my $f = record(2, number(12, 0x10) . number(2, 8) . text(3, 'f'));
found_in('no line, no file', $f, 10 => "f at ?:0\n", f => '', 18 => '');
found_in('an empty file', '', 0 => '');
found_in('an unknown type', $f . record(9, 'abc') . $f, 10 => "f at ?:0\n");
found_in('an unknown field', record(2, text(15, 'x') . number(12, 0x10)
    . number(2, 8) . number(200, 7) . text(3, 'f')), 10 => "f at ?:0\n");
found_in('the last of a oneof', record(2, text(3, 'g') . number(12, 0x99)
    . number(2, 8) . number(12, 0x10) . text(3, 'f')), 10 => "f at ?:0\n");
found_in('a table replaced', strings('f') . record(2, number(12, 0x10)
    . number(2, 8) . number(9, 0)) . strings('g') . record(2, number(1, 0x20)
    . number(2, 8) . number(9, 0)), 10 => "f at ?:0\n", 20 => "g at ?:0\n",
    28 => '');
found_in('back', record(2, number(12, 0x20) . number(2, 8) . text(3, 'f'))
    . record(2, number(1, 0x1f) . number(2, 4) . text(3, 'g')),
    20 => "f at ?:0\n", 10 => "g at ?:0\n");
found_in('unpacked columns', record(2, number(12, 0x10) . number(2, 8)
    . text(3, 'f') . text(8, number(1, 2) . number(2, 5) . number(1, 3)
    . number(2, 6))), 11 => "f at ?:0\n", 12 => "f at ?:5\n",
    14 => "f at ?:5\n", 15 => "f at ?:6\n");
found_in('unpacked columns of a pad', strings('f', '', 'a.c')
    . record(3, number(5, 0x10) . number(2, 0) . number(3, 2) . number(4, 7)),
    10 => "f at a.c:7\n");
found_in('the file of the caller', record(2, number(12, 0x10) . number(2, 8)
    . text(3, 'f') . text(4, 'a.c')) . record(2, number(1, 0) . number(2, 4)
    . text(3, 'g') . number(5, 3) . number(7, 1)),
    10 => "f at a.c:3\ng at ?:0\n");
found_in('children first', record(2, number(12, 0x10) . number(2, 4)
    . text(3, 'g') . number(5, 3) . text(6, 'b.c') . number(7, 1))
    . record(2, number(1, 0) . number(2, 8) . text(3, 'f')),
    10 => "f at b.c:3\ng at ?:0\n", 14 => "f at ?:0\n");
found_in('64 bits', record(2, text(3, 'k') . number(2, 8) . "\x60"
    . "\x80\x80\x80\x88\xf8\xff\xff\xff\xff\1"),
    ffffffff81000000 => "k at ?:0\n");
is +(ctl('', 'convert', '-o', "$work/k", "$work/file"))[0], 1,
    '... which a SymCache cannot have';

# one function from two files, whose second piece has the inlined call

spew("$work/pieces", $magic
    . record(2, number(12, 0x10) . number(2, 4) . text(3, 'f')
        . text(4, 'a.c') . text(8, text(1, "\0") . text(2, "\1")))
    . record(2, number(1, 8) . number(2, 12) . text(3, 'f')
        . text(4, 'b.h') . text(8, text(1, "\0") . text(2, "\2")))
    . record(2, number(1, 8) . number(2, 4) . text(3, 'g') . number(7, 1)
        . number(5, 9) . text(6, 'b.h')));
ctl('', 'convert', '-o', "$work/pieces.symcache", "$work/pieces");
is +(ctl('', 'lookup', '--json', "$work/pieces.symcache", 18))[1],
    '{"address": "0x18", "frames": [{"function": "g", "entry": null, '
    . '"language": "unknown", "file": null, "line": 0, "inlined": true}, '
    . '{"function": "f", "entry": "0x10", "language": "unknown", '
    . '"file": "b.h", "line": 9, "inlined": false}]}' . "\n",
    'pieces of a function are one function of a SymCache';

# --- damaged files

my $big = "\x81\x80\x80\x08";    # 16 MiB and one
my @damaged = (
    ['wrong magic', 'symbfilf' . substr($ranges, 8), 0],
    ['8 bytes', 'symbfile', 8],
    ['no header', 'symbfile' . $f, 8],
    ['a second header', $magic . "\0\1", 10],
    ['type 0', $magic . "\0\0", 10],
    ['a large record', $magic . "$big\2", 10],
    ['a length of 11 bytes', $magic . "\x80" x 10 . "\1\2", 10],
    ['a large type', $magic . "\0\x80\x80\x80\x80\x08", 10],
    ['a length that is cut', $magic . "\x80", 10],
    ['no type', $magic . "\1", 10],
    ['a payload that is cut', $magic . substr($f, 0, -1), 10],
    ['relative to none', $magic . record(2, number(1, 2) . text(3, 'f')), 10],
    ['no address', $magic . record(2, text(3, 'f')), 10],
    ['no function', $magic . record(2, number(12, 1)), 10],
    ['an index', $magic . strings('f')
        . record(2, number(12, 1) . number(9, 1)), 15],
    ['an index of a pad', $magic . record(3, number(5, 1) . text(2, "\0")
        . text(3, "\0") . text(4, "\0")), 10],
    ['lines of another number', $magic . record(2, number(12, 1)
        . text(3, 'f') . text(8, text(1, "\0"))), 10],
    ['a pad of other lengths', $magic . strings('f') . record(3, number(5, 1)
        . text(2, "\0") . text(3, "\0")), 15],
    ['not UTF-8', $magic . record(2, number(12, 1) . text(3, "\xff")), 16],
    ['not UTF-8 in a table', $magic . record(4, text(1, "\xff")), 14],
    ['a field that is cut', $magic . record(2, number(12, 1) . "\x1a\5f"), 14],
);
for my $case (@damaged) {
    my ($name, $bytes, $offset) = @$case;
    spew("$work/damaged", $bytes);
    for my $args (['show'], ['lookup'], ['make', '-o', "$work/none"]) {
        my ($command, @options) = @$args;
        my ($code, $out, $err) = symbfile($command, @options, "$work/damaged",
            $command eq 'lookup' ? 1 : ());
        next if $command eq 'make' && $offset == 0; # then it is another file
        cmp_ok $code, '>', 0, "$name: $command";
        cmp_ok $code, '<', 100, '... refuses it';
        is $out, '', '... without output' if $command eq 'lookup';
        like $err, qr/^[^\n]*damaged: offset $offset: [^\n]+\n\z/,
            '... and names the offset';
    }
}
ok !-e "$work/none", 'nothing was made';
for my $size (0 .. length($ranges) - 1) {
    spew("$work/cut", substr $ranges, 0, $size);
    my ($code) = symbfile('show', "$work/cut");
    # there is an end behind each record
    is $code, (grep { $_ == $size } 10, 36, 67) ? 0 : 4, "cut at $size"
        if $size != 0;
}

# --- usage

for my $args ([], ['frob'], ['show'], ['show', 'a', 'b'], ['lookup'],
              ['lookup', '-'], ['lookup', "$data/ranges.symbfile", '12g'],
              ['make', $ctl], ['make', '-o', "$work/x"]) {
    is +(symbfile(@$args))[0], 2, "usage: @$args";
}
is +(symbfile('show', "$work/none"))[0], 3, 'no such file';

# --- round trips

# Where an ELF file wants to be loaded: its first PT_LOAD.
sub base {
    my ($file) = @_;
    my $head = slurp($file);
    return 0 unless $head =~ /^\x7fELF/;
    my $wide = substr($head, 4, 1) eq "\2";
    my $e = substr($head, 5, 1) eq "\2" ? '>' : '<';
    my ($offset) = $wide ? unpack "x32 Q$e", $head : unpack "x28 L$e", $head;
    my ($size, $count) = unpack 'x' . ($wide ? 54 : 42) . " S$e S$e", $head;
    for my $i (0 .. $count - 1) {
        my $h = substr $head, $offset + $i * $size, $size;
        next if unpack("L$e", $h) != 1;
        return $wide ? unpack "x16 Q$e", $h : unpack "x8 L$e", $h;
    }
    return 0;
}

# What a SymCache has at addresses, as "symbfile lookup" prints it.
sub expected {
    my ($symcache, @addresses) = @_;
    my ($code, $out) = ctl(join("\n", @addresses, ''), 'lookup', $symcache);
    my ($want, @frames) = ('');
    for my $line (split(/\n/, $out), '0x') {
        if ($line =~ /^0x/) {
            for my $frame (reverse @frames) {
                last if $frame =~ /^\? at /;
                1 while $frame =~ s/^(.+?)\.(?:(?:clone|constprop|llvm|isra|part)\.\d+|cold)( at )/$1$2/;
                $want .= "$frame\n";
            }
            @frames = ();
        } elsif ($line ne '    not found') {
            push @frames, $line =~ s/^    //r =~ s/ \(inlined\)$//r;
        }
    }
    return $want;
}

my @files = map { $corpus->unpacked($_) } (
    (map { "$root/t/data/convert/elf/$_.so.zst" } qw(aarch64 clang-O0 clang-5
        gcc-5 gcc-2 gcc-lto i386 stripped tiny-big)),
    (map { "$root/t/data/convert/breakpad/$_.sym" } qw(inline-nested
        inline-siblings inline-over-parents lines-overlapping
        functions-overlapping inline-without-lines)),
    "$root/t/data/convert/breakpad/generated-deep.sym.zst",
    "$root/t/data/convert/breakpad/msvc-crash.sym.zst",
    "$root/t/data/convert/elf/gcc-5.debug.zst",
    "$root/t/data/convert/macho/arm64.dylib.zst",
    "$root/t/data/convert/macho/x86_64.dwarf.zst",
    "$root/t/data/convert/pe/mingw-5.dll.zst",
    "$root/t/data/convert/pe/exports.dll.zst",
    (glob "$root/t/data/convert/wasm/*.wasm*")[0 .. 1],
    "$root/t/data/pdb/crash.pdb", "$root/t/data/pdb/omap_reorder_funcs.pdb",
);

for my $file (grep { defined } @files) {
    my $name = $file =~ s{.*/}{}r;
    my ($code, undef, $err) = ctl('', 'convert', '-o', "$work/a", $file);
    is $code, 0, "$name: SymCache" or diag($err);
    is_deeply [symbfile('make', '-o', "$work/b", $file)], [0, '', ''],
        "$name: symbfile";
    my @starts = (ctl('', 'dump', "$work/a"))[1]
        =~ /^  0x([0-9a-f]+) /mg;
    my %seen;
    my @addresses = grep { !$seen{$_}++ }
        map { my $n = hex; ($n > 0 ? $n - 1 : (), $n, $n + 1) } @starts;
    cmp_ok scalar @addresses, '>', 2, "$name: addresses";
    my $base = base($file);
    my $want = expected("$work/a", map { sprintf '%x', $_ } @addresses);
    my $got = (ctl(join("\n", (map { sprintf '%x', $_ + $base } @addresses),
                        ''), 'symbfile', 'lookup', "$work/b"))[1];
    ok $got eq $want, "$name: the symbfile has what the SymCache has";
    next if $base > 0;
    ($code, undef, $err) = ctl('', 'convert', '-o', "$work/c", "$work/b");
    is "$code$err", 0, "$name: SymCache of the symbfile";
    ok expected("$work/c", map { sprintf '%x', $_ } @addresses) eq $want,
        '... which has the same';
}

# --- return pads: one for each call that objdump finds

SKIP: {
    my @missing = grep { system("$_ --version >/dev/null 2>&1") != 0 }
        qw(gcc objdump);
    skip "no @missing", 1 if @missing;
    spew("$work/pads.c", <<'EOS');
static inline __attribute__((always_inline)) int inner(int (*f)(int), int x)
{
    return f(x) + 1;
}
__attribute__((noinline)) int outer(int (*f)(int), int x)
{
    return inner(f, x) + f(x + 2) * 3;
}
int last(int (*f)(int), int x)
{
    return outer(f, x) + inner(f, 5);
}
EOS
    system("cd '$work' && gcc -g -O2 -shared -fPIC -nostdlib -o pads.so pads.c")
        == 0 or die 'gcc failed';
    my %want;
    my $call = 0;
    for my $line (qx(objdump -d --no-show-raw-insn '$work/pads.so')) {
        my ($address, $text) = $line =~ /^\s*([0-9a-f]+):\s+(\S+)/ or next;
        $want{sprintf '%x', hex($address) - 1} = $call if $call;
        $call = $text =~ /^(?:callq?|blr?)$/ ? $address : 0;
    }
    my @at = sort keys %want;
    cmp_ok scalar @at, '>=', 4, 'calls';
    is_deeply [symbfile('make', '--return-pads', '-o', "$work/pads.made",
                        "$work/pads.so")], [0, '', ''], 'return pads';
    symbfile('make', '-o', "$work/pads.ranges", "$work/pads.so");
    is_deeply [sort((symbfile('show', "$work/pads.made"))[1]
        =~ /^return pad 0x([0-9a-f]+)$/mg)], \@at, 'one for each call';
    is +(symbfile('lookup', "$work/pads.made", $_))[1],
        (symbfile('lookup', "$work/pads.ranges", $want{$_}))[1],
        "... with the functions at $want{$_}" for @at;
    my ($code, $out, $err) = symbfile('make', '--return-pads', '-o',
        "$work/none", "$work/example.sym");
    is $code, 1, 'none without instructions';
    like $err, qr/no instructions/, '... and it says so';
}

# --- push

{
    # the id is a test vector of the format's description
    spew("$work/vector", pack 'C*', map { $_ % 256 } 0 .. 99_999);
    is +(symbfile('push', '--url', 'http://127.0.0.1:1', "$work/vector"))[0], 1,
        'push of what is not a debug file';

    my $server = Test::ScriptedServer->new(log => "$work/requests",
        unrecorded => 1, script =>
        sub {
            my ($c, $req) = @_;
            my $body = $c->read_body($req);
            my $h = $req->{headers};
            open my $log, '>>', "$work/pushed" or die "pushed: $!";
            print $log "$req->{method} $req->{uri} $h->{fileid} "
                . "$h->{filepart}/$h->{fileparts} " . length($body) . "\n";
            close $log;
            my $answer = '{"success": true, "status": 200}';
            my $status = 200;
            if (($h->{authorization} // '') ne 'APIKey aWQ6c2VjcmV0') {
                $status = 403;
                $answer = '{"success": false, "uuid": "0d4c", "error": '
                    . '{"Code": "1000", "Text": "no such key"}, "status": 403}';
            }
            $c->reply($status, { 'Content-Type' => 'application/json' },
                      $answer);
        });
    my @push = ('push', '--url', $server->{url}, '--debug-file',
                "$work/example.sym", '--parts', 3);
    is_deeply [symbfile(@push, '--api-key', 'id:secret', "$work/vector")],
        [0, "ranges sent as 2_9Vdt56Ll8o0Oe7fW7CYA\n", ''], 'push';
    is slurp("$work/pushed"), join('', map {
        "POST /api/symbols-ranges 2_9Vdt56Ll8o0Oe7fW7CYA $_\n"
    } '0/3 33', '1/3 33', '2/3 35'), '... in parts, under the id of the vector';
    my ($code, $out, $err) = symbfile(@push, '--api-key', 'other',
                                      "$work/vector");
    is $code, 1, 'refused: 1';
    like $err, qr/no such key \(HTTP 403, 0d4c\)/, '... and why';
}

done_testing;
