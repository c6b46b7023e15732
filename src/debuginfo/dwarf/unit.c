/*
 * Copyright (C) the ngx_symcache authors
 */
#include "unit.h"

#include <string.h>

#include "base/array.h"

#define DART "Dart VM"

/* As many attributes of abbreviations, with what belongs to them, take few
 * pages of memory; restore_table() finds out where more are needed. */
#define FIRST_KEPT 1024

enum {
    DW_UT_compile = 1,
    DW_UT_type = 2,
    DW_UT_partial = 3,
    DW_UT_skeleton = 4,
    DW_UT_split_compile = 5,
    DW_UT_split_type = 6
};

#define DW_LANG_GO 0x16

/* Languages of DWARF (table 7.17) as SymCaches number them.  Newer codes of
 * the same languages have no number. */
static const struct {
    uint8_t dwarf;
    uint8_t symcache;
} languages[] = {
    {0x01, 1}, {0x02, 1}, {0x0c, 1}, {0x1d, 1}, /* C */
    {0x04, 2}, {0x19, 2}, {0x1a, 2}, {0x21, 2}, /* C++ */
    {0x13, 3},                                  /* D */
    {DW_LANG_GO, 4},
    {0x10, 5},                                  /* Objective-C */
    {0x11, 6},                                  /* Objective-C++ */
    {0x1c, 7},                                  /* Rust */
    {0x1e, 8},                                  /* Swift */
};

static uint8_t language_number(uint64_t code)
{
    size_t i;

    for (i = 0; i < COUNT(languages); i++) {
        if (languages[i].dwarf == code) {
            return languages[i].symcache;
        }
    }
    return 0;
}

/* headers ----------------------------------------------------------------- */

static bool is_address_size(unsigned size)
{
    return size == 1 || size == 2 || size == 4 || size == 8;
}

/* Reads a header after the length.  Returns NULL, or what is wrong. */
static const char *read_unit_header(struct cursor *c, struct dwarf_unit *unit)
{
    unsigned version, type = DW_UT_compile;
    struct dwarf_encoding *e = &unit->encoding;

    version = cursor_16(c);
    if (version < 2 || version > 5) {
        return "a unit is of an unknown version";
    }
    e->version = (uint8_t)version;
    if (version == 5) {
        type = cursor_8(c);
        e->address_size = cursor_8(c);
        unit->abbrev_offset = cursor_number(c, e->offset_size);
    } else {
        unit->abbrev_offset = cursor_number(c, e->offset_size);
        e->address_size = cursor_8(c);
    }
    if (!is_address_size(e->address_size)) {
        return "a unit has addresses of an unknown size";
    }
    switch (type) {
    case DW_UT_compile:
    case DW_UT_partial:
        break;
    case DW_UT_skeleton:
    case DW_UT_split_compile:
        unit->dwo_id = cursor_64(c);
        unit->has_dwo_id = true;
        break;
    case DW_UT_type:
    case DW_UT_split_type:
        cursor_skip(c, 8);
        cursor_skip(c, e->offset_size);
        break;
    default:
        return "a unit is of an unknown type";
    }
    return c->failed ? "the header of a unit is cut off" : NULL;
}

/* The longest header: length, version, type, size of addresses, offset of
 * abbreviations, id and offset of a type. */
#define UNIT_HEADER_MAX 40

/* Waits until the bytes before an offset are there. */
static int wait_for_units(struct dwarf_reader *d, uint64_t offset)
{
    const struct dwarf_object *o = d->object;
    size_t size = o->sections[DWARF_INFO].size;

    return o->inflation == NULL ||
                   dwarf_inflation_wait(o->inflation, offset < size
                                                          ? (size_t)offset
                                                          : size)
               ? 0
               : dwarf_damaged(d, DWARF_INFO, d->units_end,
                               "it cannot be decompressed");
}

