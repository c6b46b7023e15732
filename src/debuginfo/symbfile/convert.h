/*
 * Copyright (C) the ngx_symcache authors
 *
 * Converts a symbfile in memory to a SymCache.  Its addresses are those of the
 * symbfile, and must have 32 bits; it has no id, as a symbfile has none.
 */
#ifndef DEBUGINFO_SYMBFILE_CONVERT_H
#define DEBUGINFO_SYMBFILE_CONVERT_H

#include "debuginfo/format.h"

extern const struct debuginfo_format symbfile_format;

#endif
