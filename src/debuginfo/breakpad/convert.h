/*
 * Copyright (C) the ngx_symcache authors
 *
 * Converts a Breakpad file in memory to a SymCache.
 */
#ifndef DEBUGINFO_BREAKPAD_CONVERT_H
#define DEBUGINFO_BREAKPAD_CONVERT_H

#include "debuginfo/format.h"

extern const struct debuginfo_format breakpad_format;

#endif
