/*
 * Copyright (C) the ngx_symcache authors
 *
 * src/proto/vector: numbers in hex digits, as the C library writes them.
 */
#include <setjmp.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "proto/vector.h"

static void check(uint64_t n)
{
    char buf[40], expected[17];
    char *end = buf + 32, *p;

    memset(buf, '#', sizeof(buf));
    p = symcache_vector_number_print(end, n);
    snprintf(expected, sizeof(expected), "%" PRIx64, n);
    assert_int_equal(end - p, strlen(expected));
    assert_memory_equal(p, expected, strlen(expected));
    assert_int_equal(buf[32], '#');
    assert_int_equal(buf[15], '#');
}

static void prints_numbers(void **state)
{
    unsigned shift;

    check(0);
    check(0x0123456789abcdef);
    check(0xfedcba9876543210);
    for (shift = 0; shift < 64; shift++) {
        check((uint64_t)1 << shift);
        check(((uint64_t)1 << shift) - 1);
        check(~(uint64_t)0 << shift);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_numbers),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
