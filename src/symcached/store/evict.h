/*
 * Copyright (C) the ngx_symcache authors
 *
 * When what is no longer kept is removed: a child process walks the trees
 * every now and then, and its report becomes metrics.  Right after the start
 * one removes what killed processes left.
 */
#ifndef SYMCACHED_STORE_EVICT_H
#define SYMCACHED_STORE_EVICT_H

#include "config/config.h"

struct event_base;
struct evict;

typedef void (*evict_fn)(void *arg);

/*
 * Cleans every config->cache.clean_every; cleaned is called after each pass.
 * NULL when out of memory.
 */
struct evict *evict_new(struct event_base *base, struct config *config,
                        evict_fn cleaned, void *arg);

/* From the next pass on; one that runs goes on with the old rules. */
void evict_configure(struct evict *evict, struct config *config);

void evict_free(struct evict *evict);

#endif
