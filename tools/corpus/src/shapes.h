/* Names, inline levels and argument types of every kind. */
#define INLINE inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

extern volatile int sink;

namespace outer {
namespace inner {

template <typename T, int N> struct Box {
    T item[N];

    INLINE int level1(int x) {
        sink = x;
        if (x & 1) {
            sink = x + N;
        }
        return level2(x) + 1;
    }

    INLINE int level2(int x) {
        sink = x * 2;
        return level3(x, &sink) + sink;
    }

    INLINE int level3(int x, volatile int *p) {
        *p = x * 3;
        return x + *p;
    }

    NOINLINE int method(int x) const;
    NOINLINE Box &operator+=(const Box &other);
    NOINLINE bool operator<(const Box &other) const;
    NOINLINE int operator()(T &&x) const;
    NOINLINE operator long() const;
    virtual NOINLINE ~Box();
    virtual NOINLINE T *find(const T *const *key, T (&all)[N]) const;
};

}
}
