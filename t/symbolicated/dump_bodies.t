#!/usr/bin/env perl

# POST /minidump: packed bodies and parts, stacks that a process has walked
# itself, rules for the first module's name, corrections.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use IO::Compress::Gzip qw(gzip);
use Test::Ctl;
use Test::File;
use Test::Form;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical->utf8;
my $cases = $t->data('minidump/cases');
my $dump = slurp("$cases/sym-linux-mini.sym/dump.dmp");
my $file = "upload_file_minidump";
mkdir $t->path("store");

sub configure {
    $t->stop_symbolicated if $t->{symbolicated};
    $t->start_symbolicated({ stores => { default => {
        root => $t->path('store') } }, symbolication => $_[0] });
}

sub ask {
    my ($body, @headers) = @_;
    my $r = $t->post($t->symbolicated_socket, '/minidump', $body,
        "Content-Type: $form_type", @headers);
    $r->{answer} = eval { $json->decode($r->{body}) };
    return $r;
}

sub gzipped { my ($data) = @_; gzip \$data => \my $out; return $out }

sub zstd {
    $t->write_file('plain', $_[0]);
    my $out = `zstd -q -c @{[$t->path('plain')]}`;
    return $out;
}

sub has_stacks {
    my ($r, $name) = @_;
    is $r->{answer}{status}, 'completed', $name;
    is $r->{answer}{stacktraces}[0]{thread_id}, 1304, "$name: its thread";
}

# --- packed

my @parts = (['sources', '[]'], [$file, $dump, 'a']);
configure({});
for my $coding (['gzip', \&gzipped], ['zstd', \&zstd]) {
    my ($name, $pack) = @$coding;
    has_stacks(ask($pack->(form(@parts)), "Content-Encoding: $name"),
        "a request in $name");
    has_stacks(ask(form($parts[0], [$file, $pack->($dump), 'a',
            "Content-Encoding: $name"])), "a part in $name");
    has_stacks(ask(form(['sources', $pack->('[]'), undef,
            "content-encoding:$name"], $parts[1])), "JSON in $name");
    my $r = ask(form($parts[0], [$file, $pack->($dump), 'a']));
    is $r->{answer}{message}, 'Header mismatch', "$name that does not say so";
    $r = ask(substr($pack->(form(@parts)), 0, -20), "Content-Encoding: $name");
    is $r->{status}, 400, "$name that is cut off";
    is $r->{answer}{detail}, 'the packed data is damaged', 'says so';
    $r = ask(form(@parts), "Content-Encoding: $name");
    is $r->{status}, 400, "what is not $name";
    $r = ask($pack->(form(@parts) . 'x' x 262_144_000),
        "Content-Encoding: $name");
    is $r->{status}, 413, "$name that becomes too much";
}
has_stacks(ask(gzipped(form($parts[0], [$file, zstd($dump), 'a',
    'Content-Encoding: zstd'])), 'Content-Encoding: gzip'), 'both');
has_stacks(ask(gzipped(substr form(@parts), 0, 100)
    . gzipped(substr form(@parts), 100), 'Content-Encoding: gzip'),
    'two members');
is ask(form(@parts), 'Content-Encoding: br')->{status}, 415, 'another coding';
is ask(form($parts[0], [$file, $dump, 'a', 'Content-Encoding: br']))->{status},
    415, 'of a part';
is $t->symbolicated_metric('symbolicated_spool_bytes'), 0, 'nothing is left';
is $t->symbolicated_metric('symbolicated_workers_died_total'), 0,
    'no worker died';

configure({ limits => { spool_size => '100m' } });
my $r = ask(gzipped(form(@parts)), 'Content-Encoding: gzip');
is $r->{status}, 503, 'there must be room for what it may become';
has_stacks(ask(form(@parts)), 'and not for what is not packed');

configure({ symbolicator => { corrections => ['packed-dumps'] } });
has_stacks(ask(form($parts[0], [$file, gzipped($dump), 'a'])),
    'with the correction, gzip need not say so');
has_stacks(ask(form($parts[0], [$file, zstd($dump), 'a'])), 'nor zstd');
configure({ symbolicator => { corrections => ['all'] } });
has_stacks(ask(form($parts[0], [$file, gzipped($dump), 'a'])), 'all of them');

# --- stacks that the process has walked

configure({});

# Adds a stream to a dump: the directory moves to the end.
sub with_stream {
    my ($bytes, $type, $content) = @_;
    my ($count, $at) = unpack 'x8VV', $bytes;
    my $directory = substr $bytes, $at, 12 * $count;
    $bytes .= "\0" x (-length($bytes) % 8);
    $directory .= pack 'VVV', $type, length $content, length $bytes;
    $bytes .= $content . "\0" x (-length($content) % 8);
    substr $bytes, 8, 8, pack 'VV', $count + 1, length $bytes;
    return $bytes . $directory;
}

sub stacks {
    my ($threads, $frames, $text) = @_;
    my $list = join '', map { pack 'VVV', @$_ } @$threads;
    $list .= "\0" x (-length($list) % 8);
    return pack('VVVV', 1, scalar @$threads, scalar @$frames, length $text)
        . $list . join('', map { pack 'Q<VV', @$_ } @$frames) . $text;
}

