#!/usr/bin/env perl

# symcachectl symbolicate: addresses and requests that a running symbolicated
# answers, told to people and to programs.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Test::Ctl;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $ctl = Test::Ctl->new($t);
my $key = "crash.pdb/$Test::Symcache::key{'crash.pdb'}";
my $main = 'main(int, char**) at c:\projects\breakpad-tools\windows\crash\main.cpp:33';

# exactly these lines
sub text { my ($text) = @_; return qr/\A\Q$text\E\n\z/ }

my @socket = ('--socket', 'unix:' . $t->symbolicated_socket);

$ctl->is($ctl->run('symbolicate', @socket, $key, '2913'), 3, undef,
    qr/^symcachectl: unix:\S+: cannot connect: .*\nis symbolicated running there\? /,
    'nobody listens');
$t->fill_store('store', $t->data('pdb/crash.pdb'));
$t->start_symbolicated({ stores => { default => { root => $t->path('store') } } });

# --- addresses

$ctl->is($ctl->run('symbolicate', @socket, $key, '2913'), 0,
    text("0x2913\n    $main"), undef, 'an address');
$ctl->is($ctl->run('symbolicate', '-c', $t->path('symcached.json'), $key,
    '0x2913'), 0, text("0x2913\n    $main"), undef, 'the socket of the configuration');
$ctl->is($ctl->run('symbolicate', @socket,
    'crash.pdb/3249d99d-0c40-4931-8610-f4e4fb0b6936-1', '2913'), 0,
    text("0x2913\n    $main"), undef, "Symbolicator's id");
$ctl->is($ctl->run('symbolicate', @socket, $t->data('pdb/crash.pdb'), '2913'), 0,
    text("0x2913\n    $main"), undef, 'the path of a PDB');
my $lookup = $ctl->run('lookup', $t->path("store/$key/crash.pdb-v9.0.0.symcache"),
    '1a3b')->{out};
like $lookup, qr/\(inlined\)\n/, 'an address with inlined functions';
my $r = $ctl->run('symbolicate', @socket, $key, '1a3b');
is $r->{out}, $lookup, 'is told as lookup tells it';
$ctl->is($ctl->run('symbolicate', @socket, $key, '1', 'fffffffffffffff'), 1,
    text("0x1\n    missing_symbol\n0xfffffffffffffff\n    missing_symbol"), undef,
    'addresses where nothing is');
(my $other = $key) =~ s/1$/2/;
$ctl->is($ctl->run('symbolicate', @socket, $other, '1'), 1,
    text("0x1\n    missing\nmodule crash.pdb: missing"), undef, 'no such module');
$ctl->is($ctl->run('symbolicate', @socket, $t->write_file('code.json', '{"stacktraces": [{"frames": '
    . '[{"instruction_addr": "0x1001"}]}], "modules": [{"type": "wasm", "image_addr": "0x1000", '
    . '"code_file": "http://x/a.wasm", "debug_id": "00112233-4455-6677-8899-aabbccddeeff"}]}')), 1,
    qr{^module http://x/a\.wasm: missing$}m, undef, '... which has a code_file alone');
$ctl->is($ctl->run('symbolicate', @socket, '--maps', $t->dir, 'x'), 2, undef,
    qr/both --maps and a server/, 'a folder of maps and a server');
$ctl->is($ctl->run('symbolicate', '--maps', $t->path("absent$_->[0]"), $t->write_file("absent$_->[1]", "x\n")),
    3, qr/^\z/, qr/absent$_->[0]: $_->[2]/, "$_->[2]: no folder of maps")
    for ['', '.txt', 'No such file'], ['.txt', '.txt', 'Not a directory'];
my ($object) = $ctl->json($ctl->run('symbolicate', '--json', @socket, $key, '2913'));
is $object->{stacktraces}[0]{frames}[0]{lineno}, 33, '--json';

# --- requests

my $symbolicator = $t->write_file('s.json', '{"stacktraces": [{"frames": [
    {"instruction_addr": "0x402913", "function": "x"},
    {"instruction_addr": "0x1"}]}], "modules": [{"type": "pe",
    "debug_file": "crash.pdb", "image_addr": "0x400000",
    "debug_id": "3249d99d-0c40-4931-8610-f4e4fb0b6936-1"}]}');
$ctl->is($ctl->run('symbolicate', @socket, $symbolicator), 2,
    text("0x402913\n    $main\n0x1\n    unknown_image"), undef,
    "Symbolicator's protocol");
my ($name, $id) = split m{/}, $key;
my $mozilla = qq({"memoryMap": [["$name", "$id"]], "stacks": [[[0, 6715], [0, 1]]]});
$r = $ctl->run_with($mozilla, 'symbolicate', @socket, '-');
(my $inlined = $lookup) =~ s/^0x/crash.pdb 0x/;
is $r->{out}, "${inlined}crash.pdb 0x1\n    not found\n", "Mozilla's, from standard input";
is $r->{code}, 2, 'a frame has no name';

# --- the files of a store, without a daemon

