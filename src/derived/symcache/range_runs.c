/*
 * Copyright (C) the ngx_symcache authors
 */

#include "range_runs.h"

#include <stdlib.h>
#include <string.h>

#include "base/sort.h"

/* The entries of blocks that overlap, in the order in which they were put. */
struct range_cluster {
    uint32_t *addresses; /* of all entries; once decided, of the keys */
    struct symc_location *locations;
    uint64_t *keys; /* address in the high half, index in the low half */
    size_t count;   /* number of entries */
    size_t next;    /* index of the next key to use */
};

static const struct symc_block *block_at(const struct symc_ranges *ranges,
                                         size_t i)
{
    return &ranges->blocks[(uint32_t)ranges->keys[i]];
}

static void range_cluster_free(struct range_cluster *c)
{
    if (c != NULL) {
        free(c->addresses);
        free(c->locations);
        free(c->keys);
        free(c);
    }
}

void symc_runs_free(struct symc_runs *runs)
{
    range_cluster_free(runs->cluster);
    runs->cluster = NULL;
}

static struct range_cluster *range_cluster_new(size_t total)
{
    struct range_cluster *c;

    c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return NULL;
    }
    c->addresses = malloc(total * sizeof(*c->addresses));
    c->locations = malloc(total * sizeof(*c->locations));
    c->keys = malloc(2 * total * sizeof(*c->keys));
    if (c->addresses == NULL || c->locations == NULL || c->keys == NULL) {
        range_cluster_free(c);
        return NULL;
    }
    return c;
}

static void range_cluster_add(struct range_cluster *c,
                              const struct symc_ranges *ranges,
                              const struct symc_block *block)
{
    const uint8_t *p;
    struct symc_location last = {0, 0, 0, 0};

    p = ranges->packed + block->begin;
    symc_unpack_addresses(p, block->first, c->addresses + c->count,
                          block->count);
    if (block->is_narrow) {
        symc_widen_locations(p + block->addresses, c->locations + c->count,
                             block->count);
    } else {
        symc_unpack_locations(p + block->addresses, &last,
                              c->locations + c->count, block->count);
    }
    c->count += block->count;
}

/* Sorts the entries and keeps one for each address.  Returns how many are
 * left. */
static size_t range_cluster_decide(struct range_cluster *c)
{
    size_t i, n;

    for (i = 0; i < c->count; i++) {
        c->keys[i] = (uint64_t)c->addresses[i] << 32 | i;
    }
    sort_keys(c->keys, c->keys + c->count, c->count);
    n = symc_ranges_decide(c->locations, c->keys, c->count);
    for (i = 0; i < n; i++) {
        c->addresses[i] = (uint32_t)(c->keys[i] >> 32);
    }
    return n;
}

/* Makes a run of the blocks [first, end) of the sorted order, which overlap
 * and have `total` entries. */
static int open_cluster(struct symc_runs *runs, size_t first, size_t end,
                        size_t total)
{
    size_t i;
    uint64_t *order;
    struct range_cluster *c;

    c = total > UINT32_MAX ? NULL : range_cluster_new(total);
    order = malloc(2 * (end - first) * sizeof(*order));
    if (c == NULL || order == NULL) {
        range_cluster_free(c);
        free(order);
        return -1;
    }
    /* entries at one address are decided by the order they were put in */
    for (i = first; i < end; i++) {
        order[i - first] = (uint32_t)runs->ranges->keys[i];
    }
    sort_keys(order, order + (end - first), end - first);
    for (i = first; i < end; i++) {
        range_cluster_add(c, runs->ranges,
                          &runs->ranges->blocks[order[i - first]]);
    }
    free(order);
    runs->count = range_cluster_decide(c);
    runs->cluster = c;
    return 0;
}

int symc_runs_next(struct symc_runs *runs)
{
    size_t i, first, total;
    uint32_t last;
    const struct symc_block *block;
    const struct symc_ranges *ranges;

    symc_runs_free(runs);
    ranges = runs->ranges;
    first = runs->next_block;
    if (first == ranges->num_blocks) {
        return 0;
    }
    runs->block = block_at(ranges, first);
    last = runs->block->last;
    total = runs->block->count;
    for (i = first + 1; i < ranges->num_blocks; i++) {
        block = block_at(ranges, i);
        if (block->first > last) {
            break;
        }
        last = block->last > last ? block->last : last;
        total += block->count;
    }
    runs->next_block = i;
    runs->highest = last;
    if (i > first + 1) {
        return open_cluster(runs, first, i, total) != 0 ? -1 : 1;
    }
    runs->count = total;
    runs->p = ranges->packed + runs->block->begin + runs->block->addresses;
    memset(&runs->last, 0, sizeof(runs->last));
    return 1;
}

const uint32_t *symc_runs_addresses(struct symc_runs *runs)
{
    struct symc_ranges *ranges;

    if (runs->cluster != NULL) {
        return runs->cluster->addresses;
    }
    /* no block is open any more; its array once held this block, too */
    ranges = runs->ranges;
    symc_unpack_addresses(ranges->packed + runs->block->begin,
                          runs->block->first, ranges->addresses, runs->count);
    return ranges->addresses;
}

void symc_runs_locations(struct symc_runs *runs,
                         struct symc_location *locations, size_t n)
{
    size_t i;
    struct range_cluster *c;

    c = runs->cluster;
    if (c == NULL && runs->block->is_narrow) {
        symc_widen_locations(runs->p, locations, n);
        runs->p += 8 * n;
        return;
    }
    if (c == NULL) {
        runs->p = symc_unpack_locations(runs->p, &runs->last, locations, n);
        return;
    }
    for (i = 0; i < n; i++) {
        locations[i] = c->locations[(uint32_t)c->keys[c->next++]];
    }
}
