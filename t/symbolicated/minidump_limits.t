#!/usr/bin/env perl

# The limits of minidumps (docs/minidumps.md), with dumps that have more: 1,024
# streams, 4,096 threads and modules, 1,024 frames of a thread, of which an
# answer has 256, and for symcachectl 200,000 of all threads.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::Ctl;
use Test::Form;
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $ctl = Test::Ctl->new($t);
my $json = JSON::PP->new->canonical->utf8;
my ($base, $stack) = (0x7f << 40, 0x60 << 40);

sub text { my ($s) = @_; return pack 'V/a*', pack 'v*', map { ord } split //, $s }

# A dump of Linux on amd64.  Each thread has the same stack, on which frame
# pointers lead to so many callers in the first module.
sub make_dump {
    my (%want) = (threads => 1, modules => 1, frames => 1, streams => 3, @_);
    my $at = 32 + 12 * $want{streams};
    my $tail = '';
    my $add = sub {
        $tail .= $_[0] . "\0" x (-length($_[0]) % 8);
        return $at + length($tail) - length($_[0]) - -length($_[0]) % 8;
    };
    my $system = pack 'v3 C2 V5 v2 x24', 9, 6, 1, 8, 1, 5, 10, 0, 0x8201,
        $add->(text('Linux 5.10.0 x86_64')), 0, 0;
    my $name = $add->(text('/usr/lib/module.so'));
    my $id = $add->(pack 'V C20', 0x4270454c, 1 .. 20);
    my $modules = pack 'V', $want{modules};
    $modules .= pack 'Q< V4 x52 V4 Q<2', $base + $_ * 0x10000, 0x1000, 0, 0,
        $name, 24, $id, 0, 0, 0, 0 for 0 .. $want{modules} - 1;
    my $memory = pack 'Q<*', map { ($stack + 16 * $_, $base + 0x100 + $_ % 256) }
        1 .. $want{frames} - 1;
    $memory .= "\0" x 16;
    $memory = $want{memory} if defined $want{memory};
    my $words = $add->($memory);
    my $context = "\0" x 1232;
    substr $context, 0x30, 4, pack 'V', 0x10000b;
    substr $context, 0x98, 16, pack 'Q<2', $stack, $stack;
    substr $context, 0xf8, 8, pack 'Q<', $base + 0x100;
    my $registers = $add->($context);
    my $threads = pack 'V', $want{threads};
    $threads .= pack 'V4 Q<2 V4', $_, 0, 0, 0, 0, $stack, length $memory,
        $words, 1232, $registers for 1 .. $want{threads};
    my $long = $add->(text('n' x 32767 . 'z')) if $want{names};
    my $names = pack 'V', $want{threads};
    $names .= pack 'V Q<', $_, $long // 0 for 1 .. $want{threads};
    # those that nobody reads come first
    my $directory = pack('V3', 0x12345, 0, 0) x ($want{streams} - 3 - ($want{names} // 0));
    $directory .= pack 'V3', $_->[0], length $_->[1], $add->($_->[1])
        for [7, $system], [4, $modules], [3, $threads], $want{names} ? [24, $names] : ();
    return pack('V6 Q<', 0x504d444d, 0xa793, $want{streams}, 32, 0, 1, 0)
        . $directory . $tail;
}

mkdir $t->path('store');
$t->start_symbolicated({ stores => { default => { root => $t->path('store') } } });

my $asked = 0;

sub ask_for {
    my ($what, @parts) = @_;
    my $r = $t->post($t->symbolicated_socket, '/minidump',
        form(@parts), "Content-Type: $form_type");
    $asked++;
    is $r->{status}, 200, "$what: status";
    return $json->decode($r->{body});
}

sub ask {
    return ask_for("@_", ['sources', '[]'],
        ['upload_file_minidump', make_dump(@_), 'x']);
}

sub count_frames {
    my ($answer) = @_;
    return map { scalar @{ $_->{frames} } } @{ $answer->{stacktraces} };
}

# What the log says of the last request.
sub left_out {
    my @lines;
    $t->wait_until('the request is logged', sub {
        @lines = $t->symbolicated_log =~ /request protocol=minidump (.*)\n/g;
        return @lines == $asked;
    });
    return $lines[-1] =~ /left_out=(\w+)/ ? $1 : '';
}

is_deeply [count_frames(ask(frames => 5))], [5], 'a stack';
is left_out(), '', '... of which nothing is left out';
is_deeply [count_frames(ask(frames => 2000))], [256], 'a deep one';
is left_out(), '', '... as always';
$t->write_file('deep.dmp', make_dump(frames => 2000));
my ($object) = $ctl->json($ctl->run('minidump', '--schema', 'socorro', '--root',
    $t->path('store'), $t->path('deep.dmp')));
is $object->{threads}[0]{frame_count}, 1024, '... of which so many are found';
my @run = ('minidump', '--root', $t->path('store'), $t->path('deep.dmp'));
$ctl->is($ctl->run(@run), 0, qr/^#255 .*\n     more frames are left out\n\n/m,
    qr/deep\.dmp: note: has more frames than are read; the others are left out$/,
    '... and the others are said to be left out');

# a dump that lost its end on its way has fewer frames
my $part = substr $t->read_file($t->data('minidump/test_app.dmp')), 0, 6000;
is_deeply [count_frames(ask_for('part', ['sources', '[]'],
    ['upload_file_minidump', $part, 'x']))], [1, 0], 'the end is missing';
is left_out(), 'bytes', '... as the log says';
$t->write_file('part.dmp', $part);
$ctl->is($ctl->run('minidump', '--root', $t->path('store'),
    $t->path('part.dmp')), 0, qr/^#0 /m, qr/part\.dmp: note: was cut off/,
    '... and symcachectl');

is scalar(count_frames(ask(threads => 4096))), 4096, 'many threads';
is left_out(), '', '... are all read';
is scalar(count_frames(ask(threads => 5000))), 4096, 'too many';
is left_out(), 'threads', '... as the log says';
my @threads = @{ ask(threads => 4096, names => 1, streams => 4)->{stacktraces} };
is scalar(grep { ($_->{thread_name} // '') =~ /nz$/ } @threads), 255, 'long names of all threads';
is left_out(), 'texts', '... as the log says';
$t->write_file('named.dmp', make_dump(threads => 4096, names => 1, streams => 4));
$ctl->is($ctl->run('minidump', '--root', $t->path('store'), $t->path('named.dmp')), 0, qr/^thread 1 n+z$/m,
    qr/named\.dmp: note: has more texts than are read; the others are left out$/, '... and symcachectl');
is scalar(@{ ask(modules => 5000)->{modules} }), 4096, 'too many modules';
is left_out(), 'modules', '... as the log says';
is ask(streams => 1024)->{status}, 'completed', 'many streams';
is left_out(), '', '... are all read';
is ask(streams => 1025)->{message}, 'The thread list stream was not found',
    'too many';

# Each of 4,096 threads has the same 32 MB as its stack: what it points to is
# looked for once, which takes no minute, after which a worker is ended.
is ask_for('large stacks', ['upload_file_minidump', make_dump(threads => 4096,
    modules => 500, memory => pack('Q<*',
        map { $base + 0x10000 * int(rand 500) + 8 } 1 .. 4096) x 1024), 'x'])
    ->{status}, 'completed', 'threads with the same stack';

# 250 threads of 1,024 frames have more
$t->write_file('many.dmp', make_dump(threads => 250, frames => 1500));
my $sum = 0;
my $said = $ctl->run('minidump', '--schema', 'socorro', '--root',
    $t->path('store'), $t->path('many.dmp'))->{out};
$sum += $1 while $said =~ /"frame_count":\s*(\d+)/g;
is $sum, 200000, 'symcachectl: frames of all threads';
$sum = 0;
$sum += $_ for count_frames(ask(threads => 400, frames => 300));
is $sum, 100000, 'symbolication.limits.frames';
is left_out(), 'frames', '... as the log says';

$t->finish;
done_testing;
