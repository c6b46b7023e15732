#!/usr/bin/env perl

# Names of linkers become readable in both protocols, once a function; names
# that crash or never end harm nobody.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Copy qw(copy);
use File::Path qw(make_path);
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $json = JSON::PP->new->canonical;
my $id = '00112233445566778899AABBCCDDEEFF0';

# each level has the one before it twice: 2^40 characters
my $endless = '_Z1fPi' . join '', map {
    my $n = 2 * $_ - 1;
    my $s = $_ == 0 ? 'S_' : 'S' . join('', (0 .. 9, 'A' .. 'Z')[
        $n >= 36 ? (int($n / 36), $n % 36) : $n]) . '_';
    "PFv$s${s}E"
} 0 .. 39;

# the same, each level in the one after it, as a pack whose elements are looked
# for in all of them: nothing is written meanwhile
my $silent = 'Pi';
$silent = "PFv$silent" . ($_ == 0 ? 'S_' : 'S' . join('', (0 .. 9, 'A' .. 'Z')[
    2 * $_ - 1 >= 36 ? (int((2 * $_ - 1) / 36), (2 * $_ - 1) % 36) : 2 * $_ - 1]) . '_')
    . 'E' for 0 .. 39;
$silent = "_Z1fDp$silent";

# stored name, readable name: symbolic-demangle 12.17.2
my @names = (
    ['plain', 'plain'],
    ['_ZNK2ns3BoxIiE4slowEi', 'ns::Box<int>::slow(int) const'],
    ['_Z3maxIdET_S0_S0_', 'max<double>(double, double)'],
    ['_ZN4core3fmt9Formatter3pad17h0123456789abcdefE',
     'core::fmt::Formatter::pad'],
    ['_RNvC6_123foo3bar', '123foo::bar'],
    ['$s4main3fooyyF', 'foo()'],
    [$endless, $endless],
    [$silent, $silent],
    ['_Z' . 'N' x 8000, '_Z' . 'N' x 8000],
    ['_Z1f' . 'P' x 9000 . 'v', '_Z1f' . 'P' x 9000 . 'v'],    # too long
    ['_ZL5afteri', 'after(int)'],
);

my $sym = $t->path('names.sym');
open my $f, '>', $sym or die "$sym: $!";
print $f "MODULE Linux x86_64 $id names\n";
printf $f "FUNC %x 10 0 %s\n", 0x1000 + 16 * $_, $names[$_][0]
    for 0 .. $#names;
close $f;
$t->fill_store('store', $sym);
$t->start_symbolicated(
    { stores => { default => { root => $t->path('store') } } });


# The functions at all addresses.

