/*
 * Copyright (C) the ngx_symcache authors
 *
 * Iterates over sealed ranges in address order, run by run.  A run is one
 * block, or several that overlap and are therefore resolved together.
 */
#ifndef DERIVED_SYMCACHE_RUNS_H
#define DERIVED_SYMCACHE_RUNS_H

#include <stddef.h>
#include <stdint.h>

#include "ranges.h"

struct symfile_runs {
    struct symfile_ranges *ranges; /* sealed */
    size_t next_block;             /* index into the sorted blocks */
    size_t count;                  /* entries of the current run */
    const struct symfile_block *block;
    const uint8_t *p; /* its next packed locations */
    struct symfile_location last;
    struct symfile_cluster *cluster; /* NULL, or blocks that overlap */
};

/* Goes to the next run.  Returns 1, 0 at the end, or -1 if memory runs out.
 * Before the first call everything but `ranges` must be zero; at the end the
 * caller must call symfile_runs_free(). */
int symfile_runs_next(struct symfile_runs *runs);
void symfile_runs_free(struct symfile_runs *runs);

/* Returns all addresses of the run in ascending order, valid until the next
 * run. */
const uint32_t *symfile_runs_addresses(struct symfile_runs *runs);

/* Gets the next n locations of the run. */
void symfile_runs_locations(struct symfile_runs *runs,
                            struct symfile_location *locations, size_t n);

#endif
