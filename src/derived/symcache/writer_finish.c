/*
 * Copyright (C) the ngx_symcache authors
 *
 * The last step of writing.  Public symbols and gaps are merged into the
 * ranges where no function is, and then the file is written in one pass.
 */
#include <string.h>

#include "base/array.h"
#include "format.h"
#include "range_runs.h"
#include "base/sort.h"
#include "writer.h"

#define NOTHING UINT64_MAX
#define LOST SYMC_NONE

/*
 * At one address, a function takes precedence over a symbol, and a symbol over
 * a gap.  While merging, the entries of order and of the gaps are overwritten:
 * an address becomes the index of a range, and what lost is dropped.  A range
 * whose index is in neither list belongs to a function.
 *
 * Of files with many symbols and little else, most memory is needed here.  So
 * the address of a symbol is overwritten as well: by its place in order, or
 * LOST.  There its range is found, and by that its address again.
 */
struct finish {
    uint64_t *order;  /* the writer's: address, later range, of a symbol in the
                       * high half; its number, later its function's index, in
                       * the low half */
    size_t symbols;   /* number of entries of order, with different addresses */
    size_t winners;   /* number of those left after merging */
    size_t gaps;      /* number of gaps left after merging */
    size_t functions; /* number of them */
    uint32_t *addresses; /* of all ranges */
    size_t count;
};

/* Symbols and gaps that are not merged yet. */
struct merge {
    size_t symbol;
    size_t gap;
    uint64_t address; /* the lower one of the two, or NOTHING */
};

/* Writes a location or a function. */
static inline void stream_record(struct symc_output *s, uint32_t a, uint32_t b,
                                 uint32_t c, uint32_t d)
{
    uint8_t *p = symc_output_room(s, 16);

    symc_store(p, a);
    symc_store(p + 4, b);
    symc_store(p + 8, c);
    symc_store(p + 12, d);
}

/* Unpacks the next locations of a run into the buffer, n of them or as many as
 * fit.  Returns how many. */
static size_t stream_run(struct symc_output *s, struct symc_runs *runs,
                         size_t n)
{
    size_t room;
    struct symc_location *to;

    symc_output_drain(s);
    room = (sizeof(s->data) - s->used) / sizeof(*to);
    n = n < room ? n : room;
    to = (struct symc_location *)symc_output_room(s, n * sizeof(*to));
    symc_runs_locations(runs, to, n);
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    for (room = 0; room < 4 * n; room++) {
        symc_store((uint8_t *)(&to->file + room), (&to->file)[room]);
    }
#endif
    return n;
}

/* Sorts the symbols by address.  Of several at one, the first is kept. */
static int sort_symbols(struct symc_writer *w)
{
    size_t i, out, n = w->num_symbols;
    uint64_t *tmp, *order, *kept;

    order = malloc((n + 1) * sizeof(*order));
    tmp = malloc((n / 2 + 1) * sizeof(*tmp));
    if (order == NULL || tmp == NULL) {
        free(order);
        free(tmp);
        return -1;
    }
    for (i = 0; i < n; i++) {
        order[i] = (uint64_t)w->symbols[i].address << 32 | i;
    }
    sort_tightly(order, tmp, n);
    free(tmp);
    out = sort_distinct(order, n);
    kept = realloc(order, (out + 1) * sizeof(*order));
    symc_writer_order(w, kept != NULL ? kept : order, out);
    return 0;
}

/* Takes the symbols in their order. */
static int order_symbols(struct symc_writer *w, struct finish *f)
{
    size_t i;

    if (w->order == NULL && sort_symbols(w) != 0) {
        return -1;
    }
    f->order = w->order;
    f->symbols = w->num_order;
    for (i = 0; i < w->num_symbols; i++) {
        w->symbols[i].address = LOST;
    }
    return 0;
}

/* Sets the address to that of the next symbol or gap. */
static void merge_seek(struct merge *m, const struct symc_writer *w,
                       const struct finish *f)
{
    m->address =
        m->symbol < f->symbols ? f->order[m->symbol] >> 32 : NOTHING;
    if (m->gap < w->ranges.num_gaps && w->ranges.gaps[m->gap] < m->address) {
        m->address = w->ranges.gaps[m->gap];
    }
}

