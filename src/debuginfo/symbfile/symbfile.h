/*
 * Copyright (C) the ngx_symcache authors
 *
 * What other rooms may use of the reader and writer of symbfiles, in which
 * Elastic's Universal Profiling and OpenTelemetry's eBPF profiler keep names.
 */
#ifndef DEBUGINFO_SYMBFILE_H
#define DEBUGINFO_SYMBFILE_H

#include "convert.h"
#include "join.h"
#include "from_symcache.h"
#include "reader.h"
#include "search.h"

#endif
