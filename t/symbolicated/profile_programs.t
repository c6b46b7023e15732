#!/usr/bin/env perl

# Profiles of programs in C++ and Rust, without names, get back those that perf
# tells with the debug information at hand: recorded with perf here, of programs
# that GNU ld links and that lld does, in whose files code does not lie where it
# lies in memory; from SymCaches of the program and of its debug file.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../lib";
use File::Path qw(make_path);
use Test::More;
use Test::Symcache;

my $t = Test::Symcache->new;
my $dir = $t->dir;
sub program { (grep { -x } map { "$_/$_[0]" } split /:/, $ENV{PATH})[0] }
my $perf = program('perf');
plan skip_all => 'there is no perf' unless $perf;
plan skip_all => 'perf cannot record here'
    if system("cd $dir && perf record -q -e cpu-clock -o try.data true >/dev/null 2>&1");

$t->write_file('app.cc', <<'EOS');
#include <cstdint>
#include <cstdio>
#include <vector>
namespace work {
static inline __attribute__((always_inline)) uint64_t step(uint64_t i) { return (i * 2654435761u) ^ (i >> 7); }
struct Worker {
    std::vector<uint64_t> v;
    __attribute__((noinline)) uint64_t inner(uint64_t k)
    {
        uint64_t s = 0;
        for (uint64_t i = 0; i < k; i++) s += step(i ^ v[i & 7]);
        return s;
    }
    __attribute__((noinline)) uint64_t outer(uint64_t k) { return inner(k) + 1; }
};
}
int main()
{
    work::Worker w{std::vector<uint64_t>(8, 3)};
    uint64_t n = 0;
    for (int i = 0; i < 1500; i++) n += w.outer((1 << 16) + (n & 1));
    printf("%llu\n", (unsigned long long)n);
}
EOS
$t->write_file('app.rs', <<'EOS');
use std::hint::black_box;
#[inline(always)]
fn step(i: u64) -> u64 { i.wrapping_mul(2654435761) ^ (i >> 7) }
#[inline(never)]
fn inner(k: u64) -> u64 { let mut s = 0u64; for i in 0..black_box(k) { s = s.wrapping_add(step(black_box(i))); } s }
struct Worker<T> { k: T }
impl Worker<u64> {
    #[inline(never)]
    fn run(&self) -> u64 { let f = |x| inner(x) + 1; black_box(f(self.k)) }
}
fn main() {
    let w = Worker { k: 1 << 16 };
    let mut n = 0u64;
    for _ in 0..1500 { n = n.wrapping_add(w.run()); }
    println!("{}", n);
}
EOS

# lld, or that of Rust, as an option of gcc; or undef
sub lld {
    return '-fuse-ld=lld' if program('ld.lld');
    my $root = program('rustc') ? qx{rustc --print sysroot 2>/dev/null} : '';
    chomp $root;
    my ($folder) = glob "$root/lib/rustlib/*/bin/gcc-ld";
    return $folder && -x "$folder/ld.lld" ? "-fuse-ld=lld -B$folder" : undef;
}
my $lld = lld();
my %build = (
    'C++ of GNU ld' => program('g++')
        && 'g++ -g -O2 -fno-omit-frame-pointer -Wl,--build-id -o app app.cc',
    'C++ of lld' => program('g++') && $lld
        && "g++ -g -O2 -fno-omit-frame-pointer -Wl,--build-id $lld -o app app.cc",
    'Rust' => program('rustc')
        && 'rustc -g -O -C force-frame-pointers=yes -C link-arg=-Wl,--build-id -o app app.rs',
    'Rust of lld' => program('rustc') && $lld
        && 'rustc -g -O -C force-frame-pointers=yes -C link-arg=-Wl,--build-id '
            . join(' ', map { "-C link-arg=$_" } split / /, $lld) . ' -o app app.rs',
);

# perf leaves out the parameters of C++, and inlined functions are only in what
# comes back.
sub as_perf {
    my ($text) = @_;
    $text =~ s/^[^\n]*\(inlined\)\n//mg;
    $text =~ s/^(\s+[0-9a-f]+ [\w:<>]+)\([^()]*\)( \()/$1$2/mg;
    return $text;
}

for my $name (sort keys %build) {
    SKIP: {
        skip "$name: a program is missing", 3 unless $build{$name};
        system("cd $dir && $build{$name} 2>build.err") == 0
            or skip "$name: it cannot be built", 3;
        my ($id) = qx{readelf -n $dir/app} =~ /Build ID: (\w+)/ or die;
        (my $debug = uc substr $id, 0, 32) =~
            s/^(..)(..)(..)(..)(..)(..)(..)(..)/$4$3$2$1$6$5$8$7/;
        system("cd $dir && perf record -q -e cpu-clock --buildid-mmap -g -o p.data"
            . ' ./app >/dev/null 2>&1 && objcopy --only-keep-debug app app.debug') == 0
            or skip "$name: perf does not record", 3;
        my $full = qx{cd $dir && perf script -i p.data --show-mmap-events --no-inline -F comm,pid,tid,time,event,ip,sym,dso 2>/dev/null};
        (my $stripped = $full) =~ s/^(\s+[0-9a-f]+) \S.* (\(\Q$dir\E\/app\))$/$1 [unknown] $2/mg;
        cmp_ok scalar(() = $stripped =~ /\[unknown\] \(\Q$dir\E\/app\)/g), '>', 20,
            "$name: a profile without names";
        my $store = "$dir/store/_/${debug}0";
        make_path($store);
        my $convert = $t->program('symcachectl')
            . " convert -o $store/_-v9.0.0.symcache $dir";
        system("$convert/app.debug") == 0 or die;
        $t->start_symbolicated(
            { stores => { default => { root => $t->path('store') } } });
        my $r = $t->post($t->symbolicated_socket, '/profile', $stripped);
        is as_perf($r->{body}), $full,
            '... has those of perf, through the server, of the debug file';
        $t->stop_symbolicated;
        system("$convert/app") == 0 or die;
        $t->write_file('stripped.txt', $stripped);
        is as_perf(scalar qx{'@{[$t->program('symcachectl')]}' symbolicate --root $dir/store $dir/stripped.txt}),
            $full, '... and of the program, by symcachectl';
    }
}
$t->finish;
done_testing;