static int add_unit(struct dwarf_reader *d, const struct dwarf_unit *unit)
{
    struct dwarf_unit *added;

    if (array_need(&d->units, &d->unit_room, d->num_units + 1,
                   sizeof(*d->units)) != 0) {
        return failure_memory(d->failure);
    }
    added = arena_take(&d->unit_memory, sizeof(*added));
    if (added == NULL) {
        return failure_memory(d->failure);
    }
    *added = *unit;
    d->units[d->num_units].start = unit->start;
    d->units[d->num_units++].unit = added;
    d->units_end = unit->end;
    return 0;
}

/* Reads the header of the next unit, and waits until all of it is there. */
static int read_unit(struct dwarf_reader *d)
{
    uint64_t length;
    const char *wrong;
    struct cursor unit, c = dwarf_cursor(d, DWARF_INFO, d->units_end);
    struct dwarf_unit u = {.start = d->units_end};

    if (wait_for_units(d, u.start + UNIT_HEADER_MAX) != 0) {
        return -1;
    }
    length = cursor_32(&c);
    u.encoding.offset_size = 4;
    if (length == 0xffffffff) {
        length = cursor_64(&c);
        u.encoding.offset_size = 8;
    } else if (length >= 0xfffffff0) {
        cursor_fail(&c);
    }
    unit = c;
    cursor_skip(&c, length);
    if (c.failed) {
        return dwarf_damaged(d, DWARF_INFO, u.start,
                             "a unit is longer than the section");
    }
    unit.end = c.at;
    wrong = read_unit_header(&unit, &u);
    if (wrong != NULL) {
        return dwarf_damaged(d, DWARF_INFO, u.start, wrong);
    }
    u.entries = dwarf_offset(d, DWARF_INFO, &unit);
    u.end = dwarf_offset(d, DWARF_INFO, &c);
    return wait_for_units(d, u.end) != 0 ? -1 : add_unit(d, &u);
}

static bool has_next(const struct dwarf_reader *d)
{
    return d->units_end < d->object->sections[DWARF_INFO].size;
}

struct dwarf_unit *dwarf_unit_get(struct dwarf_reader *d, size_t number)
{
    while (d->num_units <= number) {
        if (!has_next(d) || read_unit(d) != 0) {
            return NULL;
        }
    }
    return d->units[number].unit;
}

/* Finds the unit in which an offset is. */
static struct dwarf_unit *locate(struct dwarf_reader *d, uint64_t offset)
{
    size_t low = 0, high, middle;

    while (offset >= d->units_end && has_next(d)) {
        if (read_unit(d) != 0) {
            return NULL;
        }
    }
    high = d->num_units;
    while (high - low > 1) {
        middle = low + (high - low) / 2;
        if (d->units[middle].start <= offset) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low < high && offset < d->units[low].unit->end ? d->units[low].unit
                                                          : NULL;
}

struct dwarf_unit *dwarf_unit_find(struct dwarf_reader *d, uint64_t offset)
{
    struct dwarf_unit *unit = locate(d, offset);

    return unit != NULL && offset >= unit->entries ? unit : NULL;
}

struct dwarf_unit *dwarf_unit_at(struct dwarf_reader *d, uint64_t offset)
{
    struct dwarf_unit *unit = locate(d, offset);

