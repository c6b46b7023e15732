/*
 * Copyright (C) the ngx_symcache authors
 *
 * What the numbers of a hostile file come to is as in the "symbolic" library:
 * IL offsets wrap, lines and columns saturate.
 */
#include "sequence_points.h"

#include <string.h>

#define LINE_MAX 0x20000000
#define COLUMN_MAX 0x10000

void sequence_points_begin(struct sequence_points *points,
                           const struct metadata_root *root,
                           const struct metadata_tables *tables, uint32_t row)
{
    uint32_t offset, signature;
    const struct metadata_table *methods = &tables->tables[TABLE_METHOD];

    memset(points, 0, sizeof(*points));
    points->is_begun = true;
    offset = metadata_cell(methods, row, METHOD_POINTS);
    if (offset == 0) {
        return;
    }
    points->is_begun = false;
    points->point.document = metadata_cell(methods, row, METHOD_DOCUMENT);
    if (!heap_blob(root, offset, &points->blob)) {
        points->wrong = "its sequence points are not in \"#Blob\"";
    } else if (!blob_unsigned(&points->blob, &signature) ||
               (points->point.document == 0 &&
                !blob_unsigned(&points->blob, &points->point.document))) {
        points->wrong = "the header of its sequence points is cut off";
    }
}

static uint32_t saturate(int64_t value)
{
    return value > INT32_MAX   ? (uint32_t)INT32_MAX
           : value < INT32_MIN ? (uint32_t)INT32_MIN
                               : (uint32_t)value;
}

/* Reads the start of a visible point, as a number in the first one and later
 * as the distance from the one before. */
static bool read_start(struct sequence_points *s, uint32_t *value)
{
    int32_t delta;

    if (!s->has_visible) {
        return blob_unsigned(&s->blob, value);
    }
    if (!blob_signed(&s->blob, &delta)) {
        return false;
    }
    *value = saturate((int64_t)(int32_t)*value + delta);
    return true;
}

static bool is_valid(const struct sequence_point *p)
{
    return p->il < LINE_MAX && p->line < LINE_MAX && p->end_line < LINE_MAX &&
           p->column < COLUMN_MAX && p->end_column < COLUMN_MAX &&
           p->line != POINT_HIDDEN_LINE && p->end_line != POINT_HIDDEN_LINE &&
           p->end_line >= p->line &&
           (p->end_line > p->line || p->end_column > p->column);
}

/* Reads what follows the IL offset.  Returns false if it is cut off. */
static bool read_place(struct sequence_points *s)
{
    struct sequence_point *p = &s->point;
    uint32_t lines, unsigned_columns;
    int32_t columns;

    if (!blob_unsigned(&s->blob, &lines)) {
        return false;
    }
    if (lines != 0) {
        if (!blob_signed(&s->blob, &columns)) {
            return false;
        }
    } else {
        if (!blob_unsigned(&s->blob, &unsigned_columns)) {
            return false;
        }
        columns = (int32_t)unsigned_columns; /* at most 29 bits */
    }
    p->is_hidden = lines == 0 && columns == 0;
    if (p->is_hidden) {
        return true;
    }
    if (!read_start(s, &s->line) || !read_start(s, &s->column)) {
        return false;
    }
    s->has_visible = true;
    p->line = s->line;
    p->column = s->column;
    p->end_line = p->line > UINT32_MAX - lines ? UINT32_MAX : p->line + lines;
    p->end_column = saturate((int64_t)(int32_t)p->column + columns);
    return true;
}

int sequence_points_next(struct sequence_points *s)
{
    uint32_t delta;

    if (s->wrong != NULL) {
        return -1;
    }
    if (s->is_begun && s->blob.at == s->blob.end) {
        return 0;
    }
    if (s->is_begun && *s->blob.at == 0) {
        s->blob.at++;
        if (!blob_unsigned(&s->blob, &s->point.document)) {
            s->wrong = "a sequence point is cut off";
        }
        return s->wrong == NULL ? 2 : -1;
    }
    s->is_begun = true;
    if (!blob_unsigned(&s->blob, &delta)) {
        s->wrong = "a sequence point is cut off";
        return -1;
    }
    s->point.il += delta;
    if (!read_place(s)) {
        s->wrong = "a sequence point is cut off";
        return -1;
    }
    if (!s->point.is_hidden && !is_valid(&s->point)) {
        s->wrong = "a sequence point is out of range";
        return -1;
    }
    return 1;
}
