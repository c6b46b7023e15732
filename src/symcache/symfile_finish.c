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
#define WON 0 /* until it has its function */

struct finish {
    uint64_t *order;            /* symbols: address above, number below */
    uint32_t *symbol_functions; /* function index of a symbol, or LOST */
    uint32_t *addresses;        /* of all ranges */
    size_t count;
    size_t room;
};

/*
 * Goes through functions, symbols and gaps by address; where there are
 * several, the first of them in this order counts.
 */
struct merge {
    struct symfile_ranges_reader reader;
    int has_function; /* the reader stands at one, or -1 on failure */
    size_t symbol;
    size_t gap;
    uint32_t address;
    int is_function;
    uint32_t winner; /* symbol, or LOST; a gap if it is no function either */
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

static int sort_symbols(const struct symfile_writer *w, struct finish *f)
{
    size_t i, n;

    n = w->num_symbols;
    f->order = malloc((2 * n + 1) * sizeof(*f->order));
    f->symbol_functions = malloc((n + 1) * sizeof(*f->symbol_functions));
    if (f->order == NULL || f->symbol_functions == NULL) {
        return -1;
    }
    for (i = 0; i < n; i++) {
        f->order[i] = (uint64_t)w->symbols[i].address << 32 | i;
        f->symbol_functions[i] = LOST;
    }
    symfile_sort(f->order, f->order + n, n);
    return 0;
}

static void merge_begin(struct merge *m, const struct symfile_writer *w)
{
    memset(m, 0, sizeof(*m));
    m->reader.ranges = &w->ranges;
    m->has_function = symfile_ranges_next(&m->reader);
}

/* Returns 1, or 0 at the end.  Of symbols at one address the first counts. */
static int merge_next(struct merge *m, const struct symfile_writer *w,
                      const struct finish *f)
{
    uint64_t a, b, c, least;

    if (m->is_function) {
        m->has_function = symfile_ranges_next(&m->reader);
    }
    a = m->has_function > 0 ? m->reader.address : UINT64_MAX;
    b = m->symbol < w->num_symbols ? f->order[m->symbol] >> 32 : UINT64_MAX;
    c = m->gap < w->ranges.num_gaps ? w->ranges.gaps[m->gap] : UINT64_MAX;
    least = a < b ? a : b;
    least = least < c ? least : c;
    if (least == UINT64_MAX || m->has_function < 0) {
        return 0;
    }
    m->address = (uint32_t)least;
    m->is_function = a == least;
    m->winner =
        !m->is_function && b == least ? (uint32_t)f->order[m->symbol] : LOST;
    while (m->symbol < w->num_symbols && f->order[m->symbol] >> 32 == least) {
        m->symbol++;
    }
    m->gap += c == least;
    return 1;
}

/* Returns 0, or -1 if memory was short. */
static int merge_end(struct merge *m)
{
    symfile_ranges_reader_free(&m->reader);
    return m->has_function < 0 ? -1 : 0;
}

static int collect_addresses(const struct symfile_writer *w, struct finish *f)
{
    struct merge m;

    merge_begin(&m, w);
    while (merge_next(&m, w, f)) {
        if (symfile_array_need(&f->addresses, &f->room, f->count + 1,
                               sizeof(*f->addresses)) != 0) {
            merge_end(&m);
            return -1;
        }
        f->addresses[f->count++] = m.address;
        if (m.winner != LOST) {
            f->symbol_functions[m.winner] = WON;
        }
    }
    return merge_end(&m);
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

static int prepare(struct symfile_writer *w, struct finish *f)
{
    symfile_strings_forget(&w->strings);
    symfile_set_forget(&w->files);
    symfile_set_forget(&w->functions);
    symfile_set_forget(&w->calls);
    if (w->has_end && !w->is_open &&
        symfile_ranges_gap(&w->ranges, w->last_end) != 0) {
        return -1;
    }
    if (symfile_ranges_seal(&w->ranges) != 0 || sort_symbols(w, f) != 0 ||
        collect_addresses(w, f) != 0 || add_symbol_functions(w, f) != 0) {
        return -1;
    }
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
                  (uint32_t)(w->calls.count + f->count));
    symfile_store(p + SYMFILE_AT_RANGES, (uint32_t)f->count);
    symfile_store(p + SYMFILE_AT_STRINGS, (uint32_t)w->strings.size);
}

static int write_locations(struct stream *s, const struct symfile_writer *w,
                           const struct finish *f)
{
    uint8_t *p;
    struct merge m;
    struct symfile_location symbol = {SYMFILE_NONE, 0, 0, SYMFILE_NONE};
    const struct symfile_location *location;
    static const struct symfile_location gap = {SYMFILE_NONE, SYMFILE_NONE,
                                                SYMFILE_NONE, SYMFILE_NONE};

    merge_begin(&m, w);
    while (merge_next(&m, w, f)) {
        location = m.is_function ? &m.reader.location : &gap;
        if (m.winner != LOST) {
            symbol.function = f->symbol_functions[m.winner];
            location = &symbol;
        }
        p = stream_room(s, SYMFILE_LOCATION_SIZE);
        symfile_store(p, location->file);
        symfile_store(p + 4, location->line);
        symfile_store(p + 8, location->function);
        symfile_store(p + 12, location->inlined_into);
    }
    return merge_end(&m);
}

static int write_parts(struct stream *s, const struct symfile_writer *w,
                       const struct finish *f)
{
    stream_words(s, w->files.words, w->files.count * w->files.width);
    stream_align(s);
    stream_words(s, w->functions.words,
                 w->functions.count * w->functions.width);
    stream_align(s);
    stream_words(s, w->calls.words, w->calls.count * w->calls.width);
    if (write_locations(s, w, f) != 0) {
        return -1;
    }
    stream_align(s);
    stream_words(s, f->addresses, f->count);
    stream_align(s);
    stream_bytes(s, w->strings.data, w->strings.size);
    return 0;
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
        w->calls.count + f.count < SYMFILE_NONE) {
        s->sink = sink;
        s->written = s->used = 0;
        s->failed = 0;
        write_header(s, w, &f, identity);
        if (write_parts(s, w, &f) == 0) {
            status = s->failed ? SYMFILE_NO_WRITE : SYMFILE_OK;
        }
    }
    free(s);
    free(f.order);
    free(f.symbol_functions);
    free(f.addresses);
    return status;
}
