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
    uint32_t *gaps;
    size_t num_gaps;
    size_t gap_room;
    size_t gap_begin; /* of the open block in gaps */
    uint64_t *keys;   /* work space; after sealing the order of blocks */
    size_t key_room;
};

/* Goes through everything that was put, by address. */
struct symfile_ranges_reader {
    const struct symfile_ranges *ranges;
    size_t next_block; /* in the order of blocks */
    const uint8_t *p;  /* in the block */
    uint32_t left;     /* entries of the block */
    uint32_t address;
    struct symfile_location location;
    struct symfile_cluster *cluster; /* NULL, or blocks that overlap */
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
 * Reading starts from all zero but for ranges, which are sealed.  Each call
 * goes to the next address and its location and returns 1; 0 at the end, -1
 * without memory.  Afterwards, or to end early, symfile_ranges_reader_free().
 */
int symfile_ranges_next(struct symfile_ranges_reader *reader);
void symfile_ranges_reader_free(struct symfile_ranges_reader *reader);

void symfile_ranges_free(struct symfile_ranges *ranges);

#endif
