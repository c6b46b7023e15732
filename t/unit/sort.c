/*
 * Copyright (C) the ngx_symcache authors
 *
 * The sorts of src/base/sort.h, of every length up to beyond those at which
 * they change their way, beside qsort().
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/sort.h"

#define MOST 300

static int by_key(const void *left, const void *right)
{
    uint64_t a, b;

    memcpy(&a, left, sizeof(a));
    memcpy(&b, right, sizeof(b));
    return a < b ? -1 : a > b;
}

/* Orders in which keys come: all equal, ascending, descending, and mixed. */
static uint64_t key_of(unsigned order, uint64_t i)
{
    switch (order) {
    case 0:
        return 7;
    case 1:
        return i << 32;
    case 2:
        return (MOST - i) << 32 | i;
    default:
        return (i * 0x9E3779B97F4A7C15u) >> (order == 3 ? 0 : 56);
    }
}

static void check(size_t n, unsigned order)
{
    size_t i;
    /* blocks of their own, so that a tool sees what is beyond their ends */
    uint64_t *expected = malloc((n + 1) * sizeof(*expected));
    uint64_t *keys = malloc((n + 1) * sizeof(*keys));
    uint64_t *tight = malloc((n + 1) * sizeof(*tight));
    uint64_t *tmp = malloc((n + 1) / 2 * sizeof(*tmp));
    uint64_t *whole = malloc((n + 1) * sizeof(*whole));
    uint32_t *words = malloc((n + 1) * sizeof(*words));

    for (i = 0; i < n; i++) {
        expected[i] = keys[i] = tight[i] = key_of(order, i);
        words[i] = (uint32_t)(keys[i] >> 32);
    }
    qsort(expected, n, sizeof(*expected), by_key);
    sort_keys(keys, whole, n);
    sort_tightly(tight, tmp, n);
    sort_words(words, (uint32_t *)(void *)whole, n);
    for (i = 0; i < n; i++) {
        assert_true(keys[i] == expected[i]);
        assert_true(tight[i] == expected[i]);
        assert_true(words[i] == (uint32_t)(expected[i] >> 32));
    }
    free(expected);
    free(keys);
    free(tight);
    free(tmp);
    free(whole);
    free(words);
}

static void test_all_lengths(void **state)
{
    size_t n;
    unsigned order;

    (void)state;
    for (n = 0; n <= MOST; n++) {
        for (order = 0; order < 5; order++) {
            check(n, order);
        }
    }
}

/* Enough keys for wide digits. */
static void test_many(void **state)
{
    size_t n;
    unsigned order;

    (void)state;
    for (n = 2046; n <= 5000; n += n < 2050 ? 1 : 590) {
        for (order = 0; order < 5; order++) {
            check(n, order);
        }
    }
}

static void test_distinct(void **state)
{
    uint64_t keys[] = {(uint64_t)1 << 32 | 4, (uint64_t)2 << 32 | 0,
                       (uint64_t)2 << 32 | 3, (uint64_t)2 << 32 | 5,
                       (uint64_t)3 << 32 | 0};

    (void)state;
    assert_int_equal(sort_distinct(keys, 0), 0);
    assert_int_equal(sort_distinct(keys, 5), 3);
    assert_true(keys[0] == ((uint64_t)1 << 32 | 4));
    assert_true(keys[1] == (uint64_t)2 << 32);
    assert_true(keys[2] == (uint64_t)3 << 32);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_lengths),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_distinct),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
