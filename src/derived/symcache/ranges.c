/*
 * Copyright (C) the ngx_symcache authors
 */

#include "ranges.h"

#include <string.h>

#include "base/array.h"
#include "base/sort.h"

void symc_ranges_free(struct symc_ranges *ranges)
{
    free(ranges->addresses);
    free(ranges->locations);
    free(ranges->packed);
    free(ranges->blocks);
    free(ranges->gaps);
    free(ranges->keys);
    memset(ranges, 0, sizeof(*ranges));
}

static bool is_line(const struct symc_location *location)
{
    return location->file != SYMC_NONE;
}

int symc_ranges_put(struct symc_ranges *ranges, uint32_t address,
                    struct symc_location location)
{
    size_t n;

    n = ranges->count;
    if (n > 0 && ranges->addresses[n - 1] == address) {
        if (is_line(&location)) {
            ranges->locations[n - 1] = location;
        }
        return 0;
    }
    if (n >= UINT32_MAX / 5 || /* 5 packed bytes each must fit in 32 bits */
        array_need(&ranges->addresses, &ranges->address_room, n + 1,
                   sizeof(*ranges->addresses)) != 0 ||
        array_need(&ranges->locations, &ranges->location_room, n + 1,
                   sizeof(*ranges->locations)) != 0) {
        return -1;
    }
    ranges->addresses[n] = address;
    ranges->locations[n] = location;
    ranges->count = n + 1;
    return 0;
}

int symc_ranges_gap(struct symc_ranges *ranges, uint32_t address)
{
    if (array_need(&ranges->gaps, &ranges->gap_room, ranges->num_gaps + 1,
                   sizeof(*ranges->gaps)) != 0) {
        return -1;
    }
    ranges->gaps[ranges->num_gaps++] = address;
    return 0;
}

size_t symc_ranges_decide(const struct symc_location *locations,
                          uint64_t *keys, size_t n)
{
    size_t i, out;

    out = 0;
    for (i = 0; i < n; i++) {
        if (out > 0 && keys[out - 1] >> 32 == keys[i] >> 32) {
            if (is_line(&locations[(uint32_t)keys[i]])) {
                keys[out - 1] = keys[i];
            }
        } else {
            keys[out++] = keys[i];
        }
    }
    return out;
}

/* Sorts the open block by address.  Returns its sorted locations, which may be
 * in another array than before, or NULL if memory runs out. */
static const struct symc_location *sort_range_block(struct symc_ranges *ranges)
{
    size_t i, n, all;
    uint64_t *keys;
    struct symc_location *sorted;

    all = ranges->count;
    for (i = 1; i < all && ranges->addresses[i - 1] < ranges->addresses[i];
         i++) {
    }
    if (i >= all) {
        return ranges->locations;
    }
    /* room for the keys, the work space of sorting, and sorted locations */
    if (array_need(&ranges->keys, &ranges->key_room, 4 * all,
                   sizeof(*ranges->keys)) != 0) {
        return NULL;
    }
    keys = ranges->keys;
    for (i = 0; i < all; i++) {
        keys[i] = (uint64_t)ranges->addresses[i] << 32 | i;
    }
    sort_keys(keys, keys + all, all);
    n = symc_ranges_decide(ranges->locations, keys, all);
    sorted = (struct symc_location *)(keys + 2 * all);
    for (i = 0; i < n; i++) {
        sorted[i] = ranges->locations[(uint32_t)keys[i]];
        ranges->addresses[i] = (uint32_t)(keys[i] >> 32);
    }
    ranges->count = n;
    return sorted;
}

/* Is the address one of these n, which are in ascending order? */
static bool has_address(const uint32_t *addresses, size_t n, uint32_t address)
{
    size_t half;
    const uint32_t *at;

    if (n == 0) {
        return false;
    }
    /* written without a branch, which the processor could not predict */
    for (at = addresses; n > 1; n -= half) {
        half = n / 2;
        at = at[half] <= address ? at + half : at;
    }
    return *at == address;
}

