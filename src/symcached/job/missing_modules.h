/*
 * Copyright (C) the ngx_symcache authors
 *
 * Modules that were asked for and had no symbols, by ids that a build machine
 * knows: the hash of a profiler, and the build id.  What is uploaded leaves
 * the list.  It is in memory, and begins anew with the process.
 */
#pragma once

#include <time.h>
#include <cjson/cJSON.h>
#include "proto/key.h"

struct missing_modules;

/* NULL when out of memory. */
struct missing_modules *missing_modules_new(void);
void missing_modules_free(struct missing_modules *missing);

/*
 * Notes that a client was told that the file is absent.  For a debug id, the
 * hints can have the build id; modules without such an id are not noted. name:
 * of the module.  If the list is full, the module with the oldest request is
 * dropped.
 */
void missing_modules_note(struct missing_modules *missing,
                          const symcache_key_t *key, const char *name,
                          const char *hints);

/* A file of this id has come. */
void missing_modules_drop(struct missing_modules *missing,
                          const symcache_key_t *key);

/* How many there are. */
unsigned missing_modules_count(const struct missing_modules *missing);

/* An array of those that were asked for since then, the latest first; NULL
 * when out of memory. */
cJSON *missing_modules_json(const struct missing_modules *missing,
                            time_t since);
