/*
 * Copyright (C) the ngx_symcache authors
 *
 * How old a file is by a clock that is set, by machines that are switched off
 * and by helpers that are stopped.  Times are in hours.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/uptime.h"
#include "base/workdir.h"

#define HOUR 3600
#define DAY 24
#define LIFE (7 * DAY)
#define T0 (500000L) /* of the first pass */

/* What happens, and how old by then is what was used at T0. */
struct step {
    long clock; /* hours since T0 */
    uint64_t run;
    uint64_t ran;    /* hours */
    long long ahead; /* hours; what is told */
    long long age;   /* hours */
    uint64_t since;  /* hours; 0 = all that it ran */
};

static struct uptime_run run_of(uint64_t id, uint64_t ran, uint64_t since)
{
    return (struct uptime_run){id, ran, since};
}

static void walk(const struct step *steps, size_t n)
{
    struct uptime_run run = run_of(1, 100 * HOUR, 100 * HOUR);
    struct uptime uptime = {0};
    time_t now;
    size_t i;

    assert_int_equal(uptime_pass(&uptime, T0 * HOUR, &run, LIFE * HOUR), 0);
    for (i = 0; i < n; i++) {
        now = (T0 + steps[i].clock) * HOUR;
        run = run_of(steps[i].run, steps[i].ran * HOUR,
                     (steps[i].since != 0 ? steps[i].since : steps[i].ran) *
                         HOUR);
        assert_int_equal(uptime_pass(&uptime, now, &run, LIFE * HOUR),
                         steps[i].ahead * HOUR);
        assert_int_equal(uptime_age(&uptime, T0 * HOUR, now),
                         steps[i].age * HOUR);
    }
}

#define WALK(...)                                                             \
    do {                                                                      \
        static const struct step steps[] = {__VA_ARGS__};                     \
        walk(steps, sizeof(steps) / sizeof(steps[0]));                        \
    } while (0)

static void all_is_well(void **state)
{
    WALK({1, 1, 101, 0, 1, 0}, {2, 1, 102, 0, 2, 0}, {200, 1, 300, 0, 200, 0});
    /* an hour more or less is none of our business */
    WALK({2, 1, 101, 0, 2, 0}, {2, 1, 102, 0, 2, 0});
    /* a new helper, soon after */
    WALK({1, 1, 101, 0, 1, 0}, {3, 2, 1, 0, 3, 0}, {4, 2, 2, 0, 4, 0});
}

/* The clock jumps by 8 days, and stays there. */
static void forward(void **state)
{
    WALK({1, 1, 101, 0, 1, 0}, {2 + 8 * DAY, 1, 102, 8 * DAY, 2, 0},
         {10 + 8 * DAY, 1, 110, 0, 10, 0},
         {LIFE + 8 * DAY, 1, 100 + LIFE, 0, LIFE, 0});
}

/* It jumps, and is set right again. */
static void forward_and_back(void **state)
{
    WALK({2 + 8 * DAY, 1, 102, 8 * DAY, 2, 0}, {3, 1, 103, -8 * DAY, 0, 0},
         {4, 1, 104, 0, 1, 0}, {10, 1, 110, 0, 7, 0});
}

/* It goes back, and is set right again. */
static void back_and_forward(void **state)
{
    WALK({2 - 8 * DAY, 1, 102, -8 * DAY, 2 - 8 * DAY, 0},
         {3, 1, 103, 8 * DAY, 1, 0}, {4, 1, 104, 0, 2, 0});
}

/* Nobody noted anything. */
static void not_running(void **state)
{
    WALK({1, 1, 101, 0, 1, 0}, {1 + 8 * DAY, 2, 1, 8 * DAY - 1, 2, 0},
         {2 + 8 * DAY, 2, 2, 0, 3, 0});
    /* a helper that is started for an hour each week */
    WALK({7 * DAY, 2, 1, 7 * DAY - 1, 1, 0},
         {14 * DAY, 3, 1, 7 * DAY - 1, 2, 0},
         {21 * DAY, 4, 1, 7 * DAY - 1, 3, 0});
}

/* Several helpers clean one store, each every four hours. */
static void fleet(void **state)
{
    /* the other's note says nothing of this one's time */
    WALK({2, 2, 50, 0, 2, 4}, {4, 1, 104, 0, 4, 4}, {6, 2, 54, 0, 6, 4});
    /* of a jump of 8 days at most the time since the last own pass counts */
    WALK({2, 2, 500, 0, 2, 4}, {4 + 8 * DAY, 1, 104, 8 * DAY - 2, 6, 4});
    WALK({2, 2, 500, 0, 2, 4},
         {4 - 8 * DAY, 1, 104, 2 - 8 * DAY, 4 - 8 * DAY, 4});
}

