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
debuginfo_convert portablepdb_convert_sources;

#endif
