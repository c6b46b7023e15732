/*
 * Copyright (C) the ngx_symcache authors
 *
 * The way of a request through several helpers.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "symcached/source/via_header.h"

#define A "00000000000000aa"
#define B "00000000000000bb"

static char self[VIA_ID + 1];

static void has_an_id(void **state)
{
    char again[VIA_ID + 1];

    assert_int_equal(strlen(via_self(self, "s")), 16);
    assert_int_equal(strspn(self, "0123456789abcdef"), 16);
    assert_string_equal(via_self(again, "s"), self);
    assert_string_not_equal(via_self(again, "t"), self);
}

static void sees_itself(void **state)
{
    char list[VIA_MAX];

    assert_false(via_loops("", "s"));
    assert_false(via_loops(A ", " B, "s"));
    assert_false(via_loops(A "," B, "s"));
    assert_true(via_loops(via_self(self, "s"), "s"));
    snprintf(list, sizeof(list), A ", %s, " B, via_self(self, "s"));
    assert_true(via_loops(list, "s"));
}

static void takes_nothing_else(void **state)
{
    char list[2 * VIA_MAX] = "";
    size_t len = 0;

    assert_true(via_loops("x", "s"));
    assert_true(via_loops(A "0", "s"));
    assert_true(via_loops("00000000000000AA", "s"));
    assert_true(via_loops(A "; " B, "s"));
    while (!via_loops(list, "s")) {
        assert_in_range(len, 0, VIA_MAX - 1);
        len += (size_t)snprintf(list + len, sizeof(list) - len, "%s%016zx",
                                len > 0 ? ", " : "", len);
    }
    assert_in_range(len, VIA_MAX, VIA_MAX + 18);
}

static void joins(void **state)
{
    char to[VIA_MAX] = "", more[32];
    unsigned i;

    via_join(to, A);
    assert_string_equal(to, A);
    via_join(to, B ", " A);
    assert_string_equal(to, B ", " A);
    via_join(to, "");
    via_join(to, A "," B);
    assert_string_equal(to, A ", " B);
    via_join(to, A);
    assert_string_equal(to, B ", " A);
    via_join(to, A);
    assert_string_equal(to, B ", " A);

    for (i = 0; i < 100; i++) {
        snprintf(more, sizeof(more), "%016x", i);
        via_join(to, more);
        assert_in_range(strlen(to), 16, VIA_MAX - 1);
        assert_string_equal(to + strlen(to) - 16, more);
    }
    assert_null(strstr(to, A));
    via_join(to, via_self(self, "s"));
    assert_true(via_loops(to, "s"));
    assert_in_range(strlen(to), VIA_MAX - 18, VIA_MAX - 1);
}

static void has_all(void **state)
{
    assert_true(via_has_all(A ", " B, B "," A));
    assert_true(via_has_all(A ", " B, B));
    assert_true(via_has_all("", ""));
    assert_false(via_has_all(A, A ", " B));
    assert_false(via_has_all("", A));
    assert_false(via_has_all(A "0", A));
}

/* of ways, the first one goes on: by the ids, with the store's at its end */
static void precedes(void **state)
{
#define LEAST "0000000000000000"
#define LAST "ffffffffffffffff"
    assert_true(via_precedes(LEAST, "", "s"));
    assert_true(via_precedes(A, B, "s"));
    assert_true(via_precedes(A, A ", " B, "s"));
    assert_true(via_precedes(A ", " LEAST, A, "s"));
    assert_true(via_precedes(A "," LEAST, A ", " B, "s"));
    assert_true(via_precedes(A ", " LAST, B, "s"));
    assert_false(via_precedes("", "", "s"));
    assert_false(via_precedes("", A, "s"));
    assert_false(via_precedes(", ", A, "s"));
    assert_false(via_precedes(LAST, "", "s"));
    assert_false(via_precedes(A, A, "s"));
    assert_false(via_precedes(A "," B, A ", " B, "s"));
    assert_false(via_precedes(A ", " LAST, A, "s"));
    assert_false(via_precedes(B, A ", " LAST, "s"));
}

/* what a client can make of a list does not keep the next one from it */
static void fits_the_next(void **state)
{
    char to[VIA_MAX] = "", more[32];
    unsigned i;

    for (i = 0; i < 100; i++) {
        snprintf(more, sizeof(more), "%016x", i);
        via_join(to, more);
    }
    assert_false(via_loops(to, "s"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(has_an_id),
        cmocka_unit_test(sees_itself),
        cmocka_unit_test(takes_nothing_else),
        cmocka_unit_test(joins),
        cmocka_unit_test(has_all),
        cmocka_unit_test(precedes),
        cmocka_unit_test(fits_the_next),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