/* What was used after, or in, a gap is older by none or part of it. */
static void used_later(void **state)
{
    struct uptime uptime = {
        .wall = 90 * HOUR,
        .ngaps = 2,
        .gaps = {{10 * HOUR, 20 * HOUR}, {40 * HOUR, 70 * HOUR}}};
    static const struct {
        long used;
        long age;
    } cases[] = {{0, 60},  {10, 50}, {15, 50}, {20, 50}, {30, 40},
                 {50, 30}, {70, 30}, {99, 1},  {100, 0}, {120, -20}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(uptime_age(&uptime, cases[i].used * HOUR, 100 * HOUR),
                         cases[i].age * HOUR);
    }
}

/* More gaps than are kept: no file looks older, and old ones are right. */
static void many_gaps(void **state)
{
    struct uptime uptime = {0};
    const time_t life = 10000L * DAY * HOUR;
    time_t now = T0 * HOUR;
    struct uptime_run run = run_of(1, 0, 0);
    unsigned i;

    (void)uptime_pass(&uptime, now, &run, life);
    for (i = 1; i <= 2 * UPTIME_GAPS; i++) {
        now += 10 * HOUR;
        run = run_of(run.id + 1, HOUR, HOUR);
        assert_int_equal(uptime_pass(&uptime, now, &run, life), 9 * HOUR);
        assert_int_equal(uptime_age(&uptime, T0 * HOUR, now), i * HOUR);
        assert_int_equal(uptime_age(&uptime, now - 10 * HOUR, now), HOUR);
    }
    assert_int_equal(uptime.ngaps, UPTIME_GAPS);

    /* what no file is older than is forgotten */
    run.ran = (LIFE + 2) * HOUR;
    (void)uptime_pass(&uptime, now + LIFE * HOUR, &run, LIFE * HOUR);
    assert_int_equal(uptime.ngaps, 0);
}

static void doubt(void **state)
{
    struct uptime_run run = run_of(1, 5, 5);
    struct uptime uptime = {0};

    /* some file was used within its life */
    assert_int_equal(uptime_doubt(&uptime, 900, 1000, 100), 0);
    assert_int_equal(uptime_doubt(&uptime, 0, 1000, 100), 0); /* no file */
    assert_int_equal(uptime.ngaps, 0);
    assert_int_equal(uptime_doubt(&uptime, 899, 1000, 100), 101);
    assert_int_equal(uptime_pass(&uptime, 1000, &run, 100), 0);
    assert_int_equal(uptime_age(&uptime, 800, 1000), 99);
    assert_int_equal(uptime_age(&uptime, 800, 1020), 119);
    /* what is known is not doubted */
    assert_int_equal(uptime_doubt(&uptime, 899, 5000, 100), 0);
}

static void in_a_file(void **state)
{
    static const char *const bad[] = {"",
                                      "x",
                                      "1 2\n",
                                      "0 0 0\n",
                                      "-5 1 1\n",
                                      "100 1 1\n9 5\n",
                                      "100 1 1\n5 9\n8 10\n",
                                      "100 1 1\n50 101\n"};
    char dir[] = "/tmp/symcache-uptime.XXXXXX", path[64];
    static struct uptime uptime = {.wall = 50000, .run = UINT64_MAX, .ran = 77};
    static struct uptime got;
    size_t i;
    FILE *f;

    assert_non_null(mkdtemp(dir));
    assert_false(uptime_read(&got, dir));
    for (i = 0; i <= UPTIME_GAPS; i++) {
        uptime.ngaps = i;
        if (i < 3 || i == UPTIME_GAPS) {
            assert_int_equal(uptime_write(&uptime, dir), 0);
            assert_true(uptime_read(&got, dir));
            assert_memory_equal(&got, &uptime, sizeof(got));
        }
        if (i < UPTIME_GAPS) {
            uptime.gaps[i].from = (time_t)(10 * i + 1);
            uptime.gaps[i].to = (time_t)(10 * i + 9);
        }
    }

    snprintf(path, sizeof(path), "%s/" UPTIME_FILE, dir);
    for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        f = fopen(path, "w");
        assert_non_null(f);
        fputs(bad[i], f);
        fclose(f);
        assert_false(uptime_read(&got, dir));
        assert_int_equal(got.wall, 0);
        assert_int_equal(got.ngaps, 0);
    }
    workdir_remove(dir);
    assert_int_equal(uptime_write(&uptime, dir), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_well),
        cmocka_unit_test(forward),
        cmocka_unit_test(forward_and_back),
        cmocka_unit_test(back_and_forward),
        cmocka_unit_test(not_running),
        cmocka_unit_test(fleet),
        cmocka_unit_test(used_later),
        cmocka_unit_test(many_gaps),
        cmocka_unit_test(doubt),
        cmocka_unit_test(in_a_file),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
