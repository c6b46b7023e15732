__attribute__((noinline)) static int inner(int x, volatile int *p) {
    if (x > 3)
        __builtin_trap();
    *p = x;
    return x + 1;
}

static inline int middle(int x, volatile int *p) {
    int y = inner(x, p);
    return y * 2;
}

__attribute__((noinline)) static int outer(int x) {
    volatile int place = 0;
    int z = middle(x + 1, &place);
    return z + place;
}

extern void js_throw(int);

__attribute__((export_name("run"))) int run(int x) {
    return outer(x) + 1;
}

__attribute__((export_name("call"))) int call(int x) {
    js_throw(x);
    return outer(x);
}