sub mozilla {
    my $r = $t->post($t->symbolicated_socket, '/symbolicate/v5', $json->encode({
        memoryMap => [['names.sym', $id]],
        stacks => [[map { [0, 0x1000 + 16 * $_] } 0 .. $#names]] }));
    return [map { $_->{function} }
            @{ $json->decode($r->{body})->{results}[0]{stacks}[0] }];
}


# Pairs of symbol and function.

sub symbolicator {
    my $r = $t->post($t->symbolicated_socket, '/symbolicate', $json->encode({
        stacktraces => [{ frames => [map {
            { instruction_addr => sprintf '0x%x', 0x101008 + 16 * $_ }
        } 0 .. $#names] }],
        modules => [{ type => 'elf', debug_file => 'names.sym',
            debug_id => '00112233-4455-6677-8899-aabbccddeeff',
            image_addr => '0x100000' }] }), 'Content-Type: application/json');
    return [map { [@$_{qw(symbol function)}] }
            @{ $json->decode($r->{body})->{stacktraces}[0]{frames} }];
}


# The worker is one of the children of the spawner, which is symbolicated's.

sub children {
    my ($parent) = @_;
    open my $c, '<', "/proc/$parent/task/$parent/children" or return;
    return split ' ', <$c> // '';
}

my @readable = map { $_->[1] } @names;

is_deeply mozilla(), \@readable, 'v5';
is_deeply symbolicator(), \@names, 'Symbolicator';
# where names are read in the process that has the profile
my $perf = "33221100554477668899aabbccddeeff /lib/names\n\n"
    . join '', map { sprintf "\t%x NAME (%s)\n", 0x1000 + 16 * $_, "/lib/names" } 0 .. $#names;
$perf =~ s/NAME/[unknown]/g;
make_path($t->path("store/_/$id"));
copy($t->path("store/names.sym/$id/names.sym-v9.0.0.symcache"),
     $t->path("store/_/$id/_-v9.0.0.symcache")) or die;
is_deeply named($t->post($t->symbolicated_socket, '/profile', $perf)->{body}),
    \@readable, 'a profile';
$t->write_file('perf.txt', $perf);
is_deeply named(scalar qx{@{[$t->program('symcachectl')]} symbolicate --root '@{[$t->path('store')]}' '@{[$t->path('perf.txt')]}'}),
    \@readable, '... and on the terminal';
sub named { [$_[0] =~ /^\t[0-9a-f]+ (.*) \(/mg] }

my ($spawner) = children($t->{symbolicated});
SKIP: {
    skip 'this kernel does not list children', 10 unless $spawner;

    kill 'KILL', children($spawner) or die 'no worker';
    is_deeply mozilla(), \@readable, 'what was asked is remembered';

    # names that nobody has asked for: given ones
    my $given = sub {
        my ($name) = @_;
        my $r = $t->post($t->symbolicated_socket, '/symbolicate',
            $json->encode({ modules => [], stacktraces => [{ frames => [
                { instruction_addr => '0x1', function => $name }] }] }),
            'Content-Type: application/json');
        return $json->decode($r->{body})
            ->{stacktraces}[0]{frames}[0]{function};
    };
    is $given->('_Z1ai'), 'a(int)', 'a worker that died is replaced';
    is $given->('_Z1bi'), 'b(int)', 'which stays';
    kill 'KILL', children($spawner) or die 'no worker';
    is $given->('_Z1ci'), 'c(int)', 'also one that had been asked';

    # on a machine that has no time for it, as on one that was suspended
    my @stopped = children($spawner);
    kill 'STOP', @stopped;
    is $given->('_Z1di'), '_Z1di', 'one that does not run: a name stays as it is';
    kill 'CONT', @stopped;
    is $given->('_Z1di'), 'd(int)', 'which is not remembered of the name';
    like $t->symbolicated_log,
        qr/\[warn\].* a worker that makes names readable was killed: it hardly ran for two seconds: it had the name "_Z1di" \(5 bytes\), which stays as it is$/m,
        'the log says so';

    # each of these has a worker ended
    my @lost = map { $silent =~ s/^_Z1f/_Z2e$_/r } 'a' .. 't';
    my $many = sub {
        my $r = $t->post($t->symbolicated_socket, '/symbolicate', $json->encode({
            modules => [], stacktraces => [{ frames => [
                map { { instruction_addr => '0x1', function => $_ } } @_] }] }),
            'Content-Type: application/json');
        return [map { $_->{function} } @{ $json->decode($r->{body})
            ->{stacktraces}[0]{frames} }];
    };
    is_deeply $many->(@lost, '_Z1ei'), [@lost, '_Z1ei'],
        'twenty names that never end: all that follow stay as they are';
    like $t->symbolicated_log, qr/ a worker that makes names readable was killed: it took too long: it had the name "_Z2ea/,
        'the log has the name';
    is $given->('_Z1ei'), 'e(int)', 'but not those of the next call';
    is_deeply $many->('_Z1gi', @lost[0 .. 6], '_Z1hi'), ['g(int)', @lost[0 .. 6], 'h(int)'],
        'seven of them, which are remembered: the others are readable';
}

$t->finish;
done_testing;
