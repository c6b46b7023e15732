package Test::Programs;

# Programs in C++ and Rust that take a while, to be profiled: functions in a
# namespace, inlined ones, generic ones and closures, linked by GNU ld and by
# lld, in whose files code does not lie where it lies in memory.
#
#   my %build = Test::Programs::builds($t);   # name => command, or false
#
# Each command makes the program "app", with its debug information, in the folder
# of $t, of sources that are written there.  One whose compiler or linker is
# missing is false.

use strict;
use warnings;

use Exporter qw(import);

our @EXPORT_OK = qw(program);

# The path of a program, or undef.
sub program { (grep { -x } map { "$_/$_[0]" } split /:/, $ENV{PATH})[0] }

# lld, or that of Rust, as an option of gcc; or undef
sub lld {
    return '-fuse-ld=lld' if program('ld.lld');
    my $root = program('rustc') ? qx{rustc --print sysroot 2>/dev/null} : '';
    chomp $root;
    my ($folder) = glob "$root/lib/rustlib/*/bin/gcc-ld";
    return $folder && -x "$folder/ld.lld" ? "-fuse-ld=lld -B$folder" : undef;
}

sub builds {
    my ($t) = @_;
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
    my $lld = lld();
    return (
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
}

1;
