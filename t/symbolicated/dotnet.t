#!/usr/bin/env perl

# Frames of .NET: a method's row and an IL offset, by PpdbCaches.  File and line
# are those that the .NET runtime found for the same frames; the rest is what
# Symbolicator's source says of modules of the type pe_dotnet.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Path qw(make_path);
use Test::File;
use Test::More;
use Test::ScriptedServer;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->utf8->canonical->allow_nonref;
my $data = $t->data('ppdb');
my %store = (default => { root => $t->path('store') });
my %id = (weave => '6022e78b-4bf4-4d04-8f9e-21d7790ece60-ed5a93bd',
    'weave-debug' => '875b29c5-032e-44d0-83e0-b66956375fda-b8567759',
    fsnote => 'f7e3ef0b-ce84-4612-9658-06e61b424b4b-faeb4d61',
    vbnote => 'a2978988-3999-4320-b9d1-645e6d0bf034-b5e2a350');

$t->fill_store('store', map { "$data/$_.pdb" } keys %id);
$t->start_symbolicated({ stores => \%store });

sub body {
    my ($body) = @_;
    my $r = $t->post($t->symbolicated_socket, '/symbolicate',
        ref $body ? $json->encode($body) : $body,
        'Content-Type: application/json');
    return $r->{status} == 200 ? $r->{body} : "status $r->{status}: $r->{body}";
}

sub dotnet {
    my ($name, %more) = @_;
    return { type => 'pe_dotnet', debug_file => "/_/out/$name.pdb",
             code_file => "$name.dll", debug_id => $id{$name}, %more };
}

sub answer {
    my ($frames, @modules) = @_;
    return $json->decode(body({ modules => \@modules,
        stacktraces => [{ frames => $frames }] }));
}

sub frames { answer(@_)->{stacktraces}[0]{frames} }

sub frame {
    my ($row, $il, %more) = @_;
    return { function_id => sprintf('0x%x', $row), addr_mode => 'rel:0',
             instruction_addr => sprintf('0x%x', $il), %more };
}

# --- one frame, and all that is said of it, in the order of Symbolicator

my $request = <<'JSON';
{"modules": [{"type": "pe_dotnet", "debug_file": "/_/out/weave.pdb",
   "code_file": "weave.dll",
   "debug_id": "6022e78b-4bf4-4d04-8f9e-21d7790ece60-ed5a93bd"}],
 "stacktraces": [{"frames": [{"function": "Loom.FailAsync",
   "function_id": "0x45", "instruction_addr": "0x0", "addr_mode": "rel:0"}]}]}
JSON
my $frame = '{"status":"symbolicated","original_index":0,"addr_mode":"rel:0",'
    . '"instruction_addr":"0x0","function_id":"0x45","package":"weave.dll",'
    . '"lang":"csharp","function":"Loom.FailAsync","filename":"Weave.cs",'
    . '"abs_path":"/_/weave/Weave.cs","lineno":39}';
my $body = body($request);
like $body, qr/"frames":\[\Q$frame\E\]/, 'a frame';
is_deeply $json->decode($body)->{modules}, [{
    debug_status => 'found', type => 'pe_dotnet', arch => 'unknown',
    features => { has_debug_info => JSON::PP::true,
        map { $_ => JSON::PP::false } qw(has_unwind_info has_symbols
            has_sources) },
    code_file => 'weave.dll', debug_file => '/_/out/weave.pdb',
    debug_id => $id{weave}, image_addr => '0x0' }], 'its module';

# --- frames of exceptions

for my $name ('weave', 'weave-debug') {
    my @want = map { $json->decode($_) }
        split /\n/, slurp("$data/$name.frames.jsonl");
    my $got = frames([map { frame(hex($_->{token}) & 0xFFFFFF, $_->{il},
        function => $_->{name}) } @want], dotnet($name));
    is_deeply [map { [@$_{qw(function abs_path lineno)}] } @$got],
        [map { [$_->{name}, $_->{file}, $_->{file} ? $_->{line} : undef] }
            @want], "$name: " . @want . ' frames, as the runtime has them';
    is_deeply [map { $_->{status} } @$got],
        [map { $_->{file} ? 'symbolicated' : 'missing_symbol' } @want],
        "$name: statuses";
}
is frames([frame(2, 0)], dotnet('fsnote'))->[0]{lang} // '', 'fsharp', 'F#'
    or diag $json->encode(frames([map { frame($_, 0) } 1 .. 9], dotnet('fsnote')));

