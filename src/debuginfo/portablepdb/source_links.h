/*
 * Copyright (C) the ngx_symcache authors
 *
 * The Source Link texts of a portable PDB.
 */
#ifndef DEBUGINFO_PORTABLEPDB_SOURCE_LINKS_H
#define DEBUGINFO_PORTABLEPDB_SOURCE_LINKS_H

#include "debuginfo/failure.h"
#include "debuginfo/sourcelink/sourcelink.h"
#include "tables.h"

/* Adds those of a portable PDB.  Returns 0, or -1 with failure set: most
 * readers can do without any links then. */
int source_links_read(struct source_links *links,
                      const struct metadata_root *root,
                      const struct metadata_tables *tables,
                      struct failure *failure);

#endif
