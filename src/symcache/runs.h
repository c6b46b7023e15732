/*
 * Copyright (C) the ngx_symcache authors
 *
 * Goes through sealed ranges by address, run by run: a block, or blocks that
 * overlap, decided together.
 */
#ifndef SYMCACHE_RUNS_H
#define SYMCACHE_RUNS_H

#include <stddef.h>
#include <stdint.h>

#include "ranges.h"

struct symfile_runs {
    struct symfile_ranges *ranges; /* sealed */
    size_t next_block;             /* in the order of blocks */
    size_t count;                  /* entries of the present run */
    const struct symfile_block *block;
    const uint8_t *p; /* its next locations */
    struct symfile_location last;
    struct symfile_cluster *cluster; /* NULL, or blocks that overlap */
};

/* Starts from all zero but for ranges.  Goes to the next run and returns 1; 0
 * at the end, -1 without memory.  symfile_runs_free() is due afterwards. */
int symfile_runs_next(struct symfile_runs *runs);
void symfile_runs_free(struct symfile_runs *runs);

/* All addresses of the run, ascending; valid until the next run. */
const uint32_t *symfile_runs_addresses(struct symfile_runs *runs);

/* The next n locations of the run. */
void symfile_runs_locations(struct symfile_runs *runs,
                            struct symfile_location *locations, size_t n);

#endif
