/*
 * Copyright (C) the ngx_symcache authors
 *
 * Makes a map, which holds a value for every address, of spans of addresses
 * that may overlap.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct cficache_point {
    uint32_t start;
    uint32_t value;
};

/* Must be all zero at the beginning. */
struct cficache_points {
    struct cficache_point *data;
    size_t count;
    size_t room;
};

/* The rows for a range of addresses.  Rows are points; the first one is at the
 * start of the span. */
struct cficache_span {
    uint32_t start;
    uint32_t end;
    size_t first;
    size_t count;
};

/* Must be all zero at the beginning. */
struct cficache_spans {
    struct cficache_span *data;
    size_t count;
    size_t room;
};

/*
 * Adds a point to those that begin with index first.  It replaces the last one
 * if that begins where it does, and is left out if its value is the last one's.
 * Returns 0, or -1 when out of memory.
 */
int cficache_points_add(struct cficache_points *points, size_t first,
                        uint32_t start, uint32_t value);

/* Adds a span.  Returns 0, or -1 when out of memory. */
int cficache_spans_add(struct cficache_spans *spans,
                       const struct cficache_span *span);

/*
 * Makes the map of some spans with their rows.  A span that begins in another
 * one is left out; of those with the same start the shortest stays, and of
 * these the first.  Between spans the value is 0.  Returns 0, or -1 when out of
 * memory.
 */
int cficache_points_map(struct cficache_points *map,
                        const struct cficache_spans *spans,
                        const struct cficache_points *rows);

/* Makes the map that holds what over does, or below where that is 0.  Returns
 * 0, or -1 when out of memory. */
int cficache_points_merge(struct cficache_points *map,
                          const struct cficache_points *over,
                          const struct cficache_points *below);
