/* A handler of a signal that crashes, for arm64 Linux without a library. */
#define CALL(number, a, b, c, d)                                              \
    ({                                                                        \
        register long x8 __asm__("x8") = (number);                            \
        register long x0 __asm__("x0") = (long)(a);                           \
        register long x1 __asm__("x1") = (long)(b);                           \
        register long x2 __asm__("x2") = (long)(c);                           \
        register long x3 __asm__("x3") = (long)(d);                           \
        __asm__ volatile("svc #0"                                             \
                         : "+r"(x0)                                           \
                         : "r"(x8), "r"(x1), "r"(x2), "r"(x3)                 \
                         : "memory");                                         \
        x0;                                                                   \
    })
#define NOINLINE __attribute__((noinline))

struct action {
    void (*handler)(int number);
    unsigned long flags;
    void (*restorer)(void);
    unsigned long mask;
};

volatile int *volatile nowhere;
volatile int sum;

NOINLINE void report(int number)
{
    volatile char text[64];
    int i;

    for (i = 0; i < 64; i++) {
        text[i] = (char)number;
    }
    *(volatile int *)8 = number + text[3];
}

NOINLINE void handler(int number)
{
    report(number);
    sum++;
}

NOINLINE int leaf(int n)
{
    return *nowhere + n;
}

NOINLINE int middle(int n)
{
    int value = leaf(n + 1) + 3;

    sum += value;
    return value;
}

NOINLINE int outer(int n)
{
    volatile int values[20];

    values[n] = n;
    return middle(n) * 2 + values[n];
}

void _start(void)
{
    struct action action = {handler, 0, 0, 0};

    CALL(134, 11, &action, 0, 8); /* rt_sigaction(SIGSEGV) */
    outer(1);
    for (;;) {
    }
}
