/*
 * Copyright (C) the ngx_symcache authors
 */
#include "tables.h"

#include <string.h>

#include "base/le.h"

#define TABLES_HEADER 24
#define HEAP_SIZES 6
#define VALID 8
#define WIDE_STRINGS 1
#define WIDE_GUIDS 2
#define WIDE_BLOBS 4

/* The types of columns: a number of 2, 4 or 8 bytes, an index of a heap, the
 * row of a table, or the row of one of several tables. */
#define STR 1
#define GUID 3
#define BLOB 5
#define ROW(table) (0x80 | (table))
#define ANY(coded) (0x40 + (coded))

enum coded_index {
    TYPE_DEF_OR_REF,
    HAS_CONSTANT,
    HAS_CUSTOM_ATTRIBUTE,
    HAS_FIELD_MARSHAL,
    HAS_DECL_SECURITY,
    MEMBER_REF_PARENT,
    HAS_SEMANTICS,
    METHOD_DEF_OR_REF,
    MEMBER_FORWARDED,
    IMPLEMENTATION,
    CUSTOM_ATTRIBUTE_TYPE,
    RESOLUTION_SCOPE,
    TYPE_OR_METHOD_DEF,
    HAS_CUSTOM_DEBUG_INFORMATION,
    NUM_CODED
};

/* How many bits say which table it is, and the tables. */
static const struct {
    unsigned bits;
    uint64_t tables;
} coded[NUM_CODED] = {
#define T(n) ((uint64_t)1 << (n))
    [TYPE_DEF_OR_REF] = {2, T(0x02) | T(0x01) | T(0x1B)},
    [HAS_CONSTANT] = {2, T(0x04) | T(0x08) | T(0x17)},
    [HAS_CUSTOM_ATTRIBUTE] =
        {5, T(0x06) | T(0x04) | T(0x01) | T(0x02) | T(0x08) | T(0x09) |
                T(0x0A) | T(0x00) | T(0x17) | T(0x14) | T(0x11) | T(0x1A) |
                T(0x1B) | T(0x20) | T(0x23) | T(0x26) | T(0x27) | T(0x28) |
                T(0x2A) | T(0x2C) | T(0x2B)},
    [HAS_FIELD_MARSHAL] = {1, T(0x04) | T(0x08)},
    [HAS_DECL_SECURITY] = {2, T(0x02) | T(0x06) | T(0x20)},
    [MEMBER_REF_PARENT] =
        {3, T(0x02) | T(0x01) | T(0x1A) | T(0x06) | T(0x1B)},
    [HAS_SEMANTICS] = {1, T(0x14) | T(0x17)},
    [METHOD_DEF_OR_REF] = {1, T(0x06) | T(0x0A)},
    [MEMBER_FORWARDED] = {1, T(0x04) | T(0x06)},
    [IMPLEMENTATION] = {2, T(0x26) | T(0x23) | T(0x27)},
    [CUSTOM_ATTRIBUTE_TYPE] = {3, T(0x06) | T(0x0A)},
    [RESOLUTION_SCOPE] = {2, T(0x00) | T(0x1A) | T(0x23) | T(0x01)},
    [TYPE_OR_METHOD_DEF] = {1, T(0x02) | T(0x06)},
    [HAS_CUSTOM_DEBUG_INFORMATION] =
        {5, T(0x06) | T(0x04) | T(0x01) | T(0x02) | T(0x08) | T(0x09) |
                T(0x0A) | T(0x00) | T(0x0E) | T(0x17) | T(0x14) | T(0x11) |
                T(0x1A) | T(0x1B) | T(0x20) | T(0x23) | T(0x26) | T(0x27) |
                T(0x28) | T(0x2A) | T(0x2C) | T(0x2B) | T(0x30) | T(0x32) |
                T(0x33) | T(0x34) | T(0x35)},
#undef T
};

/* ECMA-335 II.22, and the tables of the Portable PDB specification.  A number
 * that no table has takes no room. */
