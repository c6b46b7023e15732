/*
 * Copyright (C) the ngx_symcache authors
 *
 * The latest jobs that ended without a file, and why, for a page that people
 * read.  An answer from a negative entry is not a new miss.
 */
#pragma once

#include <cjson/cJSON.h>
#include "proto/version.h"

struct recent_misses;

/* NULL when out of memory. */
struct recent_misses *recent_misses_new(void);
void recent_misses_free(struct recent_misses *misses);

/* Copies everything but outcome, a constant, with long texts cut; the oldest
 * miss is dropped if there are too many. */
void recent_misses_add(struct recent_misses *misses, const char *store,
                       const char *key, const symcache_version_t *version,
                       const char *outcome, const char *text);

/* An array of objects, newest first; NULL when out of memory. */
cJSON *recent_misses_json(const struct recent_misses *misses);
