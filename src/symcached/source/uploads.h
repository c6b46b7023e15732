/*
 * Copyright (C) the ngx_symcache authors
 *
 * Uploaded files that another machine of the fleet has: where the folder of
 * uploads has no file, the tier that they are kept in is asked.
 */
#ifndef SYMCACHED_SOURCE_UPLOADS_H
#define SYMCACHED_SOURCE_UPLOADS_H

#include <stddef.h>
#include "layout.h"

struct lookup;

/* Where an uploaded file may be, below the tier's "uploads/". */
#define UPLOADS_PATH_MAX (sizeof(UPLOADS_TRY) + LAYOUT_PATH_MAX + 1)

/* Writes these paths, and returns how many there are. */
size_t uploads_paths(char paths[LAYOUT_PLACES][UPLOADS_PATH_MAX],
                     const struct source_config *source,
                     const symcache_key_t *key);

/* A step of a lookup whose source has a tier, see lookup_steps.h. */
void uploads_ask_tier(struct lookup *lookup);

#endif
