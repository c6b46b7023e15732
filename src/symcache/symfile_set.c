/*
 * Copyright (C) the ngx_symcache authors
 */
#include <string.h>

#include "symfile_array.h"
#include "symfile_set.h"

#define FIRST_SLOTS 256
#define MAX_RECORDS 0xFFFFFFF0u

void symfile_set_free(struct symfile_set *set)
{
    free(set->words);
    free(set->slots);
    set->words = NULL;
    set->slots = NULL;
    set->count = set->room = set->num_slots = set->indexed = 0;
}

static size_t hash_record(const struct symfile_set *set,
                          const uint32_t *record)
{
    unsigned i;
    uint64_t h;

    h = (uint64_t)(uintptr_t)set * 0x9E3779B97F4A7C15u;
    for (i = 0; i < set->width; i++) {
        h = (h ^ record[i]) * 0xBF58476D1CE4E5B9u;
        h ^= h >> 31;
    }
    return (size_t)h;
}

static int grow(struct symfile_set *set)
{
    size_t i, j, n;
    uint32_t *slots;

    n = set->num_slots == 0 ? FIRST_SLOTS : 2 * set->num_slots;
    slots = calloc(n, sizeof(*slots));
    if (slots == NULL) {
        return -1;
    }
    for (i = 0; i < set->indexed; i++) {
        j = hash_record(set, set->words + i * set->width) & (n - 1);
        while (slots[j] != 0) {
            j = (j + 1) & (n - 1);
        }
        slots[j] = (uint32_t)i + 1;
    }
    free(set->slots);
    set->slots = slots;
    set->num_slots = n;
    return 0;
}

int symfile_set_append(struct symfile_set *set, const uint32_t *record,
                       uint32_t *index)
{
    if (set->count >= MAX_RECORDS ||
        symfile_array_need(&set->words, &set->room, set->count + 1,
                           set->width * sizeof(uint32_t)) != 0) {
        return -1;
    }
    memcpy(set->words + set->count * set->width, record,
           set->width * sizeof(uint32_t));
    *index = (uint32_t)set->count++;
    return 0;
}

int symfile_set_insert(struct symfile_set *set, const uint32_t *record,
                       uint32_t *index)
{
    size_t i;
    uint32_t at;

    if (set->indexed >= set->num_slots / 4 * 3 && grow(set) != 0) {
        return -1;
    }
    for (i = hash_record(set, record) & (set->num_slots - 1);
         set->slots[i] != 0; i = (i + 1) & (set->num_slots - 1)) {
        at = set->slots[i] - 1;
        if (memcmp(set->words + (size_t)at * set->width, record,
                   set->width * sizeof(uint32_t)) == 0) {
            *index = at;
            return 0;
        }
    }
    if (symfile_set_append(set, record, index) != 0) {
        return -1;
    }
    set->slots[i] = *index + 1;
    set->indexed++;
    return 0;
}
