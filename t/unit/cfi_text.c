/*
 * Copyright (C) the ngx_symcache authors
 *
 * STACK CFI records as text and in a CfiCache: cfi_text.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define CFI_TEXT_CHECK(is_so) assert_true(is_so)

#include "cfi_text.h"

#define ROUNDS 3000

static uint64_t state = 88172645463325252u;

static unsigned random_below(unsigned n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 33) % n;
}

static void test_random(void **unused)
{
    unsigned round, known = 0;

    (void)unused;
    for (round = 0; round < ROUNDS; round++) {
        known += cfi_text_compare();
    }
    assert_true(known > ROUNDS); /* most of them are not nonsense */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests_name("cfi_text", tests, NULL, NULL);
}
