#!/usr/bin/env perl

# symcachectl symbolicate --images: stack traces of .NET as text.  Files and
# lines are those that the .NET runtime found for the same frames
# (t/data/ppdb/README.md).

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use JSON::PP;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $ctl = $t->program('symcachectl');
my $data = $t->data('ppdb');
my @frames = map { decode_json($_) } split /\n/,
    $t->read_file("$data/weave.frames.jsonl");

$t->fill_store('store', "$data/weave.pdb");
$t->start_symbolicated({ stores => { default => { root => $t->path('store') } } });

# What the runtime prints of a frame without a PDB, and with one.
sub bare {
    my ($f) = @_;
    return sprintf "   at %s() in weave.dll:token %s+0x%x\n",
        @$f{qw(name token il)};
}

sub placed {
    my ($f) = @_;
    return $f->{file} ? "   at $f->{name}() in $f->{file}:line $f->{line}\n"
                      : bare($f);
}

# Exit code, standard output and standard error.
sub ctl {
    my ($text, @args) = @_;
    utf8::encode($text) if utf8::is_utf8($text);
    $t->write_file('trace', $text);
    my ($out, $err) = map { $t->path($_) } qw(out err);
    my $pid = fork() // die "fork: $!";
    if ($pid == 0) {
        open STDOUT, '>', $out or die;
        open STDERR, '>', $err or die;
        exec $ctl, 'symbolicate', @args, $t->path('trace');
        exit 127;
    }
    waitpid $pid, 0;
    my $printed = $t->read_file('out') // '';
    utf8::decode($printed);
    return ($? >> 8, $printed, $t->read_file('err') // '');
}

my @root = ('--root', $t->path('store'));
my @socket = ('--socket', 'unix:' . $t->symbolicated_socket);
my $head = "Unhandled exception. Weave.Torn: knot\n";
my $tail = "   --- End of inner exception stack trace ---\n";
for my $from (\@root, \@socket) {
    my ($code, $out, $err) = ctl($head . join('', map { bare($_) } @frames)
        . $tail, @$from, '--images', $data);
    is $code, (grep { bare($_) eq placed($_) } @frames) ? 2 : 0,
        "exit code, $from->[0]" or diag $err;
    is $out, $head . join('', map { placed($_) } @frames) . $tail,
        @frames . ' frames';
}

# the layout "unified" has a portable PDB under its GUID and stamp
is system($ctl, 'sort', '-o', $t->path('sorted'), "$data/weave.pdb"), 0, 'sort';
my ($by_stamp, $sorted) = ctl(bare($frames[0]), '--symbols', $t->path('sorted'),
    '--images', $data);
is "$by_stamp $sorted", '0 ' . placed($frames[0]), 'a folder that sort has made';

# one assembly, and ones that cannot be had

my ($good, $line) = (bare($frames[0]), placed($frames[0]));
my $other = "   at A.B() in other.dll:token 0x6000001+0x0\n";
my ($code, $out, $err) = ctl("$good$other", @root, '--images',
    "$data/weave.dll");
is "$code $out", "2 $line$other", 'what is not known stays as it is';
like $err, qr/^symcachectl: other\.dll: No such file/, 'and is told';
for (['wrong.dll', 'MZ' . "\0" x 100, qr/is not a PE image|damaged/],
     ['text.dll', 'text', qr/not an assembly with a portable PDB/],
     ['empty.dll', '', qr/empty/]) {
    my ($name, $bytes, $re) = @$_;
    $t->write_file("dlls/$name", $bytes);
    my $frame = "  at A() in $name:token 0x6000001+0x0\n";
    my ($code, $out, $err) = ctl($frame, @root, '--images', $t->path('dlls'));
    is "$code $out", "1 $frame", "$name: nothing is found";
    like $err, qr/\Q$name\E: .*$re/, 'says why';
}
system('cp', $t->data('pdb/basic32.dll'), $t->path('dlls')) == 0 or die;
($code, $out, $err) = ctl("  at A() in basic32.dll:token 0x6000001+0x0\n",
    @root, '--images', $t->path('dlls'));
like $err, qr/basic32\.dll: is not an assembly with a portable PDB/,
    'an image with a PDB of Windows';

# lines that are none, and hostile ones

my $path = $t->path('dlls');
for (' at A() in ../weave.dll:token 0x600002d+0x0',
     " at A() in $path/weave.dll:token 0x600002d+0x0",
     ' at A() in :token 0x600002d+0x0', ' at A() in weave.dll:token',
     ' at A() in weave.dll:token 0x500002d+0x0', 'in weave.dll:token 1+0',
     ' at A() in weave.dll:token 0x600002d', ' at A() in /x.cs:line 7',
     ' in ' . 'x' x 300 . '.dll:token 0x600002d+0x0', ":token 0x1+0x2\n" x 9) {
    ($code, $out) = ctl("$_\n$good", @root, '--images', $data);
    # a frame whose assembly is elsewhere is one, of which nothing is found
    is "$code $out", (m{/weave\.dll:token 0x} ? 2 : 0) . " $_\n$line",
        'unchanged: ' . substr $_, 0, 60;
}
($code, $out) = ctl("\e[31m\tred\r\n$good", @root, '--images', $data);
is $out, "\\x1b[31m\tred\r\n$line", 'control characters are escaped';
($code, $out) = ctl("no frame\n", @root, '--images', $data);
is "$code $out", "0 no frame\n", 'no frame at all';
($code, $out, $err) = ctl($good, @root);
ok $code == 2 && $err =~ /needs --images/, 'without --images';
($code, $out) = ctl($good, @root, '--images', $data, '--json');
is decode_json($out)->{stacktraces}[0]{frames}[0]{lineno}, $frames[0]{line},
    '--json';

$t->finish;
done_testing;