my $store = $t->path('store');
my @root = ('--root', $store);
my %told = map {
    my $request = $_;
    $request => [map { $ctl->run('symbolicate', @$_, $request) }
        [@socket], [@root], ['--json', @socket], ['--json', @root]]
} $symbolicator, $t->write_file('m.json', $mozilla);
$t->stop_symbolicated;
for my $request (sort keys %told) {
    my ($asked, $read, $asked_json, $read_json) = @{ $told{$request} };
    is_deeply $read, $asked, 'the files say what the daemon says';
    is_deeply $read_json, $asked_json, 'and so with --json';
}
$ctl->is($ctl->run('symbolicate', @root, $key, '2913'), 0,
    text("0x2913\n    $main"), undef, 'an address, and no daemon');
$r = $ctl->run_with($mozilla, 'symbolicate', @root, '-');
is $r->{out}, "${inlined}crash.pdb 0x1\n    not found\n",
    'a request from standard input, and no daemon';
$ctl->is($ctl->run('symbolicate', @root, $other, '1'), 1,
    text("0x1\n    missing\nmodule crash.pdb: missing"), undef,
    'a module that the store does not have');
$t->write_file("store/$other/crash.pdb-v9.0.0.symcache", 'SYMC');
$ctl->is($ctl->run('symbolicate', @root, $other, '1'), 1,
    text("0x1\n    malformed\nmodule crash.pdb: malformed"),
    qr/crash\.pdb-v9\.0\.0\.symcache cannot be used/, 'a file that is none');
$ctl->is($ctl->run('symbolicate', @root, $t->write_file('z.json',
    '{"stacktraces": 1}')), 2, undef,
    qr/z\.json: .*stacktraces: invalid type: integer `1`/,
    'a request of another shape');
$ctl->is($ctl->run('symbolicate', @root, $t->write_file('j.json',
    '{"jobs": 1}')), 2, undef, qr/j\.json: job 0 is invalid$/,
    "an error of Mozilla's protocol");
$ctl->is($ctl->run('symbolicate', '--root', $t->path('gone'), $key, '1'), 3,
    undef, qr/gone: No such file/, 'no such store');
$ctl->is($ctl->run('symbolicate', @root, @socket, $key, '1'), 2, undef,
    qr/more than one of --root, --socket, --symbols and --url/, 'both');
SKIP: {
    skip 'no program script', 1 unless Test::Ctl::has_script();
    like $ctl->on_terminal('symbolicate', @root, $key, '2913'),
        qr/\[\.+\]\s+0 % modules/, 'a bar on a terminal';
}

# --- what is wrong

$t->start_symbolicated;

for (['no REQUEST'], ['no address', $key, 'xyz'], ['symbolicate', 'crash.pdb', '1'],
     ['no such file, and not PDB/GUIDAGE', 'crash.pdb/xyz', '1'],
     ['not PDB/GUIDAGE, nor a file with a debug id', '_/buildid-93ac61ec', '1'],
     ['not a request ("stacktraces", "jobs" or', $t->write_file('x.json', '{}')],
     ['is empty', $t->write_file('empty.json', '')],
     ['y.json: its JSON is damaged: EOF while parsing an object at line 1 column 2',
         $t->write_file('y.json', '{')],
     ['cut.json: its JSON is damaged: EOF while parsing a string at line 2 column 30',
         $t->write_file('cut.json', qq({"platform": "native",\n "exception": {"values": "cut))],
     ['stacktraces: invalid type: integer `1`', $t->write_file('z.json', '{"stacktraces": 1}')]) {
    my ($text, @args) = @$_;
    $ctl->is($ctl->run('symbolicate', @socket, @args), 2, undef, qr/\Q$text/, $text);
}
$ctl->is($ctl->run('symbolicate', @socket, $t->path('gone')), 3, undef,
    qr/No such file/, 'no such file');

# --- errors of a server

my $server = Test::ScriptedServer->new(log => $t->path('server.requests'),
    script => sub {
        my ($status, $body) = split / /, $t->read_file('says'), 2;
        $t->write_file('asked', $_[0]->read_body($_[1]));
        $_[0]->reply($status, {}, $body);
    });
for ([503, '{"title": "please try again"}', '503: please try again'],
     [503, '{"detail": "at the limit"}', '503: at the limit'],
     [502, "<html>\r\n<h1>502</h1>\r\n</html>\r\n",
      '502: the web server does not reach the daemon behind it'],
     [404, "<html>\r\n<h1>404</h1>\r\n</html>\r\n",
      '404: this server has no location for such requests'],
     [401, "<html>\r\n<h1>401</h1>\r\n</html>\r\n", '401']) {
    my ($status, $body, $text) = @$_;
    $t->write_file('says', "$status $body");
    $ctl->is($ctl->run('symbolicate', '--socket',
        '127.0.0.1:' . $server->port, $key, '1'), 3, undef,
        qr/\Asymcachectl: 127\S+: answered $text\n\z/, "an error: $text");
}

# a file of ELF is asked for by its build id as well
$ctl->run('symbolicate', '--socket', '127.0.0.1:' . $server->port,
    $t->data('minidump/ring/libring.so'), '1250');
my ($module) = @{ decode_json($t->read_file('asked'))->{modules} };
is_deeply $module, { type => 'elf', debug_file => 'libring.so',
    debug_id => 'BDB10002AE7E192244EB39646C85574C0',
    code_id => '0200b1bd7eae221944eb39646c85574ccd840e9f' },
    'the path of an ELF file';
$server->stop;

$t->finish;
done_testing;
