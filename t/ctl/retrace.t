#!/usr/bin/env perl

# symcachectl retrace: stack traces of shrunk programs as text.  Expected is what
# R8's retrace prints of the same mappings (t/data/jvm/retrace.json), but for the
# differences below, of which rust-proguard's tests tell what is expected
# (t/data/jvm/README.md); these print line 0 where retrace prints none.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Encode qw(decode_utf8 encode encode_utf8);
use JSON::PP ();
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $ctl = $t->program('symcachectl');

sub run {
    my ($input, @args) = @_;
    my @paths = map { $t->path($_) } qw(input out err);
    $t->write_file('input', $input);
    system('sh', '-c', '"$@" < ' . "'$paths[0]' > '$paths[1]' 2> '$paths[2]'",
        'sh', $ctl, @args);
    return ($? >> 8, $t->read_file('out'), $t->read_file('err'));
}
sub plain { join "\n", map { s/^\s+//r } split /\n/, $_[0] }
sub json { JSON::PP->new->utf8->decode($t->read_file($t->data("jvm/$_[0]"))) }

my $kotlin = 'a file that the mapping does not name has the extension of the class, ".kt"';
my %different = (
    'r8-inline.rs::test_inline_file_name' => $kotlin,
    'r8-inline.rs::test_inline_file_name_cache' => $kotlin,
    'r8-inline.rs::test_inline_file_name_with_inner_classes' => $kotlin,
    'r8-inline.rs::test_inline_source_file_context' => $kotlin,
    'r8-inline.rs::test_inline_source_file_context_cache' => $kotlin,
    'r8-source-file-edge-cases.rs::test_composable_singletons_inlined_lambda_stacktrace' => $kotlin,
    'r8-line-number-handling.rs::test_invalid_minified_range_stacktrace' =>
        'a range that ends before it begins does not refuse the mapping',
    'r8-line-number-handling.rs::test_invalid_original_range_stacktrace' =>
        'a range that ends before it begins does not refuse the mapping',
);

my $retrace = json('retrace.json');
for my $case (@{ json('traces.json') }) {
    my $test = $case->{test};
    $t->write_file('mapping', encode_utf8($case->{mapping}));
    my ($code, $out, $err) = run(encode_utf8($case->{trace}), 'retrace',
        $t->path('mapping'));
    is "$code$err", '0', "$test: exit code";
    if (my $why = $different{$test}) {
        isnt $out, encode_utf8($retrace->{$test} // ''), "$test is not R8's: $why";
        my $want = encode_utf8($case->{expected}) =~ s/:0\)/)/gr;
        is plain($out =~ s/<OR> //gr), plain($want), '... but rust-proguard\'s';
    } else {
        is $out, encode_utf8($retrace->{$test}), $test;
    }
}

# --- what an Android log and nested exceptions look like

my $mapping = <<'MAPPING';
org.Main -> a.a:
    1:1:void in():5:5 -> a
    2:3:void run():10:11 -> a
    void one() -> b
    void two() -> b
MAPPING
$t->write_file('mapping', $mapping);
my $trace = <<'TRACE';
11-27 18:00:00.000  1234  1234 E AndroidRuntime: FATAL EXCEPTION: main
11-27 18:00:00.000  1234  1234 E AndroidRuntime: a.a: boom
11-27 18:00:00.000  1234  1234 E AndroidRuntime: 	at a.a.a(SourceFile:2)
11-27 18:00:00.000  1234  1234 E AndroidRuntime: Caused by: a.a
11-27 18:00:00.000  1234  1234 E AndroidRuntime: 	... 3 more
E/AndroidRuntime(  123): 	at a.a.a(SourceFile:3)
Exception in thread "main" a.a
	Suppressed: a.a: x
		at java.base/java.lang.Thread.run(Thread.java:1)
		at a.a.b(Unknown Source)
a.a is only a word here
TRACE
my $want = <<'TRACE';
11-27 18:00:00.000  1234  1234 E AndroidRuntime: FATAL EXCEPTION: main
11-27 18:00:00.000  1234  1234 E AndroidRuntime: org.Main: boom
11-27 18:00:00.000  1234  1234 E AndroidRuntime: 	at org.Main.run(Main.java:10)
11-27 18:00:00.000  1234  1234 E AndroidRuntime: Caused by: org.Main
11-27 18:00:00.000  1234  1234 E AndroidRuntime: 	... 3 more
E/AndroidRuntime(  123): 	at org.Main.run(Main.java:11)
Exception in thread "main" org.Main
	Suppressed: org.Main: x
		at java.base/java.lang.Thread.run(Thread.java:1)
		at org.Main.one(Main.java)
		<OR> at org.Main.two(Main.java)
a.a is only a word here
TRACE
my ($code, $out) = run($trace, 'retrace', $t->path('mapping'));
is $out, $want, 'log lines, nested exceptions, alternatives';
$t->write_file('trace', $trace);
is((run('', 'retrace', '--quiet', $t->path('mapping'), $t->path('trace')))[1],
    $want, 'a trace in a file');
is((run('', 'symbolicate', '--mapping', $t->path('mapping'), $t->path('trace')))[1],
    $want, 'symcachectl symbolicate does the same');
is system($t->program('pdb2symcache'), $t->path('mapping'), '-o',
    $t->path('cache')), 0, 'a ProguardCache';
is((run($trace, 'retrace', $t->path('cache')))[1], $want, 'answers the same');
is((run("\tat a.a.a(X:2)", 'retrace', $t->path('mapping')))[1],
    "\tat org.Main.run(Main.java:10)\n", 'a last line without an end');

# What stands in front of "at" and of a class does not matter, by the expression
# that R8's retrace has for lines; a circular reference is as JDK 8 and 17 have it.
my $prefix = 'Nov 28 12:00:00 host app[123]:';
my %lines = (
    "$prefix \tat a.a.a(X:2)" => "$prefix \tat org.Main.run(Main.java:10)",
    "$prefix a.a: boom bang" => "$prefix org.Main: boom bang",
    "$prefix Caused by: a.a" => "$prefix Caused by: org.Main",
    'Wrapped by: a.a: boom bang' => 'Wrapped by: org.Main: boom bang',
    '[main (1)] E - at a.a.a(X:2) x' => '[main (1)] E - at org.Main.run(Main.java:10) x',
    'a.a: at a.a.a(X:2)' => 'a.a: at org.Main.run(Main.java:10)',
    "at\ta.a.a(X:2)" => "at\torg.Main.run(Main.java:10)",
    'at a.a.a (X:2) [x]' => 'at org.Main.run (Main.java:10) [x]', # Google's Play Console
    "x at a.a.b \t(X)" => "x at org.Main.one \t(Main.java)\nx <OR> at org.Main.two \t(Main.java)",
    "x at app//m\@1/a.a.a(X:2)" => "x at app//m\@1/org.Main.run(Main.java:10)",
    "x (at a.a.a(X:2)" => "x (at org.Main.run(Main.java:10)",
    "x at\ta.a.b(X)" => "x at\torg.Main.one(Main.java)\nx <OR> at\torg.Main.two(Main.java)",
    'that a.a.a(X:2)' => 'that a.a.a(X:2)',
    '$at a.a.a(X:2)' => '$at a.a.a(X:2)',
    'x at a.a.a(X:2' => 'x at a.a.a(X:2',
    'x at (a.a.a)' => 'x at (a.a.a)',
    "\t[CIRCULAR REFERENCE:a.a]" => "\t[CIRCULAR REFERENCE:org.Main]",
    "\t[CIRCULAR REFERENCE:a.a: x]" => "\t[CIRCULAR REFERENCE:org.Main: x]",
    'Caused by: [CIRCULAR REFERENCE: a.a]' => 'Caused by: [CIRCULAR REFERENCE: org.Main]',
    'Caused by: [CIRCULAR REFERENCE: a.a: x]' =>
        'Caused by: [CIRCULAR REFERENCE: org.Main: x]',
    'a.a]' => 'a.a]',
    "$prefix a: boom" => "$prefix a: boom");
my @lines = sort keys %lines;
is((run(join('', map { "$_\n" } @lines), 'retrace', $t->path('mapping')))[1],
    join('', map { "$lines{$_}\n" } @lines), 'lines of logs, circular references');
is((run("at a.a.z\e[1m(X:2)\n", 'retrace', $t->path('mapping')))[1] =~ /\e/, '',
    'no control characters reach the terminal');
is((run("at x.y.z\rb(X:2)\r\n", 'retrace', $t->path('mapping')))[1],
    "at x.y.z\\x0db(X:2)\r\n", 'nor what would hide a part of a line');

# the file of what R8 itself has made
$t->write_file('synthetic', "org.Main\$\$ExternalSyntheticLambda0 -> a.a:\n"
    . "# {\"id\":\"sourceFile\",\"fileName\":\"R8\$\$SyntheticClass\"}\n    1:1:void run():0:0 -> b\n");
is((run("at a.a.b(X:2)\n", 'retrace', $t->path('synthetic')))[1],
    "at org.Main\$\$ExternalSyntheticLambda0.b(R8\$\$SyntheticClass:2)\n", 'R8$$SyntheticClass');

# a line in no range is of the methods that have none
$t->write_file('ranges', "org.Main -> a.a:\n    1:2:void ranged():10:11 -> b\n    void bare() -> b\n"
    . "    1:2:void ranged():10:11 -> c\n    void first() -> c\n    void second(int) -> c\n"
    . "    1:2:void ranged():10:11 -> d\n    void at():5 -> d\n    1:2:void ranged():10:11 -> e\n");
is((run(join('', map { "at a.a.$_(X:9)\n" } 'b' .. 'e') . "at a.a.b(X:2)\n", 'retrace',
        $t->path('ranges')))[1], <<'EOT', 'lines in no range');
at org.Main.bare(Main.java:9)
at org.Main.first(Main.java:9)
<OR> at org.Main.second(Main.java:9)
at org.Main.at(Main.java:5)
at org.Main.e(Main.java:9)
at org.Main.ranged(Main.java:11)
EOT

# what was thrown, and the place in an outline, wait for a frame that the mapping knows
$t->write_file('carried', <<'EOT');
com.Out -> o:
    1:2:int outline():0 -> a
      # {"id":"com.android.tools.r8.outline"}
com.A -> a:
    1:1:void inl():10:10 -> m
    1:1:void out():20 -> m
      # {"id":"com.android.tools.r8.rewriteFrame","conditions":["throws(Ljava/lang/NullPointerException;)"],"actions":["removeInnerFrames(1)"]}
    4:4:int inl():23:23 -> s
    4:4:int s():98 -> s
    27:27:int s():0:0 -> s
      # {"id":"com.android.tools.r8.outlineCallsite","positions":{"1":4},"outline":"Lo;a()I"}
    30:30:int other():50:50 -> n
EOT
my $npe = 'java.lang.NullPointerException';
for my $case (['a second line of the message', 1], ['at java.util.Objects.x(Objects.java:1)', 1],
        ['at a.z(S:1)', 1, 'at com.A.z(A.java:1)'], ['at a.s(S:99)', 1, 'at com.A.s(A.java:99)'],
        ['at a.n(S:30)', 0, 'at com.A.other(A.java:50)'], ['Caused by: x.Y', 0]) {
    my ($line, $is_carried, $want) = ($case->[0], $case->[1], $case->[2] // $case->[0]);
    is((run("$npe\n$line\nat a.m(S:1)\n$npe\nat o.a(S:1)\n$line\nat a.s(S:27)\n", 'retrace',
            $t->path('carried')))[1], "$npe\n$want\n"
        . ($is_carried ? '' : "at com.A.inl(A.java:10)\n") . "at com.A.out(A.java:20)\n$npe\n$want\n"
        . ($is_carried ? "at com.A.inl(A.java:23)\nat com.A.s(A.java:98)\n" : "at com.A.s(A.java)\n"),
        "in front of the next frame: $line");
}

# R8's retrace prints methods that overload each other once
$t->write_file('overloads', "org.Main -> a.a:\n    java.lang.Iterable all(int) -> b\n"
    . "    java.util.Set all(int) -> b\n    void other() -> b\n");
is((run("at a.a.b(X:1)\n", 'retrace', $t->path('overloads')))[1],
    "at org.Main.all(Main.java:1)\n<OR> at org.Main.other(Main.java:1)\n", 'overloaded methods');

# Methods that overload each other can have the same lines; without a line each may be meant.
# R8's retrace prints the same, but .java (above), and nothing for the second frame of c().
my $r8 = 'com.android.tools.r8';
$t->write_file('alternatives', <<"EOT");
org.Main -> a.a:
# {"id":"sourceFile","fileName":"M.kt"}
    1:4:void org.In.in():7:10 -> b
    1:4:void first(int):20 -> b
    5:6:void first(int):21:22 -> b
    3:4:void org.Two.in():9:10 -> b
    3:4:void second(int,int):40 -> b
    1:2:void again(int):50:51 -> c
    1:2:void again(M):0 -> c
      # {"id":"$r8.synthesized"}
    4:4:void again(int):51:51 -> c
    1:1:void inner():60:60 -> d
    1:1:void outer():61 -> d
      # {"id":"$r8.rewriteFrame","conditions":["throws(Ljava/lang/Error;)"],"actions":["removeInnerFrames(1)"]}
EOT
is((run(join('', map { "$_\n" } 'at a.a.b(X:4)', 'at a.a.b(X:5)', 'at a.a.b(X)', 'at a.a.b(X:0)',
    'at a.a.c(X:2)', 'at a.a.c(X)', 'java.lang.Error', 'at a.a.d(X)', 'java.lang.Error',
    'at a.a.d(X:1)'), 'retrace', $t->path('alternatives')))[1], <<'EOT', 'one of several methods');
at org.In.in(In.kt:10)
<OR> at org.Two.in(Two.kt:10)
at org.Main.first(M.kt:20)
<OR> at org.Main.second(M.kt:40)
at org.Main.first(M.kt:21)
at org.Main.first(M.kt)
<OR> at org.Main.second(M.kt)
at org.Main.first(M.kt)
<OR> at org.Main.second(M.kt)
at org.Main.again(M.kt:51)
at org.Main.again(M.kt)
java.lang.Error
at org.Main.outer(M.kt)
java.lang.Error
at org.Main.outer(M.kt:61)
EOT

# A frame of which nothing is printed takes no time for each of its lines.
$t->write_file('hidden', <<"EOT");
org.Main -> a.a:
    1:1:void hidden():1:4000000000 -> b
      # {"id":"$r8.synthesized"}
    1:1:void removed():1:4000000000 -> c
      # {"id":"$r8.rewriteFrame","conditions":["throws(Ljava/lang/Error;)"],"actions":["removeInnerFrames(1)"]}
EOT
my $began = (times)[2];
is((run("at a.a.b(X:1)\njava.lang.Error\nat a.a.c(X:1)\n", 'retrace', $t->path('hidden')))[1],
    "java.lang.Error\n", 'a hidden frame that can be many lines');
cmp_ok((times)[2] - $began, '<', 5, '... in no time');

# A name in many lines does not become gigabytes.
$t->write_file('long', 'o.' . 'x' x 1_000_000 . " -> a.a:\n    1:1:void f():1:600 -> b\n");
my ($too_large, $cut, $why) = run("at a.a.b(X:1)\n" x 20, 'retrace', $t->path('long'));
is $too_large, 4, 'too much of an answer';
is length($cut), (64 << 20) + 16 * 20 * 14, '... of which a part is printed';
like $why, qr/^symcachectl: \S+: with its names the trace has more than 64 MiB and 16 times its size; the rest is not printed$/,
    '... and it is said';
my $wide = pack 'v*', 0xfeff, unpack 'C*', $trace;
is((run($wide, 'retrace', $t->path('mapping')))[1], $want, 'a trace in UTF-16, as PowerShell writes it');
$t->write_file('wide', pack 'v*', 0xfeff, unpack 'U*', decode_utf8($t->read_file('mapping')));
is_deeply [run($trace, 'retrace', $t->path('wide'))], [run($trace, 'retrace', $t->path('mapping'))],
    '... and a mapping';

# --- a folder of mappings: R8 has an id of one in place of the source file, the
# first digits of the SHA-256 that is at the begin of the mapping, or all of them

my $hash = '0123abc' . 'd' x 57;
$t->write_file('maps/app-1/mapping.txt', "# compiler: R8\n# pg_map_id: fedcba9\n"
    . "# pg_map_hash: SHA-256 fedcba9" . 'e' x 57 . "\nother.Main -> a.a:\n    2:3:void no():10:11 -> a\n");
$t->write_file('maps/app-2/mapping.txt', "# compiler: R8\n# compiler_version: 8.5.35\n"
    . "# pg_map_id: 0123abc\n# pg_map_hash: SHA-256 $hash\n$mapping");
$t->write_file('maps/wide.txt', encode('UTF-16', "# pg_map_id: 9999abc\n$mapping"));
$t->write_file('maps/readme', "r8-map-id-0123abc is in the app\n");
for my $id ('0123abc', $hash, '9999abc') { # the last one in UTF-16
    my $by_id = "a.a: boom\n\tat a.a.a(r8-map-id-$id:2)\n";
    my @got = run($by_id, 'retrace', $t->path('maps'));
    is_deeply \@got, [0, "org.Main: boom\n\tat org.Main.run(Main.java:10)\n", ''],
        "a folder, by an id of " . length($id) . ' digits';
    $t->write_file('trace', $by_id);
    is((run('', 'symbolicate', '--mapping', $t->path('maps'), $t->path('trace')))[1], $got[1],
        '... and so does symbolicate');
}
for (['r8-map-id-7777777', 'no mapping in it has the id 7777777'],
     ['r8-map-id-012', 'the trace names no mapping'], ['SourceFile', 'the trace names no mapping'],
     ["r8-map-id-0123abc:1)\n\tat a.a.a(r8-map-id-fedcba9", 'the trace names several mappings']) {
    my @got = run("a.a: boom\n\tat a.a.a($_->[0]:2)\n", 'retrace', $t->path('maps'));
    is $got[0], 1, "$_->[1]: exit code";
    like $got[2], qr/maps: \Q$_->[1]/, '... and it is told';
}

# --- what is refused

for ([[], 'no MAPPING'], [[qw(a b c)], 'more than one TRACE']) {
    my ($args, $text) = @$_;
    my ($code, $out, $err) = run('', 'retrace', @$args);
    is $code, 2, "$text: exit code";
    like $err, qr/\Q$text/, 'and why';
}
is((run('', 'retrace', $t->path('none')))[0], 3, 'no file');
like((run('', 'retrace', $t->path('mapping'), $t->path('none')))[2],
    qr/none: No such file/, 'no trace: which, and why');
$t->write_file("te\nxt", "no mapping\n");
my @none = run($trace, 'retrace', $t->path("te\nxt"));
is "@none[0, 1]", "0 $trace", 'another text as the mapping changes nothing';
like $none[2], qr/te\\x0axt: note: not a mapping: it renames nothing/, '... and that is told';
@none = run($trace, 'retrace', $t->data('pdb/crash.pdb'));
is "@none[0, 1]", '4 ', 'a binary file is refused';
like $none[2], qr/crash\.pdb: not a mapping$/, '... with the reason';
for ("a -> b\n", encode('UTF-16', "a -> b\n")) {
    $t->write_file('arrow', $_);
    like((run($trace, 'retrace', $t->path('arrow')))[2], qr/arrow: note: not a mapping/, 'nor an arrow without a class');
}
$t->write_file('cut', substr $t->read_file('cache'), 0, -1);
is((run($trace, 'retrace', $t->path('cut')))[0], 4, 'a cache that is cut off');

# One line stands for 60,001 frames, of which 512 count.
$t->write_file('mapping', "a.B -> c:\n    void f():1:60001 -> d\n");
($code, $out) = run("at c.d(X:3)\n" x 10, 'retrace', $t->path('mapping'));
is scalar(() = $out =~ /^/mg), 5120, 'a line that stands for many';

$t->finish;
done_testing;
