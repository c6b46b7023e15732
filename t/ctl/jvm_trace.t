#!/usr/bin/env perl

# symcachectl symbolicate: stack traces of the JVM without a mapping at hand.
# The mapping is that of the UUID that the trace or --mapping names, in a store
# or at a server; what is printed is what retrace prints with the mapping.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP ();
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $ctl = $t->program('symcachectl');
my $uuid = 'ae0f32d0-9f98-5f9a-a801-464ed9f06232';
my $key = uc($uuid =~ s/-//gr) . '0';

sub run {
    my ($input, @args) = @_;
    my @paths = map { $t->path($_) } qw(input out err);
    $t->write_file('input', $input);
    system('sh', '-c', '"$@" < ' . "'$paths[0]' > '$paths[1]' 2> '$paths[2]'",
        'sh', $ctl, @args);
    return ($? >> 8, $t->read_file('out'), $t->read_file('err'));
}

$t->write_file('mapping', <<'MAPPING');
org.Main -> a.a:
    1:1:void in():5:5 -> a
    1:1:void run():10 -> a
    2:3:void run():10:12 -> a
    void one() -> b
Top -> d:
    1:1:void main(java.lang.String[]):7:7 -> a
MAPPING
my $trace = <<"TRACE";
11-27 18:00:00.000  1234  1234 E AndroidRuntime: FATAL EXCEPTION: main
11-27 18:00:00.000  1234  1234 E AndroidRuntime: a.a: boom
11-27 18:00:00.000  1234  1234 E AndroidRuntime: 	at a.a.a(SourceFile:1)
11-27 18:00:00.000  1234  1234 E AndroidRuntime: Caused by: d
11-27 18:00:00.000  1234  1234 E AndroidRuntime: 	... 3 more
Exception in thread "main" a.a
	Suppressed: a.a: x
		at java.base/java.lang.Thread.run(Thread.java:1)
		at app//a.a.b(Unknown Source)
		at d.a(SourceFile:1)\r
		at x.y(Native Method)
a.a is only a word here
TRACE
my ($code, $want) = run($trace, 'retrace', $t->path('mapping'));
like $want, qr/at org\.Main\.in\(Main\.java:5\)\n.*at org\.Main\.run\(Main\.java:10\)\n/,
    'retrace, with which the others are compared';
my $named = "io.sentry.proguard-uuids: $uuid\n";

# --- nothing names a mapping, or nothing has it

my ($out, $err);
($code, $out, $err) = run($trace, 'symbolicate', '-');
is "$code $out", "1 $trace", 'no mapping: the trace as it is';
like $err, qr/nothing names a mapping/, '... and that is told';
is((run($trace . $named, 'symbolicate', '--socket',
    'unix:' . $t->path('none'), '-'))[0], 3, 'a server that is not there');
($code, $out, $err) = run($trace, 'symbolicate', '--mapping', $uuid, '-');
is "$code $err", "1 symcachectl: unix:/run/symcached/symbolicated.sock: symbolicated "
    . "is not reached there: No such file or directory: the trace is printed as it is\n",
    'no server: nothing is called missing';
($code, $out, $err) = run($trace, 'symbolicate', '--root', $t->dir,
    '--mapping', $uuid, '-');
is "$code $out", "1 $trace", 'a store without the mapping: the same';
like $err, qr/mapping $uuid: missing/, '... and which is missing';

# --- a store, and a server

my $folder = $t->path("store/mapping.txt/$key");
system('mkdir', '-p', $folder);
is system($t->program('pdb2symcache'), $t->path('mapping'), '-o',
    "$folder/mapping.txt-v1.0.0.proguardcache"), 0, 'a store';
my @root = ('--root', $t->path('store'));
($code, $out, $err) = run($trace, 'symbolicate', @root, '--mapping', $uuid, '-');
is "$code $err", '0 ', 'by the UUID of an option';
is $out, $want, '... as by the mapping';
($code, $out) = run("at x.y(X:1)\n", 'symbolicate', @root, '--mapping', $uuid, '-');
is "$code $out", "1 at x.y(X:1)\n", 'no frame is of the mapping';
($code) = run("at x.y(X:1)\n", 'symbolicate', '--json', @root, '--mapping', $uuid, '-');
is $code, 1, '... in JSON too';
($code) = run("at d.a(X:1)\n", 'symbolicate', '--json', @root, '--mapping', $uuid, '-');
is $code, 0, '... and one is';
is((run($trace . $named, 'symbolicate', @root, '-'))[1], $want . $named,
    'by the UUID in the trace');
is((run("at d.a(X:1)", 'symbolicate', @root, '--mapping', $uuid, '-'))[1],
    'at Top.main(Top.java:7)', 'a last line without an end');
is((run("at d.a(Unknown Source:1)\n", 'symbolicate', @root, '--mapping', $uuid,
    '-'))[1], "at Top.main(Top.java:7)\n", 'as Android prints a place');
is((run("at a.a.z\e[1m(X:2)\n", 'symbolicate', @root, '--mapping', $uuid,
    '-'))[1] =~ /\e/, '', 'no control characters reach the terminal');
like((run("at x.y.z\rb(X:2)\r\n", 'symbolicate', @root, '--mapping', $uuid,
    '-'))[1], qr/^[^\r]*\\x0d[^\r]*\r\n\z/, 'nor what would hide a part of a line');
my ($frame) = @{ JSON::PP->new->utf8->decode((run("at d.a(X:1)\n",
    'symbolicate', '--json', @root, '--mapping', $uuid, '-'))[1])
    ->{stacktraces}[0]{frames} };
is "$frame->{module} $frame->{function} $frame->{lineno}", 'Top main 7', 'JSON';

$t->start_symbolicated({
    stores => { default => { root => $t->path('store') } } });
is((run($trace . $named, 'symbolicate', '--socket',
    'unix:' . $t->symbolicated_socket, '-'))[1], $want . $named, 'a server');

# --- what is a trace of something else

($code, $out, $err) = run("   at Weave.Torn(String s) in weave.dll:token 0x1+0x2\n",
    'symbolicate', '-');
is $code, 2, '.NET';
like $err, qr/needs --images/, '... and what it needs';
is((run("    at f (https://x/a.js:1:2)\n", 'symbolicate', '-'))[1],
    "    at f (https://x/a.js:1:2)\n", 'JavaScript');
is((run("    at $_\n", 'symbolicate', '-'))[2] =~ /mapping/ ? 'JVM' : 'other',
    /^a/ ? 'JVM' : 'other', $_)
    for 'a.b.c (SourceFile:2)', 'a.b.c (Native Method)', 'f.g (a.js:1:2)', 'g.h (/a.js:1)';

$t->finish;
done_testing;
