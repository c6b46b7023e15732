/*
 * Copyright (C) the ngx_symcache authors
 *
 * src/proto/version: tables from the contract, section 2.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "proto/version.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

static void parses(void **state)
{
    static const struct {
        const char *text;
        symcache_version_t v;
    } good[] = {
        {"3.1.0", {3, 1, 0}},
        {"0.0.0", {0, 0, 0}},
        {"65535.65535.65535", {65535, 65535, 65535}},
        {"3.1.300", {3, 1, 300}},       /* the sample's 8 bits made it 3.1.0 */
        {"3.256.0", {3, 256, 0}},
        {"03.01.00", {3, 1, 0}},        /* leading zeros are decimal too */
    };

    for (size_t i = 0; i < N(good); i++) {
        symcache_version_t v = {9, 9, 9};

        assert_true(
            symcache_version_parse(good[i].text, strlen(good[i].text), &v));
        assert_int_equal(v.major, good[i].v.major);
        assert_int_equal(v.minor, good[i].v.minor);
        assert_int_equal(v.patch, good[i].v.patch);
    }
}

static void refuses(void **state)
{
    static const char *bad[] = {
        "",       "3",        "3.1",      "3.1.",     ".1.0",
        "3..0",   "3.1.0.",   "3.1.0.0",  "v3.1.0",   " 3.1.0",
        "3.1.0 ", "+3.1.0",   "-3.1.0",   "3.1.-0",   "65536.0.0",
        "0.65536.0", "0.0.65536", "99999999999999999999.0.0", "000003.1.0",
        "3.1.0-beta", "3,1,0", "0x3.1.0", "3.1.a",
    };

    for (size_t i = 0; i < N(bad); i++) {
        symcache_version_t v = {9, 8, 7};

        assert_false(symcache_version_parse(bad[i], strlen(bad[i]), &v));
        assert_int_equal(v.major, 9);
        assert_int_equal(v.minor, 8);
        assert_int_equal(v.patch, 7);
    }
    /* the length counts, not a NUL */
    symcache_version_t v;
    assert_false(symcache_version_parse("3.1.0\0", 6, &v));
    assert_true(symcache_version_parse("3.1.05", 5, &v));
    assert_int_equal(v.patch, 0);
}

static void prints(void **state)
{
    static const struct {
        symcache_version_t v;
        const char *text;
    } rows[] = {
        {{0, 0, 0}, "0.0.0"},
        {{3, 1, 0}, "3.1.0"},
        {{10, 100, 1000}, "10.100.1000"},
        {{65535, 65535, 65535}, "65535.65535.65535"},
    };

    for (size_t i = 0; i < N(rows); i++) {
        char buf[SYMCACHE_VERSION_TEXT_MAX + 1];

        assert_int_equal(symcache_version_print(buf, &rows[i].v),
                         strlen(rows[i].text));
        assert_string_equal(buf, rows[i].text);
    }
}

static void compares_as_numbers(void **state)
{
    static const symcache_version_t sorted[] = {
        {0, 0, 0}, {3, 0, 0}, {3, 0, 1}, {3, 0, 10}, {3, 1, 0},
        {3, 9, 0}, {3, 10, 0}, {4, 0, 0}, {10, 0, 0},
    };

    for (size_t i = 0; i < N(sorted); i++) {
        for (size_t k = 0; k < N(sorted); k++) {
            int c = symcache_version_cmp(&sorted[i], &sorted[k]);

            assert_int_equal((c > 0) - (c < 0), (i > k) - (i < k));
        }
    }
}

/* "A 4.1.0 client may get 3.2.0 or 4.5.0, not 5.0.0." */
static void compatibility_rule(void **state)
{
    static const struct {
        symcache_version_t a, b;
        int serves;
    } rows[] = {
        {{3, 2, 0}, {4, 1, 0}, 1}, {{4, 5, 0}, {4, 1, 0}, 1},
        {{5, 0, 0}, {4, 1, 0}, 0}, {{3, 0, 0}, {3, 1, 0}, 0},
        {{3, 0, 1}, {3, 1, 0}, 1}, {{3, 1, 0}, {3, 1, 0}, 1},
        {{2, 9, 9}, {3, 1, 0}, 0},
    };
    static const symcache_version_t min = {3, 0, 1};

    for (size_t i = 0; i < N(rows); i++) {
        assert_int_equal(
            symcache_version_serves(&rows[i].a, &rows[i].b, &min),
            rows[i].serves);
    }
}

static void highest_that_serves(void **state)
{
    static const symcache_version_t have[] = {
        {3, 0, 0}, {3, 2, 0}, {5, 0, 0}, {4, 5, 0}, {4, 4, 9}};
    static const symcache_version_t min = {3, 0, 1};
    static const struct {
        symcache_version_t b;
        int best;
    } rows[] = {
        {{2, 0, 0}, -1}, {{3, 1, 0}, 1}, {{4, 0, 0}, 3},
        {{5, 0, 0}, 2},  {{9, 0, 0}, 2},
    };

    for (size_t i = 0; i < N(rows); i++) {
        assert_int_equal(
            symcache_version_best(have, N(have), &rows[i].b, &min),
            rows[i].best);
    }
    assert_int_equal(symcache_version_best(have, 0, &rows[0].b, &min), -1);

    /* one alone, and one that is too old or too new */
    assert_int_equal(symcache_version_best(&have[1], 1, &rows[1].b, &min), 0);
    assert_int_equal(symcache_version_best(&have[1], 1, &rows[0].b, &min), -1);
    assert_int_equal(
        symcache_version_best(&have[1], 1, &rows[1].b, &rows[2].b), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses),
        cmocka_unit_test(refuses),
        cmocka_unit_test(prints),
        cmocka_unit_test(compares_as_numbers),
        cmocka_unit_test(compatibility_rule),
        cmocka_unit_test(highest_that_serves),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