    return unit != NULL && offset == unit->start ? unit : NULL;
}

/* tables of abbreviations ------------------------------------------------- */

void dwarf_units_forget(struct dwarf_reader *d)
{
    if (d->abbrevs.num_attributes > (size_t)FIRST_KEPT << d->kept) {
        dwarf_abbrevs_forget(&d->abbrevs);
        d->age++;
    }
}

/* Reads the table of a unit, which is the one of that index.  Returns 1, 0 if
 * it is damaged, or -1 with failure set if memory or work runs out. */
static int read_unit_table(struct dwarf_reader *d,
                           const struct dwarf_unit *unit, size_t index)
{
    enum dwarf_abbrevs_status status;
    struct cursor c = dwarf_cursor(d, DWARF_ABBREV, unit->abbrev_offset);
    const uint8_t *begin = c.at;

    if (c.failed) {
        return 0;
    }
    status = dwarf_abbrevs_read(&d->abbrevs, &c, &unit->encoding,
                                &d->tables[index]);
    if (status == DWARF_ABBREVS_NO_MEMORY) {
        return failure_memory(d->failure);
    }
    d->tables[index].age = d->age;
    if (dwarf_charge(d, (uint64_t)(c.at - begin)) != 0) {
        return -1;
    }
    return status == DWARF_ABBREVS_OK;
}

/* Reads the table of a unit again if it was forgotten.  Where units share
 * tables, or refer to others, more of them are kept from then on, so that this
 * happens a few times in all.  Returns as read_unit_table(). */
static int restore_table(struct dwarf_reader *d, const struct dwarf_unit *unit)
{
    if (d->tables[unit->table].age == d->age) {
        return 1;
    }
    d->kept++;
    return read_unit_table(d, unit, unit->table);
}

/* Finds or reads the table of a unit.  Returns as read_unit_table(). */
static int find_unit_table(struct dwarf_reader *d, struct dwarf_unit *unit)
{
    int rc;
    size_t at = 0;
    uint64_t key = unit->abbrev_offset << 5, hash;
    uintptr_t found;
    const struct dwarf_encoding *e = &unit->encoding;

    key |= (e->address_size & 15u) | (e->offset_size == 8 ? 16u : 0);
    key = key * 2 + (e->version == 2);
    hash = table_hash_number(&d->tables_at, key);
    found = table_next(&d->tables_at, hash, &at);
    if (found != 0) {
        unit->table = (uint32_t)(found - 1);
        return restore_table(d, unit);
    }
    if (d->num_tables >= UINT32_MAX ||
        array_need(&d->tables, &d->table_room, d->num_tables + 1,
                   sizeof(*d->tables)) != 0) {
        return failure_memory(d->failure);
    }
    rc = read_unit_table(d, unit, d->num_tables);
    if (rc <= 0) {
        return rc;
    }
    unit->table = (uint32_t)d->num_tables++;
    return table_add(&d->tables_at, hash, d->num_tables) == 0
               ? 1
               : failure_memory(d->failure);
}

/* root entries ------------------------------------------------------------ */

/* The values used from a root entry.  If an attribute occurs twice, the first
 * language, producer and ranges count; for all others, the last one counts. */
struct unit_root_values {
    struct dwarf_root root;
    struct dwarf_value low_pc;
    struct dwarf_value language;
    struct dwarf_value producer;
};

static void take_first(struct dwarf_value *to, const struct dwarf_value *v)
{
    if (to->kind == DWARF_NO_VALUE) {
        *to = *v;
    }
}

static void take_offset(uint64_t *to, const struct dwarf_value *v)
{
    if (v->kind == DWARF_OFFSET) {
        *to = v->number;
    }
}

static void take_value(struct dwarf_unit *unit, struct unit_root_values *r,
                       unsigned name, const struct dwarf_value *v)
{
    switch (name) {
    case DW_AT_name:
        r->root.name = *v;
        break;
    case DW_AT_comp_dir:
        r->root.comp_dir = *v;
        break;
    case DW_AT_stmt_list:
        if (v->kind == DWARF_OFFSET) {
            r->root.stmt_list = *v;
        }
        break;
    case DW_AT_ranges:
        r->root.has_ranges = true;
        break;
    case DW_AT_low_pc:
        r->low_pc = *v;
        break;
    case DW_AT_language:
        take_first(&r->language, v);
        break;
    case DW_AT_producer:
        take_first(&r->producer, v);
        break;
    case DW_AT_str_offsets_base:
        take_offset(&unit->str_offsets_base, v);
        break;
    case DW_AT_addr_base:
    case DW_AT_GNU_addr_base:
        take_offset(&unit->addr_base, v);
        break;
    case DW_AT_rnglists_base:
    case DW_AT_GNU_ranges_base:
        take_offset(&unit->rnglists_base, v);
        break;
    case DW_AT_dwo_name:
    case DW_AT_GNU_dwo_name:
        r->root.dwo_name = *v;
        break;
    case DW_AT_GNU_dwo_id:
        if (v->kind == DWARF_UNSIGNED) {
            unit->has_dwo_id = true;
            unit->dwo_id = v->number;
        }
        break;
    default:
        break;
    }
}

static bool is_dart(struct dwarf_reader *d, const struct dwarf_unit *unit,
                    const struct dwarf_value *producer)
{
    size_t size;
    const char *text;

    return (producer->kind == DWARF_TEXT || producer->kind == DWARF_STR_REF) &&
           dwarf_string(d, unit, producer, &text, &size) &&
           size == sizeof(DART) - 1 && memcmp(text, DART, size) == 0;
}

/* Reads the first entry that is not a null entry.  Returns 1, 0 if there is
 * none, or -1 if it is damaged or, with failure set, work runs out. */
static int read_unit_root(struct dwarf_reader *d, struct dwarf_unit *unit,
                          struct unit_root_values *r)
{
    size_t i;
    uint64_t code = 0;
    struct dwarf_value v;
    struct cursor c = dwarf_cursor(d, DWARF_INFO, unit->entries);
    const struct dwarf_abbrev *abbrev;
    const struct dwarf_attribute *a;

