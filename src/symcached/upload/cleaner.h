/*
 * Copyright (C) the ngx_symcache authors
 *
 * Removes uploaded files that are kept no longer, every "cache.clean_every",
 * in a thread.  With a tier the thread only finds them, and the tier is told
 * first.
 */
#pragma once

#include <stddef.h>

struct cleaner;
struct event_base;
struct scheduler;
struct uploads;

/* uploads lives longer, and has its removals.  The first pass begins soon.
 * Returns NULL when out of memory. */
struct cleaner *cleaner_new(struct event_base *base,
                            struct scheduler *scheduler,
                            struct uploads *uploads);

/* How many builds with labels the last pass has left; 0 before the first. */
size_t cleaner_builds(const struct cleaner *cleaner);

/* NULL is allowed. */
void cleaner_free(struct cleaner *cleaner);
