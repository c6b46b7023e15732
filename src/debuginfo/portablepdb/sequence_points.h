/*
 * Copyright (C) the ngx_symcache authors
 *
 * The sequence points of a method: at which offset of its IL code begins what
 * place of the source (Portable PDB 1.0, "Sequence Points Blob").
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "heap.h"
#include "tables.h"

#define POINT_HIDDEN_LINE 0xFEEFEE /* which no visible point may have */

struct sequence_point {
    uint32_t il;
    uint32_t line;
    uint32_t column;
    uint32_t end_line;
    uint32_t end_column;
    uint32_t document; /* row; not checked */
    bool is_hidden;    /* then it has no lines and columns */
};

struct sequence_points {
    struct blob_cursor blob;
    struct sequence_point point; /* the last one */
    uint32_t line;               /* of the last visible one */
    uint32_t column;
    bool has_visible;
    bool is_begun;
    const char *wrong; /* NULL, or what makes the file unusable */
};

/* Begins to read the points of a method, whose row must be one of the table's.
 * The first call of the next function reports errors. */
void sequence_points_begin(struct sequence_points *points,
                           const struct metadata_root *root,
                           const struct metadata_tables *tables, uint32_t row);

/*
 * Reads one record.  Returns 1 with a point, 2 for a record that only changes
 * the document, 0 at the end, or -1 with points->wrong set.
 */
int sequence_points_next(struct sequence_points *points);
