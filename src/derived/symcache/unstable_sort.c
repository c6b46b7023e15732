/*
 * Copyright (C) the ngx_symcache authors
 *
 * A quicksort of which every step matters, because it decides the order of
 * equal keys: which element becomes the pivot, and where partitioning leaves
 * the others.  Short pieces are sorted stably.
 */

#include "unstable_sort.h"

#include <stdbool.h>

#define ALWAYS_INSERTION 20
#define SMALL 32
#define MEDIAN_OF_MEDIANS 64

static void insertion(struct symc_sort_item *v, size_t n)
{
    size_t i, j;
    struct symc_sort_item t;

    for (i = 1; i < n; i++) {
        t = v[i];
        for (j = i; j > 0 && t.key < v[j - 1].key; j--) {
            v[j] = v[j - 1];
        }
        v[j] = t;
    }
}

static void swap(struct symc_sort_item *a, struct symc_sort_item *b)
{
    struct symc_sort_item t;

    t = *a;
    *a = *b;
    *b = t;
}

static size_t median3(const struct symc_sort_item *v, size_t a, size_t b,
                      size_t c)
{
    int ab, ac, bc;

    ab = v[a].key < v[b].key;
    ac = v[a].key < v[c].key;
    if (ab != ac) {
        return a;
    }
    bc = v[b].key < v[c].key;
    return bc != ab ? c : b;
}

static size_t pseudo_median(const struct symc_sort_item *v, size_t a, size_t b,
                            size_t c, size_t n)
{
    size_t m;

    if (n * 8 >= MEDIAN_OF_MEDIANS) {
        m = n / 8;
        a = pseudo_median(v, a, a + m * 4, a + m * 7, m);
        b = pseudo_median(v, b, b + m * 4, b + m * 7, m);
        c = pseudo_median(v, c, c + m * 4, c + m * 7, m);
    }
    return median3(v, a, b, c);
}

static size_t choose_pivot(const struct symc_sort_item *v, size_t n)
{
    size_t m;

    m = n / 8;
    return n < MEDIAN_OF_MEDIANS ? median3(v, 0, m * 4, m * 7)
                                 : pseudo_median(v, 0, m * 4, m * 7, m);
}

/*
 * Moves the pivot to its final place, and the elements below it (or equal to
 * it, if with_equal) before it.  Elements are not swapped in pairs: one is
 * taken out, and the hole that it leaves moves along with each step.
 */
static size_t partition(struct symc_sort_item *v, size_t n, size_t pivot,
                        int with_equal)
{
    size_t i, hole, below;
    uint64_t key;
    struct symc_sort_item first, *rest;

    swap(&v[0], &v[pivot]);
    key = v[0].key;
    rest = v + 1;
    n--;
    if (n == 0) {
        return 0;
    }
    first = rest[0];
    hole = below = 0;
    for (i = 1; i < n; i++) {
        rest[hole] = rest[below];
        rest[below] = rest[i];
        hole = i;
        below += with_equal ? rest[below].key <= key : rest[below].key < key;
    }
    rest[hole] = rest[below];
    rest[below] = first;
    below += with_equal ? first.key <= key : first.key < key;
    swap(&v[0], &v[below]);
    return below;
}

static void sift_down(struct symc_sort_item *v, size_t n, size_t node)
{
    size_t child;

    for (child = 2 * node + 1; child < n; child = 2 * node + 1) {
        if (child + 1 < n && v[child].key < v[child + 1].key) {
            child++;
        }
        if (v[node].key >= v[child].key) {
            return;
        }
        swap(&v[node], &v[child]);
        node = child;
    }
}

static void heapsort(struct symc_sort_item *v, size_t n)
{
    size_t i;

    for (i = n + n / 2; i-- > 0;) {
        if (i >= n) {
            sift_down(v, n, i - n);
        } else {
            swap(&v[0], &v[i]);
            sift_down(v, i, 0);
        }
    }
}

static void quicksort(struct symc_sort_item *v, size_t n,
                      const struct symc_sort_item *before, unsigned limit)
{
    size_t pivot, below;

    while (n > SMALL) {
        if (limit-- == 0) {
            heapsort(v, n);
            return;
        }
        pivot = choose_pivot(v, n);
        if (before != NULL && before->key >= v[pivot].key) {
            /* no element is below the pivot: those equal to it come first */
            below = partition(v, n, pivot, 1);
            before = NULL;
        } else {
            below = partition(v, n, pivot, 0);
            quicksort(v, below, before, limit);
            before = &v[below];
        }
        v += below + 1;
        n -= below + 1;
    }
    insertion(v, n);
}

/* Are all elements in ascending order already?  If they are in strictly
 * descending order, reverses them. */
static bool is_run(struct symc_sort_item *v, size_t n)
{
    size_t i;

    if (v[1].key >= v[0].key) {
        for (i = 2; i < n && v[i].key >= v[i - 1].key; i++) {
        }
        return i == n;
    }
    for (i = 2; i < n && v[i].key < v[i - 1].key; i++) {
    }
    if (i < n) {
        return false;
    }
    for (i = 0; i < n / 2; i++) {
        swap(&v[i], &v[n - 1 - i]);
    }
    return true;
}

void symc_sort_unstable(struct symc_sort_item *v, size_t n)
{
    unsigned log;
    size_t m;

    if (n <= ALWAYS_INSERTION) {
        insertion(v, n);
        return;
    }
    if (is_run(v, n)) {
        return;
    }
    for (log = 0, m = n; m > 1; m /= 2) {
        log++;
    }
    quicksort(v, n, NULL, 2 * log);
}
