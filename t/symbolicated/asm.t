#!/usr/bin/env perl

# Instructions as the Firefox Profiler asks for them, before nginx with
# conf-examples/symbolicate.conf: beside what samply answered for the same
# requests (t/data/asm), and beside objdump and llvm-objdump for whole sections
# of code of each processor.

use strict;
use warnings;

use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::File qw(slurp spew);
use Test::Front;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8->canonical;
my $data = "$FindBin::Bin/../data";
my $true = JSON::PP::true();
my @firefox = ('Origin: https://profiler.firefox.com',
    'Content-Type: text/plain;charset=UTF-8');

# --- programs, each where a store of the layout unified has it

my (%ids, %builds);    # name => debug id, and build id

sub add_program {
    my ($name, $file, $debug_name) = @_;
    my $code = $t->path('code');
    my $said = qx('$Test::Symcache::build/pdb2symcache' --kind codecache '$file' -o '$code' 2>&1);
    is $?, 0, "$name: a CodeCache" or diag $said;
    like qx('$Test::Symcache::build/symcachectl' verify '$code' 2>&1),
        qr/: sound: CodeCache, version 1, [1-9]\d* parts/, 'which is sound';
    my ($guid, $age) = unpack 'x8 H32 V', slurp($code);
    my $id = $ids{$name} = uc($guid) . sprintf '%X', $age;
    my $place = lc $id;
    chop $place if $age == 0;    # a UUID, or that of a file without a build id
    ($builds{$name}) = qx(readelf -n '$file' 2>/dev/null) =~ /Build ID: (\w+)/;
    $place = $builds{$name} // $place;
    my $folder = $t->path('symbols/' . substr($place, 0, 2) . '/' . substr $place, 2);
    make_path($folder);
    spew("$folder/executable", slurp($file));
    spew("$folder/debuginfo", slurp($file)) if $debug_name;
    return $id;
}
sub unpacked {
    my ($packed, $name) = @_;
    my $file = $t->path($name);
    system('zstd', '-qdf', $packed, '-o', $file) == 0 or die "zstd: $packed";
    return $file;
}

add_program('firefox.pdb', unpacked("$data/asm/firefox.exe.zst", 'firefox.exe'));
add_program('libmozglue.dylib', unpacked("$data/asm/libmozglue.dylib.zst", 'libmozglue.dylib'));
is $ids{'firefox.pdb'}, '8A913DE821D9DE764C4C44205044422E1', 'that of the PDB';
is $ids{'libmozglue.dylib'}, '4C4C44F955553144A1E167ACCB9D173C0', 'the UUID';

my $source = $t->write_file('prog.c', <<'C');
#include <stdio.h>
#include <stdlib.h>
struct pair { double a, b; long n; };
__attribute__((noinline)) int classify(int n, const char *text)
{
    switch (n & 7) {
    case 0: return puts(text);
    case 1: return n * 17 + text[0];
    case 2: return n / 3;
    case 3: return n ^ 0x5a5a5a;
    case 4: return n << (text[1] & 3);
    default: return -n;
    }
}
__attribute__((noinline)) double sum(const struct pair *p, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++) s += p[i].a * p[i].b + (double)p[i].n;
    return s;
}
int main(int argc, char **argv)
{
    struct pair p[3] = {{1.5, 2, argc}, {3, 4, 5}, {.5, 7, 8}};
    int c = classify(argc, argv[0]);
    return c + (int)sum(p, 3) + abs(c);
}
C
my $prog = $t->path('prog');
system('cc', '-O1', '-g', '-Wl,--build-id', '-o', $prog, $source) == 0 or die 'cc';
add_program('prog', $prog, 1);

# The image of a PDB, also where symstore has it: by the code id.
my $image = slurp($t->path('firefox.exe'));
my $at = unpack 'V', substr $image, 0x3c, 4;
my $code_id = sprintf '%08X%x', unpack('V', substr $image, $at + 8, 4),
    unpack('V', substr $image, $at + 80, 4);
