/*
 * Copyright (C) the ngx_symcache authors
 */
#include "entry_walk.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/utf8.h"
#include "line_program.h"

#define FEW_RANGES 8 /* looking through so many costs nothing */

void dwarf_walk_free(struct dwarf_walk *walk)
{
    dwarf_lines_free(&walk->lines);
    dwarf_batches_free(&walk->batches);
    symc_set_free(&walk->seen);
    free(walk->ranges.list);
    free(walk->live.list);
    free(walk->covered.list);
    free(walk->inlinees);
    free(walk->open);
}

static uint64_t relative(const struct dwarf_walk *walk, uint64_t address)
{
    return address - walk->reader->object->load_address;
}

static int damaged(struct dwarf_walk *walk, uint64_t offset, const char *what)
{
    return dwarf_damaged(walk->reader, DWARF_INFO, offset, what);
}

/* ranges of an entry ------------------------------------------------------ */

/* Reads an address of an entry.  Returns 1, 0 if it has none, or -1 if it is
 * of the wrong form, or missing. */
static int read_address(const struct dwarf_walk *walk,
                        const struct dwarf_value *value, uint64_t *address)
{
    *address = value->number;
    if (value->kind == DWARF_ADDRESS_INDEX) {
        return dwarf_address(walk->reader, walk->unit, value->number, address)
                   ? 1
                   : -1;
    }
    return value->kind == DWARF_ADDRESS    ? 1
           : value->kind == DWARF_NO_VALUE ? 0
                                           : -1;
}

static bool is_number(const struct dwarf_value *v)
{
    return v->kind == DWARF_NO_VALUE || v->kind == DWARF_UNSIGNED;
}

/* Adds the range from low_pc to high_pc, which count if there is no list, or
 * nothing is left of it.  Returns NULL, or what is wrong with them. */
static const char *pc_range(const struct dwarf_walk *walk,
                            const struct dwarf_entry *entry,
                            struct dwarf_range *range)
{
    int has_low, has_high = 1;
    uint64_t low, high = 0;

    range->begin = range->end = 0;
    has_low = read_address(walk, &entry->low_pc, &low);
    if (entry->high_pc.kind == DWARF_UNSIGNED) {
        high = low + entry->high_pc.number;
    } else {
        has_high = read_address(walk, &entry->high_pc, &high);
    }
    if (has_low < 0 || has_high < 0) {
        return "an entry has an address of an unknown form";
    }
    /* linkers mark code that they removed by 0 or the highest numbers */
    if (has_low == 0 || has_high == 0 || low == high ||
        (low == 0 && !walk->reader->object->is_relocatable) ||
        low >= UINT64_MAX - 1) {
        return NULL;
    }
    range->begin = low;
    range->end = high;
    return low > high ? "a function ends before it begins" : NULL;
}

/* Reads the attributes of an entry, and its ranges. */
static int read_walk_entry(struct dwarf_walk *walk,
                           const struct dwarf_abbrev *abbrev, struct cursor *c,
                           uint64_t offset, struct dwarf_entry *entry)
{
    const char *wrong;
    struct dwarf_range range;

    walk->ranges.count = 0;
    if (dwarf_entry_read(walk->reader, walk->unit, abbrev, c, entry,
                         &walk->ranges) != 0) {
        return -1;
    }
    if (c->failed) {
        return damaged(walk, offset, "an entry cannot be read");
    }
    if (!is_number(&entry->call_file) || !is_number(&entry->call_line)) {
        return damaged(walk, offset, "a call is of an unknown form");
    }
    wrong = pc_range(walk, entry, &range);
    if (wrong != NULL &&
        (walk->ranges.count == 0 || range.begin == range.end)) {
        return damaged(walk, offset, wrong);
    }
    return walk->ranges.count > 0 || range.begin == range.end
               ? 0
               : dwarf_ranges_add(walk->reader, &walk->ranges, range.begin,
                                  range.end);
}

/* open entries ------------------------------------------------------------ */

static struct dwarf_open_entry *open_entry(struct dwarf_walk *walk,
                                           int64_t depth)
{
    struct dwarf_open_entry *o;

    if (array_need(&walk->open, &walk->open_room, walk->num_open + 1,
                   sizeof(*walk->open)) != 0) {
        failure_memory(walk->reader->failure);
        return NULL;
    }
    o = &walk->open[walk->num_open++];
    memset(o, 0, sizeof(*o));
    o->depth = depth;
    return o;
}

