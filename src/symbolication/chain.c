/*
 * Copyright (C) the ngx_symcache authors
 */
#include "chain.h"

#define RANGES_MAX 4096 /* of a function whose size is told */

void chain_find(const struct symfile_reader *reader, uint64_t address,
                struct chain *chain)
{
    struct symfile_frames frames;

    chain->reader = reader;
    chain->count = 0;
    symfile_reader_lookup(reader, address, &frames);
    while (chain->count < CHAIN_MAX &&
           symfile_reader_next(&frames, &chain->frames[chain->count])) {
        chain->count++;
    }
}

uint32_t chain_entry(const struct chain *chain)
{
    return chain->count == 0 ? SYMFILE_NONE
                             : chain->frames[chain->count - 1].function.entry;
}

/* The index of the range that begins at address, or num_ranges. */
static uint32_t range_at(const struct symfile_reader *r, uint32_t address)
{
    uint32_t low, high, middle;

    low = 0;
    high = r->num_ranges;
    while (low < high) {
        middle = low + (high - low) / 2;
        if (symfile_reader_range(r, middle) < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < r->num_ranges && symfile_reader_range(r, low) == address
               ? low
               : r->num_ranges;
}

/* The function that has the code of a range; SYMFILE_NONE for a gap. */
static uint32_t outer_function(const struct symfile_reader *r, uint32_t range)
{
    int i;
    uint32_t next;
    struct symfile_location location;

    next = symfile_reader_range_location(r, range);
    for (i = 0; i < CHAIN_MAX; i++) {
        symfile_reader_location(r, next, &location);
        next = location.inlined_into;
        if (next >= r->num_locations) {
            return location.function;
        }
    }
    return SYMFILE_NONE;
}

uint32_t chain_function_size(const struct chain *chain)
{
    uint32_t entry, function, first, i;
    const struct symfile_reader *r;

    r = chain->reader;
    entry = chain_entry(chain);
    if (entry == SYMFILE_NONE) {
        return 0;
    }
    first = range_at(r, entry);
    function = chain->frames[chain->count - 1].location.function;
    for (i = first; i < r->num_ranges && i - first < RANGES_MAX; i++) {
        if (outer_function(r, i) != function) {
            return symfile_reader_range(r, i) - entry;
        }
    }
    return 0;
}