# --- statuses

my %with = (function => 'A.B', in_app => JSON::PP::true, lang => 'csharp',
    vars => { x => '1' }, lineno => 7, abs_path => '/their/own.cs',
    package => 'Other, Version=1.0', trust => 'fp', platform => 'csharp',
    adjust_instruction_addr => JSON::PP::true);
my ($given) = @{ frames([frame(0x45, 0, %with)], dotnet('weave')) };
is_deeply $given, { %with, %{ $json->decode($frame) },
    function => 'A.B' }, 'what was given comes back, but for the place';
($given) = @{ frames([frame(0x9999, 0, %with)], dotnet('weave')) };
is_deeply $given, { %with, status => 'missing_symbol', original_index => 0,
    addr_mode => 'rel:0', instruction_addr => '0x0', function_id => '0x9999',
    package => 'weave.dll' }, 'and all of it where nothing is found';
my $module = dotnet('weave');
delete $module->{code_file};
ok !exists frames([frame(0x45, 0, %with)], $module)->[0]{package},
    'without code_file there is no package';

sub statuses { [map { $_->{status} } @{ frames(@_) }] }
is_deeply statuses([
    frame(0x45, 0), frame(0, 0), frame(0x1000045, 0), frame(0x06000045, 0),
    { instruction_addr => 0, addr_mode => 'rel:0' },
    frame(0x45, 0, addr_mode => 'rel:1'), frame(0x45, 0, addr_mode => 'abs')],
    dotnet('weave', image_addr => '0x1000')),
    [qw(symbolicated missing_symbol missing_symbol missing_symbol
        missing_symbol unknown_image unknown_image)], 'statuses';
my $large = frames([frame(0, 0, function_id => '0x100000045',
    instruction_addr => '0x100000000')], dotnet('weave'))->[0];
is "$large->{status} $large->{instruction_addr} $large->{function_id}",
    'symbolicated 0x100000000 0x100000045', '32 bits of the numbers count';
my ($point) = grep { !$_->{hidden} && $_->{il} > 16 }
    map { $json->decode($_) } split /\n/, slurp("$data/weave.points.jsonl");
is frames([frame(hex($point->{token}) & 0xFFFFFF, $point->{il},
    addr_mode => 'abs')], dotnet('weave', image_addr => '0x10'))->[0]{lineno},
    $point->{line},
    'an absolute address finds the module, and is the IL offset itself';

# --- modules

for ('6022e78b-4bf4-4d04-8f9e-21d7790ece60', uc $id{weave},
     '6022e78b4bf44d048f9e21d7790ece60ed5a93bd',
     '6022e78b-4bf4-4d04-8f9e-21d7790ece60-1') {
    is answer([frame(0x45, 0)], dotnet('weave', debug_id => $_))
        ->{modules}[0]{debug_status}, 'found', "debug id $_";
}
my $gone = dotnet('weave', debug_id => '00112233-4455-6677-8899-aabbccddeeff');
my $a = answer([frame(0x45, 0)], $gone);
is "$a->{modules}[0]{debug_status} $a->{stacktraces}[0]{frames}[0]{status}",
    'missing missing', 'a module that nobody has';
$a = answer([frame(0x45, 0)], dotnet('weave', type => 'pe'));
is $a->{modules}[0]{debug_status}, 'missing', 'a PpdbCache is no SymCache';

# files that cannot be used: damaged, of another kind, of another version

my $bad = 'store/weave.pdb/00112233445566778899AABBCCDDEEFFFFFFFFFF/'
    . 'weave.pdb-v1.0.0.ppdbcache';