static bool is_in_function(const struct dwarf_walk *walk)
{
    return walk->num_open > 0 && !walk->open[walk->num_open - 1].is_dead;
}

/* Nothing is to be remembered of an entry that is in no function anyway. */
static int open_dead(struct dwarf_walk *walk, int64_t depth)
{
    struct dwarf_open_entry *o;

    if (!is_in_function(walk)) {
        return 0;
    }
    o = open_entry(walk, depth);
    if (o == NULL) {
        return -1;
    }
    o->is_dead = true;
    return 0;
}

/* Finds the first symbol from an address on, as its place in the table. */
static size_t first_symbol(const struct dwarf_object *object, uint64_t address)
{
    size_t low = 0, high = object->num_addresses, middle;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (object->addresses[middle] >> 32 < address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Looks up an address in the symbol table.  Returns NULL if there is none, or
 * one without a name. */
static const struct debuginfo_symbol *symbol_at(const struct dwarf_walk *walk,
                                                uint64_t address)
{
    const struct dwarf_object *object = walk->reader->object;
    size_t low = first_symbol(object, address);
    const struct debuginfo_symbol *symbol;

    if (low == object->num_addresses ||
        object->addresses[low] >> 32 != address) {
        return NULL;
    }
    symbol = &object->symbols[(uint32_t)object->addresses[low]];
    return symbol->name != NULL ? symbol : NULL;
}

static bool symbol_name(const struct dwarf_walk *walk, uint64_t address,
                        struct symc_name *name)
{
    const struct debuginfo_symbol *symbol = symbol_at(walk, address);

    if (symbol == NULL) {
        return false;
    }
    name->data = symbol->name;
    name->size = symbol->name_size;
    return true;
}

/* Is it the name that gcc gives a part of a function which runs rarely:
 * "main.cold", or "main.cold.5" as it was once? */
static bool is_cold(const struct symc_name *name)
{
    static const char end[] = ".cold";
    size_t n = name->size;

    while (n > 0 && name->data[n - 1] >= '0' && name->data[n - 1] <= '9') {
        n--;
    }
    if (n < name->size && n > 0 && name->data[n - 1] == '.') {
        n--;
    } else {
        n = name->size;
    }
    return n > sizeof(end) - 1 && memcmp(name->data + n - (sizeof(end) - 1),
                                         end, sizeof(end) - 1) == 0;
}

/*
 * The symbol of a function.  The "symbolic" library takes the one where the
 * first of its ranges begins; but that may be a part that runs rarely, and
 * then the whole function has the name of another one.
 */
static bool function_symbol(const struct dwarf_walk *walk, uint64_t first,
                            struct symc_name *name)
{
    bool is_found = symbol_name(walk, relative(walk, first), name);
    struct symc_name other = {0};
    size_t i;

    if (!is_found || walk->reader->object->is_like_symbolic ||
        !is_cold(name)) {
        return is_found;
    }
    for (i = 0; i < walk->ranges.count; i++) {
        if (symbol_name(walk, relative(walk, walk->ranges.list[i].begin),
                        &other) &&
            !is_cold(&other)) {
            *name = other;
            return true;
        }
    }
    name->data = "";
    name->size = 0;
    return false;
}

/* Finds the name of a function: its symbol's, or its own. */
static int function_name(struct dwarf_walk *walk,
                         const struct dwarf_entry *entry,
                         struct symc_name *name)
{
    int rc;
    size_t i, size;
    uint64_t first = UINT64_MAX;
    const char *text;

    name->data = "";
    for (i = 0; i < walk->ranges.count; i++) {
        first = walk->ranges.list[i].begin < first ? walk->ranges.list[i].begin
                                                   : first;
    }
    if (!walk->root.prefers_dwarf_names &&
        function_symbol(walk, first, name)) {
        return 0;
    }
    rc = dwarf_entry_name(walk->reader, walk->unit, entry, &text, &size);
    if (rc > 0 && size > 0 && size <= UINT32_MAX) {
        name->data = text;
        name->size = (uint32_t)size;
    }
    return rc < 0 ? -1 : 0;
}

/* Drops the ranges of functions that have been there before: linkers fold
 * equal code of several units. */
static int drop_seen(struct dwarf_walk *walk)
{
    size_t i, before, out = 0;
    uint64_t address, size;
    uint32_t index;
    const struct dwarf_range *r = walk->ranges.list;

    for (i = 0; i < walk->ranges.count; i++) {
        before = walk->seen.count;
        address = relative(walk, r[i].begin);
        size = r[i].end - r[i].begin;
        if (symc_set_insert(
                &walk->seen,
                (uint32_t[]){(uint32_t)address, (uint32_t)(address >> 32),
                             (uint32_t)size, (uint32_t)(size >> 32)},
                &index) != 0) {
            return failure_memory(walk->reader->failure);
        }
        if (walk->seen.count > before) {
            walk->ranges.list[out++] = r[i];
        }
    }
    walk->ranges.count = out;
    return 0;
}

/* Adds those of the entry to a list. */
static int add_ranges(struct dwarf_walk *walk, struct dwarf_ranges *to)
{
    size_t i;
    const struct dwarf_range *r = walk->ranges.list;

    for (i = 0; i < walk->ranges.count; i++) {
        if (dwarf_ranges_add(walk->reader, to, r[i].begin, r[i].end) != 0) {
            return -1;
        }
    }
    return 0;
}

static int open_function(struct dwarf_walk *walk, int64_t depth,
                         const struct dwarf_entry *entry)
{
    struct dwarf_open_entry *o;

    if (drop_seen(walk) != 0) {
        return -1;
    }
    if (walk->ranges.count == 0) {
        return open_dead(walk, depth);
    }
    o = open_entry(walk, depth);
    if (o == NULL) {
        return -1;
    }
    o->is_function = true;
    o->function = walk->num_open - 1;
    o->language = walk->unit->language;
    o->first_range = walk->live.count;
    o->num_ranges = walk->ranges.count;
    o->first_inlinee = walk->num_inlinees;
    if (dwarf_entry_language(walk->reader, walk->unit, entry, &o->language) <
            0 ||
        function_name(walk, entry, &o->name) != 0) {
        return -1;
    }
    return add_ranges(walk, &walk->live) != 0 ||
                   add_ranges(walk, &walk->covered) != 0
               ? -1
               : 0;
}

/* inlined calls ----------------------------------------------------------- */

/* Adds an inlined range to the function's range in which it begins.  Outside
 * of all of them it is dropped. */
static int add_inlinee(struct dwarf_walk *walk, size_t function,
                       const struct dwarf_range *range,
                       const struct inlined_range *call)
{
    size_t i, n = walk->open[function].num_ranges;
    struct dwarf_inlinee *added;
    const struct dwarf_range *r =
        walk->live.list + walk->open[function].first_range;

    for (i = 0; i < n; i++) {
        if (range->begin >= r[i].begin && range->begin < r[i].end) {
            break;
        }
    }
    if (i >= FEW_RANGES && dwarf_charge(walk->reader, i) != 0) {
        return -1;
    }
    if (i == n) {
        return 0;
    }
    if (array_need(&walk->inlinees, &walk->inlinee_room,
                   walk->num_inlinees + 1, sizeof(*walk->inlinees)) != 0) {
        return failure_memory(walk->reader->failure);
    }
    added = &walk->inlinees[walk->num_inlinees++];
    added->inlinee = *call;
    added->inlinee.address = relative(walk, range->begin);
    added->inlinee.size = range->end - range->begin;
    added->range = i;
    return 0;
}

static inline int find_walk_source(struct dwarf_walk *walk, uint64_t file,
                                   uint32_t *source)
{
    return dwarf_sources_find(&dwarf_batch(&walk->batches)->files,
                              walk->line_reader, walk->line_unit, &walk->root,
                              &walk->lines, file, source) == 0
               ? 0
               : failure_memory(walk->reader->failure);
}

static int open_inlinee(struct dwarf_walk *walk, int64_t depth,
                        const struct dwarf_entry *entry)
{
    size_t i;
    struct inlined_range call = {
        .source = (uint32_t)dwarf_batch(&walk->batches)->files.first};
    struct dwarf_open_entry *o;
    const struct dwarf_open_entry *parent;

    if (walk->ranges.count == 0) {
        return open_dead(walk, depth);
    }
    o = open_entry(walk, depth);
    if (o == NULL) {
        return -1;
    }
    parent = o - 1;
    if (dwarf_names_find(&dwarf_batch(&walk->batches)->names, walk->reader,
                         walk->unit, entry, parent->language,
                         &call.name) != 0 ||
        (entry->call_file.kind == DWARF_UNSIGNED &&
         find_walk_source(walk, entry->call_file.number, &call.source) != 0)) {
        return -1;
    }
    o->function = parent->function;
    o->inline_depth = parent->inline_depth + 1;
    o->language = dwarf_batch(&walk->batches)->names.list[call.name].language;
    call.depth = parent->inline_depth;
    call.line = (uint32_t)entry->call_line.number;
    for (i = 0; i < walk->ranges.count; i++) {
        if (add_inlinee(walk, o->function, &walk->ranges.list[i], &call) !=
            0) {
            return -1;
        }
    }
    return 0;
}

/* closing functions ------------------------------------------------------- */

/* A row goes on from one function into the next one if both have the same line
 * there.  The "symbolic" library drops it in the second. */
static void clip_line(const struct dwarf_walk *walk, struct symc_line *line,
                      uint64_t before)
{
    if (walk->reader->object->is_like_symbolic) {
        return;
    }
    line->address += before;
    if (line->size != SYMC_NO_SIZE) {
        line->size -= before < line->size ? before : line->size;
    }
}

static int add_lines(struct dwarf_walk *walk, const struct dwarf_range *range)
{
    size_t i, n, first;
    struct symc_line line;
    struct dwarf_batch *batch = dwarf_batch(&walk->batches);
    const struct dwarf_row *row;
    const struct dwarf_sequence *s;

    if (!walk->has_lines ||
        dwarf_lines_run(walk->line_reader, &walk->lines) != 0) {
        return walk->has_lines ? -1 : 0;
    }
    n = dwarf_lines_find(&walk->lines, range->begin, range->end, &s, &first);
    if (dwarf_batch_expect_lines(batch, n) != 0) {
        return failure_memory(walk->reader->failure);
    }
    for (i = 0; i < n; i++) {
        row = &walk->lines.rows[first + i];
        line.address = relative(walk, row->address);
        line.line = row->line;
        line.size = first + i + 1 < s->first + s->count
                        ? row[1].address - row->address
                        : s->last_size;
        if (row->address < range->begin) {
            clip_line(walk, &line, range->begin - row->address);
        }
        if (find_walk_source(walk, row->file, &line.source) != 0) {
            return -1;
        }
        dwarf_batch_line(batch, &line);
    }
    return dwarf_charge(walk->reader, n);
}

/* Writes the code of one range of a function. */
static int write_range(struct dwarf_walk *walk,
                       const struct dwarf_open_entry *o, size_t number)
{
    size_t i;
    struct dwarf_function *f;
    struct dwarf_batch *batch = dwarf_batch(&walk->batches);
    struct dwarf_range range = walk->live.list[o->first_range + number];
    uint64_t address = relative(walk, range.begin);

    if (address > UINT32_MAX) {
        return 0; /* the writer would leave it out */
    }
    if (number > 0 && dwarf_charge(walk->reader, walk->num_inlinees -
                                                     o->first_inlinee) != 0) {
        return -1;
    }
    f = dwarf_batch_function(batch, address, range.end - range.begin);
    if (f == NULL) {
        return failure_memory(walk->reader->failure);
    }
    f->name = o->name;
    f->language = o->language;
    for (i = o->first_inlinee; i < walk->num_inlinees; i++) {
        if (walk->inlinees[i].range == number &&
            dwarf_batch_inlinee(batch, &walk->inlinees[i].inlinee) != 0) {
            return failure_memory(walk->reader->failure);
        }
    }
    if (add_lines(walk, &range) != 0) {
        return -1;
    }
    return dwarf_batches_add(&walk->batches, walk->reader->failure);
}

/* Closes the entries that are at a depth or deeper.  Functions in functions
 * are written first. */
static int close_entries(struct dwarf_walk *walk, int64_t depth)
{
    size_t i;
    struct dwarf_open_entry o;

    while (walk->num_open > 0 &&
           walk->open[walk->num_open - 1].depth >= depth) {
        o = walk->open[--walk->num_open];
        if (!o.is_function) {
            continue;
        }
        for (i = 0; i < o.num_ranges; i++) {
            if (write_range(walk, &o, i) != 0) {
                return -1;
            }
        }
        walk->live.count = o.first_range;
        walk->num_inlinees = o.first_inlinee;
    }
    return 0;
}

/* the walk ---------------------------------------------------------------- */

/* Which entries can be skipped. */
static unsigned walk_place_of(const struct dwarf_walk *walk)
{
    return is_in_function(walk) ? DWARF_INSIDE : DWARF_OUTSIDE;
}

/* Does the last open entry end before one at this depth? */
static bool has_ended(const struct dwarf_walk *walk, int64_t depth)
{
    return walk->num_open > 0 && walk->open[walk->num_open - 1].depth >= depth;
}

/* Skips the attributes of an entry.  Returns where they end, or NULL if they
 * are damaged. */
static inline const uint8_t *skip_attributes(const struct dwarf_walk *walk,
                                             const struct dwarf_abbrev *a,
                                             const uint8_t *p,
                                             const uint8_t *end)
{
    struct cursor c;

    if (a->size != DWARF_MANY) {
        return a->size <= end - p ? p + a->size : NULL;
    }
    c.at = p;
    c.end = end;
    c.is_big = walk->reader->object->is_big;
    c.failed = false;
    dwarf_abbrevs_skip_steps(&walk->reader->abbrevs, a, &walk->unit->encoding,
                             &c);
    return c.failed ? NULL : c.at;
}

/*
 * Skips entries that mean nothing here, as nearly all do, up to where the last
 * open one ends.  Leaves the cursor at the first that is not so simple, or
 * damaged.  Returns its depth.
 */
static int64_t skip_walk_entries(const struct dwarf_walk *walk,
                                 struct cursor *c, int64_t depth)
{
    uint32_t code;
    unsigned place = walk_place_of(walk);
    const uint8_t *p = c->at, *end = c->end, *next;
    const struct dwarf_abbrev *a;
    const struct dwarf_abbrev_table *table =
        dwarf_unit_table(walk->reader, walk->unit);
    /* a code of three bytes or more looks like a higher one here */
    uint32_t most =
        table->num_dense < 0x3fff ? (uint32_t)table->num_dense : 0x3fff;
    const struct dwarf_abbrev *list =
        walk->reader->abbrevs.list + table->first;
    int64_t stop =
        walk->num_open > 0 ? walk->open[walk->num_open - 1].depth : -1;

    for (; depth > stop && end - p > 1; p = next) {
        code = p[0];
        next = p + 1;
        if (code == 0) {
            depth--;
            continue;
        }
        if (code >= 0x80) {
            code = (code & 0x7f) | (uint32_t)p[1] << 7;
            next = p + 2;
        }
        if (code - 1 >= most) {
            break;
        }
        a = &list[code - 1];
        next = (a->skips & place) != 0 ? skip_attributes(walk, a, next, end)
                                       : NULL;
        if (next == NULL) {
            break;
        }
        depth += a->has_children;
    }
    c->at = p;
    return depth;
}

/* Opens a function of which no more is known than its symbol and the entry, if
 * the symbol says where it ends. */
static int open_symbol(struct dwarf_walk *walk, int64_t depth,
                       uint64_t address, const struct debuginfo_symbol *symbol,
                       const struct dwarf_entry *entry)
{
    walk->ranges.count = 0;
    if (symbol == NULL || symbol->name == NULL || symbol->size == 0) {
        return 0;
    }
    return dwarf_ranges_add(walk->reader, &walk->ranges, address,
                            address + symbol->size) != 0
               ? -1
               : open_function(walk, depth, entry);
}

/* Of a function in assembly, LLVM only tells that the unit has a label there.
 */
static int take_label(struct dwarf_walk *walk,
                      const struct dwarf_abbrev *abbrev, struct cursor *c,
                      int64_t depth)
{
    uint64_t low = 0;
    struct dwarf_entry entry;
    const struct debuginfo_symbol *symbol;

    if (depth > 1 || walk->reader->object->is_like_symbolic) {
        dwarf_abbrevs_skip(&walk->reader->abbrevs, abbrev,
                           &walk->unit->encoding, c);
        return 0;
    }
    if (dwarf_entry_read(walk->reader, walk->unit, abbrev, c, &entry, NULL) !=
        0) {
        return -1;
    }
    symbol = !c->failed && read_address(walk, &entry.low_pc, &low) > 0
                 ? symbol_at(walk, relative(walk, low))
                 : NULL;
    return low == 0 ? 0 : open_symbol(walk, depth, low, symbol, &entry);
}

/* Reads a function or inlined call after its abbreviation code, or skips any
 * other entry. */
static int take_walk_entry(struct dwarf_walk *walk,
                           const struct dwarf_abbrev *abbrev, struct cursor *c,
                           uint64_t offset, int64_t depth)
{
    struct dwarf_entry entry;

    if (abbrev->is_empty || (abbrev->skips & walk_place_of(walk)) != 0) {
        dwarf_abbrevs_skip(&walk->reader->abbrevs, abbrev,
                           &walk->unit->encoding, c);
        return abbrev->is_empty && abbrev->has_children
                   ? open_dead(walk, depth)
                   : 0;
    }
    if (abbrev->tag == DW_TAG_label) {
        return take_label(walk, abbrev, c, depth);
    }
    if (read_walk_entry(walk, abbrev, c, offset, &entry) != 0) {
        return -1;
    }
    return abbrev->tag == DW_TAG_subprogram
               ? open_function(walk, depth, &entry)
               : open_inlinee(walk, depth, &entry);
}

static int walk_entries(struct dwarf_walk *walk)
{
    int64_t depth = 0, at;
    uint64_t code, offset;
    const struct dwarf_abbrev *abbrev;
    const struct dwarf_abbrev_table *table =
        dwarf_unit_table(walk->reader, walk->unit);
    const uint8_t *section = walk->reader->object->sections[DWARF_INFO].data;
    struct cursor c =
        dwarf_cursor(walk->reader, DWARF_INFO, walk->unit->entries);

    c.end = c.at + (walk->unit->end - walk->unit->entries);
    while (c.at < c.end && depth >= 0) {
        if (has_ended(walk, depth) && close_entries(walk, depth) != 0) {
            return -1;
        }
        depth = skip_walk_entries(walk, &c, depth);
        if (c.at == c.end || depth < 0 || has_ended(walk, depth)) {
            continue;
        }
        offset = (uint64_t)(c.at - section);
        code = cursor_uleb(&c);
        if (code == 0 && !c.failed) {
            depth--;
            continue;
        }
        table = dwarf_unit_table(walk->reader, walk->unit);
        abbrev = dwarf_abbrevs_get(&walk->reader->abbrevs, table, code);
        if (abbrev == NULL) {
            return damaged(walk, offset,
                           "an entry has an unknown abbreviation");
        }
        at = depth;
        depth += abbrev->has_children;
        if (take_walk_entry(walk, abbrev, &c, offset, at) != 0) {
            return -1;
        }
        if (c.failed) {
            return damaged(walk, offset, "an entry cannot be read");
        }
    }
    return close_entries(walk, INT64_MIN);
}

/* functions without an entry ---------------------------------------------- */

/* Reads the ranges of the unit into walk->live, in which nothing else is. */
static int read_unit_ranges(struct dwarf_walk *walk)
{
    uint64_t code = 0;
    struct dwarf_entry entry;
    struct dwarf_range range;
    const struct dwarf_abbrev *abbrev;
    struct cursor c =
        dwarf_cursor(walk->reader, DWARF_INFO, walk->unit->entries);

    c.end = c.at + (walk->unit->end - walk->unit->entries);
    while (code == 0 && c.at < c.end) {
        code = cursor_uleb(&c);
    }
    abbrev =
        dwarf_abbrevs_get(&walk->reader->abbrevs,
                          dwarf_unit_table(walk->reader, walk->unit), code);
    walk->ranges.count = 0;
    if (abbrev == NULL || dwarf_entry_read(walk->reader, walk->unit, abbrev,
                                           &c, &entry, &walk->ranges) != 0) {
        return abbrev == NULL ? 0 : -1;
    }
    if (walk->ranges.count == 0 && pc_range(walk, &entry, &range) == NULL &&
        range.begin < range.end &&
        dwarf_ranges_add(walk->reader, &walk->ranges, range.begin,
                         range.end) != 0) {
        return -1;
    }
    return add_ranges(walk, &walk->live);
}

/* Does a row begin there?  The one before goes on in a function in assembly,
 * which stands between others, but is not about it. */
static bool has_lines(const struct dwarf_walk *walk, uint64_t begin,
                      uint64_t end)
{
    const struct dwarf_sequence *s;
    size_t first, n = dwarf_lines_find(&walk->lines, begin, end, &s, &first);

    return n > 1 || (n == 1 && walk->lines.rows[first].address >= begin);
}

/* Takes a symbol, if it is one of a function that has lines, but no entry. */
static int take_symbol(struct dwarf_walk *walk, uint64_t begin,
                       const struct debuginfo_symbol *symbol)
{
    uint64_t end = begin + symbol->size;
    const struct dwarf_entry none = {0};
    const size_t num_covered = walk->covered.count; /* which are in order */

    if (dwarf_charge(walk->reader, 1) != 0) {
        return -1;
    }
    if (symbol->size == 0 ||
        dwarf_ranges_overlap(&walk->covered, begin, end)) {
        return 0;
    }
    if (dwarf_lines_run(walk->reader, &walk->lines) != 0) {
        return -1;
    }
    if (has_lines(walk, begin, end) &&
        (open_symbol(walk, 0, begin, symbol, &none) != 0 ||
         close_entries(walk, 0) != 0)) {
        return -1;
    }
    walk->covered.count = num_covered;
    return 0;
}

/*
 * Takes the functions of the unit that have no entry from the symbol table: all
 * of a skeleton unit without its file, those without inlined calls of LLVM's
 * -gline-tables-only, and those that compilers have made themselves.  Their
 * lines are in the line table.
 */
static int take_symbols(struct dwarf_walk *walk)
{
    size_t i, k, n;
    uint64_t begin;
    const struct dwarf_object *object = walk->line_reader->object;

    walk->reader = walk->line_reader;
    walk->unit = walk->line_unit;
    walk->root.prefers_dwarf_names = false;
    if (read_unit_ranges(walk) != 0) {
        return -1;
    }
    dwarf_ranges_sort(&walk->covered);
    for (i = 0, n = walk->live.count; i < n; i++) {
        for (k = first_symbol(object,
                              relative(walk, walk->live.list[i].begin));
             k < object->num_addresses; k++) {
            begin = (object->addresses[k] >> 32) + object->load_address;
            if (begin >= walk->live.list[i].end) {
                break;
            }
            if (take_symbol(
                    walk, begin,
                    &object->symbols[(uint32_t)object->addresses[k]]) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

/* The value of a string of the root entry, or none if it cannot be read. */
static void resolve(struct dwarf_reader *d, const struct dwarf_unit *u,
                    struct dwarf_value *v)
{
    size_t size;
    const char *text;

    v->kind =
        dwarf_string(d, u, v, &text, &size) ? DWARF_TEXT : DWARF_NO_VALUE;
    v->text = v->kind == DWARF_TEXT ? text : NULL;
    v->number = v->kind == DWARF_TEXT ? size : 0;
}

int dwarf_walk_end(struct dwarf_walk *walk, struct failure *failure)
{
    return dwarf_batches_settle(&walk->batches, failure);
}

int dwarf_walk_unit(struct dwarf_walk *walk)
{
    struct symc_text comp_dir = {"", 0};
    /* of split DWARF, what cannot be written is left out with its unit */
    bool may_wait = walk->reader == walk->line_reader;

    resolve(walk->reader, walk->unit, &walk->root.name);
    resolve(walk->line_reader, walk->line_unit, &walk->root.comp_dir);
    if (walk->root.comp_dir.kind == DWARF_TEXT &&
        walk->root.comp_dir.number <= UINT32_MAX) {
        comp_dir.data = walk->root.comp_dir.text;
        comp_dir.size = (uint32_t)walk->root.comp_dir.number;
        if (utf8_valid(comp_dir.data, comp_dir.size) < comp_dir.size) {
            comp_dir.data = NULL;
        }
    }
    if (dwarf_batches_begin(&walk->batches, may_wait, walk->reader->failure) !=
            0 ||
        dwarf_sources_begin(&dwarf_batch(&walk->batches)->files,
                            walk->line_reader, &comp_dir,
                            walk->has_lines ? &walk->lines : NULL) != 0) {
        return -1;
    }
    if (dwarf_names_begin(&dwarf_batch(&walk->batches)->names) != 0) {
        return failure_memory(walk->reader->failure);
    }
    walk->num_open = walk->num_inlinees = walk->live.count =
        walk->covered.count = 0;
    return walk_entries(walk) != 0 ||
                   (walk->has_lines &&
                    !walk->reader->object->is_like_symbolic &&
                    take_symbols(walk) != 0)
               ? -1
               : dwarf_batches_end(&walk->batches, walk->reader->failure);
}
