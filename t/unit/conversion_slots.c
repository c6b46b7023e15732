/*
 * Copyright (C) the ngx_symcache authors
 *
 * Turns of conversions: how many run, and whose turn is next.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "symcached/job/conversion_slots.h"

static char called[16]; /* a letter for each call */

static void note(void *arg)
{
    size_t n = strlen(called);

    assert_true(n + 1 < sizeof(called));
    called[n] = *(const char *)arg;
    called[n + 1] = '\0';
}

static void in_order(void **state)
{
    struct conversion_slots *turns = conversion_slots_new(1, 1);
    struct conversion_slot a, b, c;

    called[0] = '\0';
    conversion_slot_join(&a, turns, NULL, note, "a");
    conversion_slot_join(&b, turns, NULL, note, "b");
    conversion_slot_join(&c, turns, NULL, note, "c");
    assert_true(conversion_slot_may(&a));
    conversion_slot_begun(&a);
    assert_false(conversion_slot_may(&b));
    assert_false(conversion_slot_may(&c));
    assert_false(conversion_slot_may(&b));
    conversion_slot_ended(&a);
    assert_string_equal(called, "bc");

    /* the first one has nothing to do any more: the next is not forgotten */
    assert_true(conversion_slot_may(&c));
    conversion_slot_begun(&c);
    assert_false(conversion_slot_may(&a));
    conversion_slot_leave(&c);
    assert_string_equal(called, "bca");
    assert_true(conversion_slot_may(&a));
    conversion_slot_leave(&a);
    conversion_slot_leave(&b);
    conversion_slots_free(turns);
}

static void shares(void **state)
{
    struct conversion_slots *turns = conversion_slots_new(3, 1);
    struct conversion_slots_party one = {0}, two = {0};
    struct conversion_slot a, b, c, d;

    called[0] = '\0';
    conversion_slot_join(&a, turns, &one, note, "a");
    conversion_slot_join(&b, turns, &one, note, "b");
    conversion_slot_join(&c, turns, &two, note, "c");
    conversion_slot_join(&d, turns, NULL, note, "d");
    assert_true(conversion_slot_may(&a));
    conversion_slot_begun(&a);
    assert_false(
        conversion_slot_may(&b)); /* there is room, but not for this party */
    assert_true(conversion_slot_may(&c));
    conversion_slot_begun(&c);
    assert_true(conversion_slot_may(&d));
    conversion_slot_begun(&d);
    assert_false(conversion_slot_may(&d));
    conversion_slot_ended(&c);
    assert_string_equal(called, "d"); /* not b */
    assert_false(conversion_slot_may(&b));

    conversion_slot_move(&a, NULL); /* it counts with nobody now */
    assert_int_equal(one.running, 0);
    assert_true(conversion_slot_may(&b));
    conversion_slot_begun(&b);
    conversion_slot_move(&b, &two);
    assert_int_equal(two.running, 1);
    conversion_slot_leave(&b);
    assert_int_equal(two.running, 0);
    conversion_slot_leave(&a);
    conversion_slot_leave(&c);
    conversion_slot_leave(&d);
    conversion_slots_free(turns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order),
        cmocka_unit_test(shares),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