my $good = slurp("$data/weave.ppdbc");
for (['cut off', substr $good, 0, 1000], ['empty', ''],
     ['with a byte too many', "$good\0"], ['a PDB', slurp("$data/weave.pdb")]) {
    my ($what, $bytes) = @$_;
    $t->write_file($bad, $bytes);
    $a = answer([frame(0x45, 0)], $gone);
    is "$a->{modules}[0]{debug_status} "
        . $a->{stacktraces}[0]{frames}[0]{status}, 'malformed malformed',
        "a file that is $what";
    unlink $t->path($bad);
}
(my $place = $bad) =~ s{^store/}{};
like $t->symbolicated_log, qr/\[error\].* module file=\Q$place\E cannot be used: the file is empty/,
    'the log says which one in the store';
(my $newer = $bad) =~ s/v1/v2/;
$t->write_file($newer, $good);
is answer([frame(0x45, 0)], $gone)->{modules}[0]{debug_status}, 'missing',
    'a version that is not known is not read';

# --- whole tokens, where they are allowed

$t->stop_symbolicated;
$t->start_symbolicated({ stores => \%store,
    symbolication => { symbolicator => { tokens => JSON::PP::true } } });
is_deeply statuses([frame(0x45, 0), frame(0x06000045, 0), frame(0x05000045, 0)],
    dotnet('weave')), [qw(symbolicated symbolicated missing_symbol)], 'tokens';

# --- with symcached: what is not on disk is asked for, of both kinds at once

$t->symbol_store('sym');
$t->start_symcached({
    stores => { default => { root => $t->path('store'), sources => ['local'],
        transcoders => [{ version => '9.0.0', command =>
            [$t->program('pdb2symcache'), '-pdb', '{pdb}'] }] } },
    sources => { local => { type => 'filesystem', path => $t->path('sym') } },
});
$t->stop_symbolicated;
$t->start_symbolicated;
my $crash = { type => 'pe', debug_file => 'crash.pdb', image_addr => '0x400000',
              debug_id => '3249d99d-0c40-4931-8610-f4e4fb0b6936-1' };
my @many = map { dotnet('weave', debug_id =>
    sprintf '00112233-4455-6677-8899-aabbccdd%04x', $_) } 1 .. 70;
$a = answer([(map { frame(0x45, 0, addr_mode => "rel:$_") } 0 .. 69),
    { instruction_addr => '0x2913', addr_mode => 'rel:70' },
    frame(0x45, 0, addr_mode => 'rel:71')], @many, $crash, dotnet('weave'));
is_deeply [map { $_->{debug_status} } @{ $a->{modules} }],
    [('missing') x 70, 'found', 'found'], 'modules of both kinds';
my @last = @{ $a->{stacktraces}[0]{frames} }[-2, -1];
is "$last[0]{function} $last[1]{filename}", 'main(int, char**) Weave.cs',
    'and their frames';

# of which one is made, from a PDB that is found under the age 1

$t->stop_symbolicated;
$t->stop_symcached;
Test::Symcache::remove_tree($t->path('store'));
make_path($t->path('sym/weave.pdb/6022E78B4BF44D048F9E21D7790ECE601'));
system('cp', "$data/weave.pdb",
    $t->path('sym/weave.pdb/6022E78B4BF44D048F9E21D7790ECE601')) == 0 or die;
