#!/usr/bin/env perl

# symcachectl symbolicate --symbols: names from a folder of debug files, without
# a daemon that runs already; and the exit code where some frame has none.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Test::Ctl;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $ctl = Test::Ctl->new($t);
my $key = "crash.pdb/$Test::Symcache::key{'crash.pdb'}";
my $main = 'main(int, char**) at c:\projects\breakpad-tools\windows\crash\main.cpp:33';
my $folder = $t->path('symbols');
$ENV{TMPDIR} = $t->path('tmp');
mkdir $ENV{TMPDIR} or die $!;

sub text { my ($text) = @_; return qr/\A\Q$text\E\n\z/ }
sub left { opendir my $d, $ENV{TMPDIR} or die $!; return [grep { !/^\./ } readdir $d] }

# a folder of builds, as "sort" lays it down, and one as a symbol server
is $ctl->run('sort', '-o', $folder, $t->data('pdb/crash.pdb'))->{code}, 0, 'a tree';
$t->write_file("store/$key/crash.pdb", $t->read_file($t->data('pdb/crash.pdb')));
for ([$folder, 'unified by default'], ["unified:$folder", 'unified by its name'],
     ['symstore:' . $t->path('store'), 'the layout of a symbol server']) {
    $ctl->is($ctl->run('symbolicate', '--symbols', $_->[0], $key, '2913'), 0,
        text("0x2913\n    $main"), undef, $_->[1]);
    is_deeply left(), [], '... and nothing is left behind';
}
my $r = $ctl->run('symbolicate', '--json', '--symbols', $folder, $key, '2913');
is +($ctl->json($r))[0]->{stacktraces}[0]{frames}[0]{lineno}, 33, '--json';

# all of it, some of it, nothing
$ctl->is($ctl->run('symbolicate', '--symbols', $folder, $key, '2913', '1'), 2,
    text("0x2913\n    $main\n0x1\n    missing_symbol"), undef, 'a frame without a name: 2');
$ctl->is($ctl->run('symbolicate', '--symbols', $folder, $key, '1'), 1,
    text("0x1\n    missing_symbol"), undef, 'no frame with a name: 1');
$ctl->is($ctl->run('symbolicate', '--symbols', "symstore:$folder", $key, '2913'), 1,
    text("0x2913\n    missing\nmodule crash.pdb: missing"), undef, 'another layout has nothing there');

# a signal while the daemons start, or later
for my $signal (qw(INT TERM HUP)) {
    my $run = $ctl->begin('', 'symbolicate', '--symbols', $folder, $key, '2913');
    $t->wait_until('it has begun', sub { @{ left() } || !Test::Symcache::alive($run->{pid}) });
    kill $signal, $run->{pid} for 1 .. 3;
    $ctl->end($run);
    is_deeply left(), [], "SIG$signal: nothing is left behind";
}

# a trace of the JVM, whose mapping is in the tree under its UUID
my $uuid = '5c1d3f3a-0000-4000-8000-0123456789ab';
$t->write_file('symbols/5c/' . substr($uuid =~ tr/-//dr, 2) . '/proguard',
    "org.Main -> a.a:\n    2:3:void run():10:12 -> a\n");
my $trace = $t->write_file('trace.txt', "proguard $uuid\na.a: boom\n\tat a.a.a(SourceFile:2)\n");
$ctl->is($ctl->run('symbolicate', '--symbols', $folder, $trace), 0,
    text("proguard $uuid\norg.Main: boom\n\tat org.Main.run(Main.java:10)"), undef,
    'a trace of the JVM, by the UUID');

# a request and a minidump go the same way
my $request = $t->write_file('r.json', encode_json({ stacktraces => [{ frames => [
    { instruction_addr => '0x402913' }] }], modules => [{ type => 'pe', debug_file => 'crash.pdb',
    debug_id => '3249d99d-0c40-4931-8610-f4e4fb0b6936-1', image_addr => '0x400000', image_size => 36864 }] }));
$ctl->is($ctl->run('symbolicate', '--symbols', $folder, $request), 0, qr/\Q$main\E/, undef, 'a request');

for ([['--symbols', $t->path('nowhere')], 3, qr/nowhere: No such file/],
     [['--symbols', $request], 3, qr/r\.json: not a folder/],
     [['--symbols', $folder, '--root', $t->path('store')], 2, qr/more than one of --root, --socket, --symbols/]) {
    my ($args, $code, $said) = @$_;
    $ctl->is($ctl->run('symbolicate', @$args, $key, '2913'), $code, undef, $said, "@$args[0, -1]");
}
is_deeply left(), [], 'nothing is left behind';

$t->finish;
done_testing;