/* Skips the symbol and the gap at the current address. */
static void merge_skip(struct merge *m, const struct symc_writer *w,
                       const struct finish *f)
{
    m->symbol += m->symbol < f->symbols &&
                 f->order[m->symbol] >> 32 == m->address;
    m->gap +=
        m->gap < w->ranges.num_gaps && w->ranges.gaps[m->gap] == m->address;
    merge_seek(m, w, f);
}

/* Adds a range for the symbol or gap at the current address. */
static void merge_take(struct merge *m, struct symc_writer *w,
                       struct finish *f)
{
    uint32_t symbol;
    uint64_t address;

    address = m->address;
    if (m->symbol < f->symbols && f->order[m->symbol] >> 32 == address) {
        symbol = (uint32_t)f->order[m->symbol];
        w->symbols[symbol].address = (uint32_t)f->winners;
        merge_skip(m, w, f);
        f->order[f->winners++] = (uint64_t)f->count << 32;
    } else {
        merge_skip(m, w, f);
        w->ranges.gaps[f->gaps++] = (uint32_t)f->count;
    }
    f->addresses[f->count++] = (uint32_t)address;
}

static void merge_run(struct merge *m, struct symc_writer *w, struct finish *f,
                      const uint32_t *addresses, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        while (m->address < addresses[i]) {
            merge_take(m, w, f);
        }
        f->addresses[f->count++] = addresses[i];
        if (m->address == addresses[i]) {
            merge_skip(m, w, f);
        }
    }
}

static int merge_all(struct symc_writer *w, struct finish *f)
{
    int rc;
    size_t most;
    struct merge m = {0, 0, 0};
    struct symc_runs runs = {.ranges = &w->ranges};

    most = w->ranges.total + f->symbols + w->ranges.num_gaps;
    if (most >= SYMC_NONE) {
        return -1;
    }
    f->addresses = malloc((most + 1) * sizeof(*f->addresses));
    if (f->addresses == NULL) {
        return -1;
    }
    merge_seek(&m, w, f);
    while ((rc = symc_runs_next(&runs)) > 0) {
        merge_run(&m, w, f, symc_runs_addresses(&runs), runs.count);
    }
    symc_runs_free(&runs);
    while (m.address != NOTHING) {
        merge_take(&m, w, f);
    }
    return rc;
}

/* Numbers the functions of symbols that got a range, in the order in which the
 * symbols were delivered, after all others. */
static int number_symbol_functions(const struct symc_writer *w,
                                   struct finish *f)
{
    size_t i;

    f->functions = w->functions.count;
    for (i = 0; i < w->num_symbols; i++) {
        if (w->symbols[i].address != LOST) {
            f->order[w->symbols[i].address] |= f->functions++;
        }
    }
    return f->functions < SYMC_NONE ? 0 : -1;
}

static int prepare(struct symc_writer *w, struct finish *f)
{
    symc_strings_forget(&w->strings);
    symc_set_forget(&w->files);
    symc_set_forget(&w->functions);
    symc_set_forget(&w->calls);
    symc_set_free(&w->lineless);
    if (w->has_end && !w->is_open &&
        symc_ranges_gap(&w->ranges, w->last_end) != 0) {
        return -1;
    }
    if (symc_ranges_seal(&w->ranges) != 0 || order_symbols(w, f) != 0 ||
        merge_all(w, f) != 0 || number_symbol_functions(w, f) != 0) {
        return -1;
    }
    return 0;
}

static void write_header(struct symc_output *s, const struct symc_writer *w,
                         const struct finish *f,
                         const struct symc_identity *identity)
{
    uint8_t *p;

    p = symc_output_room(s, SYMC_HEADER);
    memset(p, 0, SYMC_HEADER);
    memcpy(p, "SYMC", 4);
    symc_store(p + SYMC_AT_VERSION, SYMC_VERSION);
    memcpy(p + SYMC_AT_GUID, identity->guid, 16);
    symc_store(p + SYMC_AT_AGE, identity->age);
    symc_store(p + SYMC_AT_ARCH, identity->arch);
    symc_store(p + SYMC_AT_FILES, (uint32_t)w->files.count);
    symc_store(p + SYMC_AT_FUNCTIONS, (uint32_t)f->functions);
    symc_store(p + SYMC_AT_LOCATIONS, (uint32_t)(w->calls.count + f->count));
    symc_store(p + SYMC_AT_RANGES, (uint32_t)f->count);
    symc_store(p + SYMC_AT_STRINGS, (uint32_t)w->strings.size);
}

