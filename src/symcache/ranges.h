/*
 * Copyright (C) the ngx_symcache authors
 *
 * The ordered map from addresses to source locations, built without a map.
 *
 * What happens at one address is decided by the order of what is put there:
 *   a line      replaces what is there
 *   a function  (a location without file) is kept out by a line or function
 *   a gap       is kept out by everything, and keeps nothing out
 * Deciding is associative, and gaps do not depend on order at all.  So every
 * tree of functions is a short block of a log, sorted and decided by itself,
 * gaps are a plain list of addresses, and at the end blocks are ordered by
 * their first address; only blocks that overlap are decided together.
 */
#ifndef SYMCACHE_RANGES_H
#define SYMCACHE_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "pack.h"

struct symfile_block {
    uint32_t first; /* address */
    uint32_t last;
    uint32_t count;
    uint32_t addresses; /* packed bytes of them; locations follow */
    uint64_t begin;     /* in packed */
};

struct symfile_ranges {
    uint32_t *addresses; /* the open block, in two arrays of count */
    struct symfile_location *locations;
    size_t count;
    size_t address_room;
    size_t location_room;
    uint8_t *packed; /* closed blocks, a few bytes for each entry */
    size_t packed_size;
    size_t packed_room;
    struct symfile_block *blocks;
    size_t num_blocks;
    size_t block_room;
    size_t total; /* entries of all blocks */
    uint32_t *gaps;
    size_t num_gaps;
    size_t gap_room;
    size_t gap_begin; /* of the open block in gaps */
    uint64_t *keys;   /* work space; after sealing the order of blocks */
    size_t key_room;
};

/* All of these return 0, or -1 without memory. */
int symfile_ranges_put(struct symfile_ranges *ranges, uint32_t address,
                       const struct symfile_location *location);
int symfile_ranges_gap(struct symfile_ranges *ranges, uint32_t address);

/* Ends a block: one tree of functions. */
int symfile_ranges_close(struct symfile_ranges *ranges);

/* Ends putting: orders blocks and gaps, each gap once. */
int symfile_ranges_seal(struct symfile_ranges *ranges);

/*
 * Of equal addresses in n sorted keys (address above, index in locations
 * below) leaves the one that wins.  Returns the number of keys left.
 */
size_t symfile_ranges_decide(const struct symfile_location *locations,
                             uint64_t *keys, size_t n);

void symfile_ranges_free(struct symfile_ranges *ranges);

#endif
