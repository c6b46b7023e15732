/*
 * Copyright (C) the ngx_symcache authors
 */
#include "sources.h"

#include "custom.h"

static const uint8_t kind[17] = "\x56\x05\x11\xCC\x91\xA0\x38\x4D"
                                "\x9F\xEC\x25\xAB\x9A\x35\x1A\x6A";

int source_links_read(struct source_links *links,
                      const struct metadata_root *root,
                      const struct metadata_tables *tables,
                      struct failure *failure)
{
    struct custom_rows rows;
    struct blob_cursor blob;

    custom_rows_begin(&rows, root, tables, kind);
    while (custom_rows_next(&rows)) {
        if (rows.tag > CUSTOM_LAST) {
            return failure_set(failure, FAILURE_DAMAGED,
                               "is damaged: source links of no table");
        }
        if (rows.tag != CUSTOM_MODULE || rows.parent != 1) {
            continue;
        }
        if (!heap_blob(root, rows.value, &blob)) {
            return failure_set(failure, FAILURE_DAMAGED,
                               "is damaged: source links are not in "
                               "\"#Blob\"");
        }
        if (links->bytes > root->file.size) { /* one blob in many rows */
            return failure_work(failure);
        }
        if (source_links_add(links, blob.at, (size_t)(blob.end - blob.at),
                             failure) != 0) {
            return -1;
        }
    }
    return 0;
}
