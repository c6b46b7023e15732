/*
 * Copyright (C) the ngx_symcache authors
 *
 * The conversion of a PDB in memory to a SymCache.  No globals, no files: the
 * program and the fuzz targets share it.
 */
#ifndef CONVERT_H
#define CONVERT_H

#include <stddef.h>
#include <stdint.h>

#include "failure.h"
#include "symcache/symfile_writer.h"

struct convert_result {
    uint8_t guid[16]; /* in text order */
    uint32_t age;
    int is_fastlink; /* a partial PDB: symbols and lines are elsewhere */
};

/*
 * Reads data[0..size) and writes the SymCache to the sink.  Returns 0 and the
 * result, or -1 with failure set; then the output is worthless.
 */
int convert_buffer(const uint8_t *data, size_t size,
                   const struct symfile_sink *sink,
                   struct convert_result *result, struct failure *failure);

#endif
