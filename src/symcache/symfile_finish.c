/*
 * Copyright (C) the ngx_symcache authors
 *
 * The end of writing: public symbols take what functions left, gaps fill in,
 * and everything goes out in one pass.
 */
#include <string.h>

#include "symfile_array.h"
#include "symfile_format.h"
#include "symfile_sort.h"
#include "symfile_writer.h"

#define BUFFER 65536
#define LOST SYMFILE_NONE

/* Entries of the last map beyond the locations of the log. */
struct finish {
    struct symfile_map functions; /* decided lines and functions */
    uint64_t *order;              /* symbols: address above, number below */
    size_t num_order;             /* only those that won */
    struct symfile_map all;
    uint32_t *symbol_functions; /* function index of a symbol, or LOST */
};

struct stream {
    const struct symfile_sink *sink;
    uint64_t written;
    size_t used;
    int failed;
    uint8_t data[BUFFER];
};

static void stream_flush(struct stream *s)
{
    if (s->used > 0 && !s->failed &&
        s->sink->write(s->sink->context, s->data, s->used) != 0) {
        s->failed = 1;
    }
    s->used = 0;
}

static uint8_t *stream_room(struct stream *s, size_t size)
{
    uint8_t *p;

    if (s->used + size > BUFFER) {
        stream_flush(s);
    }
    p = s->data + s->used;
    s->used += size;
    s->written += size;
    return p;
}

static void stream_align(struct stream *s)
{
    size_t n;

    n = (size_t)(-s->written & 7);
    memset(stream_room(s, n), 0, n);
}

static void stream_words(struct stream *s, const uint32_t *words, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        symfile_store(stream_room(s, 4), words[i]);
    }
}

static void stream_bytes(struct stream *s, const uint8_t *data, size_t size)
{
    stream_flush(s);
    if (size > 0 && !s->failed &&
        s->sink->write(s->sink->context, data, size) != 0) {
        s->failed = 1;
    }
    s->written += size;
}

/* The first symbol at each address that no function has. */
static int choose_symbols(struct symfile_writer *w, struct finish *f)
{
    size_t i, k, n;
    uint32_t address;
    uint64_t *keys;

    n = w->num_symbols;
    keys = malloc((2 * n + 1) * sizeof(*keys));
    f->order = keys;
    f->symbol_functions = malloc((n + 1) * sizeof(uint32_t));
    if (keys == NULL || f->symbol_functions == NULL) {
        return -1;
    }
    for (i = 0; i < n; i++) {
        keys[i] = (uint64_t)w->symbols[i].address << 32 | i;
        f->symbol_functions[i] = LOST;
    }
    symfile_sort(keys, keys + n, n);
    k = 0;
    f->num_order = 0;
    for (i = 0; i < n; i++) {
        address = (uint32_t)(keys[i] >> 32);
        if (i > 0 && keys[i - 1] >> 32 == address) {
            continue;
        }
        while (k < f->functions.count && f->functions.addresses[k] < address) {
            k++;
        }
        if (k == f->functions.count || f->functions.addresses[k] != address) {
            f->symbol_functions[(uint32_t)keys[i]] = 0;
        }
    }
    for (i = 0; i < n; i++) {
        if (f->symbol_functions[(uint32_t)keys[i]] != LOST) {
            keys[f->num_order++] = keys[i];
        }
    }
    return 0;
}

/* Functions for the symbols that won, in the order of the symbols. */
static int add_symbol_functions(struct symfile_writer *w, struct finish *f)
{
    size_t i;
    uint32_t record[4];

    for (i = 0; i < w->num_symbols; i++) {
        if (f->symbol_functions[i] == LOST) {
            continue;
        }
        record[0] = w->symbols[i].name;
        record[1] = SYMFILE_NONE;
        record[2] = w->symbols[i].address;
        record[3] = SYMFILE_NONE; /* language: from the symbol table */
        if (symfile_set_append(&w->functions, record,
                               &f->symbol_functions[i]) != 0) {
            return -1;
        }
    }
    return 0;
}

static int put_symbol_locations(struct symfile_writer *w, struct finish *f)
{
    size_t i;
    struct symfile_location *location;

    /* symbols get their locations behind the log, in address order */
    if (w->ranges.count + f->num_order > 0xFFFFFFF0u ||
        symfile_array_need(&w->ranges.locations, &w->ranges.location_room,
                           w->ranges.count + f->num_order,
                           sizeof(*w->ranges.locations)) != 0) {
        return -1;
    }
    for (i = 0; i < f->num_order; i++) {
        location = &w->ranges.locations[w->ranges.count + i];
        location->file = SYMFILE_NONE;
        location->line = 0;
        location->function = f->symbol_functions[(uint32_t)f->order[i]];
        location->inlined_into = SYMFILE_NONE;
    }
    return 0;
}

static void merge_put(struct symfile_map *map, uint32_t address, uint32_t ref)
{
    map->addresses[map->count] = address;
    map->refs[map->count++] = ref;
}