make_path($t->path("images/firefox.exe/$code_id"));
spew($t->path("images/firefox.exe/$code_id/firefox.exe"), $image);

# Object files need no linker; their one section of code is at address 0.
my $has_llvm = system('command -v clang >/dev/null && command -v llvm-objdump >/dev/null') == 0;
my $bare = $t->write_file('bare.c', <<'C');
struct pair { float a, b; int n; };
int table[8];
#if defined __arm__
#define OTHER __attribute__((target("arm")))
#else
#define OTHER
#endif
int classify(int n, const char *text)
{
    if (n > 5) return table[n & 7] + text[0];
    return n * 17 ^ text[1];
}
OTHER int other(int n) { return classify(n, "x") + n * n; }
float sum(const struct pair *p, int n)
{
    float s = 0;
    for (int i = 0; i < n; i++) s += p[i].a * p[i].b + (float)p[i].n;
    return s;
}
long long wide(long long a, int n) { return (a << n) - 0x123456789abcLL; }
C
my %objects;
for (['i386', 'i386-linux-gnu', '-fno-pic'], ['aarch64', 'aarch64-linux-gnu'],
     ['thumb', 'armv7a-linux-gnueabihf', '-mthumb'], ['arm', 'armv7a-linux-gnueabihf', '-marm'],
     ['amd64', 'x86_64-linux-gnu', '-mavx2']) {
    my ($name, $target, @flags) = @$_;
    last if !$has_llvm;
    my $file = $t->path("$name.o");
    system('clang', "--target=$target", @flags, '-O2', '-c', '-o', $file, $bare) == 0
        or next;
    $objects{$name} = $file;
    add_program("$name.o", $file);
}

