volatile int sink;

static inline int twice(int x) { return 2 * x + sink; }

extern "C" int tiny(int x) {
    sink = x;
    return twice(x + 1);
}
