/*
 * Copyright (C) the ngx_symcache authors
 *
 * Converts a PDB in memory to a SymCache.
 */
#ifndef DEBUGINFO_PDB_CONVERT_H
#define DEBUGINFO_PDB_CONVERT_H

#include "debuginfo/format.h"

extern const struct debuginfo_format pdb_format;

#endif
