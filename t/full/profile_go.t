#!/usr/bin/perl

# A CPU profile that a Go program has made of itself, stripped of names: through
# the server, of the program that was uploaded, it has the names that Go's
# runtime had put into it, inlined functions included; and those that go tool
# pprof tells of the same stripped profile, which knows the outermost function and
# the line.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use Compress::Zlib qw(memGunzip memGzip);
use Test::More;
use Test::Symcache;
use Test::Uploads;
use Test::Wire qw(field fields number);

my ($go) = grep { -x } map { "$_/go" } split(/:/, $ENV{PATH}), '/usr/local/go/bin';
plan skip_all => 'there is no go' unless $go;

my $u = Test::Uploads->new(inputs => ['elf']);
my $t = $u->t;
my $dir = $t->dir;
mkdir "$dir/go" or die;
$t->write_file('go/go.mod', "module app\ngo 1.21\n");
$t->write_file('go/main.go', <<'GO');
package main

import (
	"os"
	"runtime/pprof"
	"time"
)

var n uint64

func step(i uint64) uint64 { return i*2654435761 ^ i>>7 }

//go:noinline
func inner(k uint64) uint64 {
	var s uint64
	for i := uint64(0); i < k; i++ {
		s += step(i)
	}
	return s
}

//go:noinline
func mix[T uint32 | uint64](k T) T {
	var s T
	for i := T(0); i < k; i++ {
		s += i*31 ^ s>>3
	}
	return s
}

type worker struct{ k uint64 }

//go:noinline
func (w *worker) run() {
	func() { n += inner(w.k) + mix(w.k) + uint64(mix(uint32(w.k))) }()
}

func main() {
	f, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	pprof.StartCPUProfile(f)
	w := &worker{1 << 16}
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		w.run()
	}
	pprof.StopCPUProfile()
	f.Close()
}
GO
$ENV{HOME} //= $dir;
system("cd $dir/go && GOTOOLCHAIN=local GOFLAGS=-mod=mod '$go' build -o app . && ./app cpu.pprof") == 0
    or plan skip_all => 'go does not build';

# The functions of each location, by its address: "NAME FILE:LINE", the
# innermost first.
sub named {
    my @f = fields($_[0]);
    my @text = map { $_->[1] } grep { $_->[0] == 6 } @f;
    my %function;
    for (grep { $_->[0] == 5 } @f) {
        my %v = map { @$_ } fields($_->[1]);
        $function{ $v{1} } = "$text[$v{2}] $text[$v{4} // 0]";
    }
    my %named;
    for (grep { $_->[0] == 4 } @f) {
        my ($address, @lines);
        for (fields($_->[1])) {
            $address = $_->[1] if $_->[0] == 3;
            next unless $_->[0] == 4;
            my %v = map { @$_ } fields($_->[1]);
            push @lines, "$function{ $v{1} }:$v{2}";
        }
        $named{$address} = join '; ', @lines;
    }
    return \%named;
}
# Without functions, and without what says that there are some.
sub strip {
    my $out = '';
    for (fields($_[0])) {
        my ($n, $v) = @$_;
        next if $n == 5;
        $v = join '', map { number(@$_) } grep { $_->[0] < ($n == 4 ? 4 : 7) } fields($v)
            if $n == 3 || $n == 4;
        $out .= $n <= 4 || $n == 6 || $n == 11 ? field($n, $v) : number($n, $v);
    }
    return $out;
}

my $profile = memGunzip($t->read_file('go/cpu.pprof'));
my $stripped = strip($profile);
my $wanted = named($profile);
is_deeply [grep { $_ } values %{ named($stripped) }], [], 'a profile without names';
like join("\n", values %$wanted), qr/main\.step .*; main\.inner /,
    '... which Go\'s runtime had given it, inlined functions too';

my ($id) = qx{readelf -n $dir/go/app} =~ /Build ID: (\w+)/ or die;
is $u->put("app/elf-buildid-$id/app", $t->read_file('go/app'))->{status}, 201,
    'the program is uploaded';
$t->start_symbolicated($u->config);
my $got;
$t->wait_until('names', sub {
    my $r = $t->post($t->symbolicated_socket, '/profile', memGzip($stripped));
    $got = named(memGunzip($r->{body}) // '');
    grep { $_ } values %$got;
});
is_deeply $got, $wanted, 'the names are those of Go\'s runtime';

$t->write_file('stripped.pprof', $stripped);
my $raw = qx{'$go' tool pprof -raw -symbolize=force '$dir/go/app' '$dir/stripped.pprof' 2>/dev/null};
my (@tool, @ours);
while ($raw =~ /^\s+\d+: 0x(\w+) M=1 (\S+) (\S+:\d+):/mg) {
    my ($address, $function, $line) = (hex $1, $2, $3);
    push @tool, "$function $line";
    my @frames = split /; /, $got->{$address} // '';
    # the tool has one function a location: the outermost, at the innermost line
    push @ours, ($frames[-1] // '') =~ s/ .*//r . ' ' . ($frames[0] // '') =~ s/^\S+ //r;
}
cmp_ok scalar @tool, '>', 3, 'go tool pprof knows names';
is_deeply \@ours, \@tool, '... which are the same';

# --- the same profile as a request to export it by OTLP, without names, as the
# types that the OpenTelemetry project generates write and read it

SKIP: {
    mkdir "$dir/otlp" or die;
    $t->write_file('otlp/main.go', $t->read_file($t->data('profile/export.go')));
    $t->write_file('otlp/go.mod', <<'MOD');
module otlp

go 1.24

require (
	github.com/google/pprof v0.0.0-20261105003125-4bf881d7fb0b
	go.opentelemetry.io/proto/slim/otlp v1.11.0
	go.opentelemetry.io/proto/slim/otlp/collector/profiles/v1development v0.4.0
	go.opentelemetry.io/proto/slim/otlp/profiles/v1development v0.4.0
	google.golang.org/protobuf v1.36.11
)
MOD
    my $said = qx{cd $dir/otlp && GOTOOLCHAIN=local GOFLAGS=-mod=mod '$go' build -o otlp . 2>&1};
    skip 'the modules of OpenTelemetry cannot be had: ' . ($said =~ /(.*)/)[0], 4 if $?;
    my $request = qx{$dir/otlp/otlp export $dir/go/cpu.pprof};
    my $run = sub { split /\n/, scalar qx{$dir/otlp/otlp $_[0] '$dir/$_[1]'} };
    $t->write_file('request', $request);
    my @bare = $run->('read', 'request');
    is scalar(grep { /;/ } @bare), 0, 'a request to export it has no names';
    my $r = $t->post($t->symbolicated_socket, '/profile', $request,
                     'Content-Type: application/x-protobuf');
    is $r->{status}, 200, '... is taken' or diag $r->{raw};
    $t->write_file('named', $r->{body});
    my @named = $run->('read', 'named');
    is pop @named, pop @bare, '... with all samples';
    is_deeply \@named, [$run->('names', 'go/cpu.pprof')],
        '... and comes back with the names of Go\'s runtime';
}
$t->finish;
done_testing;
