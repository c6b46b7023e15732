/*
 * Copyright (C) the ngx_symcache authors
 *
 * Jobs for a SourceCache.  A bundle is much smaller than its other originals,
 * so the job first asks all sources for one.  Next it uses a PDB among the
 * downloads, and it fetches a PDB only if that has the wanted source files.
 */
#pragma once

#include <stdbool.h>

struct job;

/* Call it for each new job; of other kinds nothing changes. */
void source_code_begin(struct job *job);

/* Are only bundles looked for, for now? */
bool source_code_wants_bundle(const struct job *job);
