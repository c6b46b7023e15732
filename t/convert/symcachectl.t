#!/usr/bin/env perl

# symcachectl lookup, dump and verify: output, exit codes, standard input,
# hostile files, the sandbox. The file is the example that the reference wrote
# (see t/unit/symc_example.h); what is expected of lookups is what
# the reference finds in it.

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Temp;
use IO::Select;
use IPC::Open2;
use JSON::PP;
use POSIX qw(mkfifo :sys_wait_h);
use FindBin qw($Bin);
use lib "$Bin/../lib";
use Test::File;
use Test::More;

my $top = abs_path(dirname(__FILE__) . '/../..');
my $build = abs_path($ENV{SYMCACHE_BUILD} // "$top/build");
my $ctl = "$build/symcachectl";
my $dir = File::Temp->newdir('symcachectl-XXXXXX', TMPDIR => 1);

$SIG{PIPE} = 'IGNORE';

my $example = pack 'H*', join '', split ' ', <<'HEX';
53594d43 09000000 11223344 55667788 99aabbcc ddeeff00 01000000 00000000
00000000 00000000 c9000000 02000000 03000000 06000000 05000000 25000000
00000000 00000000 00000000 00000000
10000000 0b000000 07000000 ffffffff ffffffff ffffffff
10000000 0b000000 17000000 ffffffff ffffffff ffffffff
00000000 ffffffff 00100000 00000000 11000000 ffffffff ffffffff 00000000
20000000 ffffffff 40100000 ffffffff
00000000 06000000 00000000 ffffffff 00000000 05000000 00000000 ffffffff
01000000 02000000 01000000 00000000 00000000 06000000 00000000 ffffffff
ffffffff ffffffff ffffffff ffffffff ffffffff 00000000 02000000 ffffffff
00100000 10100000 18100000 20100000 40100000 00000000
066d61696e2829 036d2e63 04433a5c61 00 05696e6c2829 036d2e68 046d61696e
047461696c
HEX

# Runs symcachectl; returns exit code, standard output and standard error.
sub ctl {
    my ($stdin, @args) = @_;
    spew("$dir/in", $stdin // '');
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        open STDIN, '<', "$dir/in" or die;
        open STDOUT, '>', "$dir/out" or die;
        open STDERR, '>', "$dir/err" or die;
        exec $ctl, @args or die "$ctl: $!";
    }
    waitpid $pid, 0;
    return ($? & 127 ? "signal " . ($? & 127) : $? >> 8,
            slurp("$dir/out"), slurp("$dir/err"));
}

# The example with some bytes replaced.
sub variant {
    my ($name, @patches) = @_;
    my $content = $example;
    while (my ($offset, $bytes) = splice @patches, 0, 2) {
        substr($content, $offset, length $bytes) = $bytes;
    }
    return spew("$dir/$name", $content);
}

my $file = spew("$dir/example.symcache", $example);

# --- usage

for my $help (['-h'], ['--help']) {
    my ($code, $out, $err) = ctl('', @$help);
    is $code, 0, "@$help";
    like $out, qr/usage: symcachectl.*lookup.*dump.*verify.*exit codes/s,
        "@$help tells all commands";
}
{
    my ($code, $out) = ctl('', '-V');
    is $code, 0, '-V';
    like $out, qr/^symcachectl \d+\.\d+\.\d+ .*7 to 9/, '-V tells versions';
}
for my $case (
    [qr/usage/],
    [qr/\Asymcachectl: unknown command: frob\ntry: symcachectl --help\n\z/,
        'frob'],
    [qr/no FILE/, 'lookup'], [qr/no FILE/, 'lookup', '--json'],
    [qr/no FILE/, 'dump'], [qr/no FILE/, 'verify'],
    [qr/unknown option: --frob/, 'lookup', '--frob', $file],
    [qr/unknown option: --frob/, 'dump', '--frob', $file],
    [qr/more than one FILE: x/, 'verify', $file, 'x'],
    [qr/a MAP needs --kind jscache.*: x/, 'convert', $file, 'x'],
    [qr/more than one FILE: x/, 'convert', '--kind', 'symcache', $file, 'x'],
    [qr/no address: 0x/, 'lookup', $file, '1000', '0x'],
    [qr/no address: 12g/, 'lookup', $file, '12g'],
    [qr/no address: -1/, 'lookup', $file, '-1'],
    [qr/no address: 1 000/, 'lookup', $file, '1 000'],
    [qr/no address: 10000000000000000/, 'lookup', $file,
        '10000000000000000'],
    [qr/no address: $/m, 'lookup', $file, ''],
    [qr/standard input cannot be both/, 'lookup', '-'],
) {
    my ($text, @args) = @$case;
    my ($code, $out, $err) = ctl('', @args);
    is $code, 2, "usage: @args";
    like $err, $text, '... and why';
    is $out, '', '... and nothing else';
}

# --- lookup

my $main5 = "    main() at C:\\a\\m.c:5\n";
my $main6 = "    main() at C:\\a\\m.c:6\n";
my $inl2 = "    inl() at C:\\a\\m.h:2 (inlined)\n$main6";
my $none = "    not found\n";
my %at = (
    0xfff => $none, 0x1000 => $main5, 0x100f => $main5, 0x1010 => $inl2,
    0x1017 => $inl2, 0x1018 => $main6, 0x101f => $main6, 0x1020 => $none,
    0x103f => $none, 0x1040 => "    tail at ?:0\n",
    0xffffffff => "    tail at ?:0\n", 0x10000 * 0x10000 => $none,
);
my @at = sort { $a <=> $b } keys %at;
my $all = join '', map { sprintf "0x%x\n%s", $_, $at{$_} } @at;

{
    my ($code, $out, $err) = ctl('', 'lookup', $file,
                                 map { sprintf '0x%x', $_ } @at);
    is $code, 0, 'lookup of addresses in arguments';
    is $out, $all, '... gives all frames';
    is $err, '', '... without complaint';

    ($code, $out) = ctl('', 'lookup', '--', $file, '00000001010', '0X1FFf');
    is $out, "0x1010\n${inl2}0x1fff\n    tail at ?:0\n",
        'with or without 0x, in either case';

    ($code, $out) = ctl('', 'lookup', $file, 'fff', '1020');
    is $code, 1, 'nothing found at any address: 1';
    is $out, "0xfff\n${none}0x1020\n$none", '... and it says so';

    ($code, $out) = ctl('', 'lookup', $file, 'ffffffffffffffff');
    is $out, "0xffffffffffffffff\n$none", 'an address of 64 bits';
}
{
    my @json = (
        [0x1010, [
            { function => 'inl()', entry => undef, language => 'unknown',
              file => 'C:\\a\\m.h', line => 2, inlined => JSON::PP::true },
            { function => 'main()', entry => '0x1000',
              language => 'unknown', file => 'C:\\a\\m.c', line => 6,
              inlined => JSON::PP::false } ]],
        [0x1020, []],
        [0x1040, [
            { function => 'tail', entry => '0x1040', language => 'unknown',
              file => undef, line => 0, inlined => JSON::PP::false } ]],
    );
    my ($code, $out) = ctl('', 'lookup', '--json', $file,
                           qw(1010 1020 1040));
    my @got = map { decode_json($_) } split /\n/, $out;
    is $code, 0, 'lookup --json';
    is_deeply \@got, [map { { address => sprintf('0x%x', $_->[0]),
        frames => $_->[1] } } @json], '... one object a line';
    ($code, my $again) = ctl('', 'lookup', $file, '--json',
                             qw(1010 1020 1040));
    is $again, $out, '--json behind FILE';
    my ($code3) = ctl('', 'lookup', '--json', $file, 'fff');
    is $code3, 1, 'nothing found: 1, in JSON too';
}

# --- standard input

{
    my ($code, $out) = ctl(join('', map { sprintf "%x\n", $_ } @at),
                           'lookup', $file);
    is $code, 0, 'addresses from standard input';
    is $out, $all, '... the same text';

    ($code, $out) = ctl("\n 0x1000 \r\n\n\t1010\t\r\n1018", 'lookup', $file);
    is $out, "0x1000\n${main5}0x1010\n${inl2}0x1018\n$main6",
        'blanks, empty lines, CRLF, no end of line';

    ($code, $out, my $err) = ctl("1000\n\nmain\e[2J\n1018\n", 'lookup', $file);
    is $code, 2, 'a line that is no address';
    like $err, qr/standard input:3: no address: main\\x1b\[2J$/,
        '... is named, escaped';
    is $out, "0x1000\n$main5", '... after what came before it';

    ($code, $out, $err) = ctl('1' x 100000, 'lookup', $file);
    is $code, 2, 'a line without end';
    like $err, qr/standard input:1: no address: 1{40}\.\.\./, '... is no address';

    ($code, $out) = ctl("1\n" . "x" x 100000, 'lookup', $file);
    is $out, "0x1\n$none", '... after others';

    ($code, $out) = ctl('', 'lookup', $file);
    is "$code:$out", '0:', 'no address at all';

    my $lines = join '', map { sprintf "%x\n", 0x1000 + $_ % 0x40 } 1 .. 100000;
    ($code, $out) = ctl($lines, 'lookup', '--json', $file);
    my $n = () = $out =~ /\n/g;
    is $n, 100000, '100000 addresses from standard input';
    my @odd = grep { !/^\{"address": "0x10[0-3][0-9a-f]", "frames": \[.*\]\}$/ }
        split /\n/, $out;
    is_deeply \@odd, [], '... every answer whole';
}

# Two programs can converse; then the process is looked at from outside.
my $patience = 300;

sub converse {
    my ($path) = @_;
    open my $old, '>&', \*STDERR or die;
    open STDERR, '>', "$dir/err" or die;
    my $pid = open2(my $from, my $to, $ctl, 'lookup', $path);
    open STDERR, '>&', $old or die;
    return { pid => $pid, from => $from, to => $to };
}

sub ask {
    my ($c, $address) = @_;
    syswrite $c->{to}, sprintf("%x\n", $address);
    my $text = '';
    while ($text !~ /:\d+\n\z|not found\n\z/) {
        IO::Select->new($c->{from})->can_read($patience) or last;
        sysread $c->{from}, $text, 4096, length $text or last;
    }
    return $text;
}

sub hang_up {
    my ($c) = @_;
    close $c->{to};
    waitpid $c->{pid}, 0;
    return $? & 127 ? 'signal ' . ($? & 127) : $? >> 8;
}

{
    my $c = converse($file);
    is ask($c, 0x1000), "0x1000\n$main5", 'an answer before the next question';
    is ask($c, 0x1020), "0x1020\n$none", '... and the next';
    my $status = slurp("/proc/$c->{pid}/status");
    like $status, qr/^NoNewPrivs:\s*1$/m, 'parsing has no new privileges';
    like $status, qr/^Seccomp:\s*2$/m, '... and a system call filter';
    is hang_up($c), 0, '... and ends with its input';
}
{
    # large enough that no page of the ranges is in what was read ahead
    my $long = spew("$dir/shrinks.symcache", $example . "\0" x 1000000);
    my $c = converse($long);
    is ask($c, 0x1000), "0x1000\n$main5", 'a file that is whole';
    truncate $long, 0 or die "truncate: $!";
    ask($c, 0x1010);
    is hang_up($c), 3, 'a file cut short while it is read: 3, no signal';
    like slurp("$dir/err"), qr/cut short/, '... with the reason';
}

# --- dump

my $dump = <<'TEXT';
version    9
id         11223344-5566-7788-99aa-bbccddeeff00
age        1
arch       x86_64
files      2
functions  3
locations  6
ranges     5
strings    8 in 37 bytes

files
  C:\a\m.c
  C:\a\m.h

functions
  0x00001000 unknown main()
  inlined    unknown inl()
  0x00001040 public tail

ranges
  0x00001000 main() at C:\a\m.c:5
  0x00001010 inl() at C:\a\m.h:2 (inlined)
             main() at C:\a\m.c:6
  0x00001018 main() at C:\a\m.c:6
  0x00001020 -
  0x00001040 tail at ?:0
TEXT

{
    my ($code, $out, $err) = ctl('', 'dump', $file);
    is $code, 0, 'dump';
    is $out, $dump, '... as specified';

    ($code, $out) = ctl($example, 'dump', '-');
    is $out, $dump, 'FILE - is standard input';

    my $full = variant('full', 0x50, pack('V*', 11, 11, 7, 0, 17, 32),
                       39, "\1", 40, pack('V', 14));
    ($code, $out) = ctl('', 'dump', $full);
    like $out, qr/^\Q$_\E$/m, "all fields of a file: $_" for
        '    compiled in C:\a',
        '    source server name      main()',
        '    source server directory inl()',
        '    source server revision  tail';
    like $out, qr/^id .* \(PDB 2\.0: time stamp\)$/m, 'a time stamp for GUID';
    like $out, qr/^arch       arm64$/m, 'an old number of an architecture';

    my $longer = spew("$dir/longer", $example . 'more');
    ($code, $out) = ctl('', 'dump', $longer);
    is $code, 0, 'bytes after the strings';
    like $out, qr/^behind it  4 bytes$/m, '... are told';

    mkfifo("$dir/fifo", 0600) or die "mkfifo: $!";
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        spew("$dir/fifo", $example);
        POSIX::_exit(0);
    }
    ($code, $out) = ctl('', 'dump', "$dir/fifo");
    waitpid $pid, 0;
    is $out, $dump, 'FILE can be a pipe';
}

# --- a CfiCache, which has no names

{
    my $cfi = "$dir/cfi";
    my $sym = "$dir/a.sym";
    spew($sym, <<'SYM');
MODULE Linux x86_64 000102030405060708090A0B0C0D0E0F0 a
FUNC 1000 10 0 f
STACK CFI INIT 1000 10 .cfa: $rsp 8 + .ra: .cfa -8 + ^
STACK CFI 1001 .cfa: $rsp 16 +
SYM
    is system("$build/pdb2symcache", '--kind', 'cficache', $sym, '-o', $cfi),
        0, 'a CfiCache is made';
    my ($code, $out) = ctl('', 'verify', $cfi);
    is $code, 0, 'verify: a CfiCache';
    like $out, qr/^\Q$cfi\E: sound: CfiCache, version 1, \d+ ranges, \d+ rules,/,
        'says so';
    for my $command ('dump', 'lookup') {
        my ($code, $out, $err) = ctl('', $command, $cfi);
        is $code, 4, "$command: refused";
        like $err, qr/is a file that has no names by address/, 'and why';
        is $out, '', 'nothing is printed';
    }
    my $cut = "$dir/cut";
    spew($cut, substr slurp($cfi), 0, -1);
    ($code) = ctl('', 'verify', $cut);
    isnt $code, 0, 'verify: one that was cut';
}

# --- verify

{
    my ($code, $out, $err) = ctl('', 'verify', $file);
    is $code, 0, 'verify: a sound file';
    like $out, qr/sound: version 9, 2 files, 3 functions, 6 source/, '... is told';
    ($code, $out, $err) = ctl('', 'verify',
                              variant('order', 0x114, pack 'V', 0x1000));
    is $code, 1, 'verify: a violation';
    is $out, '', '... is no output';
    like $err, qr{/order: offset 0x114: range 1: start 0x1000 is not above},
        '... but a complaint with its place';
}

# --- what is no SymCache

for my $case (
    ['empty', '', 4, qr/not a SymCache: 0 bytes/],
    ['short', 'SYMC', 4, qr/not a SymCache: 4 bytes/],
    ['html', '<html>not here', 4, qr/not a SymCache: begins with 3c 68/],
    ['big-endian', 'CMYS' . substr($example, 4), 4, qr/big-endian/],
    ['version 6', "SYMC\6" . substr($example, 5), 4, qr/version 6/],
    ['version 10', "SYMC\12" . substr($example, 5), 4, qr/version 10/],
    ['header only', substr($example, 0, 79), 1, qr/truncated/],
    ['cut', substr($example, 0, -1), 1, qr/truncated: 37 bytes of strings/],
    ['counts', substr($example, 0, 52) . pack('V', 0x10000000)
        . substr($example, 56), 1, qr/truncated: 268435456 source/],
    ['more ranges', substr($example, 0, 56) . pack('V', 7)
        . substr($example, 60), 1, qr/offset 0x38: 7 ranges, but only 6/],
) {
    my ($name, $content, $code, $reason) = @$case;
    my $path = spew("$dir/foreign", $content);
    my ($got, $out, $err) = ctl('', 'verify', $path);
    is $got, $code, "$name: verify ends with $code";
    like $err, $reason, '... and the reason';
    for my $args (['dump', $path], ['lookup', $path, '1000']) {
        ($got, $out, $err) = ctl('', @$args);
        is $got, 4, "$name: $args->[0] ends with 4";
        like $err, $reason, '... and the reason';
        is $out, '', '... and no output';
    }
}

for my $case (["$dir/nobody", qr/No such file/], ["$dir", qr/directory/]) {
    my ($code, $out, $err) = ctl('', 'verify', $case->[0]);
    is $code, 3, "$case->[1]: 3";
    like $err, $case->[1], '... and the reason';
}

SKIP: {
    skip 'no /dev/full', 2 unless -c '/dev/full';
    my $rc = system "'$ctl' lookup '$file' 1000 >/dev/full 2>'$dir/err'";
    is $rc >> 8, 3, 'output that cannot be written: 3';
    like slurp("$dir/err"), qr/standard output: No space left/, '... and why';
}

# --- hostile names

for my $case (
    ["\6a\nb\e\x7fc", 'a\x0ab\x1b\x7fc', "a\nb\e\x7fc",
        'C0 and DEL'],
    ["\6a\xc2\x85\xc2\x9bb", 'a\u0085\u009bb', "a\x{85}\x{9b}b", 'C1'],
    ["\6\xc2\xa0\xc3\xa9\"\\", "\xc2\xa0\xc3\xa9\"\\",
        "\x{a0}\x{e9}\"\\", 'no control characters'],
    ["\6\0\1\t\r\b\f", '\x00\x01\x09\x0d\x08\x0c', "\0\1\t\r\b\f", 'more C0'],
) {
    my ($bytes, $text, $name, $what) = @$case;
    my $path = variant('names', 0x128, $bytes);
    my ($code, $out) = ctl('', 'lookup', $path, '1000');
    is $out, "0x1000\n    $text at C:\\a\\m.c:5\n", "$what in text";
    ($code, $out) = ctl('', 'dump', $path);
    like $out, qr/^  0x00001000 unknown \Q$text\E$/m, "$what in dump";
    ($code, $out) = ctl('', 'lookup', '--json', $path, '1000');
    unlike $out, qr/[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]/,
        "$what: nothing raw in JSON";
    is decode_json($out)->{frames}[0]{function}, $name, "$what in JSON";
}
{
    my $path = variant('utf8', 0x128, "\6a\xff\xfebcd");
    my ($code, $out) = ctl('', 'lookup', $path, '1000');
    is $out, "0x1000\n    ? at C:\\a\\m.c:5\n", 'a name that is not UTF-8';
    ($code, $out) = ctl('', 'dump', $path);
    like $out, qr/^strings    0 in 37 bytes\n +then one at 0x128 that is not UTF-8$/m,
        '... is told by dump';
}
{
    my $path = variant('loop', 0xbc, pack 'V', 2);
    my ($code, $out) = ctl('', 'lookup', $path, '1010');
    is $code, 0, 'a loop of callers ends';
    my $n = () = $out =~ /^    /mg;
    is $n, 6, '... after as many frames as there are source locations';
    ($code, $out) = ctl('', 'dump', $path);
    is $code, 0, '... in dump too';
    ($code, $out, my $err) = ctl('', 'verify', $path);
    is $code, 1, '... and is a violation';
    like $err, qr/by a loop/, '... that is named';
}

# --- a reader that is gone

pipe my $from, my $to or die "pipe: $!";
close $from;
my $writer = fork // die "fork: $!";
if (!$writer) {
    $SIG{PIPE} = 'DEFAULT';
    open STDOUT, '>&', $to or die;
    open STDERR, '>', "$dir/err" or die;
    exec $ctl, 'convert', '-o', '-', "$Bin/../data/pdb/crash.pdb" or die "$ctl: $!";
}
close $to;
waitpid $writer, 0;
is $? >> 8, 3, 'convert: nobody reads the output';
like slurp("$dir/err"), qr/crash\.pdb: output cannot be written: Broken pipe$/,
    '... which is no fault of the file';

done_testing;