/* Drops gaps of the open block at whose address the block has an entry. */
static void drop_filled_gaps(struct symc_ranges *ranges)
{
    size_t i, out;
    uint32_t gap;

    out = ranges->gap_begin;
    for (i = ranges->gap_begin; i < ranges->num_gaps; i++) {
        gap = ranges->gaps[i];
        if ((out == ranges->gap_begin || ranges->gaps[out - 1] != gap) &&
            !has_address(ranges->addresses, ranges->count, gap)) {
            ranges->gaps[out++] = gap;
        }
    }
    ranges->num_gaps = out;
    ranges->gap_begin = out;
}

static int pack_range_block(struct symc_ranges *ranges,
                            const struct symc_location *locations,
                            struct symc_block *block)
{
    uint8_t *p, *begin;

    if (array_need(&ranges->packed, &ranges->packed_room,
                   ranges->packed_size + SYMC_PACK_ROOM(ranges->count),
                   1) != 0) {
        return -1;
    }
    begin = ranges->packed + ranges->packed_size;
    p = symc_pack_addresses(begin, ranges->addresses, ranges->count);
    block->addresses = (uint32_t)(p - begin);
    /* the numbers of functions and calls only grow: what has not fitted once
     * will not again */
    ranges->is_wide = ranges->is_wide || ranges->total >= SYMC_RANGES_NARROW ||
                      !symc_narrow_locations(p, locations, ranges->count);
    block->is_narrow = !ranges->is_wide;
    p = ranges->is_wide ? symc_pack_locations(p, locations, ranges->count)
                        : p + 8 * ranges->count;
    ranges->packed_size = (size_t)(p - ranges->packed);
    return 0;
}

int symc_ranges_close(struct symc_ranges *ranges)
{
    struct symc_block *block;
    const struct symc_location *locations;

    if (ranges->count == 0) {
        drop_filled_gaps(ranges);
        return 0;
    }
    locations = sort_range_block(ranges);
    if (locations == NULL) {
        return -1;
    }
    drop_filled_gaps(ranges);
    if (ranges->num_blocks >= UINT32_MAX ||
        array_need(&ranges->blocks, &ranges->block_room,
                   ranges->num_blocks + 1, sizeof(*ranges->blocks)) != 0) {
        return -1;
    }
    block = &ranges->blocks[ranges->num_blocks++];
    block->first = ranges->addresses[0];
    block->last = ranges->addresses[ranges->count - 1];
    block->begin = ranges->packed_size;
    block->count = (uint32_t)ranges->count;
    if (pack_range_block(ranges, locations, block) != 0) {
        return -1;
    }
    ranges->total += ranges->count;
    ranges->count = 0;
    return 0;
}

static int sort_gaps(struct symc_ranges *ranges)
{
    size_t i, out;
    uint32_t *tmp = malloc((ranges->num_gaps + 1) * sizeof(*tmp));

    if (tmp == NULL) {
        return -1;
    }
    sort_words(ranges->gaps, tmp, ranges->num_gaps);
    free(tmp);
    out = 0;
    for (i = 0; i < ranges->num_gaps; i++) {
        if (out == 0 || ranges->gaps[out - 1] != ranges->gaps[i]) {
            ranges->gaps[out++] = ranges->gaps[i];
        }
    }
    ranges->num_gaps = out;
    return 0;
}

int symc_ranges_seal(struct symc_ranges *ranges)
{
    size_t i, n = ranges->num_blocks;

    if (sort_gaps(ranges) != 0 ||
        array_need(&ranges->keys, &ranges->key_room, 2 * n + 2,
                   sizeof(*ranges->keys)) != 0) {
        return -1;
    }
    for (i = 0; i < n; i++) {
        ranges->keys[i] = (uint64_t)ranges->blocks[i].first << 32 | i;
    }
    sort_keys(ranges->keys, ranges->keys + n, n);
    return 0;
}
