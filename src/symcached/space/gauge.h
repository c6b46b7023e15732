/*
 * Copyright (C) the ngx_symcache authors
 *
 * Looks at what is free while a program works that does not look itself, and
 * tells when less than cache.min_free is left.  Of several at work on one
 * machine one is told, and the next some seconds later: when the first one
 * has ended there may be room again.
 */
#ifndef SYMCACHED_SPACE_GAUGE_H
#define SYMCACHED_SPACE_GAUGE_H

#include "config/config.h"

struct event_base;
struct gauge;

typedef void (*gauge_fn)(void *arg);

/*
 * Looks at the file system of path, which is copied, time and again, and calls
 * low once, never from inside this function.  NULL when out of memory.
 */
struct gauge *gauge_start(struct event_base *base, const char *path,
                          const struct cache_config *cache, gauge_fn low,
                          void *arg);

/* No callback comes afterwards; gauge may be NULL. */
void gauge_stop(struct gauge *gauge);

#endif
