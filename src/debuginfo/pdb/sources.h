/*
 * Copyright (C) the ngx_symcache authors
 *
 * Where on the web the source files of a PDB are: what its streams of Source
 * Link and of the source server say, as a SourceCache without texts.
 */
#ifndef DEBUGINFO_PDB_SOURCES_H
#define DEBUGINFO_PDB_SOURCES_H

#include "debuginfo/format.h"

/* convert() of struct debuginfo_maker. */
int pdb_convert_sources(const uint8_t *data, size_t size,
                        const struct symc_sink *sink,
                        struct debuginfo_result *result,
                        struct failure *failure);

#endif
