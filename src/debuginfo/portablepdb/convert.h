/*
 * Copyright (C) the ngx_symcache authors
 *
 * Converts a portable PDB in memory to a PpdbCache.
 */
#ifndef DEBUGINFO_PORTABLEPDB_CONVERT_H
#define DEBUGINFO_PORTABLEPDB_CONVERT_H

#include "debuginfo/format.h"

extern const struct debuginfo_format portablepdb_format;

#endif