/* Writes the symbols and gaps that begin at *range, up to the next range that
 * belongs to a function.  Moves *range to that one, and sets m->address to the
 * index of the next range that is a symbol or a gap. */
static void write_others(struct symc_output *s, const struct symc_writer *w,
                         const struct finish *f, struct merge *m,
                         size_t *range)
{
    for (;; (*range)++) {
        if (m->symbol < f->winners && f->order[m->symbol] >> 32 == *range) {
            stream_record(s, SYMC_NONE, 0, (uint32_t)f->order[m->symbol++],
                          SYMC_NONE);
        } else if (m->gap < f->gaps && w->ranges.gaps[m->gap] == *range) {
            stream_record(s, SYMC_NONE, SYMC_NONE, SYMC_NONE, SYMC_NONE);
            m->gap++;
        } else {
            break;
        }
    }
    m->address = f->count;
    if (m->symbol < f->winners) {
        m->address = f->order[m->symbol] >> 32;
    }
    if (m->gap < f->gaps && w->ranges.gaps[m->gap] < m->address) {
        m->address = w->ranges.gaps[m->gap];
    }
}

static int write_locations(struct symc_output *s, struct symc_writer *w,
                           const struct finish *f)
{
    int rc;
    size_t n, left, range;
    struct merge m = {0, 0, 0};
    struct symc_runs runs = {.ranges = &w->ranges};

    range = 0;
    write_others(s, w, f, &m, &range);
    while ((rc = symc_runs_next(&runs)) > 0) {
        for (left = runs.count; left > 0; left -= n) {
            n = (size_t)m.address - range;
            n = stream_run(s, &runs, n < left ? n : left);
            range += n;
            if (range == m.address) {
                write_others(s, w, f, &m, &range);
            }
        }
    }
    symc_runs_free(&runs);
    return rc;
}

static void write_functions(struct symc_output *s, const struct symc_writer *w,
                            const struct finish *f)
{
    size_t i;
    uint32_t place;

    symc_output_words(s, w->functions.words,
                      w->functions.count * w->functions.width);
    for (i = 0; i < w->num_symbols; i++) {
        place = w->symbols[i].address;
        if (place != LOST) {
            stream_record(s, w->symbols[i].name, SYMC_NONE,
                          f->addresses[f->order[place] >> 32],
                          SYMC_NONE /* from a symbol table */);
        }
    }
}

static int write_parts(struct symc_output *s, struct symc_writer *w,
                       const struct finish *f)
{
    symc_output_words(s, w->files.words, w->files.count * w->files.width);
    symc_output_align(s, 8);
    write_functions(s, w, f);
    symc_output_align(s, 8);
    symc_output_words(s, w->calls.words, w->calls.count * w->calls.width);
    if (write_locations(s, w, f) != 0) {
        return -1;
    }
    symc_output_align(s, 8);
    symc_output_words(s, f->addresses, f->count);
    symc_output_align(s, 8);
    symc_output_strings(s, &w->strings);
    symc_output_flush(s);
    return 0;
}

enum symc_status symc_writer_finish(struct symc_writer *w,
                                    const struct symc_identity *identity,
                                    const struct symc_sink *sink)
{
    struct finish f;
    struct symc_output *s = NULL;
    enum symc_status status = SYMC_NO_MEMORY;

    memset(&f, 0, sizeof(f));
    if (prepare(w, &f) == 0 && w->calls.count + f.count < SYMC_NONE) {
        s = malloc(sizeof(*s)); /* prepare() has freed as much */
    }
    if (s != NULL) {
        symc_output_init(s, sink);
        write_header(s, w, &f, identity);
        if (write_parts(s, w, &f) == 0) {
            status = s->has_failed ? SYMC_NO_WRITE : SYMC_OK;
        }
    }
    free(s);
    free(f.addresses);
    return status;
}
