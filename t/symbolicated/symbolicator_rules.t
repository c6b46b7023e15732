#!/usr/bin/env perl

# Rules of Symbolicator's protocol, one by one, where no captured pair tells
# them: forms of addresses and ids, statuses, what comes back of a request.
# What is expected is what Symbolicator's source and documents say.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8->canonical->allow_nonref;
my $main = 'main(int, char**)';

$t->fill_store('store', $t->data('pdb/crash.pdb'));
$t->start_symbolicated({ stores => { default => { root => $t->path('store') } } });

my %crash = (type => 'pe', debug_file => 'crash.pdb', image_addr => '0x400000',
             debug_id => '3249d99d-0c40-4931-8610-f4e4fb0b6936-1');

sub post {
    my ($body, $type) = @_;
    my $r = $t->post($t->symbolicated_socket, '/symbolicate',
        ref $body ? $json->encode($body) : $body,
        'Content-Type: ' . ($type // 'application/json'));
    return { http => $r->{status}, %{ +eval { $json->decode($r->{body}) } || {} } };
}

# A request of frames, in one stack, in crash.pdb or other modules.
sub request {
    my ($frames, @modules) = @_;
    return { stacktraces => [{ frames => $frames }],
             modules => @modules ? \@modules : [\%crash] };
}

sub frames { @{ post(request(@_))->{stacktraces}[0]{frames} // [] } }
sub module { post(request([{ instruction_addr => '0x402913' }], @_))->{modules}[0] }

# --- addresses

for (['0x402913', '0x402913'], ['0X402913', '0x402913'],
     ['4204819', '0x402913'], [4204819, '0x402913'],
     [-1, '0xffffffffffffffff'],
     ['0xffffffffffffffff', '0xffffffffffffffff'], [0, '0x0'],
     ['0x00402913', '0x402913'],
     [JSON::PP->new->allow_bignum->decode('[18446744073709551615]')->[0],
      '0xffffffffffffffff']) {
    my ($given, $answered) = @$_;
    my ($frame) = frames([{ instruction_addr => $given }]);
    is $frame->{instruction_addr}, $answered, "address $given";
}
for my $text ('"abc"', '""', '"0x"', '"-1"', '"0x10000000000000000"', '1.0',
              '18446744073709551616', '-9223372036854775809', 'null', 'true',
              '[]') {
    is post(qq({"stacktraces":[{"frames":[{"instruction_addr":$text}]}]}))->{http},
        422, "no address: $text";
}

# --- which module, which status

my @two = (\%crash, { type => 'elf', image_addr => '0x500000' });
delete local $crash{image_size};
is_deeply [map { $_->{image_size} } @{ post(request([], @two))->{modules} }],
    [0x100000, undef], 'a size up to the next module; the last one has none';
is join(' ', map { $_->{status} } frames([map { { instruction_addr => $_ } }
    '0x402913', '0x500001', '0x3fffff', '0x400001'], @two)),
    'symbolicated missing unknown_image missing_symbol', 'statuses';
my ($frame) = frames([{ instruction_addr => '0x2913', addr_mode => 'rel:0' }],
                     { %crash, image_addr => 0 });
is_deeply [@$frame{qw(addr_mode instruction_addr sym_addr function)}],
    ['rel:0', '0x2913', '0x2910', $main], 'relative, in a module without address';
($frame) = frames([{ instruction_addr => '0x2913' }], { %crash, image_addr => 0 });
is $frame->{status}, 'missing_symbol', 'which has no absolute addresses';
for my $mode ('"rel:"', '"rel:x"', '"rel:-1"', '"REL:0"', '"x"', 'null', '0') {
    is post(qq({"stacktraces":[{"frames":[{"instruction_addr":0,"addr_mode":$mode}]}]}))
        ->{http}, 422, "no mode: $mode";
}
($frame) = frames([{ instruction_addr => '0x1', addr_mode => 'rel:99999999999' }]);
is $frame->{status}, 'unknown_image', 'a module that is not in the request';

# --- ids

my $guid = '3249d99d0c4049318610f4e4fb0b6936';
my $plain = '3249d99d-0c40-4931-8610-f4e4fb0b6936';
for (["$plain-1", 'found', "$plain-1"], [uc "$plain-1", 'found', "$plain-1"],
     ["${guid}1", 'found', "$plain-1"], ["$plain-00000001", 'found', "$plain-1"],
     ["$plain-000000019", 'found', "$plain-1"], [$guid, 'missing', $plain],
     ["$plain-0", 'missing', $plain], ["$plain-A", 'missing', "$plain-a"],
     ["$plain-", 'missing', undef], ["${plain}1", 'missing', undef],
     ["$guid-1", 'missing', undef], ["$plain-x", 'missing', undef],
     ['xyz', 'missing', undef], ['', 'missing', undef],
     # of PDBs of the format 2.0, as Symbolicator 26.8.0 answered
     ['123456780', 'missing', '12345678'], ['12345678-0', 'missing', '12345678'],
     ['abcdefabF', 'missing', 'ABCDEFAB-f'], ['abcdefab-F', 'missing', 'ABCDEFAB-f'],
     ['1234567812345678', 'missing', '12345678-12345678'],
     ['12345678-', 'missing', undef], ['12345678-123456789', 'missing', undef],
     ['12345678-g', 'missing', undef], ['12345678', 'missing', undef]) {
    my ($id, $status, $answered) = @$_;
    my $module = module({ %crash, debug_id => $id });
    is_deeply [@$module{qw(debug_status debug_id)}], [$status, $answered],
        "debug_id $id";
}
for (['69485E8c45000', '69485e8c45000'], ['xyz', ''], ['1-2', '12'],
     ['', undef], [undef, undef]) {
    my ($id, $answered) = @$_;
    is module({ %crash, code_id => $id })->{code_id}, $answered,
        'code_id ' . ($id // 'null');
}
is module({ %crash, debug_file => $_ })->{debug_status}, 'found', $_
    for 'C:\\a\\crash.pdb', '/a/b/crash.pdb', 'CRASH.PDB';
is module({ %crash, debug_file => $_ })->{debug_status}, 'missing',
    "debug_file $_" for '', 'a/', '..', 'x' x 300;

# --- members that come back

my %given = (function => 'f', symbol => 's', filename => 'n', abs_path => '/n',
    lineno => 7, lang => 'c', package => 'p', platform => 'x',
    function_id => '0x1', pre_context => ['a'], context_line => 'b',
    post_context => ['c'], source_link => 'l', in_app => JSON::PP::true,
    vars => { v => [1, undef, { w => 'x' }] }, sym_addr => '0x5',
    trust => 'fp', instruction_addr => '0x1',
    adjust_instruction_addr => JSON::PP::false);
($frame) = frames([{ %given, unknown => 1 }]);
is_deeply $frame, { %given, status => 'unknown_image', original_index => 0 },
    'all of an unresolved frame';
($frame) = frames([{ %given, instruction_addr => '0x402913' }]);
is_deeply [map { $frame->{$_} } qw(function symbol filename lineno platform
    function_id trust pre_context in_app vars package lang)],
    [$main, $main, 'main.cpp', 33, 'x', '0x1', 'fp', (undef) x 5],
    'of a resolved one what does not come from the file';
($frame) = frames([{ instruction_addr => '0x1', pre_context => [],
    trust => 'none', function => undef, vars => undef, in_app => undef }]);
is_deeply $frame, { status => 'unknown_image', original_index => 0,
    instruction_addr => '0x1' }, 'what says nothing is left out';
for (['?f@@YAXXZ', undef, '?f@@YAXXZ', 'f(void)'],
     [undef, '?f@@YAXXZ', '?f@@YAXXZ', 'f(void)'],
     ['g', undef, undef, 'g'], [undef, 'g', 'g', undef],
     ['?f@@YAXXZ', 'h', 'h', '?f@@YAXXZ']) {
    my ($function, $symbol, @answered) = @$_;
    ($frame) = frames([{ instruction_addr => '0x1', function => $function,
                         symbol => $symbol }]);
    is_deeply [@$frame{qw(symbol function)}], \@answered,
        join ' ', 'names', map { $_ // '-' } $function, $symbol;
}
my $stack = post({ signal => 0, stacktraces => [{ frames => [],
    thread_id => 18446744073709551615, thread_name => "\x{e9}\"",
    is_requesting => JSON::PP::true, registers => { rip => 255, x => '0XA' } }] });
is $stack->{signal}, 0, 'signal';
is_deeply $stack->{stacktraces}[0], { frames => [],
    thread_id => 18446744073709551615, thread_name => "\x{e9}\"",
    is_requesting => JSON::PP::true, registers => { rip => '0xff', x => '0xa' } },
    'all of a stack';
is_deeply post({ stacktraces => [{ frames => [], registers => {},
    thread_id => undef }] })->{stacktraces}[0], { frames => [] },
    'and what is empty is left out';

# --- shapes

is post($_)->{status}, 'completed', "shape: $_" for '{}', ' {} trailing',
    '[]', '["native",11,null,[],[],{},{"enabled":true,"allowed_origins":[],"headers":{}}]',
    '[null,null,null,[[1,"n",true,{},[["c","abs","0x1"]]]],[["pe"]]]',
    '{"a":[{"b":1e400}],"stacktraces":[]}', '{"a":1,"a":2}';
is post($_)->{http}, 400, "no JSON: $_" for '', '{', '{"a":01}', '{"a":tru}',
    "{\"a\":\"\xff\"}", '{"a":"\\ud800"}', '[' x 100;
is post($_)->{http}, 422, "another shape: $_" for 'null', '1', '"x"',
    '{"stacktraces":null}', '{"stacktraces":{}}', '{"modules":[1]}',
    '{"modules":[{}]}', '{"options":null}', '{"options":{"frame_order":"x"}}',
    '{"signal":-1}', '{"signal":4294967296}', '{"scraping":{}}',
    '{"platform":1}', '{"modules":[],"modules":[]}',
    '{"stacktraces":[{"frames":[],"registers":{"a":"b"}}]}',
    '[1,2,3,4,5,6,7,8]';
is post('{}', $_->[0])->{http}, $_->[1], "type $_->[0]" for
    ['application/json; charset=utf-8', 200], ['application/x+json', 200],
    ['APPLICATION/JSON', 200], ['text/plain', 415], ['application/jsonx', 415];
is $t->post($t->symbolicated_socket, '/symbolicate', '{}')->{status}, 415,
    'no type';

# --- paths, while both protocols are spoken

for (['/symbolicate/', 404, ''], ['/', 404, ''], ['/symbolicate/v6', 404, 'title'],
     ['/__x__', 404, 'title'], ['/healthcheck', 200, 'ok']) {
    my ($path, $status, $body) = @$_;
    my $r = $t->http($t->symbolicated_socket, 'GET', $path);
    is $r->{status}, $status, $path;
    like $r->{body}, $body eq '' ? qr/^$/ : qr/$body/, "$path: body";
}
for (['?timeout=1&x=y', 200], ['?timeout=', 400], ['?timeout', 400],
     ['?timeout=-1', 400], ['?timeout=18446744073709551616', 400],
     ['?timeout=99999999', 200], ['?timeouts=x', 200]) {
    my ($query, $status) = @$_;
    is $t->post($t->symbolicated_socket, "/symbolicate$query", '{}',
        'Content-Type: application/json')->{status}, $status, "query $query";
}

$t->finish;
done_testing;
