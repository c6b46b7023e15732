/*
 * Copyright (C) the ngx_symcache authors
 *
 * Watches the free space of a file system on behalf of a program that does not
 * watch it itself, such as a transcoder, and tells when less than
 * cache.min_free is left.  When several such programs run on one machine, only
 * one of them is told, and the next one some seconds later: once the first has
 * ended, there may be room again.
 */
#pragma once

#include "config/config.h"

struct event_base;
struct space_monitor;

typedef void (*space_monitor_fn)(void *arg);

/*
 * Checks the file system of path, which is copied, at intervals.  Calls low
 * once, but never from inside this function.  Returns NULL when out of memory.
 */
struct space_monitor *space_monitor_start(struct event_base *base,
                                          const char *path,
                                          const struct cache_config *cache,
                                          space_monitor_fn low, void *arg);

/* No callback comes afterwards; monitor may be NULL. */
void space_monitor_stop(struct space_monitor *monitor);
