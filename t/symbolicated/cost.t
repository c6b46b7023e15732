#!/usr/bin/env perl

# What requests cost that are made to cost much: memory is bounded by the size
# of the body and by the limits, whatever is in it.  How much processor time
# they took is told, for people; where each part of a body could cost as much as
# there are others, it is bounded, too.
#
#   HOSTILE_MIB   size of the large bodies (4)

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Test::More;
use Test::Symcache;

plan skip_all => 'memory has other sizes under a sanitizer'
    if $ENV{SYMCACHE_SAN};

my $size = ($ENV{HOSTILE_MIB} // 4) << 20;
my $answer_size = 32 << 20;

my $t = Test::Symcache->new;
my $key = $Test::Symcache::key{'crash.pdb'};
$t->fill_store('store', $t->data('pdb/crash.pdb'));
my $pid = $t->start_symbolicated({
    stores => { default => { root => $t->path('store') } },
    symbolication => { threads => 1, limits => { answer_size => ($answer_size >> 20) . 'm' } },
});

# Peak of its memory in bytes, from now on where the kernel lets us say so.
sub peak {
    my ($text) = $t->read_file("/proc/$pid/status") =~ /^VmHWM:\s+(\d+) kB$/m;
    return $text << 10;
}

sub reset_peak {
    open my $f, '>', "/proc/$pid/clear_refs" or return;
    print $f "5\n";
}

# As many copies of a text as a large body has, with commas.
sub many { my ($text) = @_; return join ',', ($text) x ($size / (1 + length $text)) }
sub copies { my ($n, $text) = @_; return join ',', ($text) x $n }

my $map = qq([["crash.pdb", "$key"]]);
sub job { return qq({"memoryMap": $_[0], "stacks": $_[1]}) }
my $job = job($map, '[[[0, 1]]]');
my $module = qq({"type": "pe", "debug_file": "crash.pdb", "debug_id": "$key",)
    . '"image_addr": "0x1000"';
my $frame = '{"instruction_addr": "0x3913"}';

sub stacks {
    my ($modules, $stacks) = @_;
    return qq({"modules": [$modules], "stacktraces": [$stacks]});
}

# one type of 250 bytes, and references to it
my $decorated = '?f@@YAXV' . 'a' x 250 . '@@' . '0' x 12 . '@Z';

my $long = 'a' x 4096;

# name, body, status: of Mozilla's protocol, and of Symbolicator's
my @mozilla = (
    ['a long string', sub { '{"jobs": [], "x": "' . 'a' x $size . '"}' }, 200],
    ['a long string of escapes',
     sub { '{"jobs": [], "x": "' . '\u0000' x ($size / 6) . '"}' }, 200],
    ['a long string that is no UTF-8 at its end',
     sub { '{"jobs": [], "x": "' . "\xc3\xa9" x ($size / 2) . qq(\xff"}) }, 400],
    ['a long number',
     sub { job($map, '[[[0, ' . '9' x $size . ']]]') }, 400],
    ['values', sub { '{"jobs": [], "x": [' . many('0') . ']}' }, 400],
    ['depth', sub { '[' x $size }, 400],
    ['members that come again',
     sub { '{' . copies(500000, '"jobs": []') . '}' }, 200],
    ['blanks', sub { ' ' x $size . '{"jobs": []}' }, 200],
    ['100,000 jobs', sub { '{"jobs": [' . copies(100000, $job) . ']}' }, 400],
    ['1,000,000 frames in one module',
     sub { job($map, '[[' . copies(1000000, '[0,1]') . ']]') }, 400],
    ['20,000 frames, each with an answer',
     sub { job($map, '[[' . copies(20000, '[0,10515]') . ']]') }, 200],
    ['100,000 stacks', sub { job($map, '[' . copies(100000, '[]') . ']') }, 200],
    ['100,000 modules without frames',
     sub { job('[' . join(',', map { qq(["m$_.pdb","$key"]) } 1 .. 100000)
           . ']', '[[]]') }, 200],
    ['100,000 modules with frames',
     sub { job('[' . join(',', map { qq(["m$_.pdb","$key"]) } 0 .. 99999)
           . ']', '[[' . join(',', map { "[$_,1]" } 0 .. 99999) . ']]') }, 400],
    ['long names that differ in their ends',
     sub { job('[' . join(',', map { '["' . 'a' x 4000 . qq($_","$key"]) }
                              1 .. 4000) . ']', '[[]]') }, 200],
    ['names that are too long for the answer',
     sub { job('[' . join(',', map { '["' . 'a' x 4000 . qq($_","$key"]) }
                              1 .. 9000) . ']', '[[]]') }, 400],
    ['a long name in each frame',
     sub { job(qq([["$long", "$key"]]),
               '[[' . copies(100000, '[0,1]') . ']]') }, 400],
);
my @symbolicator = (
    ['100,000 modules at one address',
     sub { stacks(copies(100000, "$module}"), qq({"frames": [$frame]})) }, 200],
    ['100,000 stacks', sub { stacks('', copies(100000, '{"frames": []}')) }, 200],
    ['100,000 registers, for a signal',
     sub { '{"signal": 11, "stacktraces": [{"frames": [' . copies(1000, $frame)
           . '], "registers": {' . copies(100000, '"eip": "0x1"')
           . "}}], \"modules\": [$module}]}" }, 200],
    ['20,000 frames in one module',
     sub { stacks("$module}", '{"frames": [' . copies(20000, $frame) . ']}') },
     200],
    ['1,000,000 frames in one module',
     sub { stacks("$module}", '{"frames": [' . copies(1000000, $frame) . ']}') },
     400],
    ['a long path in each frame',
     sub { stacks("$module, \"code_file\": \"$long\"}",
                  '{"frames": [' . copies(100000, $frame) . ']}') }, 422],
    ['names that become long',
     sub { stacks('', '{"frames": [' . copies(10000,
           qq({"instruction_addr": 1, "symbol": "$decorated"})) . ']}') }, 422],
    ['unknown members',
     sub { '{' . many('"x": 0') . '}' }, 400],
);

# Texts that hashes by multiples of 33 have in one place.
sub alike {
    my ($n) = @_;
    return sprintf('%020b', $n) =~ s/0/Ez/gr =~ s/1/FY/gr;
}

sub js {
    my ($modules, @paths) = @_;
    return '{"source": {"id": "a", "url": "https://a/", "token": "a"},'
        . qq("modules": [$modules], "stacktraces": [{"frames": [)
        . join(',', map { qq({"abs_path": "$_", "lineno": 1}) } @paths)
        . ']}]}';
}

# name, body, status, seconds
my @js = (
    ['100,000 scripts whose names are alike',
     sub { js('', map { alike($_) } 1 .. 100000) }, 422, 5],
    ['330,000 modules beside 2,000 scripts',
     sub { js(copies(330000, '{"type": "sourcemap", "debug_id": "a",'
                . '"code_file": "' . 'a' x 100 . '_0000"}'),
              map { 'a' x 100 . sprintf '-%04d', $_ } 1 .. 2000) }, 200, 1.5],
);

# What is there beside bodies: the values of a request, what is made of them,
# and an answer, in a buffer that doubles.
my $fixed = 128 << 20;

sub check {
    my ($path, $name, $make, $status, $seconds) = @_;
    my $body = $make->();
    reset_peak();
    my $before = $t->processor_time($pid);
    my $r = $t->post($t->symbolicated_socket, $path, $body,
                     'Content-Type: application/json');
    my ($peak, $spent) = (peak(), $t->processor_time($pid) - $before);
    is $r->{status}, $status, $name or diag substr $r->{body}, 0, 300;
    my $most = 3 * length($body) + $fixed + 2 * $answer_size;
    cmp_ok $peak, '<', $most, "$name: memory";
    note sprintf '%-45s %5.1f MiB, %5.1f MiB of memory, %4.2f s, %.3f us a byte',
        $name, length($body) / (1 << 20), $peak / (1 << 20), $spent,
        1e6 * $spent / length $body;
    cmp_ok $spent, '<', $seconds, "$name: time" if $seconds;
}

check('/symbolicate/v5', @$_) for @mozilla;
check('/symbolicate', @$_) for @symbolicator;
check('/symbolicate-js', @$_) for @js;

# clients that do not read: answers wait for them up to a limit

my $request = stacks("$module}", '{"frames": [' . copies(20000, $frame) . ']}');
my ($status, @idle);
do {
    my $s = Test::Symcache::connect_to($t->symbolicated_socket);
    print $s Test::Symcache::request_text('POST', '/symbolicate',
        'Content-Type: application/json', 'Content-Length: ' . length $request),
        $request;
    $s->flush;
    read $s, my $begin, 12;
    ($status) = $begin =~ m{^HTTP/1.1 (\d+)};
    push @idle, $s;
} while ($status == 200 && @idle < 50);
is $status, 503, @idle - 1 . ' answers wait, and one is too many';
cmp_ok @idle, '>', 2, 'some are not';
@idle = ();
$t->wait_until('an answer when these clients are gone', sub {
    my $r = $t->post($t->symbolicated_socket, '/symbolicate', $request,
                     'Content-Type: application/json');
    return $r->{status} == 200;
});

$t->finish;
done_testing;
