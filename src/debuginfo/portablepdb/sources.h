/*
 * Copyright (C) the ngx_symcache authors
 *
 * The source files of a portable PDB: texts that lie in it, and links.
 */
#ifndef DEBUGINFO_PORTABLEPDB_SOURCES_H
#define DEBUGINFO_PORTABLEPDB_SOURCES_H

#include "debuginfo/format.h"
#include "root.h"

/* Has it a text or a link? */
bool portablepdb_has_sources(const struct metadata_root *root);

/* Writes a SourceCache.  A maker of portable PDBs (debuginfo/format.h). */
int portablepdb_convert_sources(const uint8_t *data, size_t size,
                                const struct symc_sink *sink,
                                struct debuginfo_result *result,
                                struct failure *failure);

#endif
