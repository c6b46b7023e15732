/*
 * Copyright (C) the ngx_symcache authors
 *
 * Iterates over sealed ranges in address order, run by run.  A run is one
 * block, or several that overlap and are therefore resolved together.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ranges.h"

struct symc_runs {
    struct symc_ranges *ranges; /* sealed */
    size_t next_block;          /* index into the sorted blocks */
    size_t count;               /* entries of the current run */
    uint32_t highest;           /* its last address */
    const struct symc_block *block; /* its first one */
    const uint8_t *p; /* its next packed locations */
    struct symc_location last;
    struct range_cluster *cluster; /* NULL, or blocks that overlap */
};

/* Goes to the next run.  Returns 1, 0 at the end, or -1 if memory runs out.
 * Before the first call everything but `ranges` must be zero; at the end the
 * caller must call symc_runs_free(). */
int symc_runs_next(struct symc_runs *runs);
void symc_runs_free(struct symc_runs *runs);

/* Returns all addresses of the run in ascending order, valid until the next
 * run. */
const uint32_t *symc_runs_addresses(struct symc_runs *runs);

/* Gets the next n locations of the run. */
void symc_runs_locations(struct symc_runs *runs,
                         struct symc_location *locations, size_t n);
