/*
 * Copyright (C) the ngx_symcache authors
 *
 * Removes what was not used for long: SymCache files, downloads, negative
 * entries that are over, and the folders that are empty then.  Walks a few
 * hundred entries at a time between the other events of the loop, and removes
 * nothing whose name is not one that the helper gives.
 */
#ifndef SYMCACHED_CLEAN_H
#define SYMCACHED_CLEAN_H

#include "config.h"

struct event_base;
struct clean;

/* Cleans every config->cache.clean_every.  NULL when out of memory. */
struct clean *clean_new(struct event_base *base, struct config *config);

/* From the next pass on; one that runs goes on with the old rules. */
void clean_configure(struct clean *clean, struct config *config);

void clean_free(struct clean *clean);

#endif
