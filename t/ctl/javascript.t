#!/usr/bin/env perl

# symcachectl symbolicate, with stack traces of JavaScript: real ones of Node,
# and lines as other engines print them (t/data/javascript/README.md).

use strict;
use warnings;

use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use FindBin qw($Bin);
use JSON::PP;
use lib "$Bin/../lib";
use Test::File;
use Test::More;

my $top = abs_path("$Bin/../..");
my $build = abs_path($ENV{SYMCACHE_BUILD} // "$top/build");
my $data = "$top/t/data/javascript";
my $dir = abs_path(tempdir('javascript.XXXXXX', TMPDIR => 1, CLEANUP => 1));
my $json = JSON::PP->new->utf8->allow_nonref->canonical;

# What the command says to a text: exit code, output, messages.
sub symbolicate {
    my ($text, @options) = @_;
    spew("$dir/in", $text);
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        open STDIN, '<', "$dir/in" or die;
        open STDOUT, '>', "$dir/out" or die;
        open STDERR, '>', "$dir/err" or die;
        exec "$build/symcachectl", 'symbolicate', @options, '-';
        exit 127;
    }
    waitpid $pid, 0;
    return ($? >> 8, slurp("$dir/out"), slurp("$dir/err"));
}

mkdir "$dir/$_" for qw(maps maps/js);
for my $file (glob "$data/shop/*.js $data/shop/*.map") {
    my ($name) = $file =~ m{([^/]+)$};
    spew("$dir/maps/js/$name", slurp($file));
}

# a module of WebAssembly with a map: bytes 0x99 and 0x1a2b are main.c:7:3 and :42:5
spew("$dir/maps/js/app.wasm.map", '{"version":3,"sources":["src/main.c"],"names":[],"mappings":"yJAME,k5MAmCE"}');
my $wasm = 'https://cdn.example.com/js/app.wasm:wasm-function';
for (["    at boom ($wasm\[1]:0x1a2b)", '    at boom (src/main.c:42:5)'],
     ["    at $wasm\[12]:0x99", '    at src/main.c:7:3'],
     ["boom\@$wasm\[1]:0x1a2b", 'boom@src/main.c:42:5']) {
    my ($line, $want) = @$_;
    my ($code, $out) = symbolicate("$line\n", '--maps', "$dir/maps");
    is "$code$out", "0$want\n", $line;
}
is((symbolicate("    at $wasm\[1]:$_\n", '--maps', "$dir/maps"))[0], 2, "no offset: $_")
    for '0x1ffffffff', '0x', '99', '0x9g';

