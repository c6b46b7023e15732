/*
 * Copyright (C) the ngx_symcache authors
 *
 * The last step of writing.  Public symbols and gaps are merged into the
 * ranges where no function is, and then the file is written in one pass.
 */
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "range_runs.h"
#include "base/sort.h"
#include "writer.h"

#define NOTHING UINT64_MAX
#define LOST SYMC_NONE

/*
 * At one address, a function takes precedence over a symbol, and a symbol over
 * a gap.  What loses is dropped from order and from the gaps.
 *
 * Of files with many symbols and little else, most memory is needed here.  So
 * the address of a symbol is overwritten by its place in order, or LOST, and
 * addresses of ranges are unpacked again where they are needed.
 */
struct writer_finish {
    uint64_t *order; /* the writer's: the address of a symbol in the high half;
                      * its number, later its function's index, in the low
                      * half */
    size_t symbols;   /* number of entries of order, with different addresses */
    size_t gaps;      /* number of gaps */
    size_t functions; /* number of them */
    size_t count;     /* of all ranges */
};

/* What is written of a range. */
enum range_part { LOCATIONS, ADDRESSES };

/* A walk through symbols and gaps. */
struct writer_finish_merge {
    size_t symbol;
    size_t gap;
    uint64_t address; /* the lower one of the two, or NOTHING */
    size_t kept_symbols; /* those before that were not dropped */
    size_t kept_gaps;
};

/* Writes a location or a function. */
static inline void finish_stream_record(struct symc_output *s, uint32_t a,
                                        uint32_t b, uint32_t c, uint32_t d)
{
    uint8_t *p = symc_output_room(s, 16);

    le32_store(p, a);
    le32_store(p + 4, b);
    le32_store(p + 8, c);
    le32_store(p + 12, d);
}

/* Unpacks the next locations of a run into the buffer, n of them or as many as
 * fit.  Returns how many. */
static size_t finish_stream_run(struct symc_output *s, struct symc_runs *runs,
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
        le32_store((uint8_t *)(&to->file + room), (&to->file)[room]);
    }
#endif
    return n;
}

/* Sorts the symbols by address.  Of several at one, the first is kept. */
static int sort_symbols(struct symc_writer *writer)
{
    size_t i, out, n = writer->num_symbols;
    uint64_t *tmp, *order, *kept;

    order = malloc((n + 1) * sizeof(*order));
    tmp = malloc((n / 2 + 1) * sizeof(*tmp));
    if (order == NULL || tmp == NULL) {
        free(order);
        free(tmp);
        return -1;
    }
    for (i = 0; i < n; i++) {
        order[i] = (uint64_t)writer->symbols[i].address << 32 | i;
    }
    sort_tightly(order, tmp, n);
    free(tmp);
    out = sort_distinct(order, n);
    kept = realloc(order, (out + 1) * sizeof(*order));
    symc_writer_order(writer, kept != NULL ? kept : order, out);
    return 0;
}

/* Takes the symbols in their order. */
static int order_symbols(struct symc_writer *writer,
                         struct writer_finish *finish)
{
    size_t i;

    if (writer->order == NULL && sort_symbols(writer) != 0) {
        return -1;
    }
    finish->order = writer->order;
    finish->symbols = writer->num_order;
    for (i = 0; i < writer->num_symbols; i++) {
        writer->symbols[i].address = LOST;
    }
    return 0;
}

/* Sets the address to that of the next symbol or gap. */
static void merge_seek(struct writer_finish_merge *merge,
                       const struct symc_writer *writer,
                       const struct writer_finish *finish)
{
    merge->address = merge->symbol < finish->symbols
                         ? finish->order[merge->symbol] >> 32
                         : NOTHING;
    if (merge->gap < finish->gaps &&
        writer->ranges.gaps[merge->gap] < merge->address) {
        merge->address = writer->ranges.gaps[merge->gap];
    }
}

static bool is_at_symbol(const struct writer_finish_merge *merge,
                         const struct writer_finish *finish)
{
    return merge->symbol < finish->symbols &&
           finish->order[merge->symbol] >> 32 == merge->address;
}

/* Skips the symbol and the gap at the current address. */
static void merge_skip(struct writer_finish_merge *merge,
                       const struct symc_writer *writer,
                       const struct writer_finish *finish)
{
    merge->symbol += is_at_symbol(merge, finish);
    merge->gap += merge->gap < finish->gaps &&
                  writer->ranges.gaps[merge->gap] == merge->address;
    merge_seek(merge, writer, finish);
}

/* Keeps the symbol or gap at the current address. */
static void merge_keep(struct writer_finish_merge *merge,
                       struct symc_writer *writer,
                       struct writer_finish *finish)
{
    uint64_t address = merge->address;

    if (is_at_symbol(merge, finish)) {
        writer->symbols[(uint32_t)finish->order[merge->symbol]].address =
            (uint32_t)merge->kept_symbols;
        merge_skip(merge, writer, finish);
        finish->order[merge->kept_symbols++] = address << 32;
    } else {
        merge_skip(merge, writer, finish);
        writer->ranges.gaps[merge->kept_gaps++] = (uint32_t)address;
    }
    finish->count++;
}

