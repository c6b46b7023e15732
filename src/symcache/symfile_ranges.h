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
#ifndef SYMFILE_RANGES_H
#define SYMFILE_RANGES_H

#include <stddef.h>
#include <stdint.h>

#include "symfile_format.h"

struct symfile_location {
    uint32_t file; /* or SYMFILE_NONE */
    uint32_t line;
    uint32_t function;
    uint32_t inlined_into; /* call location, or SYMFILE_NONE */
};

struct symfile_ranges {
    uint32_t *addresses; /* the log, in two arrays of count */
    struct symfile_location *locations;
    size_t count;
    size_t address_room;
    size_t location_room;
    size_t begin;     /* of the open block in the log */
    size_t gap_begin; /* of the open block in gaps */
    struct symfile_block *blocks;
    size_t num_blocks;
    size_t block_room;
    uint32_t *gaps;
    size_t num_gaps;
    size_t gap_room;
    uint64_t *keys; /* work space for sorting */
    size_t key_room;
};

/* The decided map: addresses ascending, each with the index of its location
 * in ranges.locations, or SYMFILE_NONE for a gap. */
struct symfile_map {
    uint32_t *addresses;
    uint32_t *refs;
    size_t count;
};

/* All of these return 0, or -1 without memory. */
int symfile_ranges_put(struct symfile_ranges *ranges, uint32_t address,
                       const struct symfile_location *location);
int symfile_ranges_gap(struct symfile_ranges *ranges, uint32_t address);

/* Ends a block: one tree of functions. */
int symfile_ranges_close(struct symfile_ranges *ranges);

/* Decides everything that was put; without the gaps.  Frees blocks. */
int symfile_ranges_decide(struct symfile_ranges *ranges,
                          struct symfile_map *map);

/* Sorts gaps and drops duplicates. */
int symfile_ranges_sort_gaps(struct symfile_ranges *ranges);

void symfile_ranges_free(struct symfile_ranges *ranges);
void symfile_map_free(struct symfile_map *map);

#endif
