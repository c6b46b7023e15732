/*
 * Copyright (C) the ngx_symcache authors
 *
 * The metadata root of a portable PDB and its streams (ECMA-335 II.24.2.1,
 * Portable PDB 1.0, "#Pdb stream").  What makes a file unusable is as in the
 * "symbolic" library, which refuses it as a whole.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "debuginfo/failure.h"

#define METADATA_TABLES 64 /* numbers that tables can have */

enum metadata_stream {
    STREAM_PDB,
    STREAM_TABLES,  /* "#~" */
    STREAM_STRINGS, /* names of local variables; not read here */
    STREAM_US,      /* not read, either */
    STREAM_GUID,
    STREAM_BLOB,
    NUM_STREAMS
};

/* A part of the file; data is NULL if there is none. */
struct metadata_span {
    const uint8_t *data;
    size_t size;
};

struct metadata_root {
    struct metadata_span file;
    struct metadata_span streams[NUM_STREAMS];
    const uint8_t *id; /* GUID and stamp, 20 bytes; NULL without "#Pdb" */
    uint32_t rows[METADATA_TABLES]; /* of tables that are not in the file, but
                                     * in the assembly it belongs to */
};

/* Does a file begin as a metadata root does? */
bool metadata_sniff(const uint8_t *data, size_t size);

/*
 * Finds the streams of a file in memory, and reads "#Pdb", wherever it stands,
 * as the sizes of the rows in "#~" depend on it.  Returns 0, or -1 with failure
 * set.
 */
int metadata_root_open(struct metadata_root *root, const uint8_t *data,
                       size_t size, struct failure *failure);
