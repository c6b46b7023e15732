/*
 * Copyright (C) the ngx_symcache authors
 *
 * Converts a PDB in memory to a SymCache.
 */
#ifndef DEBUGINFO_PDB_CONVERT_H
#define DEBUGINFO_PDB_CONVERT_H

#include "debuginfo/format.h"

/* Of files with fewer bytes, a second thread takes more than it saves. */
#define PDB_THREAD_LEAST ((size_t)4608 << 10)

extern const struct debuginfo_format pdb_format;

#endif
