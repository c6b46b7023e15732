/*
 * Copyright (C) the ngx_symcache authors
 *
 * The source files of a whole PDB, each of them once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "info_stream.h"
#include "srcsrv.h"
#include "derived/symcache/symcache.h"

struct source_files {
    const struct info_stream *info;
    const struct srcsrv *srcsrv;
    struct symc_source *list;
    size_t count;
    size_t room;
    struct table by_path;   /* index + 1 */
    struct table by_offset; /* in /names: index + 1 */
    uint64_t bytes; /* total length of the paths found */
};

/* Must be all zero at the beginning, except for names and srcsrv. */
void source_files_free(struct source_files *sources);

/* Finds the source file whose path is at an offset of /names.  Returns 0 and
 * its index, or -1 if there is no text, memory runs out, or paths overlap so
 * much that they cannot be real. */
int source_files_find(struct source_files *sources, uint32_t offset,
                      uint32_t *index);
