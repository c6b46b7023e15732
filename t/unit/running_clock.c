/*
 * Copyright (C) the ngx_symcache authors
 *
 * A clock that stands still while the process is paused.  Pauses are made by
 * setting back when it was last looked at.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>
#include "base/running_clock.h"

static uint64_t look_after(struct running_clock *clock, unsigned ms)
{
    uint64_t before = clock->ms;

    clock->looked -= ms;
    return running_clock_ms(clock) - before;
}

static void time_passes(void **state)
{
    struct running_clock clock = {0};

    assert_int_not_equal(running_clock_ms(&clock), 0);
    assert_in_range(look_after(&clock, 0), 0, RUNNING_CLOCK_MOST_MS);
    assert_in_range(look_after(&clock, 1500), 1500, RUNNING_CLOCK_MOST_MS);
}

static void pauses_do_not_count(void **state)
{
    struct running_clock clock = {0};
    int i;

    running_clock_ms(&clock);
    for (i = 0; i < 3; i++) {
        assert_int_equal(look_after(&clock, 3600000), RUNNING_CLOCK_MOST_MS);
    }
}

static void limits_end(void **state)
{
    struct running_clock clock = {0};
    struct timeval wait;
    uint64_t due = running_clock_ms(&clock) + 5000;
    unsigned looks = 0;

    while (running_clock_wait(&clock, due, &wait)) {
        assert_true(wait.tv_sec == 1 || (wait.tv_sec == 0 && wait.tv_usec > 0));
        clock.looked -= 60000; /* it is paused each time */
        looks++;
    }
    assert_int_equal(looks, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_passes),
        cmocka_unit_test(pauses_do_not_count),
        cmocka_unit_test(limits_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
