/*
 * Copyright (C) the ngx_symcache authors
 *
 * Starts passes of cleaning at intervals, each in a child process whose report
 * becomes metrics.  The first one, right after the start, only removes what
 * killed processes have left.
 */
#pragma once

#include <cjson/cJSON.h>
#include "config/config.h"

struct event_base;
struct evict;

typedef void (*evict_fn)(void *arg);

/*
 * Cleans every config->cache.clean_every seconds; cleaned is called after each
 * pass.  Returns NULL when out of memory.
 */
struct evict *evict_new(struct event_base *base, struct config *config,
                        evict_fn cleaned, void *arg);

/* The new rules apply from the next pass on; a running pass keeps the old
 * ones. */
void evict_configure(struct evict *evict, struct config *config);

/*
 * Adds to an object with the name of a "store" what the last pass left there,
 * "files" and "bytes", and when it ended, "counted" (Unix time; 0: there was
 * none).  An empty name stands for the downloads of all stores.
 */
void evict_add_sizes(const struct evict *evict, cJSON *object);

void evict_free(struct evict *evict);
