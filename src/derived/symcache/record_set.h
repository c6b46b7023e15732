/*
 * Copyright (C) the ngx_symcache authors
 *
 * An ordered set of records, each a few 32-bit words: it has each distinct
 * record once, in order of first insertion, and finds it by its words.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct symc_set {
    uint32_t *words; /* count records of width words */
    size_t count;
    size_t room;
    /*
     * Set by the owner.  The hint is a word that is similar in records which
     * are inserted one after another; it keeps their slots close together.
     */
    unsigned width;   /* words of a record: 2, 4 or 6 */
    unsigned hint;    /* index of the hint */
    unsigned hint_or; /* index of the word to use if that is SYMC_NONE */
    unsigned shift;   /* low bits of the hint to ignore */
    unsigned spread;  /* slots for each value of the hint, as log2 */
    uint32_t *slots;  /* index + 1 in the low bits, bits of the hash above */
    size_t num_slots; /* a power of two, or 0 */
    size_t slot_room;
    size_t indexed;   /* number of records that insert() can find */
    uint32_t last;    /* last one found or inserted, often wanted again */
};

/* Frees the memory of a set and makes it empty.  A set is also empty if it is
 * all zero, except for what its owner sets. */
void symc_set_free(struct symc_set *set);

/* Frees what only insert() needs, and keeps the records. */
void symc_set_forget(struct symc_set *set);

/* Inserts a record unless the set has it.  Returns 0 and the record's index,
 * or -1 if memory or the 32-bit indices run out. */
int symc_set_insert(struct symc_set *set, const uint32_t *record,
                    uint32_t *index);
