/*
 * Copyright (C) the ngx_symcache authors
 *
 * Source files of the whole PDB, each once, by directory and name.
 */
#ifndef SOURCES_H
#define SOURCES_H

#include <stddef.h>
#include <stdint.h>

#include "names.h"
#include "srcsrv.h"
#include "symcache/symfile_writer.h"

struct sources {
    const struct names *names;
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
void sources_free(struct sources *sources);

/* The source file whose path stands at an offset of /names.  Returns 0 and its
 * index, or -1 if there is no such text, no memory, or when paths overlap so
 * that they have more bytes than there are. */
int sources_find(struct sources *sources, uint32_t offset, uint32_t *index);

#endif
