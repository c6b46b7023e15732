/*
 * Copyright (C) the ngx_symcache authors
 */

#include "ranges.h"

#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "base/sort.h"

void symc_ranges_free(struct symc_ranges *r)
{
    free(r->addresses);
    free(r->locations);
    free(r->packed);
    free(r->blocks);
    free(r->gaps);
    free(r->keys);
    memset(r, 0, sizeof(*r));
}

static bool is_line(const struct symc_location *location)
{
    return location->file != SYMC_NONE;
}

int symc_ranges_put(struct symc_ranges *r, uint32_t address,
                    const struct symc_location *location)
{
    size_t n;

    n = r->count;
    if (n > 0 && r->addresses[n - 1] == address) {
        if (is_line(location)) {
            r->locations[n - 1] = *location;
        }
        return 0;
    }
    if (n >= UINT32_MAX / 5 || /* 5 packed bytes each must fit in 32 bits */
        symc_array_need(&r->addresses, &r->address_room, n + 1,
                        sizeof(*r->addresses)) != 0 ||
        symc_array_need(&r->locations, &r->location_room, n + 1,
                        sizeof(*r->locations)) != 0) {
        return -1;
    }
    r->addresses[n] = address;
    r->locations[n] = *location;
    r->count = n + 1;
    return 0;
}

int symc_ranges_gap(struct symc_ranges *r, uint32_t address)
{
    if (symc_array_need(&r->gaps, &r->gap_room, r->num_gaps + 1,
                        sizeof(*r->gaps)) != 0) {
        return -1;
    }
    r->gaps[r->num_gaps++] = address;
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
static const struct symc_location *sort_block(struct symc_ranges *r)
{
    size_t i, n, all;
    uint64_t *keys;
    struct symc_location *sorted;

    all = r->count;
    for (i = 1; i < all && r->addresses[i - 1] < r->addresses[i]; i++) {
    }
    if (i >= all) {
        return r->locations;
    }
    /* room for the keys, the work space of sorting, and sorted locations */
    if (symc_array_need(&r->keys, &r->key_room, 4 * all, sizeof(*r->keys)) !=
        0) {
        return NULL;
    }
    keys = r->keys;
    for (i = 0; i < all; i++) {
        keys[i] = (uint64_t)r->addresses[i] << 32 | i;
    }
    symc_sort(keys, keys + all, all);
    n = symc_ranges_decide(r->locations, keys, all);
    sorted = (struct symc_location *)(keys + 2 * all);
    for (i = 0; i < n; i++) {
        sorted[i] = r->locations[(uint32_t)keys[i]];
        r->addresses[i] = (uint32_t)(keys[i] >> 32);
    }
    r->count = n;
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
static void drop_filled_gaps(struct symc_ranges *r)
{
    size_t i, out;
    uint32_t gap;

    out = r->gap_begin;
    for (i = r->gap_begin; i < r->num_gaps; i++) {
        gap = r->gaps[i];
        if ((out == r->gap_begin || r->gaps[out - 1] != gap) &&
            !has_address(r->addresses, r->count, gap)) {
            r->gaps[out++] = gap;
        }
    }
    r->num_gaps = out;
    r->gap_begin = out;
}

static int pack_block(struct symc_ranges *r,
                      const struct symc_location *locations,
                      struct symc_block *block)
{
    uint8_t *p, *begin;

    if (symc_array_need(&r->packed, &r->packed_room,
                        r->packed_size + SYMC_PACK_ROOM(r->count), 1) != 0) {
        return -1;
    }
    begin = r->packed + r->packed_size;
    p = symc_pack_addresses(begin, r->addresses, r->count);
    block->addresses = (uint32_t)(p - begin);
    p = symc_pack_locations(p, locations, r->count);
    r->packed_size = (size_t)(p - r->packed);
    return 0;
}

int symc_ranges_close(struct symc_ranges *r)
{
    struct symc_block *block;
    const struct symc_location *locations;

    if (r->count == 0) {
        drop_filled_gaps(r);
        return 0;
    }
    locations = sort_block(r);
    if (locations == NULL) {
        return -1;
    }
    drop_filled_gaps(r);
    if (r->num_blocks >= UINT32_MAX ||
        symc_array_need(&r->blocks, &r->block_room, r->num_blocks + 1,
                        sizeof(*r->blocks)) != 0) {
        return -1;
    }
    block = &r->blocks[r->num_blocks++];
    block->first = r->addresses[0];
    block->last = r->addresses[r->count - 1];
    block->begin = r->packed_size;
    block->count = (uint32_t)r->count;
    if (pack_block(r, locations, block) != 0) {
        return -1;
    }
    r->total += r->count;
    r->count = 0;
    return 0;
}

static int sort_gaps(struct symc_ranges *r)
{
    size_t i, out;
    uint32_t *tmp = malloc((r->num_gaps + 1) * sizeof(*tmp));

    if (tmp == NULL) {
        return -1;
    }
    symc_sort_words(r->gaps, tmp, r->num_gaps);
    free(tmp);
    out = 0;
    for (i = 0; i < r->num_gaps; i++) {
        if (out == 0 || r->gaps[out - 1] != r->gaps[i]) {
            r->gaps[out++] = r->gaps[i];
        }
    }
    r->num_gaps = out;
    return 0;
}

int symc_ranges_seal(struct symc_ranges *r)
{
    size_t i, n = r->num_blocks;

    if (sort_gaps(r) != 0 || symc_array_need(&r->keys, &r->key_room, 2 * n + 2,
                                             sizeof(*r->keys)) != 0) {
        return -1;
    }
    for (i = 0; i < n; i++) {
        r->keys[i] = (uint64_t)r->blocks[i].first << 32 | i;
    }
    symc_sort(r->keys, r->keys + n, n);
    return 0;
}