    c.end = c.at + (unit->end - unit->entries);
    while (code == 0 && c.at < c.end) {
        code = cursor_uleb(&c);
    }
    if (code == 0) {
        return c.failed ? -1 : 0;
    }
    abbrev = dwarf_abbrevs_get(&d->abbrevs, dwarf_unit_table(d, unit), code);
    if (abbrev == NULL || dwarf_charge(d, abbrev->num_attributes) != 0) {
        return -1;
    }
    for (i = 0; i < abbrev->num_attributes; i++) {
        a = &d->abbrevs.attributes[abbrev->first_attribute + i];
        v = dwarf_attribute_read(&d->abbrevs, a, &unit->encoding, &c);
        take_value(unit, r, a->name, &v);
    }
    return c.failed ? -1 : 1;
}

/* Returns 1, 0 if there is no entry, or -1 with *wrong set. */
static int load(struct dwarf_reader *d, struct dwarf_unit *unit,
                struct unit_root_values *r, const char **wrong)
{
    int rc;

    rc = read_unit_root(d, unit, r);
    if (rc <= 0) {
        *wrong = "the first entry of a unit cannot be read";
        return rc;
    }
    unit->low_pc = 0;
    if (r->low_pc.kind == DWARF_ADDRESS) {
        unit->low_pc = r->low_pc.number;
    } else if (r->low_pc.kind == DWARF_ADDRESS_INDEX &&
               !dwarf_address(d, unit, r->low_pc.number, &unit->low_pc)) {
        *wrong = "the address of a unit is missing";
        return -1;
    }
    unit->has_language =
        r->language.kind == DWARF_UNSIGNED && r->language.number <= UINT16_MAX;
    unit->language =
        unit->has_language ? language_number(r->language.number) : 0;
    /* symbols of Go's assembly say which calling convention they have */
    r->root.prefers_dwarf_names =
        is_dart(d, unit, &r->producer) ||
        (r->language.number == DW_LANG_GO && unit->has_language &&
         !d->object->is_like_symbolic);
    return 1;
}

int dwarf_unit_load(struct dwarf_reader *d, struct dwarf_unit *unit,
                    struct dwarf_root *root)
{
    int rc;
    const char *wrong = "the abbreviations of a unit are damaged";
    struct unit_root_values r;

    if (unit->state != DWARF_UNIT_UNREAD && root == NULL) {
        return unit->state == DWARF_UNIT_READY && restore_table(d, unit) < 0
                   ? -1
                   : 0;
    }
    memset(&r, 0, sizeof(r));
    rc = find_unit_table(d, unit);
    if (rc < 0) {
        return -1;
    }
    rc = rc == 0 ? -1 : load(d, unit, &r, &wrong);
    if (d->failure->code != FAILURE_NONE) {
        return -1;
    }
    unit->state = rc > 0    ? DWARF_UNIT_READY
                  : rc == 0 ? DWARF_UNIT_EMPTY
                            : DWARF_UNIT_BAD;
    if (root != NULL) {
        *root = r.root;
        if (rc < 0) {
            return dwarf_damaged(d, DWARF_INFO, unit->start, wrong);
        }
    }
    return 0;
}
