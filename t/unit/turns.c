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
#include "symcached/job/turns.h"

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
    struct turns *turns = turns_new(1, 1);
    struct turn a, b, c;

    called[0] = '\0';
    turn_join(&a, turns, NULL, note, "a");
    turn_join(&b, turns, NULL, note, "b");
    turn_join(&c, turns, NULL, note, "c");
    assert_true(turn_may(&a));
    turn_begun(&a);
    assert_false(turn_may(&b));
    assert_false(turn_may(&c));
    assert_false(turn_may(&b));
    turn_ended(&a);
    assert_string_equal(called, "bc");

    /* the first one has nothing to do any more: the next is not forgotten */
    assert_true(turn_may(&c));
    turn_begun(&c);
    assert_false(turn_may(&a));
    turn_leave(&c);
    assert_string_equal(called, "bca");
    assert_true(turn_may(&a));
    turn_leave(&a);
    turn_leave(&b);
    turns_free(turns);
}

static void shares(void **state)
{
    struct turns *turns = turns_new(3, 1);
    struct turns_party one = {0}, two = {0};
    struct turn a, b, c, d;

    called[0] = '\0';
    turn_join(&a, turns, &one, note, "a");
    turn_join(&b, turns, &one, note, "b");
    turn_join(&c, turns, &two, note, "c");
    turn_join(&d, turns, NULL, note, "d");
    assert_true(turn_may(&a));
    turn_begun(&a);
    assert_false(turn_may(&b)); /* there is room, but not for this party */
    assert_true(turn_may(&c));
    turn_begun(&c);
    assert_true(turn_may(&d));
    turn_begun(&d);
    assert_false(turn_may(&d));
    turn_ended(&c);
    assert_string_equal(called, "d"); /* not b */
    assert_false(turn_may(&b));

    turn_move(&a, NULL); /* it counts with nobody now */
    assert_int_equal(one.running, 0);
    assert_true(turn_may(&b));
    turn_begun(&b);
    turn_move(&b, &two);
    assert_int_equal(two.running, 1);
    turn_leave(&b);
    assert_int_equal(two.running, 0);
    turn_leave(&a);
    turn_leave(&c);
    turn_leave(&d);
    turns_free(turns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_order),
        cmocka_unit_test(shares),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
