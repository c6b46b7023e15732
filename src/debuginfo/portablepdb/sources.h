/*
 * Copyright (C) the ngx_symcache authors
 *
 * The source files of a portable PDB: texts that lie in it, and links.
 */
#pragma once

#include "debuginfo/failure.h"
#include "debuginfo/format.h"
#include "debuginfo/sourcelink/sourcelink.h"
#include "root.h"
#include "tables.h"

/* Has it a text or a link? */
bool portablepdb_has_sources(const struct metadata_root *root);

/* Writes a SourceCache.  A maker of portable PDBs (debuginfo/format.h). */
debuginfo_convert portablepdb_convert_sources;

/* Adds the Source Link texts of a portable PDB.  Returns 0, or -1 with failure
 * set: most readers can do without any links then. */
int source_links_read(struct source_links *links,
                      const struct metadata_root *root,
                      const struct metadata_tables *tables,
                      struct failure *failure);
