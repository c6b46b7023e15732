/*
 * Copyright (C) the ngx_symcache authors
 *
 * What other rooms may use of the reader and writer of symbfiles, in which
 * Elastic's Universal Profiling and OpenTelemetry's eBPF profiler keep names.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include "debuginfo/format.h"
#include "derived/symcache/symcache.h"

#include "from_symcache.h"
#include "reader.h"
#include "search.h"

/* Converts a symbfile in memory to a SymCache.  Its addresses are those of the
 * symbfile, and must have 32 bits; it has no id, as a symbfile has none. */
extern const struct debuginfo_format symbfile_format;

/*
 * Writes the records of one symbfile, or of several in a row, as one: symbfiles
 * are sent in parts, slices of one file, or files of their own.  All of them
 * are read before.  Returns 0; -1 with what is wrong in error, as the
 * rest of a sentence; or -2 if the sink failed.
 */
int symbfile_join_parts(const uint8_t *data, size_t size,
                        const struct symc_sink *sink, char *error,
                        size_t error_size);
