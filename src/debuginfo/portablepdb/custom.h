/*
 * Copyright (C) the ngx_symcache authors
 *
 * Rows of CustomDebugInformation (Portable PDB 1.0).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "heap.h"
#include "tables.h"

#define CUSTOM_MODULE 7    /* tags of parents */
#define CUSTOM_DOCUMENT 22
#define CUSTOM_LAST 26

struct custom_rows {
    const struct metadata_root *root;
    const struct metadata_table *table;
    uint32_t kind; /* number of its GUID, or 0 */
    uint32_t row;  /* the last one */
    unsigned tag;  /* its parent: which table, */
    uint32_t parent; /* and row */
    uint32_t value;  /* offset of a blob */
};

/* Begins to go through the rows of a kind, a GUID as it is stored.  As in the
 * "symbolic" library, rows that name a second copy of it are not found. */
void custom_rows_begin(struct custom_rows *rows,
                       const struct metadata_root *root,
                       const struct metadata_tables *tables,
                       const uint8_t kind[16]);

/* Gets the next row; returns false if there is none. */
bool custom_rows_next(struct custom_rows *rows);
