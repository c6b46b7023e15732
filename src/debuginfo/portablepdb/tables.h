/*
 * Copyright (C) the ngx_symcache authors
 *
 * The tables of a portable PDB ("#~", ECMA-335 II.24.2.6).  The size of a row
 * follows from how many rows other tables have, in this file and in the
 * assembly that it belongs to.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "root.h"

#define METADATA_COLUMNS 6 /* no table has more */

enum metadata_table_number {
    TABLE_DOCUMENT = 0x30,
    TABLE_METHOD = 0x31, /* MethodDebugInformation */
    TABLE_CUSTOM = 0x37  /* CustomDebugInformation */
};

/* Columns of the tables that are read. */
enum document_column { DOCUMENT_NAME, DOCUMENT_LANGUAGE = 3 };
enum method_column { METHOD_DOCUMENT, METHOD_POINTS };
enum custom_column { CUSTOM_PARENT, CUSTOM_KIND, CUSTOM_VALUE };

struct metadata_table {
    const uint8_t *data;
    uint32_t rows;
    uint8_t width; /* of a row, in bytes */
    uint8_t offsets[METADATA_COLUMNS];
    uint8_t widths[METADATA_COLUMNS];
};

struct metadata_tables {
    struct metadata_table tables[METADATA_TABLES];
};

/*
 * Finds the tables.  The "symbolic" library takes an index of a table with
 * exactly 65,535 rows for one of four bytes, and so refuses sound files;
 * is_strict does the same.  Returns 0, or -1 with failure set.
 */
int metadata_tables_open(struct metadata_tables *tables,
                         const struct metadata_root *root, bool is_strict,
                         struct failure *failure);

/* Returns a value of a table.  The row counts from 1 and must be one of the
 * table's. */
uint32_t metadata_cell(const struct metadata_table *table, uint32_t row,
                       unsigned column);
