/*
 * Copyright (C) the ngx_symcache authors
 *
 * What other rooms may use of the reader and writer of symbfiles, in which
 * Elastic's Universal Profiling and OpenTelemetry's eBPF profiler keep names.
 */
#ifndef DEBUGINFO_SYMBFILE_H
#define DEBUGINFO_SYMBFILE_H

#include "debuginfo/format.h"

#include "join_parts.h"
#include "from_symcache.h"
#include "reader.h"
#include "search.h"

/* Converts a symbfile in memory to a SymCache.  Its addresses are those of the
 * symbfile, and must have 32 bits; it has no id, as a symbfile has none. */
extern const struct debuginfo_format symbfile_format;

#endif
