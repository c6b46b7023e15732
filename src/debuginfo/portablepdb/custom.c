/*
 * Copyright (C) the ngx_symcache authors
 */
#include "custom.h"

#define TAG_BITS 5

void custom_rows_begin(struct custom_rows *rows,
                       const struct metadata_root *root,
                       const struct metadata_tables *tables,
                       const uint8_t kind[16])
{
    rows->root = root;
    rows->table = &tables->tables[TABLE_CUSTOM];
    rows->kind = heap_guid_find(root, kind);
    rows->row = 0;
}

bool custom_rows_next(struct custom_rows *rows)
{
    uint32_t parent;

    while (rows->kind != 0 && rows->row < rows->table->rows) {
        rows->row++;
        if (metadata_cell(rows->table, rows->row, CUSTOM_KIND) != rows->kind) {
            continue;
        }
        parent = metadata_cell(rows->table, rows->row, CUSTOM_PARENT);
        rows->tag = parent & ((1u << TAG_BITS) - 1);
        rows->parent = parent >> TAG_BITS;
        rows->value = metadata_cell(rows->table, rows->row, CUSTOM_VALUE);
        return true;
    }
    return false;
}
