/*
 * Copyright (C) the ngx_symcache authors
 *
 * Writes the records of a symbfile, as the reference does: fields in its order,
 * each address relative to the one before, records after the table of their
 * strings.  Names of functions that are used once since the last table are not
 * in it; paths always are, and in files of return pads everything.
 *
 * Functions that return int return 0, or -1 with the failure set.
 */
#pragma once

#include "base/arena.h"
#include "base/hash_table.h"
#include "debuginfo/failure.h"
#include "reader.h"

struct symbfile_writer {
    const struct symc_sink *sink;
    struct failure *failure;
    bool has_address;
    uint64_t address; /* of the last record that was written */
    struct symbfile_writer_item *items; /* not yet written */
    size_t num_items;
    size_t item_room;
    size_t buffered; /* bytes that they take, about */
    struct symbfile_string *strings; /* that they use */
    size_t num_strings;
    size_t string_room;
    size_t string_bytes;
    struct table index; /* number of a string + 1 */
    struct arena arena; /* lines, frames and texts */
    uint8_t *piece;     /* bytes that are not yet with the sink */
    size_t used;
};

/* Begins a file.  The writer is to be freed in any case. */
int symbfile_writer_begin(struct symbfile_writer *writer,
                          const struct symc_sink *sink,
                          struct failure *failure);
void symbfile_writer_free(struct symbfile_writer *writer);

/* Adds a record, whose texts and arrays are copied. */
int symbfile_writer_add(struct symbfile_writer *writer,
                        const struct symbfile_record *record);

/* Writes what is left. */
int symbfile_writer_finish(struct symbfile_writer *writer);
