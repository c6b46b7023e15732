#!/usr/bin/env perl

# symcachectl minidump: what Symbolicator 26.8.0 answered for the same dumps
# and symbols, for people, and as minidump-stackwalk writes it.

use strict;
use warnings;

use File::Path qw(make_path);
use FindBin;
use JSON::PP;
use lib "$FindBin::Bin/../lib";
use Test::Ctl;
use Test::File;
use Test::More;
use Test::Socorro;
use Test::Symcache;

my $t = Test::Symcache->new;
my $ctl = Test::Ctl->new($t);
my $data = $t->data('minidump');

# Makes a store of the symbols of a case; those of Breakpad's files that have
# STACK records alone have no names.
sub store {
    my ($case, $modules) = @_;
    my $root;
    for my $module (@$modules) {
        my $id = $module->{debug_id} // next;
        my $sym = "$case/$id.sym";
        next unless -e $sym;
        my ($name) = $module->{debug_file} =~ m{([^/\\]+)\z};
        my ($guid, $age) = $id =~ /\A([0-9a-f-]{36})(?:-([0-9a-f]+))?\z/;
        $root //= $t->path('stores/' . ($case =~ s{.*/}{}r));
        my $folder = "$root/$name/" . uc($guid =~ tr/-//dr) . ($age // 0);
        make_path($folder);
        my %versions = (cficache => '1.0.0');
        $versions{symcache} = '9.0.0' if slurp($sym) =~ /^(?:FUNC|PUBLIC) /m;
        for my $kind (sort keys %versions) {
            $ctl->run('convert', '--kind', $kind, '-o',
                "$folder/$name-v$versions{$kind}.$kind", $sym);
        }
    }
    return $root;
}

# What is compared of an answer: neither what is searched for, nor texts of a
# store.
sub essence {
    my ($answer) = @_;
    my %kept = map { $_ => $answer->{$_} } qw(timestamp system_info crashed
        crash_reason stacktraces);
    $kept{modules} = [map {
        my $m = $_;
        +{ map { $_ => $m->{$_} } qw(type code_file code_id debug_file
            debug_id image_addr image_size) };
    } grep { $_->{debug_id} || $_->{code_id} } @{ $answer->{modules} }];
    return \%kept;
}

for my $case (sort glob "$data/cases/*") {
    my ($name) = $case =~ m{([^/]+)\z};
    my $answer = decode_json(slurp("$case/answer.json"))->{answer};
    my $root = store($case, $answer->{modules} // []);
    my $r = $ctl->run('minidump', '--json', $root ? ('--root', $root) : (),
        "$case/dump.dmp");
    if ($answer->{status} eq 'failed') {
        $ctl->is($r, 4, undef, qr/: \Q$answer->{message}\E$/m, $name);
        next;
    }
    my ($object) = $ctl->json($r);
    is_deeply essence($object), essence($answer), $name;
}

# --- for people

my $dump = "$data/test_app.dmp";
my @socket = ('--socket', 'unix:' . $t->symbolicated_socket);
my $r = $ctl->run('minidump', $dump);
is $r->{code}, 0, 'no symbols and no daemon: done without';
is $r->{err}, 'symcachectl: unix:/run/symcached/symbolicated.sock: symbolicated is not '
    . 'reached there: No such file or directory: the dump is '
    . "walked without symbols, and frames have no names\n", '... and says so';
like $r->{out}, qr/^Windows 5\.1\.2600, x86\nEXCEPTION_ACCESS_VIOLATION_WRITE \/ 0x45\n/,
    'the system and the reason';
like $r->{out}, qr/^thread 3060, requesting\n#0   0x40429e from test_app\.exe \[context\]$/m,
    'a thread without names';
$ctl->is($ctl->run('minidump', @socket, $dump), 3, undef,
    qr/cannot connect/, 'a daemon that is named has to be there');

# --- names of a daemon, and of a server

my ($sym) = glob "$data/symbols/test_app.pdb/*/*.gz";
system("gzip -dc $sym >" . $t->path('test_app.sym')) == 0 or die;
my ($id) = $sym =~ m{test_app\.pdb/([^/]+)/};
my $folder = $t->path("store/test_app.pdb/$id");
make_path($folder);
for my $kind ('symcache-v9.0.0', 'cficache-v1.0.0') {
    my ($suffix, $version) = split /-/, $kind;
    $ctl->run('convert', '--kind', $suffix, '-o',
        "$folder/test_app.pdb-$version.$suffix", $t->path('test_app.sym'));
}
my $named = qr/^#0   0x40429e in \S+.* at \S*test_app\.cc:58 from test_app\.exe \[context\]$/m;
$r = $ctl->run('minidump', '--root', $t->path('store'), $dump);
$ctl->is($r, 0, $named, undef, 'names of a store');
like $r->{out}, qr/^#1 .* \[cfi\]$/m, 'and its CFI';
$t->start_symbolicated({ stores => { default => { root => $t->path('store') } } });
$ctl->is($ctl->run('minidump', @socket, $dump), 0, $named, undef,
    'names of symbolicated');

my $port = $t->free_port;
$t->start_nginx('location /names/ { proxy_pass http://unix:'
        . $t->symbolicated_socket . ':/; }
    location = /symbolicate { proxy_pass http://unix:' . $t->symbolicated_socket . '; }', load => 0,
    listen => "listen 127.0.0.1:$port;", address => "127.0.0.1:$port");
$ctl->is($ctl->run('minidump', '--url', "http://127.0.0.1:$port/names", $dump),
    0, $named, undef, 'names of a server');
$ctl->is($ctl->run('minidump', '--url', "http://127.0.0.1:$port/", $dump),
    0, $named, undef, 'whose URL ends with a slash');
$ctl->is($ctl->run('minidump', '--url', "http://127.0.0.1:$port/other", $dump),
    3, undef, qr{http://127\.0\.0\.1:$port/other}, 'there is no such server');
my $unused = 'http://127.0.0.1:' . $t->free_port;
$ctl->is($ctl->run('minidump', '--url', $unused, $dump), 3, undef,
    qr{\Q$unused\E: cannot connect: .*\nis symbolicated running there\?\n\z}, 'nor this one');

# --- the JSON of minidump-stackwalk

my ($object) = $ctl->json($ctl->run('minidump', '--schema', 'socorro',
    '--root', $t->path('store'), $dump));
is $object->{status}, 'OK', 'socorro: done';
is_deeply [grep { exists $object->{crash_info}{$_} } qw(instruction
    memory_accesses)], [qw(instruction memory_accesses)],
    'socorro: members that we do not know are null';

# what minidump-stackwalk 0.27.0 wrote of the same dumps and symbols
for my $name (qw(test_app null_read_av)) {
    my ($gz) = glob "$data/symbols/*/*/$name.sym.gz";
    my $root = make_store($t->path("socorro/$name"),
        $t->program('pdb2symcache'), $gz);
    ($object) = $ctl->json($ctl->run('minidump', '--schema', 'socorro',
        '--root', $root, "$data/$name.dmp"));
    is_deeply comparable($object),
        comparable(JSON::PP->new->decode(slurp("$data/$name.stackwalk.json"))),
        "socorro: $name";
}

# how long the process ran: to the second of the dump, and no less than not at all
for ([100, 100], [-1, 0]) {
    my ($later, $uptime) = @$_;
    my $bytes = slurp("$data/test_app.dmp");
    substr $bytes, 20, 4, pack 'V', $later + unpack 'V', substr $bytes, 20, 4;
    ($object) = $ctl->json($ctl->run('minidump', '--schema', 'socorro',
        $t->write_file('uptime.dmp', $bytes)));
    is $object->{process_uptime}, $uptime, "socorro: a dump of $later seconds after the start";
}

# a module that overlaps one before it is listed, and an unknown system has its
# number, as minidump-stackwalk writes it
{
    my $bytes = slurp("$data/test_app.dmp");
    my ($n, $at) = unpack 'x8 V2', $bytes;
    my %stream = map { $_->[0] => $_->[2] }
        map { [unpack 'V3', substr $bytes, $at + 12 * $_, 12] } 0 .. $n - 1;
    my $list = $stream{4} + 4;
    my @modules = sort { $a->[1] <=> $b->[1] }
        map { [$_, unpack 'Q<', substr $bytes, $list + 108 * $_, 8] }
            0 .. unpack('V', substr $bytes, $stream{4}, 4) - 1;
    substr $bytes, $list + 108 * $modules[0][0] + 8, 4,
        pack 'V', $modules[1][1] - $modules[0][1] + 1;
    substr $bytes, $stream{7} + 20, 4, pack 'V', 0x1002;
    my @names = map { [map { $_->{filename} } @{ $_->{modules} }] } map {
        ($object) = $ctl->json($ctl->run('minidump', '--schema', 'socorro', $_));
        $object } "$data/test_app.dmp", $t->write_file('overlap.dmp', $bytes);
    is_deeply $names[1], $names[0], 'socorro: a module that overlaps another';
    is $object->{system_info}{os}, '0x0x001002', 'socorro: an unknown system';
}

# modules that were unloaded, and are told of frames outside of all others: a
# dump with a list of such, whose program counter is in some of them
{
    my $bytes = slurp("$data/test_app.dmp");
    my ($count, $at) = unpack 'x8 V2', $bytes;
    my @streams = map { [unpack 'V3', substr $bytes, $at + 12 * $_, 12] } 0 .. $count - 1;
    my ($exception) = map { $_->[2] } grep { $_->[0] == 6 } @streams;
    my $context = unpack 'V', substr $bytes, $exception + 164, 4;
    substr $bytes, $context + 0xb8, 4, pack 'V', 0x60012345;
    my @unloaded;
    for ([0x60000000, 'b.dll'], [0x60010000, 'b.dll'], [0x60010000, 'a.dll'],
        [0x60010000, 'a.dll'], [0x60012346, 'later.dll'], [0x50000000, 'before.dll']) {
        my ($base, $name) = @$_;
        push @unloaded, pack 'Q< V4', $base, 0x20000, 0, 1, length $bytes;
        $bytes .= pack 'V/a*', pack 'v*', map { ord } split //, $name;
    }
    push @streams, [14, 12 + 24 * @unloaded, length $bytes];
    $bytes .= pack('V3', 12, 24, scalar @unloaded) . join '', @unloaded;
    substr $bytes, 8, 8, pack 'V2', scalar @streams, length $bytes;
    $bytes .= join '', map { pack 'V3', @$_ } @streams;
    ($object) = $ctl->json($ctl->run('minidump', '--schema', 'socorro',
        $t->write_file('unloaded.dmp', $bytes)));
    # as minidump-stackwalk 0.27.0 writes it
    is_deeply [map { $_->{unloaded_modules} } @{ $object->{crashing_thread}{frames} }[0, 1]],
        [[{ module => 'a.dll', offsets => ['0x00002345'] },
            { module => 'b.dll', offsets => ['0x00002345', '0x00012345'] }], undef],
        'socorro: unloaded modules of a frame';
}

# the last error of a thread, as minidump-stackwalk 0.26.1 says
SKIP: {
    skip 'no zstd', 4 if system('zstd --version >/dev/null 2>&1') != 0;
    my $name = 'dumps/bp-tiny-exe-with-cet-xsave.dmp';
    system("zstd -qdc --long=24 $data/real.tar.zst | tar xf - -C "
        . $t->path('') . " $name") == 0 or die;
    my $bytes = slurp($t->path($name));
    for ([0, 'ERROR_SUCCESS'], [2, 'ERROR_FILE_NOT_FOUND'],
         [0xc0000005, 'STATUS_ACCESS_VIOLATION'],
         [0x12345678, 'unknown 0x12345678']) {
        my ($value, $error) = @$_;
        substr $bytes, 75320, 4, pack 'V', $value; # in the thread's block
        spew($t->path('error.dmp'), $bytes);
        ($object) = $ctl->json($ctl->run('minidump', '--schema', 'socorro',
            '--root', $t->path('store'), $t->path('error.dmp')));
        is $object->{threads}[0]{last_error_value}, $error,
            "socorro: $error";
    }
}

# the processor, as the crate describes those of 32-bit ARM
for (['ARMv7 ARM Cortex-A15 features: half,thumb,fastmult,vfpv2,edsp,neon,'
      . 'vfpv3,tls,vfpv4,idiva,idivt', 7, 0x412fc0f3, 0x17b0d6 & ~0x4000],
     ['ARMv8 vendor(0x42) part(0x4200f100)', 8, 0x4200f105, 0],
     ['ARMv6', 6, 0, 0]) {
    my ($info, $level, @cpu) = @$_;
    my $bytes = slurp("$data/cases/arm-cfi-scan/dump.dmp");
    my ($n, $at) = unpack 'x8 V2', $bytes;
    my ($system) = map { $_->[0] == 7 ? $_->[2] : () }
        map { [unpack 'V3', substr $bytes, $at + 12 * $_, 12] } 0 .. $n - 1;
    substr $bytes, $system + 2, 2, pack 'v', $level;
    substr $bytes, $system + 32, 8, pack 'V2', @cpu;
    spew($t->path('arm.dmp'), $bytes);
    ($object) = $ctl->json($ctl->run('minidump', '--schema', 'socorro',
        '--root', $t->path('store'), $t->path('arm.dmp')));
    is $object->{system_info}{cpu_info}, $info, "socorro: $info";
}

# a crash in a signal handler: the code that was interrupted is found, with all
# that symbolicated has as corrections

$folder = $t->path('store/interrupted/22137224295EC264764DF9BDB59895500');
make_path($folder);
$ctl->run('convert', '--kind', $_->[0], '-o',
    "$folder/interrupted-v$_->[1].$_->[0]", "$data/interrupted/interrupted")
    for [qw(symcache 9.0.0)], [qw(cficache 1.0.0)];
($object) = $ctl->json($ctl->run('minidump', '--json', '--root',
    $t->path('store'), "$data/interrupted/interrupted.dmp"));
is_deeply [map { $_->{function} } @{ $object->{stacktraces}[0]{frames} }],
    ['report', 'handler', undef, qw(leaf middle outer _start)],
    'corrections are on';
is_deeply [map { $_->{adjust_instruction_addr} }
        @{ $object->{stacktraces}[0]{frames} }[0, 1, 3]],
    [JSON::PP::false, undef, JSON::PP::false],
    '... and say which addresses are no return addresses';

# --- what is wrong

$ctl->is($ctl->run('minidump'), 2, undef, qr/no FILE/, 'no file');
$ctl->is($ctl->run('minidump', '--schema', 'x', $dump), 2, undef,
    qr/no such schema/, 'no such schema');
$ctl->is($ctl->run('minidump', '--url', 'x', $dump), 2, undef, qr/no URL/,
    'no URL');
$ctl->is($ctl->run('minidump', '--root', '/', @socket, $dump), 2, undef,
    qr/more than one/, 'two places');
$ctl->is($ctl->run('minidump', $t->path('absent')), 3, undef,
    qr/No such file/, 'no such file');
$ctl->is($ctl->run('minidump', $sym), 4, undef, qr/is not a minidump: Header mismatch$/,
    'another file');
# as gcore and coredumpctl write them
for (['v', "\x02\x01"], ['n', "\x01\x02"]) {
    $t->write_file('core', "\x7fELF$_->[1]\x01" . "\0" x 9 . pack("$_->[0]2", 4, 62) . "\0" x 44);
    $ctl->is($ctl->run('minidump', $t->path('core')), 4, undef,
        qr/is not a minidump: it is an ELF core, which a debugger reads$/, 'a core');
}

$t->finish;
done_testing;
