#include "shapes.h"

#ifndef NUMBER
#define NUMBER 0
#endif

#define PASTE(a, b) a##b
#define NAME(a, b) PASTE(a, b)

extern "C" __declspec(dllexport) NOINLINE int NAME(second, NUMBER)(int x)
{
    struct { int a; INLINE int in(int y) { sink = y; return y + a; } } s;
    s.a = NUMBER;
    sink = s.in(x);
    return sink + s.in(x + NUMBER);
}