# CustomElf::GetMappable() of Firefox for Android, as samply lists it.
if ($has_llvm) {
    my $assembly = $t->write_file('mozglue.s', <<'S');
        .syntax unified
        .thumb
        nop             @ an id is made of the first bytes
        .org    0x51fd0
        .type   _ZNK9CustomElf11GetMappableEv, %function
_ZNK9CustomElf11GetMappableEv:
        push    {r4, r6, r7, lr}
        add     r7, sp, #8
        mov     r4, r0
        ldr     r0, [r0, #0x14]
        cbz     r0, 1f
        ldr     r1, [r0]
        ldr     r1, [r1, #0xc]
        blx     r1
        cmp     r0, #1
        bne     2f
        ldr     r0, [r4, #0x14]
        pop     {r4, r6, r7, pc}
1:      movs    r0, #0
        pop     {r4, r6, r7, pc}
2:      ldr     r0, [r4, #0xc]
        pop.w   {r4, r6, r7, lr}
        b.w     3f
        .size   _ZNK9CustomElf11GetMappableEv, . - _ZNK9CustomElf11GetMappableEv
        .org    0x53480
3:      bx      lr
S
    my $file = $t->path('libmozglue.so');
    system('clang', '--target=armv7a-linux-gnueabihf', '-c', '-o', $file, $assembly) == 0
        or die 'clang';
    add_program('libmozglue.so', $file);
}

my $config = { stores => { default => { root => $t->path('store'),
        sources => ['local', 'images'], transcoders => [{ version => '9.0.0',
            inputs => ['elf', 'pe', 'macho'],
            command => ['pdb2symcache', '-pdb', '{pdb}'] }] } },
    sources => { local => { type => 'filesystem', layout => 'unified',
            path => $t->path('symbols') },
        images => { type => 'filesystem', path => $t->path('images') } },
    # one thread, which keeps two workers ready
    symbolication => { threads => 1, mozilla => { code => $true, code_size => '4k' } } };
local $ENV{PATH} = $t->program('') . ":$ENV{PATH}";
$t->start_symcached($config);
$t->start_symbolicated($config);
my ($front) = Test::Front::start($t, 'rate=20r/s' => 'rate=1000r/s');

sub ask_once {
    my (%request) = @_;
    delete $request{$_} for grep { !defined $request{$_} } keys %request;
    return $t->post($front, '/asm/v1', $json->encode(\%request), @firefox);
}
# As a client: a disk on which a file is published may be busy for longer than
# an answer waits.
sub ask {
    my (@request) = @_;
    my $r;
    $t->wait_until('an answer that is not 503',
        sub { $r = ask_once(@request); $r->{status} != 503 }, 120);
    return $r;
}
sub answer {
    my ($name, $start, $size, @more) = @_;
    my $r = ask(debugName => $name, debugId => $ids{$name}, codeId => $builds{$name},
        startAddress => sprintf('0x%x', $start), size => sprintf('0x%x', $size), @more);
    my $said = eval { $json->decode($r->{body}) };
    return $r->{status} == 200 && $said->{instructions} ? $said : do {
        diag "$name: $r->{raw}";
        {};
    };
}

# --- the vectors of samply

# Numbers, some names, and what stands for a branch's target, are written in two
# ways.
sub plain {
    my ($text) = @_;
    $text =~ s/^j(n?)z /j$1e /;
    $text =~ s/^movz (\w+), #(\w+), lsl #16$/sprintf 'mov %s, 0x%x', $1, hex($2) << 16/e;
    $text =~ s/^movz /mov /;
    $text =~ s/ <.*//;
    $text =~ s/#//g;
    $text =~ s/\b(?:dword|qword|word|byte) (?:ptr )?//g;
    $text =~ s/\b0x([0-9a-f]+)|\b(\d+)\b/defined $1 ? hex $1 : $2/ge;
    return $text;
}

{
    my $samply = $json->decode(slurp("$data/asm/asm_x86_64.json"));
    my $ours = answer('firefox.pdb', 0x17a20, 0x3a);
    is "$ours->{startAddress} $ours->{size} $ours->{arch}", '0x17a20 0x3d x86_64',
        'samply, x86-64: the same range';
    is_deeply $ours->{syntax}, ['Intel'], 'in one syntax';
    is_deeply [map { "$_->[0] " . plain($_->[1]) } @{ $ours->{instructions} }],
        [map { "$_->[0] " . plain($_->[1]) } @{ $samply->{instructions} }],
        'the same instructions';
}
{
    my $samply = $json->decode(slurp("$data/asm/asm_arm64.json"));
    my $ours = answer('libmozglue.dylib', 0x973c, 0xe8);
    is "$ours->{startAddress} $ours->{size} $ours->{arch} @{ $ours->{syntax} }",
        '0x973c 0xe8 aarch64 ARM', 'samply, arm64: the same range';
    my @theirs = map { "$_->[0] " . plain($_->[1]) } @{ $samply->{instructions} };
    # "$+0x792b8" counts from the instruction, and here it is an address
    s/\$\+(\d+)$/0x973c + 28 + $1/e for @theirs;
    is_deeply [map { "$_->[0] " . plain($_->[1]) } @{ $ours->{instructions} }], \@theirs,
        'the same instructions';
    is answer('libmozglue.dylib', 0x973f, 4)->{startAddress}, '0x973c', 'which begin at 4 bytes';
}

SKIP: {
    skip 'clang is needed to assemble code of 32-bit ARM', 2 if !$has_llvm;
    # Its targets are 2 bytes short: "cbz" leads to "movs" and "bne" to "ldr".
    my $branch = sub { $_[0] =~ s/^(cbz \w+, |bne |b\.w ).*/$1/r };
    my $samply = $json->decode(slurp("$data/asm/asm_arm.json"));
    my $ours = answer('libmozglue.so', 0x51fd1, 8, continueUntilFunctionEnd => $true);
    is "$ours->{startAddress} $ours->{size} $ours->{arch} @{ $ours->{syntax} }",
        '0x51fd0 0x26 arm ARM', 'samply, Thumb: the function that the odd address is of';
    is_deeply [map { "$_->[0] " . $branch->(plain($_->[1])) } @{ $ours->{instructions} }],
        [map { "$_->[0] " . $branch->(plain($_->[1])) } @{ $samply->{instructions} }],
        'the same instructions';
}

# --- a program: names, ends of functions, and what objdump says

my %symbols = map { /^(\w+) (\w+) [tT] (\w+)$/ ? ($3 => [hex $1, hex $2]) : () }
    qx(nm -S --defined-only '$prog');
for my $name (qw(classify sum main)) {
    my ($start, $size) = @{ $symbols{$name} };
    my $got = answer('prog', $start, 1, continueUntilFunctionEnd => $true);
    is $got->{size}, sprintf('0x%x', $size), "$name: up to its end";
    $got = answer('prog', $start, 1);
    is scalar @{ $got->{instructions} // [] }, 1, 'or one instruction';
}
{
    my $calls = join "\n", map { $_->[1] } @{ answer('prog', @{ $symbols{main} })->{instructions} };
    like $calls, qr/^call 0x[0-9a-f]+ <classify>$/m, 'a call has the name of what it calls';
    like $calls, qr/^call 0x[0-9a-f]+ <sum>$/m, 'each has';
    my $jumps = join "\n",
        map { $_->[1] } @{ answer('prog', @{ $symbols{classify} })->{instructions} };
    like $jumps, qr/^j\w+ 0x[0-9a-f]+ <classify\+0x[0-9a-f]+>$/m, 'a jump also has an offset';
}

# [[address, bytes, mnemonic]...] of the section .text, as a disassembler has it
sub listing {
    my (@command) = @_;
    my @list;
    open my $out, '-|', @command or die "$command[0]: $!";
    while (<$out>) {
        next if !/^\s*([0-9a-f]+):\s+((?:[0-9a-f]{2,8}(?: |(?=\t)))+)\s*([a-z.<(][\w.<>]*)?/;
        my ($at, $bytes, $word) = (hex $1, $2 =~ tr/0-9a-f// / 2, $3);
        if (!defined $word) {    # the rest of a long one
            $list[-1][1] += $bytes;
        } else {
            push @list, [$at, $bytes, $word];
        }
    }
    close $out;
    return @list;
}
# Prefixes stand before the name or not, and some have two names.
my $same_x86 = qr/^(?:cs|ds|data16|notrack|bnd|rep\w*|lock)[ ]is[ ]|^nop[wl]?[ ]is|^xchg[ ]is[ ]nop
    |^f(u?)comip[ ]is[ ]f\1compi/x;

# Each instruction of the list is in our answer at its place.
sub compare {
    my ($what, $name, @list) = @_;
    my ($first, $last) = ($list[0][0], $list[-1][0] + $list[-1][1]);
    my (%at, $odd);
    for (my $start = $first; $start < $last; ) {
        my $got = answer($name, $start, $last - $start);
        last if !$got->{instructions} || hex $got->{size} == 0;
        $at{ $start + $_->[0] } = $_->[1] for @{ $got->{instructions} };
        $start += hex $got->{size};
    }
    for (@list) {
        my ($at, $bytes, $word) = @$_;
        next if $word =~ /^(?:\.|<)/;
        $odd //= sprintf '%x: %s, and here %s', $at, $word, $at{$at} // 'nothing'
            if !defined $at{$at};
    }
    is $odd, undef, "$what: instructions begin at the same places (" . @list . ')';
    my %other;
    for (@list) {
        my $here = ($at{ $_->[0] } // '') =~ s/ .*//r;
        $here = 'mov' if $here =~ /^(?:mov[zn]|ins)$/ && $_->[2] eq 'mov';    # its forms
        next if $_->[2] =~ /^\./ && $here eq '.byte';    # data in between
        $other{"$_->[2] is $here"}++ if $here ne $_->[2];
    }
    return \%other;
}
{
    my @list = listing('objdump', '-d', '-M', 'intel', '-j', '.text', $prog);
    cmp_ok scalar(@list), '>', 100, 'objdump lists a program';
    my $other = compare('x86-64 beside objdump', 'prog', @list);
    delete @$other{ grep { /$same_x86/ } keys %$other };
    is_deeply $other, {}, 'and have the same names';
}
SKIP: {
    my $ls = '/bin/ls';
    skip "$ls is no program for x86-64", 3
        if !-r $ls || qx(readelf -h '$ls' 2>&1) !~ /X86-64/;
    add_program('ls', $ls);
    my @list = listing('objdump', '-d', '-M', 'intel', '-j', '.text', $ls);
    my $other = compare("$ls beside objdump", 'ls', @list);
    delete @$other{ grep { /$same_x86/ } keys %$other };
    is_deeply $other, {}, 'and have the same names';
}
SKIP: {
    skip 'clang and llvm-objdump are needed for other processors', 1 if !%objects;
    my %flags = (i386 => ['--x86-asm-syntax=intel'], amd64 => ['--x86-asm-syntax=intel']);
    for my $name (sort keys %objects) {
        my @list = listing('llvm-objdump', '-d', '-j', '.text', @{ $flags{$name} // [] },
            $objects{$name});
        cmp_ok scalar(@list), '>', 20, "llvm-objdump lists $name";
        my $other = compare("$name beside llvm-objdump", "$name.o", @list);
        is_deeply $other, {}, 'and have the same names';
        my $got = answer("$name.o", 0, 1);
        is $got->{arch}, { i386 => 'i686', amd64 => 'x86_64', aarch64 => 'aarch64' }->{$name} // 'arm',
            'the processor';
    }
}

# --- names and ids that lead to a program

my ($start, $size) = map { sprintf '0x%x', $_ } @{ $symbols{sum} };
sub outcome {
    my ($r) = @_;
    my $said = eval { $json->decode($r->{body}) } // {};
    return "$r->{status} " . ($said->{error} // scalar @{ $said->{instructions} // [] });
}
my $whole = outcome(ask(debugName => 'prog', debugId => $ids{prog}, codeId => $builds{prog}, startAddress => $start, size => $size));
like $whole, qr/^200 [1-9]\d*$/, 'by name and debug id';
is outcome(ask(name => 'prog', codeId => $builds{prog}, startAddress => $start, size => $size)), $whole,
    'by name and build id';
is outcome(ask(name => 'firefox.exe', codeId => $code_id, startAddress => '0x17a20', size => '0x3a')),
    '200 ' . @{ answer('firefox.pdb', 0x17a20, 0x3a)->{instructions} },
    'an image by name and code id, without its PDB\'s';
is outcome(ask(name => 'firefox.exe', codeId => $code_id =~ tr/0-9/1-90/r, startAddress => '0x17a20', size => '0x3a')),
    outcome(ask(name => 'other.exe', codeId => $code_id, startAddress => '0x17a20', size => '0x3a')),
    'but not by another one';
is outcome(ask(name => 'libmozglue.dylib', codeId => '4C4C44F955553144A1E167ACCB9D173C',
        startAddress => '0x973c', size => '0x4')), '200 1', 'by name and UUID';

# --- a file that is replaced while a worker, which then asks for it, is stopped

sub children {
    my ($parent) = @_;
    open my $c, '<', "/proc/$parent/task/$parent/children" or return;
    return split ' ', <$c> // '';
}
sub bodies { $t->symbolicated_metric('symbolicated_bodies_total') // 0 }
SKIP: {
    my ($spawner) = children($t->{symbolicated});
    skip 'this kernel does not list children', 3 if !$spawner;
    my @workers;
    $t->wait_until('two workers are ready, and the process they are copies of', sub {
        @workers = children($spawner);
        return @workers == 3 && $t->symbolicated_metric('symbolicated_workers') == 2;
    });
    my %request = (debugName => 'prog', debugId => $ids{prog}, codeId => $builds{prog},
        startAddress => $start, size => $size);
    my ($code) = glob $t->path("store/prog/$ids{prog}/*.codecache");
    my $before = bodies();
    kill 'STOP', @workers;
    my $body = $json->encode(\%request);
    my $s = Test::Symcache::connect_to($t->symbolicated_socket) or die $!;
    print $s Test::Symcache::request_text('POST', '/asm/v1', @firefox,
        'Content-Length: ' . length $body), $body;
    $s->flush;
    $t->wait_until('a worker is to read it', sub { bodies() > $before });
    spew("$code.new", slurp($code));
    rename "$code.new", $code or die "$code: $!";
    kill 'CONT', @workers;
    is outcome($t->read_response($s, 'POST')), '503 the program could not be had, please try again',
        'a file that is replaced meanwhile';
    like $t->symbolicated_log, qr/\[warn\].* module file=\S*prog\S*codecache cannot be given to a worker \(\d+: Stale/,
        '... so the log says';
    is outcome(ask_once(%request)), $whole, '... and the next request has it';
}

# --- limits, and what is refused

is answer('prog', $symbols{classify}[0], 0)->{size}, '0x0', 'nothing of no bytes';
my ($text) = map { [hex $1, hex $2] } qx(readelf -SW '$Test::Symcache::build/symcachectl')
    =~ /\.text\s+PROGBITS\s+(\w+) \w+ (\w+)/;
add_program('symcachectl', "$Test::Symcache::build/symcachectl");
{
    my $got = answer('symcachectl', $text->[0], 0xffffff);
    cmp_ok hex $got->{size}, '>=', 4096, 'no more than code_size';
    cmp_ok hex $got->{size}, '<', 4096 + 15, 'and the rest of an instruction';
}
like outcome(ask(debugName => 'prog', debugId => $ids{prog}, startAddress => '0xfffffff0', size => '0x10')),
    qr/^200 the module has no machine code at this address/, 'an address of nothing';
like outcome(ask(debugName => 'other', debugId => '0' x 31 . '10', startAddress => '0x0', size => '0x10')),
    qr/^200 the program of the module is not to be had/, 'another module';
for (['no size', size => undef], ['a number', size => 16], ['more than 32 bits', size => '0x100000000'],
     ['an address without 0x', startAddress => '1142'], ['no id', debugId => undef],
     ['a name with folders', debugName => '../prog'], ['an id that is none', debugId => 'C84A'],
     ['a text', continueUntilFunctionEnd => 'yes']) {
    my ($what, @change) = @$_;
    like outcome(ask(debugName => 'prog', debugId => $ids{prog}, startAddress => $start,
            size => $size, @change)), qr/^400 /, $what;
}
for (['no body', ''], ['half of JSON', '{'], ['a list', '[]'],
     ['a large body', '{"name":"' . 'x' x 70000 . '"}']) {
    my ($what, $body) = @$_;
    like outcome($t->post($front, '/asm/v1', $body, @firefox)), qr/^400 /, $what;
}

# --- web pages, counters

my $r = ask(debugName => 'prog', debugId => $ids{prog}, startAddress => $start, size => $size);
is Test::Symcache::header($r, 'Access-Control-Allow-Origin'), '*', 'a web page may read it';
is $t->http($front, 'GET', '/asm/v1', @firefox)->{status}, 405, 'another method';
$r = $t->http($front, 'OPTIONS', '/asm/v1', @firefox, 'Access-Control-Request-Method: POST');
is join(' ', $r->{status}, Test::Symcache::header($r, 'Access-Control-Allow-Methods') // '-'),
    '200 POST', 'a preflight';
cmp_ok $t->symbolicated_metric('symbolicated_programs_total{outcome="found"}'), '>', 10,
    'programs are counted';
cmp_ok $t->symbolicated_metric('symbolicated_programs_total{outcome="missing"}'), '>', 0,
    'those that are missing, too';
cmp_ok $t->symbolicated_metric('symbolicated_requests_total{protocol="asm",status="2xx"}') // 0, '>', 10,
    'and requests';

# --- it is off by default

$t->stop_nginx;
$t->stop_symbolicated;
delete $config->{symbolication};
$t->start_symbolicated($config);
is $t->post($t->symbolicated_socket, '/asm/v1', '{}', @firefox)->{status}, 404, 'off by default';

$t->finish;
done_testing;
