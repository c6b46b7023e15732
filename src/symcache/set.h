/*
 * Copyright (C) the ngx_symcache authors
 *
 * An ordered set of records of a few 32-bit words: each distinct record once,
 * in order of first insertion, found again by its words.
 */
#ifndef SYMCACHE_SET_H
#define SYMCACHE_SET_H

#include <stddef.h>
#include <stdint.h>

struct symfile_set {
    uint32_t *words; /* count records of width words */
    size_t count;
    size_t room;
    /* set by the owner: */
    unsigned width;   /* 2, 4 or 6 */
    unsigned hint;    /* the word (if it is SYMFILE_NONE, the other one) in */
    unsigned hint_or; /* which records that come one after another are */
    unsigned shift;   /* alike, but for so many low bits; */
    unsigned spread;  /* logarithm of how many have the same word */
    uint32_t *slots;  /* index + 1 in the low bits, bits of the hash above */
    size_t num_slots; /* a power of two, or 0 */
    size_t indexed;   /* records that insert() can find again */
    uint32_t last;    /* found or inserted; often it is wanted again */
};

/* All zero but for the owner's part is an empty set. */
void symfile_set_free(struct symfile_set *set);

/* Gives up what only insert() needs; append() still works. */
void symfile_set_forget(struct symfile_set *set);

/* Returns 0 and the record's index, or -1 without memory. */
int symfile_set_insert(struct symfile_set *set, const uint32_t *record,
                       uint32_t *index);

/* Adds a record that is known to be new and is never looked up again. */
int symfile_set_append(struct symfile_set *set, const uint32_t *record,
                       uint32_t *index);

#endif