static const uint8_t columns[METADATA_TABLES][METADATA_COLUMNS] = {
    [0x00] = {2, STR, GUID, GUID, GUID},
    [0x01] = {ANY(RESOLUTION_SCOPE), STR, STR},
    [0x02] = {4, STR, STR, ANY(TYPE_DEF_OR_REF), ROW(0x04), ROW(0x06)},
    [0x04] = {2, STR, BLOB},
    [0x06] = {4, 2, 2, STR, BLOB, ROW(0x08)},
    [0x08] = {2, 2, STR},
    [0x09] = {ROW(0x02), ANY(TYPE_DEF_OR_REF)},
    [0x0A] = {ANY(MEMBER_REF_PARENT), STR, BLOB},
    [0x0B] = {2, ANY(HAS_CONSTANT), BLOB},
    [0x0C] = {ANY(HAS_CUSTOM_ATTRIBUTE), ANY(CUSTOM_ATTRIBUTE_TYPE), BLOB},
    [0x0D] = {ANY(HAS_FIELD_MARSHAL), BLOB},
    [0x0E] = {2, ANY(HAS_DECL_SECURITY), BLOB},
    [0x0F] = {2, 4, ROW(0x02)},
    [0x10] = {4, ROW(0x04)},
    [0x11] = {BLOB},
    [0x12] = {ROW(0x02), ROW(0x14)},
    [0x14] = {2, STR, ANY(TYPE_DEF_OR_REF)},
    [0x15] = {ROW(0x02), ROW(0x17)},
    [0x17] = {2, STR, BLOB},
    [0x18] = {2, ROW(0x06), ANY(HAS_SEMANTICS)},
    [0x19] = {ROW(0x02), ANY(METHOD_DEF_OR_REF), ANY(METHOD_DEF_OR_REF)},
    [0x1A] = {STR},
    [0x1B] = {BLOB},
    [0x1C] = {2, ANY(MEMBER_FORWARDED), STR, ROW(0x1A)},
    [0x1D] = {4, ROW(0x04)},
    [0x20] = {4, 8, 4, BLOB, STR, STR},
    [0x21] = {4},
    [0x22] = {4, 4, 4},
    [0x23] = {8, 4, BLOB, STR, STR, BLOB},
    [0x24] = {4, ROW(0x23)},
    [0x25] = {4, 4, 4, ROW(0x23)},
    [0x26] = {4, STR, BLOB},
    [0x27] = {4, 4, STR, STR, ANY(IMPLEMENTATION)},
    [0x28] = {4, 4, STR, ANY(IMPLEMENTATION)},
    [0x29] = {ROW(0x02), ROW(0x02)},
    [0x2A] = {2, 2, ANY(TYPE_OR_METHOD_DEF), STR},
    [0x2B] = {ANY(METHOD_DEF_OR_REF), BLOB},
    [0x2C] = {ROW(0x2A), ANY(TYPE_DEF_OR_REF)},
    [TABLE_DOCUMENT] = {BLOB, GUID, BLOB, GUID},
    [TABLE_METHOD] = {ROW(TABLE_DOCUMENT), BLOB},
    [0x32] = {ROW(0x06), ROW(0x35), ROW(0x33), ROW(0x34), 4, 4},
    [0x33] = {2, 2, STR},
    [0x34] = {STR, BLOB},
    [0x35] = {ROW(0x35), BLOB},
    [0x36] = {ROW(0x06), ROW(0x06)},
    [TABLE_CUSTOM] = {ANY(HAS_CUSTOM_DEBUG_INFORMATION), GUID, BLOB},
};

/* What the width of a column depends on. */
struct geometry {
    uint8_t heap_sizes;
    uint32_t wide_from;              /* rows */
    uint32_t rows[METADATA_TABLES]; /* in the file or in the assembly */
};

static uint8_t table_any_width(const struct geometry *g, unsigned index)
{
    uint64_t left;

    for (left = coded[index].tables; left != 0; left &= left - 1) {
        if (g->rows[__builtin_ctzll(left)] >=
            (uint32_t)1 << (16 - coded[index].bits)) {
            return 4;
        }
    }
    return 2;
}

