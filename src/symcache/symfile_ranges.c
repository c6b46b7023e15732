/*
 * Copyright (C) the ngx_symcache authors
 */
#include <string.h>

#include "symfile_array.h"
#include "symfile_ranges.h"
#include "symfile_sort.h"

#define MAX_LOG 0xFFFFFFF0u

struct symfile_block {
    uint32_t first; /* address */
    uint32_t last;
    uint32_t begin; /* in the log */
    uint32_t count;
};

void symfile_ranges_free(struct symfile_ranges *r)
{
    free(r->addresses);
    free(r->locations);
    free(r->blocks);
    free(r->gaps);
    free(r->keys);
    memset(r, 0, sizeof(*r));
}

void symfile_map_free(struct symfile_map *map)
{
    free(map->addresses);
    free(map->refs);
    memset(map, 0, sizeof(*map));
}

static int is_line(const struct symfile_location *location)
{
    return location->file != SYMFILE_NONE;
}

int symfile_ranges_put(struct symfile_ranges *r, uint32_t address,
                       const struct symfile_location *location)
{
    size_t n;

    n = r->count;
    if (n > r->begin && r->addresses[n - 1] == address) {
        if (is_line(location)) {
            r->locations[n - 1] = *location;
        }
        return 0;
    }
    if (n >= MAX_LOG ||
        symfile_array_need(&r->addresses, &r->address_room, n + 1,
                           sizeof(*r->addresses)) != 0 ||
        symfile_array_need(&r->locations, &r->location_room, n + 1,
                           sizeof(*r->locations)) != 0) {
        return -1;
    }
    r->addresses[n] = address;
    r->locations[n] = *location;
    r->count = n + 1;
    return 0;
}

int symfile_ranges_gap(struct symfile_ranges *r, uint32_t address)
{
    if (symfile_array_need(&r->gaps, &r->gap_room, r->num_gaps + 1,
                           sizeof(*r->gaps)) != 0) {
        return -1;
    }
    r->gaps[r->num_gaps++] = address;
    return 0;
}

/* Room for n keys and as many temporary ones; those begin at keys + n. */
static int need_keys(struct symfile_ranges *r, size_t n)
{
    return symfile_array_need(&r->keys, &r->key_room, 2 * n, sizeof(*r->keys));
}

/*
 * Of equal addresses in sorted keys (address above, log index below) leaves
 * the one that wins.  Returns the number of keys left.
 */
static size_t decide_keys(const struct symfile_ranges *r, uint64_t *keys,
                          size_t n)
{
    size_t i, out;

    out = 0;
    for (i = 0; i < n; i++) {
        if (out > 0 && keys[out - 1] >> 32 == keys[i] >> 32) {
            if (is_line(&r->locations[(uint32_t)keys[i]])) {
                keys[out - 1] = keys[i];
            }
        } else {
            keys[out++] = keys[i];
        }
    }
    return out;
}

/* Puts the open block into address order, in place. */
static int sort_block(struct symfile_ranges *r)
{
    size_t i, n;
    uint64_t *keys;
    struct symfile_location *sorted;

    n = r->count - r->begin;
    for (i = 1; i < n; i++) {
        if (r->addresses[r->begin + i - 1] >= r->addresses[r->begin + i]) {
            break;
        }
    }
    if (i >= n) {
        return 0;
    }
    /* keys, their temporary copy, then the locations in order */
    if (symfile_array_need(&r->keys, &r->key_room, 4 * n, sizeof(*r->keys)) !=
        0) {
        return -1;
    }
    keys = r->keys;
    for (i = 0; i < n; i++) {
        keys[i] = (uint64_t)r->addresses[r->begin + i] << 32 |
                  (uint32_t)(r->begin + i);
    }
    symfile_sort(keys, keys + n, n);
    n = decide_keys(r, keys, n);
    sorted = (struct symfile_location *)(keys + 2 * (r->count - r->begin));
    for (i = 0; i < n; i++) {
        sorted[i] = r->locations[(uint32_t)keys[i]];
        r->addresses[r->begin + i] = (uint32_t)(keys[i] >> 32);
    }
    memcpy(r->locations + r->begin, sorted, n * sizeof(*sorted));
    r->count = r->begin + n;
    return 0;
}

/* Drops the gaps of the open block that its own entries fill. */
static void drop_filled_gaps(struct symfile_ranges *r)
{
    size_t i, out, low, high, mid;
    uint32_t gap;

    out = r->gap_begin;
    for (i = r->gap_begin; i < r->num_gaps; i++) {
        gap = r->gaps[i];
        low = r->begin;
        high = r->count;
        while (low < high) {
            mid = low + (high - low) / 2;
            if (r->addresses[mid] < gap) {
                low = mid + 1;
            } else {
                high = mid;
            }
        }
        if ((low == r->count || r->addresses[low] != gap) &&
            (out == r->gap_begin || r->gaps[out - 1] != gap)) {
            r->gaps[out++] = gap;
        }
    }
    r->num_gaps = out;
    r->gap_begin = out;
}