sub frames_of {
    my ($stream) = @_;
    my $r = ask(form(['sources', '[]'],
        [$file, with_stream($dump, 0x53790001, $stream), 'a']));
    is $r->{answer}{status}, 'completed', 'a dump with stacks';
    is scalar keys %{ $r->{answer}{stacktraces}[0]{registers} }, 17,
        'registers stay';
    return $r->{answer}{stacktraces}[0]{frames};
}

my @frames = ([0x401000, 0, 4], [0x1234, 4, 5]);
my $text = "mainother\xff";
is_deeply frames_of(stacks([[1304, 0, 2]], \@frames, $text)), [
    { status => 'missing', original_index => 0, instruction_addr => '0x401000',
      package => '/work/linux/build/crash', function => 'main',
      trust => 'prewalked' },
    { status => 'unknown_image', original_index => 1,
      instruction_addr => '0x1234', function => 'other',
      trust => 'prewalked' }], 'its frames are answered';
{
    my $ctl = Test::Ctl->new($t);
    $t->write_file('own.dmp', with_stream($dump, 0x53790001,
        stacks([[1304, 0, 2]], \@frames, $text)));
    my $r = $ctl->run('minidump', '--root', $t->path('store'), $t->path('own.dmp'));
    like $r->{out}, qr/^#0   0x401000 in main .*\[prewalked\]\n#1   0x1234 in other \[prewalked\]\n\n/m,
        'symcachectl minidump has them, too';
    ($r) = $ctl->json($ctl->run('minidump', '--json', '--root',
        $t->path('store'), $t->path('own.dmp')));
    is_deeply [map { $_->{function} } @{ $r->{stacktraces}[0]{frames} }],
        ['main', 'other'], '... as JSON';
    ($r) = $ctl->json($ctl->run('minidump', '--schema', 'socorro', '--root',
        $t->path('store'), $t->path('own.dmp')));
    is $r->{threads}[0]{frames}[0]{trust}, 'context',
        '... but not as minidump-stackwalk, which does not know them';
}
is frames_of(stacks([[1304, 1, 1]], [$frames[0], [0x1234, 4, 6]], $text))
    ->[0]{function}, "other\x{fffd}", 'a name that is not UTF-8';
for my $case (['of other threads', stacks([[5, 0, 2]], \@frames, $text)],
    ['without frames', stacks([[1304, 0, 0]], \@frames, $text)],
    ['frames out of range', stacks([[1304, 1, 2]], \@frames, $text)],
    ['text out of range', stacks([[1304, 0, 1]], [[1, 8, 3]], $text)],
    ['too long', stacks([[1304, 0, 2]], \@frames, $text) . "\0"],
    ['too short', substr stacks([[1304, 0, 2]], \@frames, $text), 0, -1],
    ['version 2', pack('V', 2)
        . substr stacks([[1304, 0, 2]], \@frames, $text), 4]) {
    is frames_of($case->[1])->[0]{trust}, 'context', "stacks $case->[0]";
}

# --- rules that take long to compile, or look at all of a name from all places

# The debug file of the first module.
sub with_name {
    my ($bytes, $name) = @_;
    my ($count, $at) = unpack 'x8VV', $bytes;
    my $pdb = 'RSDS' . pack('x16V', 1) . "$name\0";
    my ($modules) = map { $_->[0] == 4 ? $_->[2] : () }
        map { [unpack 'VVV', substr $bytes, $at + 12 * $_] } 0 .. $count - 1;
    substr $bytes, $modules + 4 + 76, 8, pack 'VV', length $pdb, length $bytes;
    return $bytes . $pdb;
}

has_stacks(ask(form(['sources', '[]'], ['rewrite_first_module', $json->encode(
        [{ from => '(?:a{0,90}(?=(?:a*+)[ab!])){2}[cd]', to => '' }])],
    [$file, with_name($dump, 'a' x 4000 . '!'), 'a'])), 'it ends soon');
$r = ask(form(['sources', '[]'], ['rewrite_first_module', $json->encode(
        [({ from => '(?i)' . '[\x{80}-\x{10ffff}]' x 200, to => '' }) x 64])],
    [$file, $dump, 'a']));
is $r->{status}, 400, 'long patterns';
is $r->{answer}{detail}, 'the patterns are too long', '... are too much together';
is $t->symbolicated_metric('symbolicated_workers_died_total'), 0,
    '... and its worker lives';

# --- names of configuration

$t->stop_symbolicated;
for my $case (['"all"', qr/corrections: must be a list/],
    ['["none"]', qr/corrections/]) {
    $t->write_file('bad.json', qq({"stores":{"default":{"root":"/x"}},)
        . qq("symbolication":{"symbolicator":{"corrections":$case->[0]}}}));
    my $out = qx(@{[$t->program('symbolicated')]} -t -c @{[
        $t->path('bad.json')]} 2>&1);
    isnt $?, 0, "corrections: $case->[0]";
    like $out, $case->[1], 'is refused';
}

$t->finish;
done_testing;
