/*
 * Copyright (C) the ngx_symcache authors
 */
#include "ranges.h"

#include <stdlib.h>

#include "base/array.h"
#include "unit.h"

enum {
    DW_RLE_end_of_list = 0,
    DW_RLE_base_addressx = 1,
    DW_RLE_startx_endx = 2,
    DW_RLE_startx_length = 3,
    DW_RLE_offset_pair = 4,
    DW_RLE_base_address = 5,
    DW_RLE_start_end = 6,
    DW_RLE_start_length = 7
};

/* A list that is being read. */
struct range_list {
    struct dwarf_reader *reader;
    const struct dwarf_unit *unit;
    struct dwarf_ranges *ranges;
    struct cursor c;
    uint64_t base;
    uint64_t mask; /* the highest address */
};

int dwarf_ranges_add(struct dwarf_reader *d, struct dwarf_ranges *r,
                     uint64_t begin, uint64_t end)
{
    if (array_need(&r->list, &r->room, r->count + 1, sizeof(*r->list)) != 0) {
        return failure_memory(d->failure);
    }
    r->list[r->count].begin = begin;
    r->list[r->count++].end = end;
    return 0;
}

/* The two highest addresses stand for code that is not there. */
static bool is_tombstone(const struct range_list *ranges, uint64_t address)
{
    return address >= ranges->mask - 1;
}

static int add_range(struct range_list *ranges, uint64_t begin, uint64_t end)
{
    if (is_tombstone(ranges, begin) || begin >= end ||
        (begin == 0 && !ranges->reader->object->is_relocatable)) {
        return 0;
    }
    return dwarf_ranges_add(ranges->reader, ranges->ranges, begin, end);
}

static int add_offsets(struct range_list *ranges, uint64_t begin, uint64_t end)
{
    return is_tombstone(ranges, ranges->base)
               ? 0
               : add_range(ranges, (ranges->base + begin) & ranges->mask,
                           (ranges->base + end) & ranges->mask);
}

static uint64_t address(struct range_list *ranges)
{
    return cursor_number(&ranges->c, ranges->unit->encoding.address_size);
}

static uint64_t indexed_address(struct range_list *ranges)
{
    uint64_t value = 0;

    if (!dwarf_address(ranges->reader, ranges->unit, cursor_uleb(&ranges->c),
                       &value)) {
        cursor_fail(&ranges->c);
    }
    return value;
}

/* Reads an entry of DWARF 5.  Returns 1, 0 at the end of the list, or -1 with
 * failure set; the cursor may have failed, too. */
static int read_range_entry(struct range_list *ranges)
{
    uint64_t begin, end;

    switch (cursor_8(&ranges->c)) {
    case DW_RLE_end_of_list:
        return 0;
    case DW_RLE_base_addressx:
        ranges->base = indexed_address(ranges);
        return 1;
    case DW_RLE_base_address:
        ranges->base = address(ranges);
        return 1;
    case DW_RLE_offset_pair:
        begin = cursor_uleb(&ranges->c);
        end = cursor_uleb(&ranges->c);
        return !ranges->c.failed && add_offsets(ranges, begin, end) != 0 ? -1
                                                                         : 1;
    case DW_RLE_startx_endx:
        begin = indexed_address(ranges);
        end = indexed_address(ranges);
        break;
    case DW_RLE_startx_length:
        begin = indexed_address(ranges);
        end = (begin + cursor_uleb(&ranges->c)) & ranges->mask;
        break;
    case DW_RLE_start_end:
        begin = address(ranges);
        end = address(ranges);
        break;
    case DW_RLE_start_length:
        begin = address(ranges);
        end = (begin + cursor_uleb(&ranges->c)) & ranges->mask;
        break;
    default:
        cursor_fail(&ranges->c);
        return 1;
    }
    return !ranges->c.failed && add_range(ranges, begin, end) != 0 ? -1 : 1;
}

/* The same for a pair of addresses, which are all that older versions have. */
static int read_pair(struct range_list *ranges)
{
    uint64_t begin, end;

    begin = address(ranges);
    end = address(ranges);
    if (ranges->c.failed) {
        return 1;
    }
    if (begin == 0 && end == 0) {
        return 0;
    }
    if (begin == ranges->mask) {
        ranges->base = end;
        return 1;
    }
    return add_offsets(ranges, begin, end) != 0 ? -1 : 1;
}

/* Finds where a list begins.  Returns false if its number is wrong. */
static bool find_range_list(const struct dwarf_reader *d,
                            const struct dwarf_unit *u,
                            const struct dwarf_value *value, uint64_t *offset)
{
    struct cursor c;
    unsigned size = u->encoding.offset_size;

    *offset = u->ranges_base + value->number;
    if (value->kind == DWARF_OFFSET) {
        return true;
    }
    c = dwarf_cursor(d, DWARF_RNGLISTS, u->rnglists_base);
    if (value->number > UINT64_MAX / size) {
        return false;
    }
    cursor_skip(&c, value->number * size);
    *offset = u->rnglists_base + cursor_number(&c, size);
    return !c.failed;
}

int dwarf_ranges_read(struct dwarf_reader *d, const struct dwarf_unit *u,
                      const struct dwarf_value *value, struct dwarf_ranges *r)
{
    int rc = 1;
    uint64_t offset;
    enum dwarf_section_name section =
        u->encoding.version < 5 ? DWARF_RANGES : DWARF_RNGLISTS;
    struct range_list ranges = {.reader = d, .unit = u, .ranges = r};

    ranges.base = u->low_pc;
    ranges.mask = UINT64_MAX >> (64 - 8 * u->encoding.address_size);
    if (!find_range_list(d, u, value, &offset)) {
        return dwarf_damaged(d, DWARF_RNGLISTS, u->rnglists_base,
                             "the offset of a range list is missing");
    }
    ranges.c = dwarf_cursor(d, section, offset);
    while (rc > 0 && !ranges.c.failed && ranges.c.at < ranges.c.end) {
        if (dwarf_charge(d, 1) != 0) {
            return -1;
        }
        rc = u->encoding.version < 5 ? read_pair(&ranges)
                                     : read_range_entry(&ranges);
    }
    if (ranges.c.failed) {
        return dwarf_damaged(d, section, offset, "bad range list");
    }
    return rc < 0 ? -1 : 0;
}

static int compare(const void *left, const void *right)
{
    const struct dwarf_range *a = left, *b = right;

    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

void dwarf_ranges_sort(struct dwarf_ranges *ranges)
{
    size_t i;
    struct dwarf_range *r = ranges->list;

    if (ranges->count > 0) {
        qsort(r, ranges->count, sizeof(*r), compare);
    }
    for (i = 1; i < ranges->count; i++) {
        r[i].end = r[i].end > r[i - 1].end ? r[i].end : r[i - 1].end;
    }
}

bool dwarf_ranges_overlap(const struct dwarf_ranges *sorted, uint64_t begin,
                          uint64_t end)
{
    size_t low = 0, high = sorted->count, middle;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (sorted->list[middle].begin < end) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && sorted->list[low - 1].end > begin;
}
