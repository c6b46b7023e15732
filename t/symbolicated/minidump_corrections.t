#!/usr/bin/env perl

# Corrections of walks: what Symbolicator loses is found where they are on, and
# lost as there where they are off.  Each has a dump with a decoy, which is found
# without it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Path qw(make_path);
use Test::File;
use Test::Form;
use Test::More;
use Test::Symcache;

plan skip_all => 'no zstd' if system('zstd --version >/dev/null 2>&1') != 0;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8;
my ($base, $stack) = (0x10000000, 0x20000000);

sub text { my ($s) = @_; return pack 'V/a*', pack 'v*', map { ord } split //, $s }

# A dump with one thread and one module.  cpu: its number; os: the number of the
# system; context: bytes; name, debug: the module's file and CodeView record;
# size: of the module; words: bytes of the stack.
sub make_dump {
    my (%want) = @_;
    my ($tail, $at) = ('', 32 + 12 * 3);
    my $add = sub {
        $tail .= $_[0] . "\0" x (-length($_[0]) % 8);
        return $at + length($tail) - length($_[0]) - -length($_[0]) % 8;
    };
    my $system = pack 'v3 C2 V5 v2 x24', $want{cpu}, 0, 0, 1, 1, 5, 10, 0,
        $want{os}, $add->(text('')), 0, 0;
    my $modules = pack 'V Q< V4 x52 V4 Q<2', 1, $base, $want{size}, 0,
        $want{time} // 0, $add->(text($want{name})), length $want{debug},
        $add->($want{debug}), 0, 0, 0, 0;
    my $threads = pack 'V5 Q<2 V4', 1, 1, 0, 0, 0, 0, $stack,
        length $want{words}, $add->($want{words}), length $want{context},
        $add->($want{context});
    return pack('V6 Q<', 0x504d444d, 0xa793, 3, 32, 0, 1, 0)
        . join('', map { pack 'V3', $_->[0], length $_->[1], $add->($_->[1]) }
            [7, $system], [4, $modules], [3, $threads]) . $tail;
}

# Words of a stack, by offset.
sub words {
    my ($format, %at) = @_;
    my $words = "\0" x 512;
    substr $words, $_, length pack($format, 0), pack $format, $at{$_}
        for keys %at;
    return $words;
}

sub arm64_context {
    my (%register) = @_;
    my $context = pack('V', 0x400007) . "\0" x 908;
    substr $context, 8 + 8 * $_, 8, pack 'Q<', $register{$_} for keys %register;
    return $context;
}

my %cases;

# --- constant-sp: a function that leaves the stack pointer as it is, and calls
# with the return address in x19 (as in t/unit/stackwalk.c)

my $id = '000102030405060708090A0B0C0D0E0F0';
$t->write_file("text/steady/$id/steady.sym", <<"TEXT");
MODULE Linux arm64 $id steady
STACK CFI INIT 1000 100 .cfa: sp 16 + .ra: x30
STACK CFI INIT 2000 100 .cfa: sp 0 + .ra: x19
STACK CFI INIT 3000 100 .cfa: sp 16 + .ra: x20
TEXT
$cases{'constant-sp'} = {
    dump => make_dump(cpu => 12, os => 0x8201, name => 'steady', size => 0x5000,
        debug => pack('V C16', 0x4270454c, 3, 2, 1, 0, 5, 4, 7, 6, 8 .. 15),
        words => words('Q<'), context => arm64_context(32 => $base + 0x1010,
            31 => $stack, 30 => $base + 0x2010, 19 => $base + 0x3010)),
    off => ["context 0x1010", "cfi 0x2010"],
    on => ["context 0x1010", "cfi 0x2010", "cfi 0x3010"],
};

# --- arm-cfi: the function at 0x600 gives back 68 bytes and pops five registers,
# as "readelf -u" says; in the 68 bytes is an address

my $so = qx(zstd -qdc @{[$t->data('cfi/arm-ehabi.so.zst')]});
my ($build) = qx(readelf -n @{[$t->write_file('arm.so', $so)]}) =~ /Build ID: (\w+)/;
$t->write_file("native/_.debug/elf-buildid-sym-$build/_.debug", $so);
$t->write_file("native/arm.so/elf-buildid-$build/arm.so", $so);
my $arm = pack('V', 0x40000006) . "\0" x 364;
substr $arm, 4 + 4 * $_->[0], 4, pack 'V', $_->[1]
    for [13, $stack], [15, $base + 0x620];
$cases{'arm-cfi'} = {
    dump => make_dump(cpu => 5, os => 0x8201, name => 'arm.so', size => 0x2000,
        debug => pack('V', 0x4270454c) . pack('H*', $build), context => $arm,
        words => words('V', 4 => $base + 0x660, 84 => $base + 0x6b0)),
    off => ["context 0x620", "scan 0x660"],
    on => ["context 0x620", "cfi 0x6b0"],
};

# --- arm64-pe-cfi: in the epilog of a packed entry, x29 is the caller's already

my $guid = pack 'C16', 1 .. 16;
my $pe = "\0" x 0x400;
my $put = sub { substr $pe, $_[0], length $_[1], $_[1] };
$put->(0, 'MZ');
$put->(0x3c, pack 'V', 0x40);
$put->(0x40, pack 'a4 v2 V3 v2', 'PE', 0xaa64, 1, 7, 0, 0, 240, 0x22);
$put->(0x58, pack 'v', 0x20b);
$put->(0x78, pack 'V2', 0x1000, 0x200);
$put->(0x90, pack 'V2', 0x3000, 0x200);
$put->(0xc4, pack 'V', 16);
$put->(0xe0, pack 'V2', 0x2000, 8);
$put->(0xf8, pack 'V2', 0x2040, 28);
$put->(0x148, pack 'a8 V4 x12 V', '.pdata', 0x200, 0x2000, 0x200, 0x200,
    0x40000040);
# 16 instructions; x19, x20, and a frame chain in 64 bytes
$put->(0x200, pack 'V2', 0x1000, 1 | 16 << 2 | 2 << 16 | 3 << 21 | 4 << 23);
$put->(0x240, pack 'V2 v2 V4', 0, 7, 0, 0, 2, 32, 0x2060, 0x260);
$put->(0x260, pack 'a4 a16 V a8', 'RSDS', $guid, 1, 'app.pdb');
make_path($t->path('native/app.exe/000000073000'));
spew($t->path('native/app.exe/000000073000/app.exe'), $pe);
$cases{'arm64-pe-cfi'} = {
    dump => make_dump(cpu => 12, os => 2, name => 'C:\\app.exe', size => 0x3000,
        time => 7, debug => pack('a4 a16 V a8', 'RSDS', $guid, 1, 'app.pdb'),
        words => words('Q<', 264 => $base + 0x1100),
        context => arm64_context(32 => $base + 0x1038, 31 => $stack,
            30 => $base + 0x1200, 29 => $stack + 256)),
    off => ["context 0x1038", "fp 0x1100"],
    on => ["context 0x1038", "cfi 0x1200", "fp 0x1100"],
};

# --- cfi-expressions: as glibc has them for the caller of a signal handler, which
# was interrupted in its first instruction and has its stack below the handler's;
# and as linkers have them for the PLT

sub amd64_context {
    my (%register) = @_;
    my $context = "\0" x 1232;
    substr $context, 48, 4, pack 'V', 0x10000f;
    substr $context, 120 + 8 * $_, 8, pack 'Q<', $register{$_} for keys %register;
    return $context;
}

sub make_library {
    my $file = $t->write_file('signal.s', <<'ASM');
        .text
        .globl decoy, handler, interrupted, outer, last
        .type decoy, @function
        .type handler, @function
        .type interrupted, @function
        .type outer, @function
        .type last, @function
handler: .cfi_startproc
        .skip 16, 0x90
        .cfi_endproc
        .size handler, . - handler
        .cfi_startproc
        .cfi_signal_frame
        .cfi_escape 0x0f, 4, 0x77, 0xa0, 1, 0x06
        .cfi_escape 0x10, 3, 3, 0x77, 0x80, 1
        .cfi_escape 0x10, 7, 3, 0x77, 0xa0, 1
        .cfi_escape 0x10, 16, 3, 0x77, 0xa8, 1
        nop
        .skip 15, 0x90
        .cfi_endproc
decoy:  .cfi_startproc
        .cfi_def_cfa_offset 64
        .skip 16, 0x90
        .cfi_endproc
        .size decoy, . - decoy
interrupted: .cfi_startproc
        sub $24, %rsp
        .cfi_def_cfa_offset 32
        .skip 12, 0x90
        .cfi_endproc
        .size interrupted, . - interrupted
outer:  .cfi_startproc
        .cfi_def_cfa %rbx, 16
        .skip 16, 0x90
        call other@PLT
        .cfi_endproc
        .size outer, . - outer
        .balign 16
last:   .cfi_startproc
        .skip 16, 0x90
        .cfi_endproc
        .size last, . - last
        .type restorer, @function
restorer: .skip 16, 0x90
        .size restorer, . - restorer
        .section .note.GNU-stack, "", @progbits
ASM
    my $library = $t->path('signal.so');
    return undef if system("gcc -m64 -shared -nostdlib -Wl,-z,lazy"
        . " -Wl,--build-id=sha1 -o '$library' '$file' 2>/dev/null") != 0;
    return slurp($library);
}

if (qx(uname -m) eq "x86_64\n" && defined(my $library = make_library())) {
    my $file = $t->path('signal.so');
    my ($build) = qx(readelf -n '$file') =~ /Build ID: (\w+)/;
    $t->write_file("native/_.debug/elf-buildid-sym-$build/_.debug", $library);
    $t->write_file("native/signal.so/elf-buildid-$build/signal.so", $library);
    my %at = map { /^(\w+) \w (\w+)$/ ? ($2 => hex $1) : () } qx(nm '$file');
    my ($plt) = map { hex } qx(readelf -SW '$file') =~ / \.plt +PROGBITS +(\w+)/;
    my $place = sub { sprintf '%s 0x%x', @_ };
    my @of_all = (cpu => 9, os => 0x8201, name => 'signal.so', size => 0x4000,
        debug => pack('V', 0x4270454c) . pack('H*', $build));
    $cases{'cfi-expressions'} = {
        dump => make_dump(@of_all,
            words => words('Q<', 256 => $base + $at{handler} + 17,
                272 => $base + $at{decoy} + 8, 392 => $stack + 48,
                424 => $stack + 16, 432 => $base + $at{interrupted},
                16 => $base + $at{outer} + 4, 56 => $base + $at{last} + 8),
            context => amd64_context(4 => $stack + 256,
                16 => $base + $at{handler} + 4)),
        off => [$place->('context', $at{handler} + 4),
            $place->('cfi', $at{handler} + 20), $place->('scan', $at{decoy} + 8)],
        on => [$place->('context', $at{handler} + 4),
            $place->('cfi', $at{handler} + 20), $place->('cfi', $at{interrupted}),
            $place->('cfi', $at{outer} + 4), $place->('cfi', $at{last} + 8)],
        names => ['handler', undef, 'interrupted', 'outer', 'last'],
    };
    # ... and as musl has none for what a handler returns to
    $cases{'cfi-expressions without CFI'} = {
        correction => 'cfi-expressions',
        dump => make_dump(@of_all,
            words => words('Q<', 16 => $base + $at{outer} + 4,
                56 => $base + $at{last} + 8, 168 => $base + $at{decoy} + 8,
                256 => $stack + 48, 288 => $stack + 16,
                296 => $base + $at{interrupted}, 312 => 0x2b << 48 | 0x33),
            context => amd64_context(4 => $stack + 128,
                16 => $base + $at{restorer})),
        off => [$place->('context', $at{restorer}),
            $place->('scan', $at{decoy} + 8)],
        on => [$place->('context', $at{restorer}),
            $place->('fp', $at{interrupted}), $place->('cfi', $at{outer} + 4),
            $place->('cfi', $at{last} + 8)],
        names => [qw(restorer interrupted outer last)],
    };
    $cases{'cfi-expressions of the PLT'} = {
        correction => 'cfi-expressions',
        dump => make_dump(@of_all,
            words => words('Q<', 8 => $base + $at{last} + 8,
                16 => $base + $at{decoy} + 8),
            context => amd64_context(4 => $stack, 16 => $base + $plt + 16 + 12)),
        off => [$place->('context', $plt + 28), $place->('cfi', $at{decoy} + 8)],
        on => [$place->('context', $plt + 28), $place->('cfi', $at{last} + 8)],
    };
} else {
    diag 'without gcc for x86-64, cfi-expressions is not tested';
}

# ... and as there are none, for what a handler returns to on arm64: the dump
# has what the system saved (t/data/minidump/README.md)

my $handler = $t->data('minidump/interrupted');
my $program = slurp("$handler/interrupted");
($build) = qx(readelf -n $handler/interrupted) =~ /Build ID: (\w+)/;
$t->write_file("native/_.debug/elf-buildid-sym-$build/_.debug", $program);
$t->write_file("native/interrupted/elf-buildid-$build/interrupted", $program);
$cases{'cfi-expressions of arm64'} = {
    correction => 'cfi-expressions', base => 0x400000,
    dump => slurp("$handler/interrupted.dmp"),
    off => ['context 0x17c', 'cfi 0x198', 'cfi 0x5500401000', 'fp 0x1e0',
            'cfi 0x214', 'cfi 0x264'],
    on => ['context 0x17c', 'cfi 0x198', 'cfi 0x5500401000', 'fp 0x1c0',
           'cfi 0x1e0', 'cfi 0x214', 'cfi 0x264'],
    names => ['report', 'handler', undef, qw(leaf middle outer _start)],
};

# --- all of them, off and on

my $converter = $t->program('pdb2symcache');
my %config = (
    stores => { default => { root => $t->path('store'),
        sources => [qw(text symstore ssqp)],
        transcoders => [
            { version => '9.0.0', command => [$converter, '{pdb}'],
              inputs => [qw(breakpad elf)] },
            { version => '1.0.0', makes => 'cficache',
              inputs => [qw(breakpad elf pe)],
              command => [$converter, '--kind', 'cficache', '{pdb}'] }] } },
    sources => {
        text => { type => 'filesystem', layout => 'breakpad',
            path => $t->path('text') },
        map { ($_ => { type => 'filesystem', layout => $_,
            path => $t->path('native') }) } qw(symstore ssqp) },
);
$t->start_symcached(\%config);

# Frames as far as they are told, without adjustment of their addresses.
sub frames {
    no warnings 'portable'; # addresses have 64 bits
    my ($dump, $from) = @_;
    my $r = $t->post($t->symbolicated_socket, '/minidump',
        form(['upload_file_minidump', $dump, 'x']), "Content-Type: $form_type");
    my $answer = $json->decode($r->{body});
    return [map { sprintf '%s 0x%x', $_->{trust},
            (hex($_->{instruction_addr}) + 3 & ~3) - $from }
        @{ $answer->{stacktraces}[0]{frames} }], $answer;
}

for my $name (sort keys %cases) {
    my $case = $cases{$name};
    for my $on (0, 1) {
        $t->stop_symbolicated if $t->{symbolicated};
        $config{symbolication} =
            { symbolicator => { corrections =>
                $on ? [$case->{correction} // $name] : [] } };
        $t->start_symbolicated(\%config);
        my ($frames, $answer) = frames($case->{dump}, $case->{base} // $base);
        my $wanted = $on ? $case->{on} : $case->{off};
        is_deeply [grep { defined } @$frames[0 .. $#$wanted]], $wanted,
            "$name: " . ($on ? 'on' : 'off') or diag explain $frames, $answer->{modules};
        is_deeply [map { $_->{function} } @{ $answer->{stacktraces}[0]{frames} }],
            $case->{names}, '- names' if $on && $case->{names};
        is $answer->{modules}[0]{unwind_status}, 'found', '- unwind information'
            if $on;
    }
}

$t->finish;
done_testing;
