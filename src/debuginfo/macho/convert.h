/*
 * Copyright (C) the ngx_symcache authors
 *
 * Converts a Mach-O image in memory to a SymCache.  Of a fat file the converter
 * passes one slice.
 */
#ifndef DEBUGINFO_MACHO_CONVERT_H
#define DEBUGINFO_MACHO_CONVERT_H

#include "debuginfo/format.h"

extern const struct debuginfo_format macho_format;

#endif
