/*
 * Copyright (C) the ngx_symcache authors
 *
 * Linear probing.  A removed entry leaves no mark; the entries after it move
 * up into the gap instead.
 */
#include "hash_table.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 16 /* there are many tables with few entries */
#define MULTIPLIER 0x9E3779B97F4A7C15u /* odd, with no pattern in its bits */

void table_free(struct table *table)
{
    free(table->slots);
    memset(table, 0, sizeof(*table));
}

/* Combines both halves of the product, so that each bit of the input affects
 * all bits of the result. */
static uint64_t mix_bits(uint64_t a)
{
    unsigned __int128 product = (unsigned __int128)a * MULTIPLIER;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t table_hash(uint64_t seed, const void *data, size_t size)
{
    const unsigned char *p = data;
    uint64_t h = mix_bits(seed ^ size), eight;

    for (; size >= sizeof(eight); size -= sizeof(eight), p += sizeof(eight)) {
        memcpy(&eight, p, sizeof(eight));
        h = mix_bits(h ^ eight);
    }
    if (size > 0) {
        eight = 0;
        memcpy(&eight, p, size);
        h = mix_bits(h ^ eight);
    }
    return h;
}

uint64_t table_hash_text(const struct table *table, const char *text)
{
    return table_hash((uintptr_t)table, text, strlen(text));
}

uint64_t table_hash_number(const struct table *table, uint64_t number)
{
    uint64_t h = (number ^ (uintptr_t)table) * MULTIPLIER;

    return h ^ h >> 32;
}

static void put_in_slot(struct table *table, uint64_t hash, uintptr_t value)
{
    size_t i = hash & (table->num_slots - 1);

    while (table->slots[i].value != 0) {
        i = (i + 1) & (table->num_slots - 1);
    }
    table->slots[i] = (struct table_slot){hash, value};
}

static int grow_table(struct table *table)
{
    struct table_slot *former = table->slots;
    size_t i, n = table->num_slots;

    table->slots = calloc(n == 0 ? FIRST_SLOTS : 2 * n, sizeof(*former));
    if (table->slots == NULL) {
        table->slots = former;
        return -1;
    }
    table->num_slots = n == 0 ? FIRST_SLOTS : 2 * n;
    for (i = 0; i < n; i++) {
        if (former[i].value != 0) {
            put_in_slot(table, former[i].hash, former[i].value);
        }
    }
    free(former);
    return 0;
}

int table_add(struct table *table, uint64_t hash, uintptr_t value)
{
    if (table->count >= table->num_slots / 2 && grow_table(table) != 0) {
        return -1;
    }
    put_in_slot(table, hash, value);
    table->count++;
    return 0;
}

void table_remove(struct table *table, uint64_t hash, uintptr_t value)
{
    size_t mask = table->num_slots - 1, i, next, at = 0;
    struct table_slot *slots = table->slots;
    uintptr_t found;

    while ((found = table_next(table, hash, &at)) != value) {
        if (found == 0) {
            return;
        }
    }
    i = (hash + at - 1) & mask;
    for (next = (i + 1) & mask; slots[next].value != 0;
         next = (next + 1) & mask) {
        /* an entry moves into the gap, unless that lies before the slot at
           which a search for its hash begins */
        if (((next - slots[next].hash) & mask) >= ((next - i) & mask)) {
            slots[i] = slots[next];
            i = next;
        }
    }
    slots[i].value = 0;
    table->count--;
}
