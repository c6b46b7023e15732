/*
 * Copyright (C) the ngx_symcache authors
 */
#include "bytes.h"

#include <stdlib.h>

#define ENTRY 16
#define HEADER64 16

static const struct bytes_limit ranges_limit = {MINIDUMP_RANGES, "memory"};

static int compare_ranges(const void *a, const void *b)
{
    const struct stackwalk_memory *x = a, *y = b;

    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    if (x->size != y->size) {
        return x->size < y->size ? -1 : 1;
    }
    return x->data < y->data ? -1 : x->data > y->data;
}

/* Takes a range, if it is one. */
static void add_range(struct minidump *dump, uint64_t start,
                      struct minidump_bytes bytes)
{
    struct stackwalk_memory *m = &dump->memory[dump->num_memory];

    if (bytes.data != NULL && bytes.size > 0 &&
        start + (bytes.size - 1) >= start) {
        m->start = start;
        m->data = bytes.data;
        m->size = bytes.size;
        m->is_big_endian = dump->is_big_endian;
        dump->num_memory++;
    }
}

/* Takes the ranges that lie one after the other.  Returns false if one of them
 * is not in the dump. */
static bool add_contiguous(struct minidump *dump, const uint8_t *entries,
                           size_t count, uint64_t offset)
{
    size_t i;
    struct minidump_bytes bytes;

    for (i = 0; i < count; i++, entries += ENTRY) {
        bytes = bytes_at(dump, offset, get64(dump, entries + 8));
        if (bytes.data == NULL) {
            dump->cut = MINIDUMP_CUT_OFF;
            return false;
        }
        add_range(dump, get64(dump, entries), bytes);
        offset += bytes.size;
    }
    return true;
}

/* Of ranges that overlap, the one that begins first stays. */
static void sort_ranges(struct minidump *dump)
{
    size_t i, n = 0;
    struct stackwalk_memory *m = dump->memory;

    qsort(m, dump->num_memory, sizeof(*m), compare_ranges);
    for (i = 0; i < dump->num_memory; i++) {
        if (n == 0 || m[i].start - m[n - 1].start >= m[n - 1].size) {
            m[n++] = m[i];
        }
    }
    dump->num_memory = n;
}

static bool reserve_ranges(struct minidump *dump, size_t count)
{
    dump->memory =
        arena_take(&dump->arena, (count + 1) * sizeof(*dump->memory));
    return dump->memory != NULL;
}

/* Returns false if there is no list of this kind that can be read. */
static bool read64(struct minidump *dump, bool *has_memory)
{
    struct minidump_bytes stream = bytes_stream(dump, STREAM_MEMORY64);
    uint64_t count;

    if (stream.size < HEADER64) {
        return false;
    }
    count = get64(dump, stream.data);
    if (count > (stream.size - HEADER64) / ENTRY ||
        stream.size != HEADER64 + count * ENTRY) {
        return false;
    }
    if (count > MINIDUMP_RANGES) {
        dump->cut = ranges_limit.word;
        count = MINIDUMP_RANGES;
    }
    *has_memory = reserve_ranges(dump, (size_t)count);
    if (*has_memory &&
        !add_contiguous(dump, stream.data + HEADER64, (size_t)count,
                        get64(dump, stream.data + 8))) {
        dump->num_memory = 0;
        return false;
    }
    return true;
}

bool memory_read(struct minidump *dump)
{
    const uint8_t *entries;
    size_t i, count;
    bool has_memory = true;

    if (!read64(dump, &has_memory)) {
        if (!bytes_list(dump, bytes_stream(dump, STREAM_MEMORY), ENTRY,
                        &ranges_limit, &entries, &count)) {
            return true;
        }
        has_memory = reserve_ranges(dump, count);
        for (i = 0; has_memory && i < count; i++, entries += ENTRY) {
            add_range(dump, get64(dump, entries),
                      bytes_located(dump, entries + 8));
        }
    }
    if (has_memory) {
        sort_ranges(dump);
    }
    return has_memory;
}

const struct stackwalk_memory *memory_at(const struct minidump *dump,
                                         uint64_t address)
{
    return stackwalk_memory_at(dump->memory, dump->num_memory, address);
}
