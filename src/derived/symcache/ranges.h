/*
 * Copyright (C) the ngx_symcache authors
 *
 * Builds the list of source locations ordered by address, from entries that
 * arrive in any order, without the cost of a map.
 *
 * If several entries have the same address, one of them wins:
 *   a line      replaces what was put there before
 *   a function  (a location without file) does not replace a line or function
 *   a gap       replaces nothing, and is replaced by everything
 * This rule is associative, and gaps do not depend on the order at all.  So
 * the entries of each tree of functions form a block, which is sorted and
 * resolved on its own.  Gaps are a plain list of addresses.  At the end the
 * blocks are ordered by their first address; only blocks that overlap must be
 * resolved together.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "delta_encoding.h"

/* As many locations may be words of 8 bytes, which take fewer instructions,
 * but of many the memory, of which packed ones need half. */
#define SYMC_RANGES_NARROW 65536

struct symc_block {
    uint32_t first; /* address */
    uint32_t last;
    uint32_t count : 31;
    uint32_t is_narrow : 1; /* locations are words of 8 bytes */
    uint32_t addresses;     /* bytes of packed addresses; locations follow */
    uint64_t begin;         /* in packed */
};

struct symc_ranges {
    uint32_t *addresses; /* the open block: two arrays of count elements */
    struct symc_location *locations;
    size_t count;
    size_t address_room;
    size_t location_room;
    uint8_t *packed; /* closed blocks, a few bytes for each entry */
    size_t packed_size;
    size_t packed_room;
    bool is_wide; /* later locations are not tried to be words */
    struct symc_block *blocks;
    size_t num_blocks;
    size_t block_room;
    size_t total; /* entries of all blocks */
    uint32_t *gaps;
    size_t num_gaps;
    size_t gap_room;
    size_t gap_begin; /* index of the open block's first gap */
    uint64_t *keys;   /* work space; after sealing, the order of blocks */
    size_t key_room;
};

/* Add an entry or a gap at an address.  These, and the functions up to
 * symc_ranges_seal(), return 0, or -1 if memory or 32 bits run out. */
int symc_ranges_put(struct symc_ranges *ranges, uint32_t address,
                    struct symc_location location);
int symc_ranges_gap(struct symc_ranges *ranges, uint32_t address);

/* Closes the open block, after one tree of functions. */
int symc_ranges_close(struct symc_ranges *ranges);

/* Ends the input: sorts blocks and gaps, and removes duplicate gaps. */
int symc_ranges_seal(struct symc_ranges *ranges);

/*
 * Keeps one key for each address, the one that wins by the rule above.  The n
 * keys are sorted; a key has the address in its high half and the index into
 * locations in its low half.  Returns the number of keys left.
 */
size_t symc_ranges_decide(const struct symc_location *locations,
                          uint64_t *keys, size_t n);

void symc_ranges_free(struct symc_ranges *ranges);
