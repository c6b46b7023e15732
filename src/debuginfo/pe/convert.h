/*
 * Copyright (C) the ngx_symcache authors
 *
 * Converts a PE image in memory, or its companion of debug information, to a
 * SymCache.
 */
#ifndef DEBUGINFO_PE_CONVERT_H
#define DEBUGINFO_PE_CONVERT_H

#include "debuginfo/format.h"

extern const struct debuginfo_format pe_format;

#endif