# modules that say where their map or debug information is, in stacks that Chrome
# 156, Firefox 153, Safari's engine and Deno printed; what is there is what
# llvm-symbolizer and trace-mapping find
mkdir "$dir/wasm$_" for '', qw(/calc /asm /asm/maps /split /split/debug /padded /two);
sub module { my ($to, @sections) = @_;
    spew("$dir/wasm/$to", $sections[0] . join '', map {
        my ($name, $text) = @$_;
        my $body = chr(length $name) . $name . chr(length $text) . $text;
        "\0" . chr(length $body) . $body } @sections[1 .. $#sections]) }
my ($calc, $asm) = map { slurp("$data/wasm/$_.wasm") } qw(calc asm);
(my $plain = $calc) =~ s/\0.{1,2}\x0a\.debug_loc.*(?=\0.\x04name)//s or die 'no DWARF';
module('calc/calc.wasm', $calc);
module('asm/asm.wasm', $asm);
spew("$dir/wasm/asm/maps/asm.map", slurp("$data/wasm/maps/asm.map"));
module('split/calc.wasm', $plain, [external_debug_info => 'debug/calc.debug.wasm']);
module('split/calc.debug.wasm', $calc); # and so the folder has one module
module('split/debug/calc.debug.wasm', $calc);
module('padded/calc.wasm', $plain =~ s/^(.{8}\x01)\x10/$1\x90\x80\x80\x80\0/sr,
       [external_debug_info => 'calc.debug.wasm']); # the size of a section, in 5 bytes
module('padded/calc.debug.wasm', $calc);
module("two/$_.wasm", $calc) for 'a', 'b';
my $v8 = 'wasm://wasm/calc.wasm-6d62a20a:wasm-function';
my $hash = 'wasm://wasm/9670072a:wasm-function';
my $made = 'http://localhost/page.js line 11 > WebAssembly.instantiate:wasm-function';
my $http = 'http://localhost/wasm/calc.wasm:wasm-function';
my @chrome = ("    at calc.wasm.inner ($v8\[3]:0xc8)\n    at calc.wasm.outer ($v8\[2]:0x9a)\n    at calc.wasm.run ($v8\[1]:0x6a)\n",
    "    at inner (/src/calc.c:3)\n    at middle (/src/calc.c:9)\n    at outer (/src/calc.c:15)\n    at run (/src/calc.c:22)\n");
my @firefox = ("calc.wasm.outer\@$http\[2]:0x9a\ncalc.wasm.call\@$made\[4]:0xdb\ncall\@http://localhost/page.js:4:145\n",
    "middle\@/src/calc.c:9\nouter\@/src/calc.c:15\ncall\@/src/calc.c:26\ncall\@http://localhost/page.js:4:145\n");
for (['Chrome', 'calc', @chrome], ['Firefox', 'calc', @firefox], ['a file of its own', 'split', @chrome],
     ['the file of a module in no file', 'split', @firefox],
     ['code that begins elsewhere in it', 'padded', "    at calc.wasm.inner ($v8\[3]:0xcc)\n", $chrome[1] =~ /(.*\n)/],
     ['Deno', 'calc', "    at inner (wasm://wasm/calc.wasm-6d62a20a:wasm-function[0]:0xc8) {\n",
         "    at inner (/src/calc.c:3) {\n"],
     ['map', 'asm', "    at asm/inner ($hash\[0]:0x49)\nasm/outer\@http://localhost/asm.wasm:wasm-function[1]:0x5c\n",
         "    at asm/inner (./asm/asm.ts:5:14)\nasm/outer\@./asm/asm.ts:2:10\n"],
     ['another name', 'asm', "    at $v8\[0]:0x49\n    at $v8\[1]:0x5c\n",
         "    at ./asm/asm.ts:5:14\n    at ./asm/asm.ts:2:10\n"],
     ['Safari', 'calc', "inner\@calc.wasm:wasm-function[3]\n    at $v8\[1]:0x6a\n",
         "inner\@calc.wasm:wasm-function[3]\n    at run (/src/calc.c:22)\n"]) {
    my ($what, $folder, $text, $want) = @$_;
    my ($code, $out, $said) = symbolicate($text, '--maps', "$dir/wasm/$folder");
    is "$code$out$said", "0$want", "module: $what";
}
module('calc/calc.wasm', $plain);
is((symbolicate("    at $v8\[3]:0xc8\n", '--maps', "$dir/wasm/calc"))[1],
   "    at inner ($v8\[3]:0xc8)\n", 'module: a name alone');
mkdir "$dir/wasm/stripped";
module('stripped/calc.wasm', $plain =~ s/\0.{1,2}\x04name.*(?=\0.\x09producers|\z)//sr);
like((symbolicate("    at $v8\[3]:0xc8\n", '--maps', "$dir/wasm/stripped"))[2],
     qr/no frame was found: the module has no source map, no lines and no names: it is stripped$/, 'module: stripped');
spew("$dir/wasm/stripped/calc.wasm", substr $calc, 0, 900);
like((symbolicate("    at $v8\[3]:0xc8\n", '--maps', "$dir/wasm/stripped"))[2],
     qr/calc\.wasm: is damaged: a section is cut off \(offset 900\)$/m, 'module: damaged');
module('calc/calc.wasm', "\0asm\1\0\0\0\1\4\1\x60\0\0\3\2\1\0\x0a\4\1\2\0\x0b" .
       "\0\x19\4name\1\x12\1\0\x0f_ZN3app5innerEi", [external_debug_info => 'asm.txt']);
spew("$dir/wasm/calc/asm.txt", 'no module');
is(join('', (symbolicate("    at $v8\[0]:0x17\n", '--maps', "$dir/wasm/calc"))[1, 2]),
   "    at app::inner(int) ($v8\[0]:0x17)\n" .
   "symcachectl: $dir/wasm/calc/asm.txt: is text, not a debug file\n", 'module: the name of C++ in it, as the file beside it is none');
like((symbolicate("    at $hash\[3]:0xc8\n", '--maps', "$dir/wasm/two"))[2],
     qr/has several modules of WebAssembly/, 'module: one of several');
is((symbolicate("    at $_->[0]\[3]:0x49\n    at $_->[1]\[3]:0x49\n    at $_->[0]\[3]:0x49\n",
                '--maps', "$dir/wasm/asm"))[0], 1, 'module: the only one may be of either')
    for [$hash, $v8], [$v8, $made];
is_deeply [map { my $f = $json->decode($_); [@$f{qw(function filename lineno colno)}] }
    split /\n/, (symbolicate($firefox[0], '--maps', "$dir/wasm/split", '--json'))[1]],
    [['middle', '/src/calc.c', 9, undef], ['outer', '/src/calc.c', 15, undef],
     ['call', '/src/calc.c', 26, undef], ['call', 'http://localhost/page.js', 4, 145]],
    'module: as JSON';

# the same place, as each engine prints it
my $url = 'https://cdn.example.com/js/terser.js';
for (["    at t.add ($url:1:475)", '    at Cart.add (src/cart.js:9:20)'],
     ["    at async t.add ($url?v=1#x:1:475)",
      '    at async Cart.add (src/cart.js:9:20)'],
     ["    at $url:1:475", '    at Cart.add (src/cart.js:9:20)'],
     ["\tat t.add (file://$dir/maps/js/terser.js:1:475)\r",
      "\tat Cart.add (src/cart.js:9:20)"],
     ["    at add (address at $url:1:474)",
      '    at Cart.add (src/cart.js:9:20)'],
     ["add\@$url:1:475", 'Cart.add@src/cart.js:9:20'],
     ["\@$url:1:475", 'Cart.add@src/cart.js:9:20'],
     ["$url:1:475", 'Cart.add@src/cart.js:9:20'],
     ["    at f (C:\\app\\js\\terser.js:1:475)",
      '    at Cart.add (src/cart.js:9:20)'],
     ["    at \\\\server\\js\\terser.js:1:475",
      '    at Cart.add (src/cart.js:9:20)'],
     ["    at f (https://h/js/t%65rser%2Ejs:1:475)",
      '    at Cart.add (src/cart.js:9:20)'],
     ["    at async f ($url:1:475) {", '    at async Cart.add (src/cart.js:9:20) {'],
     ["    at $url:1:475 {", '    at Cart.add (src/cart.js:9:20) {'],
     ['https://h/js/terser.js?x@1:1:475', 'Cart.add@src/cart.js:9:20'],
     ["f\@https://h/js/terser.js?x\@1:1:475", 'Cart.add@src/cart.js:9:20'],
     ["Nov 28 host app[1]:     at f ($url:1:475)",
      'Nov 28 host app[1]:     at Cart.add (src/cart.js:9:20)'],
     ["Z F at x at async $url:1:475",
      'Z F at x at async Cart.add (src/cart.js:9:20)'],
     ["Nov 28 host app[1]: f\@$url:1:475",
      'Nov 28 host app[1]: Cart.add@src/cart.js:9:20'],
     ["async*f\@$url:1:475", 'async*Cart.add@src/cart.js:9:20'],
     ['https://h/a*b/js/terser.js?x@1:1:475', 'Cart.add@src/cart.js:9:20'],
     ["setTimeout handler*f/<\@$url:1:475", 'setTimeout handler*Cart.add@src/cart.js:9:20'],
     ["x at f ($url:1:2) at f ($url:1:475)", "x at f ($url:1:2) at Cart.add (src/cart.js:9:20)"]) {
    my ($line, $wanted) = @$_;
    my ($code, $out) = symbolicate("Error: x\n$line\n", '--maps', "$dir/maps");
    is $out, "Error: x\n$wanted\n", $line =~ s/\s+/ /gr;
    is $code, 0, 'exit code';
}
# without a name, too, a frame keeps its form
spew("$dir/maps/plain.js", "x()\n");
spew("$dir/maps/plain.js.map", '{"version":3,"sources":["x.ts"],"names":[],"mappings":"AAAA"}');
is((symbolicate("\@https://h/plain.js:1:1\nasync*\@https://h/plain.js:1:1\nhttps://h/plain.js:1:1\n",
        '--maps', "$dir/maps"))[1], "\@x.ts:1:1\nasync*\@x.ts:1:1\nx.ts:1:1\n", 'Firefox, no name');
spew("$dir/maps/plain.js", "x()\n//# sourceMappingURL=$dir/elsewhere.map\n");
spew("$dir/elsewhere.map", '{"version":3,"sources":["other.ts"],"names":[],"mappings":"AAAA"}');
is((symbolicate("\@file://$dir/maps/plain.js:1:1\n", '--maps', "$dir/maps"))[1],
    "\@x.ts:1:1\n", 'an absolute path is not followed');
mkdir "$dir/maps/js/a b";
spew("$dir/maps/js/a b/terser.js", slurp("$data/shop/terser.js"));
spew("$dir/maps/js/a b/terser.js.map", slurp("$data/shop/terser.js.map"));
is((symbolicate("    at f (file://$dir/maps/js/a%20b/terser.js:1:475)\n"))[1],
    "    at Cart.add (src/cart.js:9:20)\n", 'a blank in a path of this machine');

# what no map is there for, and what is no place in a file
my $text = join '', map { "$_\n" } 'Error: no@place',
    '    at Array.map (<anonymous>)', '    at async Promise.all (index 0)',
    "    at eval (eval at f ($url:1:475), <anonymous>:1:1)",
    '    at a (https://cdn.example.com/other.js:1:475)',
    "    at a ($url:0:1)", "    at a ($url:9:1)", "    at f ($url:1:2) at f ($url:1:475)",
    "    at a ($url:99999999999999999999:1)",
    '    at Module.load (node:internal/modules/cjs/loader:1266:32)',
    '    at a (../../etc/passwd:1:1)', 'f@[native code]', '@:1:1', ':1:1',
    '    at a (node:internal/a:1:1) {', 'https://h/terser.js:1:475 {}',
    '[x] started at 10:20:30', "[x] at 2026/11/28 $url at 10:20:30";
my ($code, $out, $said) = symbolicate($text, '--maps', "$dir/maps");
is $out, $text, 'other lines stay as they are';
is $code, 1, 'exit code: nothing was found';
like $said, qr/no frame was found: the source maps have nothing at these places/, 'and why';
(undef, undef, $said) = symbolicate("    at a (https://cdn.example.com/other.js:1:475)\n",
                                    '--maps', "$dir/maps");
like $said, qr/no frame was found: the folder has no source map/, '... of another script';
($code, $out, $said) = symbolicate($text);
is $out, $text, 'without a folder, too';
is $code, 0, 'exit code: nothing was looked for';
like $said, qr/--maps FOLDER or --url URL/, 'and where else to look';

($code, $out) = symbolicate("    at f ($url:1:475)\n    at g ($url:9:1)\n",
    '--maps', "$dir/maps", '--json');
is_deeply [map { $json->decode($_) } split /\n/, $out],
    [{ symbolicated => JSON::PP::true, abs_path => $url,
       function => 'Cart.add', filename => 'src/cart.js', lineno => 9,
       colno => 20, in_app => JSON::PP::true },
     { symbolicated => JSON::PP::false, abs_path => $url, function => 'g',
       filename => $url, lineno => 9, colno => 1 }], '--json';

# a map alone, and one that is damaged
unlink "$dir/maps/js/terser.js";
($code, $out) = symbolicate("    at f ($url:1:475)\n", '--maps', "$dir/maps");
is $out, "    at f (src/cart.js:9:20)\n", 'without the script: its own name';
spew("$dir/maps/js/terser.js.map", '{"mappings": 5}');
($code, $out, $said) =
    symbolicate("    at f ($url:1:475)\n", '--maps', "$dir/maps");
is $out, "    at f ($url:1:475)\n", 'a damaged map';
like $said, qr{js/terser\.js: its map is not a source map: "mappings"}, 'is told';

# traces of Node itself
my $node = qx(node --version 2>/dev/null) // '';
SKIP: {
    skip 'no Node', 1 if $node !~ /^v\d/;
    my $traces = $json->decode(slurp("$data/traces.json"));
    for my $tool (sort keys %$traces) {
        spew("$dir/$_", slurp("$data/shop/$_"))
            for grep { -e "$data/shop/$_" } "$tool.js", "$tool.js.map";
        spew("$dir/run.cjs", "require('./$tool.js'); setTimeout(() => {"
            . ' for (const s of __stacks) console.log(s.stack) }, 10)');
        my $stacks = qx(node "$dir/run.cjs");
        my ($i, @wrong) = (0);
        for my $stack (split /^(?=\w*Error: )/m, $stacks) {
            (undef, $out) = symbolicate($stack, '--json');
            my @got = grep { $_->{symbolicated} }
                map { $json->decode($_) } split /\n/, $out;
            for my $wanted (@{ $traces->{$tool}[$i++] }) {
                my $got = shift @got;
                my @got = @$got{qw(function filename lineno colno)};
                # functions without a name are called as their caller calls
                # them; the model was told neither of frames of native code
                # nor of the caller of the last one
                $got[0] = $wanted->[0]
                    if grep { $_ eq '<anonymous>' } $got[0], $wanted->[0];
                push @wrong, [\@got, $wanted]
                    if $json->encode(\@got) ne $json->encode($wanted);
            }
        }
        is $i, @{ $traces->{$tool} }, "$tool: all traces of Node";
        is_deeply \@wrong, [], "$tool: their frames"
            or diag $json->encode(\@wrong);
    }
}

done_testing;
