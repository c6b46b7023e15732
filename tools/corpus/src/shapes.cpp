#include "shapes.h"

typedef int (*callback)(const char *, ...);
enum class Colour : short { Red, Green };
union Pair { int i; float f; };
class Late;
struct Shown { int f(int) const; int m; };

extern "C" int _fltused = 0;
volatile int sink;

void operator delete(void *, unsigned long long) { sink = 9; }
void operator delete(void *, unsigned int) { sink = 9; }
void operator delete(void *) noexcept { sink = 9; }

namespace outer {
namespace inner {

template <typename T, int N> int Box<T, N>::method(int x) const {
    Box copy;
    return copy.level1(x);
}

template <typename T, int N>
Box<T, N> &Box<T, N>::operator+=(const Box &other) {
    for (int i = 0; i < N; i++)
        sink = (int) other.item[i];
    return *this;
}

template <typename T, int N>
bool Box<T, N>::operator<(const Box &other) const {
    return sink < (int) other.item[0];
}

template <typename T, int N> int Box<T, N>::operator()(T &&x) const {
    sink = (int) x;
    return sink;
}

template <typename T, int N> Box<T, N>::operator long() const {
    return (long) item[0] + sink;
}

template <typename T, int N> Box<T, N>::~Box() { sink = N; }

template <typename T, int N>
T *Box<T, N>::find(const T *const *key, T (&all)[N]) const {
    sink = (int) **key;
    return &all[sink];
}

template struct Box<int, 4>;
template struct Box<unsigned char, 7>;
template struct Box<float, 2>;

}
}

namespace {

struct Hidden {
    int a;
    INLINE int in(int x) { sink = x; return x + a; }
    NOINLINE int out(int x) volatile { sink = x; return sink; }
    static NOINLINE int st(Hidden *const self, Hidden &r) {
        return self->in(r.a) + sink;
    }
};

INLINE int anonymous_inline(int x) {
    auto l = [x](int y) __attribute__((always_inline)) {
        sink = y;
        return y * x;
    };
    return l(x + 1) + l(x + 2);
}

NOINLINE int anonymous_out(int x) { return anonymous_inline(x) + sink; }

}

#define FUNCTION extern "C" __declspec(dllexport) NOINLINE

#define CXX __declspec(dllexport) NOINLINE

CXX int plain(signed char a, unsigned char b, char c, short d,
              unsigned short e, long f, unsigned long g, long long h,
              unsigned long long i, bool j, wchar_t k, char16_t l, char32_t m,
              float n, double o, long double p)
{
    return sink + a + b + c + d + e + f + g + h + i + j + k + l + m
           + (int) n + (int) o + (int) p;
}

CXX int pointers(const char *a, char *const b, const char *const *c,
                 volatile int *d, void *e, const void *f, int &g,
                 const int &h, int &&i, callback j, void (**k)(int, Late *),
                 int (Shown::*l)(int) const, int Shown::*m, int (*n)[3][5],
                 Colour o, Pair p, Late *q, int r[8],
                 decltype(nullptr) s)
{
    sink = *a + *b + **c;
    return sink + g + h + i + (int) o + p.i + (*n)[1][2] + r[3];
}

CXX int variadic(const char *fmt, ...) { return sink + *fmt; }
CXX void nothing() { sink = 1; }
CXX void nothing_too() { sink = 1; }
CXX outer::inner::Box<const Pair *, 3> *make(outer::inner::Box<Late *, 2> &)
{
    return 0;
}

#line 1000 "generated\\by\\a tool.y"
FUNCTION int from_generated(int x)
{
    sink = x;
#line 5 "generated\\other.l"
    sink = x + 1;
#line 0 "generated\\other.l"
    sink = x + 2;
#line 16707566
    sink = x + 3;
#line 100 "shapes.cpp"
    return x;
}

__attribute__((nodebug)) CXX int no_debug(int x) { return sink + x; }

#if __x86_64__ || __i386__
__attribute__((naked)) CXX void naked() { __asm__("nop\nnop\nret"); }
#endif

FUNCTION int entry(int x)
{
    outer::inner::Box<int, 4> a, b;
    Hidden h = { x }, k = { 2 };
    auto lambda = [&](auto y) { sink = y; return y + x; };
    auto noinl = [&](int y) NOINLINE { sink = y; return anonymous_inline(y); };
    a += b;
    sink = a < b;
    sink = a(3) + (long) a;
    sink = lambda(4) + lambda(5u) + noinl(6);
    sink = h.in(1) + h.out(2) + Hidden::st(&h, k);
    sink = anonymous_out(x) + anonymous_inline(x);
    struct Local {
        NOINLINE static int f(int v) { sink = v; return v; }
        INLINE int g(int v) { sink = v; return f(v) + v; }
    } local;
    return a.method(x) + local.g(x) + a.level1(x);
}