static uint8_t table_column_width(const struct geometry *g, uint8_t column)
{
    if ((column & 0x80) != 0) {
        return g->rows[column & 0x3F] >= g->wide_from ? 4 : 2;
    }
    switch (column) {
    case 2:
    case 4:
    case 8:
        return column;
    case STR:
        return (g->heap_sizes & WIDE_STRINGS) != 0 ? 4 : 2;
    case GUID:
        return (g->heap_sizes & WIDE_GUIDS) != 0 ? 4 : 2;
    case BLOB:
        return (g->heap_sizes & WIDE_BLOBS) != 0 ? 4 : 2;
    default:
        return table_any_width(g, column - ANY(0));
    }
}

static void table_set_widths(struct metadata_table *table,
                             const uint8_t *column, const struct geometry *g)
{
    unsigned i;

    for (i = 0; i < METADATA_COLUMNS && column[i] != 0; i++) {
        table->offsets[i] = table->width;
        table->widths[i] = table_column_width(g, column[i]);
        table->width = (uint8_t)(table->width + table->widths[i]);
    }
}

/* Reads the row counts, and returns the offset after them, or 0. */
static size_t table_read_rows(struct metadata_tables *tables,
                              const struct metadata_span *stream)
{
    unsigned i;
    size_t at = TABLES_HEADER;
    uint64_t valid;

    if (stream->size < TABLES_HEADER) {
        return 0;
    }
    valid = le64(stream->data + VALID);
    for (i = 0; i < METADATA_TABLES; i++) {
        if ((valid >> i & 1) == 0) {
            continue;
        }
        if (stream->size - at < 4) {
            return 0;
        }
        tables->tables[i].rows = le32(stream->data + at);
        at += 4;
    }
    return at;
}

int metadata_tables_open(struct metadata_tables *tables,
                         const struct metadata_root *root, bool is_strict,
                         struct failure *failure)
{
    unsigned i;
    size_t at;
    uint64_t total = 0; /* below 64 tables * 2^32 rows * 48 bytes */
    struct geometry g;
    struct metadata_table *t;
    const struct metadata_span *stream = &root->streams[STREAM_TABLES];

    memset(tables, 0, sizeof(*tables));
    if (stream->data == NULL || root->streams[STREAM_GUID].data == NULL) {
        return failure_set(failure, FAILURE_DAMAGED,
                           "is damaged: it has no \"%s\" stream",
                           stream->data == NULL ? "#~" : "#GUID");
    }
    at = table_read_rows(tables, stream);
    if (at == 0) {
        return failure_set(failure, FAILURE_DAMAGED,
                           "is damaged: the header of \"#~\" is cut off");
    }
    g.heap_sizes = stream->data[HEAP_SIZES];
    g.wide_from = is_strict ? 0xFFFF : 0x10000;
    for (i = 0; i < METADATA_TABLES; i++) {
        g.rows[i] = tables->tables[i].rows > root->rows[i]
                        ? tables->tables[i].rows
                        : root->rows[i];
    }
    for (i = 0; i < METADATA_TABLES; i++) {
        t = &tables->tables[i];
        if (t->rows == 0) {
            continue;
        }
        table_set_widths(t, columns[i], &g);
        total += (uint64_t)t->rows * t->width;
        if (total > stream->size - at) {
            return failure_set(failure, FAILURE_DAMAGED,
                               "is damaged: table 0x%02x ends beyond \"#~\"",
                               i);
        }
        t->data = stream->data + at + total - (uint64_t)t->rows * t->width;
    }
    return 0;
}

uint32_t metadata_cell(const struct metadata_table *table, uint32_t row,
                       unsigned column)
{
    const uint8_t *p = table->data + (size_t)(row - 1) * table->width +
                       table->offsets[column];

    return table->widths[column] == 2 ? le16(p) : le32(p);
}