/* Functions, symbols and gaps into one map; at one address in this order. */
static int merge_all(struct symfile_writer *w, struct finish *f)
{
    size_t i, j, k, total;
    uint64_t a, b, c;

    total = f->functions.count + f->num_order + w->ranges.num_gaps;
    f->all.count = 0;
    f->all.addresses = malloc((total + 1) * sizeof(uint32_t));
    f->all.refs = malloc((total + 1) * sizeof(uint32_t));
    if (f->all.addresses == NULL || f->all.refs == NULL) {
        return -1;
    }
    i = j = k = 0;
    for (;;) {
        a = i < f->functions.count ? f->functions.addresses[i] : UINT64_MAX;
        b = j < f->num_order ? f->order[j] >> 32 : UINT64_MAX;
        c = k < w->ranges.num_gaps ? w->ranges.gaps[k] : UINT64_MAX;
        if (a <= b && a <= c && a != UINT64_MAX) {
            merge_put(&f->all, (uint32_t)a, f->functions.refs[i++]);
            k += c == a;
        } else if (b <= c && b != UINT64_MAX) {
            merge_put(&f->all, (uint32_t)b, (uint32_t)(w->ranges.count + j++));
            k += c == b;
        } else if (c != UINT64_MAX) {
            merge_put(&f->all, (uint32_t)c, SYMFILE_NONE);
            k++;
        } else {
            return 0;
        }
    }
}

static int prepare(struct symfile_writer *w, struct finish *f)
{
    if (w->has_end && !w->is_open &&
        symfile_ranges_gap(&w->ranges, w->last_end) != 0) {
        return -1;
    }
    if (symfile_ranges_decide(&w->ranges, &f->functions) != 0 ||
        symfile_ranges_sort_gaps(&w->ranges) != 0 ||
        choose_symbols(w, f) != 0 || add_symbol_functions(w, f) != 0 ||
        put_symbol_locations(w, f) != 0 || merge_all(w, f) != 0) {
        return -1;
    }
    symfile_map_free(&f->functions);
    return 0;
}

static void write_header(struct stream *s, const struct symfile_writer *w,
                         const struct finish *f,
                         const struct symfile_identity *identity)
{
    uint8_t *p;

    p = stream_room(s, SYMFILE_HEADER);
    memset(p, 0, SYMFILE_HEADER);
    memcpy(p, "SYMC", 4);
    symfile_store(p + SYMFILE_AT_VERSION, SYMFILE_VERSION);
    memcpy(p + SYMFILE_AT_GUID, identity->guid, 16);
    symfile_store(p + SYMFILE_AT_AGE, identity->age);
    symfile_store(p + SYMFILE_AT_ARCH, identity->arch);
    symfile_store(p + SYMFILE_AT_FILES, (uint32_t)w->files.count);
    symfile_store(p + SYMFILE_AT_FUNCTIONS, (uint32_t)w->functions.count);
    symfile_store(p + SYMFILE_AT_LOCATIONS,
                  (uint32_t)(w->calls.count + f->all.count));
    symfile_store(p + SYMFILE_AT_RANGES, (uint32_t)f->all.count);
    symfile_store(p + SYMFILE_AT_STRINGS, (uint32_t)w->strings.size);
}

static void write_parts(struct stream *s, const struct symfile_writer *w,
                        const struct finish *f)
{
    size_t i;
    const struct symfile_location *location;
    static const struct symfile_location gap = {SYMFILE_NONE, SYMFILE_NONE,
                                                SYMFILE_NONE, SYMFILE_NONE};

    stream_words(s, w->files.words, w->files.count * w->files.width);
    stream_align(s);
    stream_words(s, w->functions.words,
                 w->functions.count * w->functions.width);
    stream_align(s);
    stream_words(s, w->calls.words, w->calls.count * w->calls.width);
    for (i = 0; i < f->all.count; i++) {
        location = f->all.refs[i] == SYMFILE_NONE
                       ? &gap
                       : &w->ranges.locations[f->all.refs[i]];
        stream_words(s, &location->file, 1);
        stream_words(s, &location->line, 1);
        stream_words(s, &location->function, 1);
        stream_words(s, &location->inlined_into, 1);
    }
    stream_align(s);
    stream_words(s, f->all.addresses, f->all.count);
    stream_align(s);
    stream_bytes(s, w->strings.data, w->strings.size);
}

enum symfile_status
symfile_writer_finish(struct symfile_writer *w,
                      const struct symfile_identity *identity,
                      const struct symfile_sink *sink)
{
    struct finish f;
    struct stream *s;
    enum symfile_status status;

    memset(&f, 0, sizeof(f));
    status = SYMFILE_NO_MEMORY;
    s = malloc(sizeof(*s));
    if (s != NULL && prepare(w, &f) == 0 &&
        w->calls.count + f.all.count < SYMFILE_NONE) {
        s->sink = sink;
        s->written = s->used = 0;
        s->failed = 0;
        write_header(s, w, &f, identity);
        write_parts(s, w, &f);
        status = s->failed ? SYMFILE_NO_WRITE : SYMFILE_OK;
    }
    free(s);
    symfile_map_free(&f.functions);
    symfile_map_free(&f.all);
    free(f.order);
    free(f.symbol_functions);
    return status;
}
