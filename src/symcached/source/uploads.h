/*
 * Copyright (C) the ngx_symcache authors
 *
 * Uploaded files that are not where their name says: where the folder of
 * uploads has none, the tier that they are kept in is asked, and by which other
 * names a file of this id is there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include "layout.h"

struct lookup;
struct tier_result;

/* Where an uploaded file may be, below the tier's "uploads/". */
#define UPLOADS_PATH_MAX (sizeof(UPLOADS_TRY) + LAYOUT_PATH_MAX + 1)

/* Writes these paths, and returns how many there are. */
size_t uploads_paths(char paths[LAYOUT_PLACES][UPLOADS_PATH_MAX],
                     const struct source_config *source,
                     const symcache_key_t *key);

/* The first step of a lookup of a list of uploaded bundles of scripts, see
 * base/artifact_list.h: makes it, and ends the lookup. */
void bundle_list_begin(struct lookup *lookup);

/* The tier has answered a step of a lookup. */
void uploads_take_answer(struct lookup *lookup,
                         const struct tier_result *result);

/* Notes that it failed.  The source of all uploads does not say which tier. */
void uploads_tier_failed(struct lookup *lookup,
                         const struct tier_result *result);

/* Something was found.  Returns false if it is not to be used, and has ended
 * the lookup. */
bool uploads_take_found(struct lookup *lookup);

/* Steps of a lookup in the folder of uploads after the first one, see
 * lookup_steps.h. */
void uploads_go_on(struct lookup *lookup);
