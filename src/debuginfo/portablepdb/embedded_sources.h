/*
 * Copyright (C) the ngx_symcache authors
 *
 * Texts of source files that lie in a portable PDB (Portable PDB 1.0, "Embedded
 * Source").
 */
#pragma once

#include "custom.h"
#include "inflate.h"

struct embedded_source {
    uint32_t document; /* row; one of the table's */
    const uint8_t *data;
    size_t size;     /* as it lies in the file */
    size_t unpacked; /* its size, as stated */
    bool is_packed;
};

/* Begins to go through the texts. */
void embedded_sources_begin(struct custom_rows *rows,
                            const struct metadata_root *root,
                            const struct metadata_tables *tables);

/*
 * Gets the next one; returns false if there is none.  Rows of other parents
 * than documents, of no text and of an unknown form are passed over.
 */
bool embedded_sources_next(struct custom_rows *rows,
                           const struct metadata_tables *tables,
                           struct embedded_source *source);

/* Unpacks a text of at most most bytes, to be freed. */
enum inflate_status embedded_source_text(const struct embedded_source *source,
                                         size_t most, uint8_t **text);
