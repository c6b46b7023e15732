/*
 * Copyright (C) the ngx_symcache authors
 */
#include "embedded_sources.h"

#include <stdlib.h>
#include <string.h>

#include "base/le.h"

#define FORMAT 4 /* bytes: 0, or the unpacked size; negative is reserved */

static const uint8_t kind[17] = "\x1B\x57\x8A\x0E\x26\x69\x6E\x46"
                                "\xB4\xAD\x8A\xB0\x46\x11\xF5\xFE";

void embedded_sources_begin(struct custom_rows *rows,
                            const struct metadata_root *root,
                            const struct metadata_tables *tables)
{
    custom_rows_begin(rows, root, tables, kind);
}

bool embedded_sources_next(struct custom_rows *rows,
                           const struct metadata_tables *tables,
                           struct embedded_source *source)
{
    uint32_t format;
    struct blob_cursor blob;

    while (custom_rows_next(rows)) {
        if (rows->tag != CUSTOM_DOCUMENT || rows->parent == 0 ||
            rows->parent > tables->tables[TABLE_DOCUMENT].rows ||
            !heap_blob(rows->root, rows->value, &blob) ||
            blob.end - blob.at < FORMAT) {
            continue;
        }
        format = le32(blob.at);
        if (format > INT32_MAX) {
            continue;
        }
        source->document = rows->parent;
        source->data = blob.at + FORMAT;
        source->size = (size_t)(blob.end - source->data);
        source->is_packed = format != 0;
        source->unpacked = format != 0 ? format : source->size;
        return true;
    }
    return false;
}

enum inflate_status embedded_source_text(const struct embedded_source *source,
                                         size_t most, uint8_t **text)
{
    *text = NULL;
    if (source->unpacked > most) {
        return INFLATE_SIZE;
    }
    if (source->is_packed) {
        return inflate_whole(source->data, source->size, source->unpacked,
                             text);
    }
    *text = malloc(source->size + 1);
    if (*text == NULL) {
        return INFLATE_NO_MEMORY;
    }
    memcpy(*text, source->data, source->size);
    return INFLATE_OK;
}
