/*
 * Copyright (C) the ngx_symcache authors
 */
#include "reader.h"
#include "unit.h"

#include <stdlib.h>

/* Limits what the sizes of sections do not bound, such as how often lists are
 * read that many entries share.  Real files need less than a step a byte. */
#define WORK_BASE 1000000
#define WORK_PER_BYTE 8

static const char *const titles[DWARF_SECTIONS] = {
    [DWARF_INFO] = "debug_info",
    [DWARF_ABBREV] = "debug_abbrev",
    [DWARF_LINE] = "debug_line",
    [DWARF_LINE_STR] = "debug_line_str",
    [DWARF_STR] = "debug_str",
    [DWARF_STR_OFFSETS] = "debug_str_offsets",
    [DWARF_ADDR] = "debug_addr",
    [DWARF_RANGES] = "debug_ranges",
    [DWARF_RNGLISTS] = "debug_rnglists",
};

const char *dwarf_section_title(enum dwarf_section_name name)
{
    return titles[name];
}

void dwarf_reader_init(struct dwarf_reader *reader,
                       const struct dwarf_object *object,
                       struct failure *failure)
{
    size_t i;

    reader->object = object;
    reader->failure = failure;
    reader->work = WORK_BASE;
    for (i = 0; i < DWARF_SECTIONS; i++) {
        reader->work += WORK_PER_BYTE * (uint64_t)object->sections[i].size;
    }
}

void dwarf_reader_free(struct dwarf_reader *reader)
{
    dwarf_abbrevs_free(&reader->abbrevs);
    table_free(&reader->tables_at);
    free(reader->tables);
    free(reader->units);
    arena_free(&reader->unit_memory);
}

int dwarf_damaged(struct dwarf_reader *reader, enum dwarf_section_name section,
                  uint64_t offset, const char *what)
{
    return failure_set(reader->failure, FAILURE_DAMAGED,
                       "is damaged: %s (%s, offset 0x%llx)", what,
                       titles[section], (unsigned long long)offset);
}

int dwarf_charge(struct dwarf_reader *reader, uint64_t steps)
{
    if (steps > reader->work) {
        reader->work = 0;
        return failure_work(reader->failure);
    }
    reader->work -= steps;
    return 0;
}

struct cursor dwarf_cursor(const struct dwarf_reader *reader,
                           enum dwarf_section_name name, uint64_t offset)
{
    const struct dwarf_section *s = &reader->object->sections[name];
    static const uint8_t nothing[1];
    const uint8_t *data = s->data == NULL ? nothing : s->data;
    struct cursor c = {data, data + s->size, reader->object->is_big, false};

    cursor_skip(&c, offset);
    return c;
}

uint64_t dwarf_offset(const struct dwarf_reader *reader,
                      enum dwarf_section_name name, const struct cursor *c)
{
    const uint8_t *data = reader->object->sections[name].data;

    return data == NULL ? 0 : (uint64_t)(c->at - data);
}

/* Moves a cursor to an entry of a table of equal ones. */
static void skip_entries(struct cursor *c, uint64_t index, unsigned size)
{
    if (index > UINT64_MAX / size) {
        cursor_fail(c);
    } else {
        cursor_skip(c, index * size);
    }
}

bool dwarf_string(struct dwarf_reader *reader, const struct dwarf_unit *u,
                  const struct dwarf_value *value, const char **text,
                  size_t *size)
{
    struct cursor c;
    uint64_t offset = value->number;
    enum dwarf_section_name section = DWARF_STR;

    switch (value->kind) {
    case DWARF_TEXT:
        *text = value->text;
        *size = value->number;
        return true;
    case DWARF_STR_REF:
        break;
    case DWARF_SUP_STR_REF:
        if (reader->supplementary == NULL) {
            return false;
        }
        reader = reader->supplementary;
        break;
    case DWARF_LINE_STR_REF:
        section = DWARF_LINE_STR;
        break;
    case DWARF_STR_INDEX:
        c = dwarf_cursor(reader, DWARF_STR_OFFSETS, u->str_offsets_base);
        skip_entries(&c, offset, u->encoding.offset_size);
        offset = cursor_number(&c, u->encoding.offset_size);
        if (c.failed) {
            return false;
        }
        break;
    default:
        return false;
    }
    c = dwarf_cursor(reader, section, offset);
    *text = cursor_string(&c, size);
    return !c.failed && dwarf_charge(reader, *size) == 0;
}

bool dwarf_address(const struct dwarf_reader *reader,
                   const struct dwarf_unit *u, uint64_t index,
                   uint64_t *address)
{
    struct cursor c = dwarf_cursor(reader, DWARF_ADDR, u->addr_base);

    skip_entries(&c, index, u->encoding.address_size);
    *address = cursor_number(&c, u->encoding.address_size);
    return !c.failed;
}