/* Keeps what is before the address of a range, and drops what is there. */
static void merge_range(struct writer_finish_merge *merge,
                        struct symc_writer *writer,
                        struct writer_finish *finish, uint64_t address)
{
    while (merge->address < address) {
        merge_keep(merge, writer, finish);
    }
    if (merge->address == address) {
        merge_skip(merge, writer, finish);
    }
}

static void merge_run(struct writer_finish_merge *merge,
                      struct symc_writer *writer, struct writer_finish *finish,
                      struct symc_runs *runs)
{
    size_t i;
    const uint32_t *addresses;

    merge_range(merge, writer, finish, runs->block->first);
    if (merge->address <= runs->highest) {
        addresses = symc_runs_addresses(runs);
        for (i = 1; i < runs->count; i++) {
            merge_range(merge, writer, finish, addresses[i]);
        }
    }
    finish->count += runs->count;
}

/* What is called for each of many symbols is part of this function. */
static __attribute__((flatten)) int merge_all(struct symc_writer *writer,
                                              struct writer_finish *finish)
{
    int rc;
    struct writer_finish_merge merge = {0};
    struct symc_runs runs = {.ranges = &writer->ranges};

    finish->gaps = writer->ranges.num_gaps;
    if (writer->ranges.total + finish->symbols + finish->gaps >= SYMC_NONE) {
        return -1;
    }
    merge_seek(&merge, writer, finish);
    while ((rc = symc_runs_next(&runs)) > 0) {
        merge_run(&merge, writer, finish, &runs);
    }
    symc_runs_free(&runs);
    while (merge.address != NOTHING) {
        merge_keep(&merge, writer, finish);
    }
    finish->symbols = merge.kept_symbols;
    finish->gaps = merge.kept_gaps;
    return rc;
}

/* Numbers the functions of symbols that got a range, in the order in which the
 * symbols were delivered, after all others. */
static int number_symbol_functions(const struct symc_writer *writer,
                                   struct writer_finish *finish)
{
    size_t i;

    finish->functions = writer->functions.count;
    for (i = 0; i < writer->num_symbols; i++) {
        if (writer->symbols[i].address != LOST) {
            finish->order[writer->symbols[i].address] |= finish->functions++;
        }
    }
    return finish->functions < SYMC_NONE ? 0 : -1;
}

/* Gives back what a caller's array for symbols has more than they need.  Of
 * any other array that has not been touched, and costs nothing. */
static void shrink_symbols(struct symc_writer *writer)
{
    void *kept;

    if (writer->has_used_room) {
        kept = realloc(writer->symbols,
                       (writer->num_symbols + 1) * sizeof(*writer->symbols));
        writer->symbols = kept != NULL ? kept : writer->symbols;
    }
}

static int prepare(struct symc_writer *writer, struct writer_finish *finish)
{
    shrink_symbols(writer);
    symc_string_table_forget(&writer->strings);
    symc_set_forget(&writer->files);
    symc_set_forget(&writer->functions);
    symc_set_forget(&writer->calls);
    symc_set_free(&writer->lineless);
    if (writer->has_end && !writer->is_open &&
        symc_ranges_gap(&writer->ranges, writer->last_end) != 0) {
        return -1;
    }
    if (symc_ranges_seal(&writer->ranges) != 0 ||
        order_symbols(writer, finish) != 0 || merge_all(writer, finish) != 0 ||
        number_symbol_functions(writer, finish) != 0) {
        return -1;
    }
    return 0;
}

static void write_header(struct symc_output *s,
                         const struct symc_writer *writer,
                         const struct writer_finish *finish,
                         const struct symc_identity *identity)
{
    uint8_t *p;

    p = symc_output_room(s, SYMC_HEADER);
    memset(p, 0, SYMC_HEADER);
    memcpy(p, "SYMC", 4);
    le32_store(p + SYMC_AT_VERSION, SYMC_VERSION);
    memcpy(p + SYMC_AT_GUID, identity->guid, 16);
    le32_store(p + SYMC_AT_AGE, identity->age);
    le32_store(p + SYMC_AT_ARCH, identity->arch);
    le32_store(p + SYMC_AT_FILES, (uint32_t)writer->files.count);
    le32_store(p + SYMC_AT_FUNCTIONS, (uint32_t)finish->functions);
    le32_store(p + SYMC_AT_LOCATIONS,
               (uint32_t)(writer->calls.count + finish->count));
    le32_store(p + SYMC_AT_RANGES, (uint32_t)finish->count);
    le32_store(p + SYMC_AT_STRINGS, (uint32_t)writer->strings.size);
}

/* Writes the symbols and gaps before an address.  No two are at one address
 * any more. */
static void write_others(struct symc_output *s,
                         const struct symc_writer *writer,
                         const struct writer_finish *finish,
                         struct writer_finish_merge *merge, uint64_t end,
                         enum range_part part)
{
    bool is_symbol;
    uint64_t address = merge->address;
    size_t symbol = merge->symbol, gap = merge->gap;
    const uint64_t *order = finish->order;
    const uint32_t *gaps = writer->ranges.gaps;
    const size_t num_symbols = finish->symbols, num_gaps = finish->gaps;

