/*
 * Copyright (C) the ngx_symcache authors
 *
 * The latest jobs that ended without a file, and why, for a page that people
 * read.  An answer from a negative entry is not a new miss.
 */
#ifndef SYMCACHED_JOB_MISSES_H
#define SYMCACHED_JOB_MISSES_H

#include <cjson/cJSON.h>
#include "proto/version.h"

struct misses;

/* NULL when out of memory. */
struct misses *misses_new(void);
void misses_free(struct misses *misses);

/* Copies everything but outcome, a constant, with long texts cut; the oldest
 * miss is dropped if there are too many. */
void misses_add(struct misses *misses, const char *store, const char *key,
                const symcache_version_t *version, const char *outcome,
                const char *text);

/* An array of objects, newest first; NULL when out of memory. */
cJSON *misses_json(const struct misses *misses);

#endif
