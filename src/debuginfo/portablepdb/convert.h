/*
 * Copyright (C) the ngx_symcache authors
 *
 * Converts a portable PDB in memory, or one in an image, to a PpdbCache.
 */
#ifndef DEBUGINFO_PORTABLEPDB_CONVERT_H
#define DEBUGINFO_PORTABLEPDB_CONVERT_H

#include "debuginfo/format.h"

extern const struct debuginfo_format portablepdb_format;
extern const struct debuginfo_format embedded_pdb_format;

#endif
