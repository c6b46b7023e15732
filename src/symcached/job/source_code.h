/*
 * Copyright (C) the ngx_symcache authors
 *
 * Jobs for a SourceCache, of whose originals a bundle is much smaller than the
 * others: all sources are asked for that first.  Then a PDB is used that is
 * among the downloads, and one is fetched only if it has what is wanted.
 */
#ifndef SYMCACHED_JOB_SOURCE_CODE_H
#define SYMCACHED_JOB_SOURCE_CODE_H

#include <stdbool.h>

struct job;

/* Call it for each new job; of other kinds nothing changes. */
void source_code_begin(struct job *job);

/* Are only bundles looked for, for now? */
bool source_code_wants_bundle(const struct job *job);

#endif