    while (address < end) {
        is_symbol = symbol < num_symbols && order[symbol] >> 32 == address;
        if (part == ADDRESSES) {
            symc_output_number(s, (uint32_t)address);
        } else if (is_symbol) {
            finish_stream_record(s, SYMC_NONE, 0, (uint32_t)order[symbol],
                                 SYMC_NONE);
        } else {
            finish_stream_record(s, SYMC_NONE, SYMC_NONE, SYMC_NONE,
                                 SYMC_NONE);
        }
        symbol += is_symbol;
        gap += !is_symbol;
        address = symbol < num_symbols ? order[symbol] >> 32 : NOTHING;
        if (gap < num_gaps && gaps[gap] < address) {
            address = gaps[gap];
        }
    }
    merge->address = address;
    merge->symbol = symbol;
    merge->gap = gap;
}

/* Returns how many of n addresses, of which the first is, are below another
 * one. */
static size_t finish_count_below(const uint32_t *addresses, size_t n,
                                 uint64_t address)
{
    size_t i;

    for (i = 1; i < n && addresses[i] < address; i++) {
    }
    return i;
}

/* Writes a run, with the symbols and gaps before it and in it. */
static void write_run(struct symc_output *s, const struct symc_writer *writer,
                      const struct writer_finish *finish,
                      struct writer_finish_merge *merge,
                      struct symc_runs *runs, enum range_part part)
{
    size_t i, n;
    const uint32_t *addresses = NULL;

    write_others(s, writer, finish, merge, runs->block->first, part);
    if (part == ADDRESSES || merge->address < runs->highest) {
        addresses = symc_runs_addresses(runs);
    }
    for (i = 0; i < runs->count; i += n) {
        n = runs->count - i;
        if (merge->address < runs->highest) {
            write_others(s, writer, finish, merge, addresses[i], part);
            n = finish_count_below(addresses + i, n, merge->address);
        }
        if (part == LOCATIONS) {
            n = finish_stream_run(s, runs, n);
        } else {
            symc_output_words(s, addresses + i, n);
        }
    }
}

static int write_ranges(struct symc_output *s, struct symc_writer *writer,
                        const struct writer_finish *finish,
                        enum range_part part)
{
    int rc;
    struct writer_finish_merge merge = {0};
    struct symc_runs runs = {.ranges = &writer->ranges};

    merge_seek(&merge, writer, finish);
    while ((rc = symc_runs_next(&runs)) > 0) {
        write_run(s, writer, finish, &merge, &runs, part);
    }
    symc_runs_free(&runs);
    write_others(s, writer, finish, &merge, NOTHING, part);
    return rc;
}

static void write_functions(struct symc_output *s,
                            const struct symc_writer *writer,
                            const struct writer_finish *finish)
{
    size_t i;
    uint32_t place;

    symc_output_words(s, writer->functions.words,
                      writer->functions.count * writer->functions.width);
    for (i = 0; i < writer->num_symbols; i++) {
        place = writer->symbols[i].address;
        if (place != LOST) {
            finish_stream_record(s, writer->symbols[i].name, SYMC_NONE,
                                 (uint32_t)(finish->order[place] >> 32),
                                 SYMC_NONE /* from a symbol table */);
        }
    }
}

static int write_parts(struct symc_output *s, struct symc_writer *writer,
                       const struct writer_finish *finish)
{
    symc_output_words(s, writer->files.words,
                      writer->files.count * writer->files.width);
    symc_output_align(s, 8);
    write_functions(s, writer, finish);
    symc_output_align(s, 8);
    symc_output_words(s, writer->calls.words,
                      writer->calls.count * writer->calls.width);
    if (write_ranges(s, writer, finish, LOCATIONS) != 0) {
        return -1;
    }
    symc_output_align(s, 8);
    if (write_ranges(s, writer, finish, ADDRESSES) != 0) {
        return -1;
    }
    symc_output_align(s, 8);
    symc_output_strings(s, &writer->strings);
    symc_output_flush(s);
    return 0;
}

enum symc_status symc_writer_finish(struct symc_writer *writer,
                                    const struct symc_identity *identity,
                                    const struct symc_sink *sink)
{
    struct writer_finish finish;
    struct symc_output *s = NULL;
    enum symc_status status = SYMC_NO_MEMORY;

    memset(&finish, 0, sizeof(finish));
    if (prepare(writer, &finish) == 0 &&
        writer->calls.count + finish.count < SYMC_NONE) {
        s = malloc(sizeof(*s)); /* prepare() has freed as much */
    }
    if (s != NULL) {
        symc_output_init(s, sink);
        write_header(s, writer, &finish, identity);
        if (write_parts(s, writer, &finish) == 0) {
            status = s->has_failed ? SYMC_NO_WRITE : SYMC_OK;
        }
    }
    free(s);
    return status;
}
