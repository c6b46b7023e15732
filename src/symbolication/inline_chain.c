/*
 * Copyright (C) the ngx_symcache authors
 */
#include "inline_chain.h"

#define RANGES_MAX 4096 /* of a function with a known size */

void chain_at(const struct symc_reader *reader, uint32_t location,
              struct chain *chain)
{
    struct symc_frames frames;

    symc_reader_frames(reader, location, &frames);
    chain->reader = reader;
    chain->count = 0;
    while (chain->count < CHAIN_MAX &&
           symc_reader_next(&frames, &chain->frames[chain->count])) {
        chain->count++;
    }
}

/* A record that is in the file, or NULL. */
static const uint8_t *record(const struct symc_reader *r, size_t begin,
                             uint32_t index, uint32_t count, size_t size)
{
    return index < count ? r->data + begin + index * size : NULL;
}

static const uint8_t *chain_location_of(const struct symc_lookup *place)
{
    const struct symc_reader *r;

    r = place->reader;
    return record(r, r->locations, place->location, r->num_locations,
                  SYMC_LOCATION_SIZE);
}

static const uint8_t *chain_function_of(const struct symc_lookup *place)
{
    const uint8_t *location;
    const struct symc_reader *r;

    r = place->reader;
    location = chain_location_of(place);
    return location == NULL ? NULL
                            : record(r, r->functions, le32(location + 8),
                                     r->num_functions, SYMC_FUNCTION_SIZE);
}

static const uint8_t *chain_file_of(const struct symc_lookup *place)
{
    const uint8_t *location;
    const struct symc_reader *r;

    r = place->reader;
    location = chain_location_of(place);
    return location == NULL ? NULL
                            : record(r, r->files, le32(location), r->num_files,
                                     r->file_size);
}

/* The string that a field of a record names, if there is such a record. */
static void prefetch_string(const struct symc_reader *r,
                            const uint8_t *record_of, size_t field)
{
    if (record_of != NULL) {
        __builtin_prefetch(record(r, r->strings, le32(record_of + field),
                                  r->string_bytes, 1));
    }
}

void chain_prefetch(const struct symc_lookup *places, size_t count)
{
    size_t i;
    const uint8_t *file;

    for (i = 0; i < count; i++) {
        __builtin_prefetch(chain_location_of(&places[i]));
    }
    for (i = 0; i < count; i++) {
        __builtin_prefetch(chain_function_of(&places[i]));
        __builtin_prefetch(chain_file_of(&places[i]));
    }
    for (i = 0; i < count; i++) {
        file = chain_file_of(&places[i]);
        prefetch_string(places[i].reader, chain_function_of(&places[i]), 0);
        prefetch_string(places[i].reader, file, 4);
        prefetch_string(places[i].reader, file, 8);
    }
}

uint32_t chain_entry(const struct chain *chain)
{
    return chain->count == 0 ? SYMC_NONE
                             : chain->frames[chain->count - 1].function.entry;
}

/* The index of the range that begins at address, or num_ranges. */
static uint32_t chain_range_at(const struct symc_reader *r, uint32_t address)
{
    uint32_t low, high, middle;

    low = 0;
    high = r->num_ranges;
    while (low < high) {
        middle = low + (high - low) / 2;
        if (symc_reader_range(r, middle) < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < r->num_ranges && symc_reader_range(r, low) == address
               ? low
               : r->num_ranges;
}

/* The function that has the code of a range; SYMC_NONE for a gap. */
static uint32_t chain_outer_function(const struct symc_reader *r,
                                     uint32_t range)
{
    int i;
    uint32_t next;
    struct symc_location location;

    next = symc_reader_range_location(r, range);
    for (i = 0; i < CHAIN_MAX; i++) {
        symc_reader_location(r, next, &location);
        next = location.inlined_into;
        if (next >= r->num_locations) {
            return location.function;
        }
    }
    return SYMC_NONE;
}

uint32_t chain_function_size(const struct chain *chain)
{
    uint32_t entry, function, first, i;
    const struct symc_reader *r;

    r = chain->reader;
    entry = chain_entry(chain);
    if (entry == SYMC_NONE) {
        return 0;
    }
    first = chain_range_at(r, entry);
    function = chain->frames[chain->count - 1].location.function;
    for (i = first; i < r->num_ranges && i - first < RANGES_MAX; i++) {
        if (chain_outer_function(r, i) != function) {
            return symc_reader_range(r, i) - entry;
        }
    }
    return 0;
}
