/*
 * Copyright (C) the ngx_symcache authors
 *
 * Ranges come out as they were put in, whatever form their locations have in
 * between: words of 8 bytes up to the first one that does not fit, or one too
 * many, differences from there on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "derived/symcache/range_runs.h"

#define NONE SYMC_NONE
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct entry {
    uint32_t address;
    struct symc_location location; /* file, line, function, caller */
};

/* Puts entries as one block. */
static void put_block(struct symc_ranges *r, const struct entry *e, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        assert_int_equal(symc_ranges_put(r, e[i].address, e[i].location), 0);
    }
    assert_int_equal(symc_ranges_close(r), 0);
}

static void check(struct symc_ranges *r, const struct entry *e, size_t n)
{
    int rc;
    size_t i, at = 0;
    const uint32_t *addresses;
    struct symc_location got[16];
    struct symc_runs runs = {.ranges = r};

    assert_int_equal(symc_ranges_seal(r), 0);
    while ((rc = symc_runs_next(&runs)) > 0) {
        assert_true(runs.count <= COUNT(got) && at + runs.count <= n);
        addresses = symc_runs_addresses(&runs);
        for (i = 0; i < runs.count; i++) {
            assert_int_equal(addresses[i], e[at + i].address);
        }
        /* in two steps, as a full block of the output makes them */
        symc_runs_locations(&runs, got, 1);
        symc_runs_locations(&runs, got + 1, runs.count - 1);
        for (i = 0; i < runs.count; i++) {
            assert_memory_equal(&got[i], &e[at + i].location, sizeof(*got));
        }
        at += runs.count;
    }
    assert_int_equal(rc, 0);
    assert_int_equal(at, n);
    symc_runs_free(&runs);
    symc_ranges_free(r);
}

static const struct entry small[] = {
    {0x10, {0, 0, 0, 0}},
    {0x20, {NONE, 0, 0xFFFF, NONE}},
    {0x30, {0xFFE, 0xFFFFF, 0xFFFF, 0xFFFE}},
    {0x40, {1, 2, 3, 4}},
};

static void test_largest_words(void **state)
{
    struct symc_ranges r = {0};

    (void)state;
    put_block(&r, small, COUNT(small));
    assert_true(r.blocks[0].is_narrow);
    check(&r, small, COUNT(small));
}

static void test_too_large(void **state)
{
    size_t i;
    static const struct symc_location large[] = {
        {0xFFF, 1, 1, 1},      {1, 0x100000, 1, 1},   {1, 1, 0x10000, 1},
        {1, 1, 1, 0xFFFF},     {0x1000, 1, 1, 1},     {1, UINT32_MAX, 1, 1},
        {1, 1, 0xFFFFFFFE, 1}, {1, 1, 1, 0xFFFFFFFE}, {0xFFFFFFFE, 1, 1, 1},
    };
    struct entry e[7];

    (void)state;
    for (i = 0; i < COUNT(large); i++) {
        struct symc_ranges r = {0};

        memcpy(e, small, sizeof(small));
        e[4] = (struct entry){0x1000, {7, 8, 9, 10}};
        e[5] = (struct entry){0x1008, large[i]};
        e[6] = (struct entry){0x2000, {7, 8, 9, 10}};
        put_block(&r, e, 4);
        put_block(&r, e + 4, 2);
        put_block(&r, e + 6, 1); /* would fit, but is not tried */
        assert_true(r.blocks[0].is_narrow);
        assert_false(r.blocks[1].is_narrow);
        assert_false(r.blocks[2].is_narrow);
        check(&r, e, COUNT(e));
    }
}

static void test_many(void **state)
{
    enum { BLOCKS = SYMC_RANGES_NARROW / 8 + 2 };
    struct entry *e = malloc(8 * BLOCKS * sizeof(*e));
    struct symc_ranges r = {0};
    uint32_t i;

    (void)state;
    assert_non_null(e);
    for (i = 0; i < 8 * BLOCKS; i++) {
        e[i] = (struct entry){4 * i, {i % 9, i % 1000, i / 64, NONE}};
    }
    for (i = 0; i < BLOCKS; i++) {
        put_block(&r, e + 8 * (size_t)i, 8);
    }
    assert_true(r.blocks[BLOCKS - 3].is_narrow);
    assert_false(r.blocks[BLOCKS - 2].is_narrow);
    assert_false(r.blocks[BLOCKS - 1].is_narrow);
    check(&r, e, 8 * BLOCKS);
    free(e);
}

/* Blocks that overlap, of which the later one has the larger numbers. */
static void test_overlap(void **state)
{
    static const struct entry later[] = {
        {0x18, {1, 0x100000, 5, NONE}},
        {0x28, {NONE, 0, 0x10000, NONE}},
        {0x38, {2, 3, 0x10000, 0x12345}},
    };
    static const struct entry both[] = {
        {0x10, {0, 0, 0, 0}},
        {0x18, {1, 0x100000, 5, NONE}},
        {0x20, {NONE, 0, 0xFFFF, NONE}},
        {0x28, {NONE, 0, 0x10000, NONE}},
        {0x30, {0xFFE, 0xFFFFF, 0xFFFF, 0xFFFE}},
        {0x38, {2, 3, 0x10000, 0x12345}},
        {0x40, {1, 2, 3, 4}},
    };
    struct symc_ranges r = {0};

    (void)state;
    put_block(&r, small, COUNT(small));
    put_block(&r, later, COUNT(later));
    check(&r, both, COUNT(both));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_largest_words),
        cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_overlap),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
