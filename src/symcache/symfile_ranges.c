/*
 * Copyright (C) the ngx_symcache authors
 *
 * An entry of a closed block is packed as
 *
 *   number   address, less that of the entry before; three flags below it
 *   number   line, less that before
 *   number   file, function, caller, less those before; where a flag says so
 *
 * Numbers are LEB128, differences have their sign in bit 0.  Neighbours differ
 * little, so that this is a sixth of the arrays that it replaces.
 */
#include <string.h>

#include "symfile_array.h"
#include "symfile_ranges.h"
#include "symfile_sort.h"

#define PACKED_MAX 30 /* bytes of an entry */
#define HAS_FILE 1
#define HAS_FUNCTION 2
#define HAS_CALLER 4
#define FLAG_BITS 3

struct symfile_block {
    uint32_t first; /* address */
    uint32_t last;
    uint32_t count;
    uint64_t begin; /* in packed */
};

/* Entries of blocks that overlap, in the order in which they were put. */
struct symfile_cluster {
    uint32_t *addresses;
    struct symfile_location *locations;
    uint64_t *keys; /* decided: address above, index below */
    size_t count;   /* of entries */
    size_t decided;
    size_t next;
};

void symfile_ranges_free(struct symfile_ranges *r)
{
    free(r->addresses);
    free(r->locations);
    free(r->packed);
    free(r->blocks);
    free(r->gaps);
    free(r->keys);
    memset(r, 0, sizeof(*r));
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
    if (n > 0 && r->addresses[n - 1] == address) {
        if (is_line(location)) {
            r->locations[n - 1] = *location;
        }
        return 0;
    }
    if (n >= UINT32_MAX ||
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

/*
 * Of equal addresses in sorted keys (address above, index below) leaves the
 * one that wins.  Returns the number of keys left.
 */
static size_t decide_keys(const struct symfile_location *locations,
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

/* Puts the open block into address order, in place. */
static int sort_block(struct symfile_ranges *r)
{
    size_t i, n, all;
    uint64_t *keys;
    struct symfile_location *sorted;

    all = r->count;
    for (i = 1; i < all && r->addresses[i - 1] < r->addresses[i]; i++) {
    }
    if (i >= all) {
        return 0;
    }
    /* keys, their temporary copy, then the locations in order */
    if (symfile_array_need(&r->keys, &r->key_room, 4 * all,
                           sizeof(*r->keys)) != 0) {
        return -1;
    }
    keys = r->keys;
    for (i = 0; i < all; i++) {
        keys[i] = (uint64_t)r->addresses[i] << 32 | i;
    }
    symfile_sort(keys, keys + all, all);
    n = decide_keys(r->locations, keys, all);
    sorted = (struct symfile_location *)(keys + 2 * all);
    for (i = 0; i < n; i++) {
        sorted[i] = r->locations[(uint32_t)keys[i]];
        r->addresses[i] = (uint32_t)(keys[i] >> 32);
    }
    memcpy(r->locations, sorted, n * sizeof(*sorted));
    r->count = n;
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
        low = 0;
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

static uint8_t *put_number(uint8_t *p, uint64_t number)
{
    for (; number >= 0x80; number >>= 7) {
        *p++ = (uint8_t)(number | 0x80);
    }
    *p++ = (uint8_t)number;
    return p;
}

static uint8_t *put_difference(uint8_t *p, uint32_t before, uint32_t now)
{
    uint32_t d;

    d = now - before;
    return put_number(p, d << 1 ^ (0u - (d >> 31)));
}

static const uint8_t *get_number(const uint8_t *p, uint64_t *number)
{
    unsigned shift;

    *number = *p & 0x7F;
    for (shift = 7; (*p++ & 0x80) != 0; shift += 7) {
        *number |= (uint64_t)(*p & 0x7F) << shift;
    }
    return p;
}

static const uint8_t *add_difference(const uint8_t *p, uint32_t *value)
{
    uint64_t n;

    p = get_number(p, &n);
    *value += (uint32_t)n >> 1 ^ (0u - ((uint32_t)n & 1));
    return p;
}

static uint8_t *pack(uint8_t *p, uint32_t delta,
                     const struct symfile_location *before,
                     const struct symfile_location *now)
{
    unsigned flags;

    flags = (before->file != now->file ? HAS_FILE : 0) |
            (before->function != now->function ? HAS_FUNCTION : 0) |
            (before->inlined_into != now->inlined_into ? HAS_CALLER : 0);
    p = put_number(p, (uint64_t)delta << FLAG_BITS | flags);
    p = put_difference(p, before->line, now->line);
    if ((flags & HAS_FILE) != 0) {
        p = put_difference(p, before->file, now->file);
    }
    if ((flags & HAS_FUNCTION) != 0) {
        p = put_difference(p, before->function, now->function);
    }
    if ((flags & HAS_CALLER) != 0) {
        p = put_difference(p, before->inlined_into, now->inlined_into);
    }
    return p;
}

static const uint8_t *unpack(const uint8_t *p, uint32_t *address,
                             struct symfile_location *location)
{
    uint64_t n;

    p = get_number(p, &n);
    *address += (uint32_t)(n >> FLAG_BITS);
    p = add_difference(p, &location->line);
    if ((n & HAS_FILE) != 0) {
        p = add_difference(p, &location->file);
    }
    if ((n & HAS_FUNCTION) != 0) {
        p = add_difference(p, &location->function);
    }
    if ((n & HAS_CALLER) != 0) {
        p = add_difference(p, &location->inlined_into);
    }
    return p;
}

static int pack_block(struct symfile_ranges *r)
{
    size_t i;
    uint8_t *p;
    uint32_t before_address;
    struct symfile_location zero = {0, 0, 0, 0};
    const struct symfile_location *before;

    if (symfile_array_need(&r->packed, &r->packed_room,
                           r->packed_size + PACKED_MAX * r->count, 1) != 0) {
        return -1;
    }
    before = &zero;
    before_address = 0;
    p = r->packed + r->packed_size;
    for (i = 0; i < r->count; i++) {
        p = pack(p, r->addresses[i] - before_address, before,
                 &r->locations[i]);
        before = &r->locations[i];
        before_address = r->addresses[i];
    }
    r->packed_size = (size_t)(p - r->packed);
    return 0;
}

int symfile_ranges_close(struct symfile_ranges *r)
{
    struct symfile_block *block;

    if (sort_block(r) != 0) {
        return -1;
    }
    drop_filled_gaps(r);
    if (r->count == 0) {
        return 0;
    }
    if (r->num_blocks >= UINT32_MAX ||
        symfile_array_need(&r->blocks, &r->block_room, r->num_blocks + 1,
                           sizeof(*r->blocks)) != 0) {
        return -1;
    }
    block = &r->blocks[r->num_blocks++];
    block->first = r->addresses[0];
    block->last = r->addresses[r->count - 1];
    block->begin = r->packed_size;
    block->count = (uint32_t)r->count;
    if (pack_block(r) != 0) {
        return -1;
    }
    r->count = 0;
    return 0;
}

static void sort_gaps(struct symfile_ranges *r)
{
    size_t i, out;

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
}

int symfile_ranges_seal(struct symfile_ranges *r)
{
    size_t i, n;

    n = r->num_blocks > r->num_gaps ? r->num_blocks : r->num_gaps;
    if (symfile_array_need(&r->keys, &r->key_room, 2 * n + 2,
                           sizeof(*r->keys)) != 0) {
        return -1;
    }
    sort_gaps(r);
    n = r->num_blocks;
    for (i = 0; i < n; i++) {
        r->keys[i] = (uint64_t)r->blocks[i].first << 32 | i;
    }
    symfile_sort(r->keys, r->keys + n, n);
    return 0;
}

/* reading --------------------------------------------------------------- */

static const struct symfile_block *block_at(const struct symfile_ranges *r,
                                            size_t i)
{
    return &r->blocks[(uint32_t)r->keys[i]];
}

static void cluster_free(struct symfile_cluster *c)
{
    if (c != NULL) {
        free(c->addresses);
        free(c->locations);
        free(c->keys);
        free(c);
    }
}

void symfile_ranges_reader_free(struct symfile_ranges_reader *reader)
{
    cluster_free(reader->cluster);
    reader->cluster = NULL;
}

static struct symfile_cluster *cluster_new(size_t total)
{
    struct symfile_cluster *c;

    c = calloc(1, sizeof(*c));
    if (c == NULL) {
        return NULL;
    }
    c->addresses = malloc(total * sizeof(*c->addresses));
    c->locations = malloc(total * sizeof(*c->locations));
    c->keys = malloc(2 * total * sizeof(*c->keys));
    if (c->addresses == NULL || c->locations == NULL || c->keys == NULL) {
        cluster_free(c);
        return NULL;
    }
    return c;
}

static void cluster_add(struct symfile_cluster *c,
                        const struct symfile_ranges *r,
                        const struct symfile_block *block)
{
    uint32_t i, address;
    const uint8_t *p;
    struct symfile_location location = {0, 0, 0, 0};

    address = 0;
    p = r->packed + block->begin;
    for (i = 0; i < block->count; i++) {
        p = unpack(p, &address, &location);
        c->addresses[c->count] = address;
        c->locations[c->count++] = location;
    }
}

/* Blocks first to end of the order overlap: decides them together. */
static int open_cluster(struct symfile_ranges_reader *reader, size_t first,
                        size_t end, size_t total)
{
    size_t i;
    uint64_t *order;
    struct symfile_cluster *c;

    c = total > UINT32_MAX ? NULL : cluster_new(total);
    order = malloc(2 * (end - first) * sizeof(*order));
    if (c == NULL || order == NULL) {
        cluster_free(c);
        free(order);
        return -1;
    }
    /* back to the order in which they were put */
    for (i = first; i < end; i++) {
        order[i - first] = (uint32_t)reader->ranges->keys[i];
    }
    symfile_sort(order, order + (end - first), end - first);
    for (i = first; i < end; i++) {
        cluster_add(c, reader->ranges,
                    &reader->ranges->blocks[order[i - first]]);
    }
    free(order);
    for (i = 0; i < c->count; i++) {
        c->keys[i] = (uint64_t)c->addresses[i] << 32 | i;
    }
    symfile_sort(c->keys, c->keys + c->count, c->count);
    c->decided = decide_keys(c->locations, c->keys, c->count);
    reader->cluster = c;
    return 0;
}

/* Opens the next block, or cluster of blocks.  1, 0 at the end, or -1. */
static int open_next(struct symfile_ranges_reader *reader)
{
    size_t i, total;
    uint32_t last;
    const struct symfile_block *block;
    const struct symfile_ranges *r;
    static const struct symfile_location zero = {0, 0, 0, 0};

    r = reader->ranges;
    if (reader->next_block == r->num_blocks) {
        return 0;
    }
    block = block_at(r, reader->next_block);
    last = block->last;
    total = block->count;
    for (i = reader->next_block + 1; i < r->num_blocks; i++) {
        block = block_at(r, i);
        if (block->first > last) {
            break;
        }
        last = block->last > last ? block->last : last;
        total += block->count;
    }
    block = block_at(r, reader->next_block);
    if (i > reader->next_block + 1) {
        if (open_cluster(reader, reader->next_block, i, total) != 0) {
            return -1;
        }
    } else {
        reader->p = r->packed + block->begin;
        reader->left = block->count;
        reader->address = 0;
        reader->location = zero;
    }
    reader->next_block = i;
    return 1;
}

int symfile_ranges_next(struct symfile_ranges_reader *reader)
{
    int rc;
    uint64_t key;
    struct symfile_cluster *c;

    for (;;) {
        c = reader->cluster;
        if (c != NULL && c->next < c->decided) {
            key = c->keys[c->next++];
            reader->address = (uint32_t)(key >> 32);
            reader->location = c->locations[(uint32_t)key];
            return 1;
        }
        symfile_ranges_reader_free(reader);
        if (reader->left > 0) {
            reader->left--;
            reader->p = unpack(reader->p, &reader->address, &reader->location);
            return 1;
        }
        rc = open_next(reader);
        if (rc <= 0) {
            return rc;
        }
    }
}
