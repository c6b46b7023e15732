/*
 * Copyright (C) the ngx_symcache authors
 *
 * Source files of the whole PDB, each once, by directory and name.
 */
#ifndef DEBUGINFO_PDB_SOURCE_FILES_H
#define DEBUGINFO_PDB_SOURCE_FILES_H

#include <stddef.h>
#include <stdint.h>

#include "info_stream.h"
#include "srcsrv.h"
#include "symcache/symcache.h"

struct source_files {
    const struct info_stream *info;
    const struct srcsrv *srcsrv;
    struct symfile_source *list;
    size_t count;
    size_t room;
    uint32_t *by_path; /* hash: index + 1 */
    size_t num_paths;
    struct sources_offset *by_offset; /* hash of offsets in /names */
    size_t num_offsets;
    size_t count_offsets;
    uint64_t bytes; /* of all paths found */
};

/* Starts from all zero but for names and srcsrv. */
void source_files_free(struct source_files *sources);

/* The source file whose path stands at an offset of /names.  Returns 0 and its
 * index, or -1 if there is no such text, no memory, or when paths overlap so
 * that they have more bytes than there are. */
int source_files_find(struct source_files *sources, uint32_t offset,
                      uint32_t *index);

#endif
