/*
 * Copyright (C) the ngx_symcache authors
 *
 * When what is no longer kept is removed: a child process sweeps the trees
 * every now and then, and its report becomes metrics.  Right after the start
 * one removes what killed processes left.
 */
#ifndef SYMCACHED_CLEAN_H
#define SYMCACHED_CLEAN_H

#include "config.h"

struct event_base;
struct clean;

typedef void (*clean_fn)(void *arg);

/*
 * Cleans every config->cache.clean_every; cleaned is called after each pass.
 * NULL when out of memory.
 */
struct clean *clean_new(struct event_base *base, struct config *config,
                        clean_fn cleaned, void *arg);

/* From the next pass on; one that runs goes on with the old rules. */
void clean_configure(struct clean *clean, struct config *config);

void clean_free(struct clean *clean);

#endif