my @command = ($t->program('pdb2symcache'), '-pdb', '{pdb}');
my ($sum) = slurp("$data/weave.dll") =~ /SHA256\0(.{32})/s;
my $checksum = 'SHA256:' . unpack 'H*', $sum;
make_path($t->path('uni'));
my $web = Test::ScriptedServer->new(log => $t->path('web.log'), script => sub {
    my ($c, $req) = @_;
    return $c->reply(404, {}, '')
        if ($req->{headers}{symbolchecksum} // '') ne $checksum
        || $req->{path} !~ m{/strict\.pdb$};
    $c->reply(200, {}, slurp("$data/weave.pdb"));
});
$t->start_symcached({
    stores => { default => { root => $t->path('store'),
        sources => ['local', 'web', 'uni'],
        transcoders => [{ version => '9.0.0', command => \@command },
            { version => '1.0.0', makes => 'ppdbcache',
              command => \@command }] } },
    sources => { local => { type => 'filesystem', path => $t->path('sym') },
        uni => { type => 'filesystem', layout => 'unified',
                 path => $t->path('uni') },
        web => { type => 'http', url => $web->url, forms => ['plain'],
                 internal => JSON::PP::true } },
});
$t->start_symbolicated;
$a = answer([frame(0x45, 0), { instruction_addr => '0x2913',
    addr_mode => 'rel:1' }], dotnet('weave'), $crash);
is_deeply [map { $_->{debug_status} } @{ $a->{modules} }], ['found', 'found'],
    'both kinds are made while a request waits';
is $a->{stacktraces}[0]{frames}[0]{lineno}, 39, 'and the frame';

# and of a Windows PDB none is

$a = answer([frame(0x45, 0)], { type => 'pe_dotnet', debug_file => 'crash.pdb',
    debug_id => $crash->{debug_id} });
is "$a->{modules}[0]{debug_status} $a->{stacktraces}[0]{frames}[0]{status}",
    'unsupported missing', 'a Windows PDB';
$a = $json->decode(body({ options => { dif_candidates => JSON::PP::true,
        apply_source_context => JSON::PP::false },
    modules => [{ type => 'pe_dotnet', debug_file => 'crash.pdb',
                  debug_id => $crash->{debug_id} }],
    stacktraces => [{ frames => [frame(0x45, 0)] }] }));
my ($candidate) = grep { $_->{download}{status} eq 'ok' }
    @{ $a->{modules}[0]{candidates} };
is_deeply [@$candidate{qw(source debug)}], ['local', { status => 'error',
    details => 'unsupported: Only portable PDB files can be used for .NET '
        . 'symbolication' }], 'which its candidate says'
    or diag $json->encode($a->{modules}[0]);

# the checksum is passed on, and a wrong one hides the file from nobody else

for (['SHA256:' . '0' x 64, 'missing'], [undef, 'missing'], ['x', 'missing'],
     [$checksum, 'found'], [undef, 'found']) {
    my ($said, $status) = @$_;
    my $m = { %{ dotnet('weave') }, debug_file => 'strict.pdb',
              defined $said ? (debug_checksum => $said) : () };
    my $got = answer([frame(0x45, 0)], $m)->{modules}[0];
    is $got->{debug_status}, $status, 'checksum ' . ($said // 'unknown');
    is $got->{debug_checksum}, $said, 'which comes back';
}

# so is the stamp, where a source has it

make_path($t->path('uni/60/22e78b4bf44d048f9e21d7790ece60ed5a93bd'));
system('cp', "$data/weave.pdb", $t->path('uni/60/22e78b4bf44d048f9e21d7790ece60'
    . 'ed5a93bd/debuginfo')) == 0 or die;
is answer([frame(0x45, 0)], { %{ dotnet('weave') }, debug_file => 'other.pdb' })
    ->{modules}[0]{debug_status}, 'found', 'the layout unified, by the stamp';
# a stamp of 0, as Symbolicator finds it, which is not written in an id
my $id = '60 22e78b4bf44d048f9e21d7790ece61' =~ s{ }{/}r;
my $bytes = $t->read_file("uni/60/22e78b4bf44d048f9e21d7790ece60ed5a93bd/debuginfo");
my $guid = pack('V v v', 0x6022e78b, 0x4bf4, 0x4d04) . pack 'H*', '8f9e21d7790ece60';
my $pos = index $bytes, $guid;
substr $bytes, $pos, 20, substr($guid, 0, 15) . "\x61" . "\0" x 4;
$t->write_file("uni/${id}0/debuginfo", $bytes);
for my $stamp ('', '-0') {
    is answer([frame(0x45, 0)], { %{ dotnet('weave') }, debug_file => 'null.pdb',
        debug_id => '6022e78b-4bf4-4d04-8f9e-21d7790ece61' . $stamp })
        ->{modules}[0]{debug_status}, 'found', "... which is 0: '$stamp'";
}

$t->finish;
done_testing;
