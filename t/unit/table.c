/*
 * Copyright (C) the ngx_symcache authors
 *
 * The hash table against a plain list of what was added and not removed, with
 * hashes of every quality.
 */

#include <stdarg.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/hash_table.h"

#define VALUES 2000
#define STEPS 20000

static struct table table;

/* The same numbers in each run. */
static uint32_t next_random(void)
{
    static uint32_t x = 1;

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return x;
}

static bool holds(uint64_t hash, uintptr_t value)
{
    size_t at = 0, tries = 0;
    uintptr_t found;

    while ((found = table_next(&table, hash, &at)) != 0) {
        assert_true(++tries <= table.count);
        if (found == value) {
            return true;
        }
    }
    return false;
}

/* Hashes are of so few different values, and lie so close. */
static void play(uint64_t hashes, uint64_t factor)
{
    static bool there[VALUES];
    uint64_t hash;
    size_t n = 0, i;
    uint32_t value;
    unsigned step;

    memset(there, 0, sizeof(there));
    for (step = 0; step < STEPS; step++) {
        /* it fills first, and empties in the end */
        value = next_random() % VALUES;
        hash = value % hashes * factor;
        if (there[value] && next_random() % STEPS < step) {
            table_remove(&table, hash, value + 1);
            there[value] = false;
            n--;
        } else if (!there[value] && next_random() % STEPS > step) {
            assert_int_equal(table_add(&table, hash, value + 1), 0);
            there[value] = true;
            n++;
        } else {
            assert_int_equal(holds(hash, value + 1), there[value]);
        }
        assert_int_equal(table.count, n);
    }
    for (i = 0; i < VALUES; i++) {
        assert_int_equal(holds(i % hashes * factor, i + 1), there[i]);
        table_remove(&table, i % hashes * factor, i + 1);
    }
    assert_int_equal(table.count, 0);
}

static void adds_and_removes(void **state)
{
    play(VALUES, 0x9E3779B97F4A7C15u);
    play(VALUES, 1);
    play(50, 1);
    play(100, (uint64_t)1 << 40); /* all begin at one slot */
    play(VALUES, UINT64_MAX);     /* they go around the end */
}

static void is_empty(void **state)
{
    size_t at = 0;

    assert_int_equal(table_next(&table, 5, &at), 0);
    table_remove(&table, 5, 1);
    assert_int_equal(table_add(&table, 5, 1), 0);
    table_remove(&table, 5, 2);
    table_remove(&table, 6, 1);
    assert_int_equal(table.count, 1);
    assert_true(holds(5, 1));
}

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static void assert_distinct(uint64_t *hashes, size_t n)
{
    size_t i;

    qsort(hashes, n, sizeof(*hashes), compare);
    for (i = 1; i < n; i++) {
        assert_true(hashes[i - 1] != hashes[i]);
    }
}

/* Texts that differ in one bit, in length or in seed; numbers in steps. */
static void hashes_differ(void **state)
{
    static uint64_t hashes[40 * 8 * 40];
    char text[40] = {0};
    size_t n = 0, len, bit;
    uint64_t i, seed = (uintptr_t)&table;

    for (len = 0; len <= sizeof(text); len++) {
        hashes[n++] = table_hash(seed, text, len);
        hashes[n++] = table_hash(~seed, text, len);
        for (bit = 0; bit < 8 * len; bit++) {
            text[bit / 8] ^= (char)(1 << bit % 8);
            hashes[n++] = table_hash(seed, text, len);
            text[bit / 8] ^= (char)(1 << bit % 8);
        }
    }
    assert_distinct(hashes, n);

    for (i = 0, n = 0; i < 4096; i++) {
        hashes[n++] = table_hash_number(&table, i);
        hashes[n++] = table_hash_number(&table, (i + 1) << 32);
    }
    assert_distinct(hashes, n);
    assert_int_equal(table_hash_text(&table, "abc"),
                     table_hash((uintptr_t)&table, "abcd", 3));
}

/* Slots are chosen by the low bits: as many as for thrown dice are taken. */
static void low_bits_spread(void **state)
{
    bool by_text[1024] = {false}, by_number[1024] = {false};
    unsigned i, texts = 0, numbers = 0;
    char text[16];

    for (i = 0; i < 1024; i++) {
        snprintf(text, sizeof(text), "%u", i);
        by_text[table_hash_text(&table, text) % 1024] = true;
        by_number[table_hash_number(&table, 4096 * i) % 1024] = true;
    }
    for (i = 0; i < 1024; i++) {
        texts += by_text[i];
        numbers += by_number[i];
    }
    assert_in_range(texts, 550, 750); /* 1 - 1/e of them are 647 */
    assert_true(numbers >= 400);
}

static int end(void **state)
{
    table_free(&table);
    return table.slots != NULL || table.num_slots != 0;
}

#define TEST(f) cmocka_unit_test_teardown(f, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(adds_and_removes),
        TEST(is_empty),
        TEST(hashes_differ),
        TEST(low_bits_spread),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