int symfile_ranges_close(struct symfile_ranges *r)
{
    struct symfile_block *block;

    if (sort_block(r) != 0) {
        return -1;
    }
    drop_filled_gaps(r);
    if (r->count == r->begin) {
        return 0;
    }
    if (symfile_array_need(&r->blocks, &r->block_room, r->num_blocks + 1,
                           sizeof(*r->blocks)) != 0) {
        return -1;
    }
    block = &r->blocks[r->num_blocks++];
    block->first = r->addresses[r->begin];
    block->last = r->addresses[r->count - 1];
    block->begin = (uint32_t)r->begin;
    block->count = (uint32_t)(r->count - r->begin);
    r->begin = r->count;
    return 0;
}

static void emit_block(const struct symfile_ranges *r,
                       const struct symfile_block *block,
                       struct symfile_map *map)
{
    uint32_t i;

    memcpy(map->addresses + map->count, r->addresses + block->begin,
           block->count * sizeof(*map->addresses));
    for (i = 0; i < block->count; i++) {
        map->refs[map->count + i] = block->begin + i;
    }
    map->count += block->count;
}

/* Blocks that overlap: order[0..n), total entries in all. */
static int emit_cluster(struct symfile_ranges *r, const uint64_t *order,
                        size_t n, size_t total, struct symfile_map *map)
{
    uint32_t j, at;
    size_t i, k;
    uint64_t *keys;
    const struct symfile_block *block;

    keys = malloc(2 * total * sizeof(*keys));
    if (keys == NULL) {
        return -1;
    }
    k = 0;
    for (i = 0; i < n; i++) {
        block = &r->blocks[(uint32_t)order[i]];
        for (j = 0; j < block->count; j++) {
            at = block->begin + j;
            keys[k++] = (uint64_t)r->addresses[at] << 32 | at;
        }
    }
    symfile_sort(keys, keys + total, total);
    k = decide_keys(r, keys, total);
    for (i = 0; i < k; i++) {
        map->addresses[map->count] = (uint32_t)(keys[i] >> 32);
        map->refs[map->count++] = (uint32_t)keys[i];
    }
    free(keys);
    return 0;
}

static int emit_blocks(struct symfile_ranges *r, const uint64_t *order,
                       struct symfile_map *map)
{
    size_t i, j, total;
    uint32_t last;
    const struct symfile_block *block;

    for (i = 0; i < r->num_blocks; i = j) {
        block = &r->blocks[(uint32_t)order[i]];
        last = block->last;
        total = block->count;
        for (j = i + 1; j < r->num_blocks; j++) {
            block = &r->blocks[(uint32_t)order[j]];
            if (block->first > last) {
                break;
            }
            last = block->last > last ? block->last : last;
            total += block->count;
        }
        if (j == i + 1) {
            emit_block(r, &r->blocks[(uint32_t)order[i]], map);
        } else if (emit_cluster(r, order + i, j - i, total, map) != 0) {
            return -1;
        }
    }
    return 0;
}

int symfile_ranges_decide(struct symfile_ranges *r, struct symfile_map *map)
{
    int rc;
    size_t i, n;

    n = r->num_blocks;
    memset(map, 0, sizeof(*map));
    map->addresses = malloc((r->count + 1) * sizeof(*map->addresses));
    map->refs = malloc((r->count + 1) * sizeof(*map->refs));
    if (map->addresses == NULL || map->refs == NULL || need_keys(r, n) != 0) {
        return -1;
    }
    for (i = 0; i < n; i++) {
        r->keys[i] = (uint64_t)r->blocks[i].first << 32 | i;
    }
    symfile_sort(r->keys, r->keys + n, n);
    rc = emit_blocks(r, r->keys, map);
    free(r->blocks);
    r->blocks = NULL;
    r->num_blocks = r->block_room = 0;
    return rc;
}

int symfile_ranges_sort_gaps(struct symfile_ranges *r)
{
    size_t i, out;

    if (need_keys(r, r->num_gaps) != 0) {
        return -1;
    }
    for (i = 0; i < r->num_gaps; i++) {
        r->keys[i] = r->gaps[i];
    }
    symfile_sort(r->keys, r->keys + r->num_gaps, r->num_gaps);
    out = 0;
    for (i = 0; i < r->num_gaps; i++) {
        if (out == 0 || r->gaps[out - 1] != (uint32_t)r->keys[i]) {
            r->gaps[out++] = (uint32_t)r->keys[i];
        }
    }
    r->num_gaps = out;
    return 0;
}
