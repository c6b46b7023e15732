/*
 * Copyright (C) the ngx_symcache authors
 *
 * Source files, as a portable PDB names them (Portable PDB 1.0, "Document
 * Table").
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "heap.h"
#include "tables.h"

/* The text of a name; used again. */
struct document_name {
    char *data; /* any bytes; free() it */
    size_t size;
    size_t room;
    size_t work; /* bytes and parts that may still be read, in all names: many
                  * names may share their parts */
};

/* The message of document_name_read() when the work is used up. */
extern const char DOCUMENT_WORK[];

/*
 * Reads the name of a document; the row is checked.  A separator stands
 * between its parts.  Parts that are not UTF-8 are an error only if is_strict.
 * Returns NULL, or a text that says what is wrong: then name is worthless.
 */
const char *document_name_read(const struct metadata_root *root,
                               const struct metadata_tables *tables,
                               uint32_t row, bool is_strict,
                               struct document_name *name);

/*
 * Reads the language of a document, as caches number it; 0 is unknown.  The row
 * must be one of the table's.  Returns false if the file does not tell, for
 * which the "symbolic" library refuses it.
 */
bool document_language(const struct metadata_root *root,
                       const struct metadata_tables *tables, uint32_t row,
                       uint32_t *language);
