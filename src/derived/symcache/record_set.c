/*
 * Copyright (C) the ngx_symcache authors
 */

#include "record_set.h"

#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "format.h"

#define NEAR 1024 /* slots in one page of memory */
#define CROWDED 8
#define CACHED 65536 /* slots that fit into the cache of a core */
#define FIRST_SLOTS 256
#define FEW_SLOTS 4096 /* a smaller table grows faster: it is cheap */
#define MAX_SLOTS ((size_t)1 << 31)
#define MAX_RECORDS 0xFFFFFFF0u

void symc_set_forget(struct symc_set *set)
{
    free(set->slots);
    set->slots = NULL;
    set->num_slots = set->slot_room = set->indexed = 0;
}

void symc_set_free(struct symc_set *set)
{
    free(set->words);
    symc_set_forget(set);
    set->words = NULL;
    set->count = set->room = set->last = 0;
}

static inline uint64_t two_words(const uint32_t *words)
{
    uint64_t two;

    memcpy(&two, words, sizeof(two));
    return two;
}

static inline uint64_t mix(uint64_t h, uint64_t two)
{
    h = (h ^ two) * 0xBF58476D1CE4E5B9u;
    return h ^ h >> 32;
}

/* Hashes two words at a time: a record has 2, 4 or 6.  The width is handed on
 * from symc_set_insert(), for the compiler to know it. */
static inline uint64_t hash_record(const struct symc_set *set,
                                   const uint32_t *record, unsigned width)
{
    uint64_t h = mix((uint64_t)(uintptr_t)set * 0x9E3779B97F4A7C15u,
                     two_words(record));

    if (width > 2) {
        h = mix(h, two_words(record + 2));
    }
    return width > 4 ? mix(h, two_words(record + 4)) : h;
}

/* The bits of the hash that a slot has above the index, which is below
 * num_slots. */
static uint32_t tag_of(const struct symc_set *set, uint64_t hash)
{
    return (uint32_t)(hash >> 32) & ~(uint32_t)(set->num_slots - 1);
}

static inline bool same(const struct symc_set *set, uint32_t index,
                        const uint32_t *record, unsigned width)
{
    const uint32_t *words = set->words + (size_t)index * width;

    return two_words(words) == two_words(record) &&
           (width <= 2 || two_words(words + 2) == two_words(record + 2)) &&
           (width <= 4 || two_words(words + 4) == two_words(record + 4));
}

/*
 * Returns the slot to look at first.  In a large table this is in the same few
 * pages as the slots of records that were inserted shortly before, so that
 * they are in the cache.  next_place() leaves these pages if they are full.
 */
static size_t first_place(const struct symc_set *set, uint64_t hash,
                          const uint32_t *record)
{
    uint32_t near;

    if (set->num_slots <= CACHED) {
        return (size_t)(hash >> 40) & (set->num_slots - 1);
    }
    near = record[set->hint];
    if (near == SYMC_NONE) {
        near = record[set->hint_or];
    }
    return (((size_t)(near >> set->shift) << set->spread) +
            (hash >> 40 & (NEAR - 1))) &
           (set->num_slots - 1);
}

static size_t next_place(const struct symc_set *set, uint64_t hash,
                         size_t place, unsigned *steps)
{
    size_t step;

    /* after some steps jump: there may be a long row of used slots */
    step = ++*steps < CROWDED ? 1 : (size_t)(hash >> 20) | 1;
    return (place + step) & (set->num_slots - 1);
}

static void put_record_set_slot(struct symc_set *set, uint32_t index)
{
    size_t i;
    unsigned steps;
    uint64_t hash;
    const uint32_t *record;

    record = set->words + (size_t)index * set->width;
    hash = hash_record(set, record, set->width);
    steps = 0;
    i = first_place(set, hash, record);
    while (set->slots[i] != 0) {
        i = next_place(set, hash, i, &steps);
    }
    set->slots[i] = tag_of(set, hash) | (index + 1);
}

static int grow_record_set(struct symc_set *set)
{
    size_t i, n;

    n = set->num_slots == 0          ? FIRST_SLOTS
        : set->num_slots < FEW_SLOTS ? 4 * set->num_slots
                                     : 2 * set->num_slots;
    if (n > MAX_SLOTS || array_zeroed(&set->slots, &set->slot_room, n,
                                      sizeof(*set->slots)) != 0) {
        return -1;
    }
    set->num_slots = n;
    for (i = 0; i < set->indexed; i++) {
        put_record_set_slot(set, (uint32_t)i);
    }
    return 0;
}

static inline int append_record_set(struct symc_set *set,
                                    const uint32_t *record, unsigned width,
                                    uint32_t *index)
{
    if (set->count >= MAX_RECORDS ||
        array_need(&set->words, &set->room, set->count + 1,
                   width * sizeof(uint32_t)) != 0) {
        return -1;
    }
    memcpy(set->words + set->count * width, record, width * sizeof(uint32_t));
    *index = (uint32_t)set->count++;
    return 0;
}

static inline __attribute__((always_inline)) int
insert_record(struct symc_set *set, const uint32_t *record, unsigned width,
              uint32_t *index)
{
    size_t i, mask;
    uint32_t tag;
    unsigned steps;
    uint64_t hash;

    if (set->last < set->indexed && same(set, set->last, record, width)) {
        *index = set->last;
        return 0;
    }
    if (set->indexed >= set->num_slots / 4 * 3 && grow_record_set(set) != 0) {
        return -1;
    }
    mask = set->num_slots - 1;
    hash = hash_record(set, record, width);
    tag = tag_of(set, hash);
    steps = 0;
    i = first_place(set, hash, record);
    while (set->slots[i] != 0) {
        if ((set->slots[i] & ~mask) == tag) {
            *index = (set->slots[i] & mask) - 1;
            if (same(set, *index, record, width)) {
                set->last = *index;
                return 0;
            }
        }
        i = next_place(set, hash, i, &steps);
    }
    if (append_record_set(set, record, width, index) != 0) {
        return -1;
    }
    set->slots[i] = tag | (*index + 1);
    set->last = *index;
    set->indexed++;
    return 0;
}

int symc_set_insert(struct symc_set *set, const uint32_t *record,
                    uint32_t *index)
{
    switch (set->width) {
    case 2:
        return insert_record(set, record, 2, index);
    case 4:
        return insert_record(set, record, 4, index);
    default:
        return insert_record(set, record, 6, index);
    }
}
