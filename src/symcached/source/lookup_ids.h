/*
 * Copyright (C) the ngx_symcache authors
 *
 * The ids, ages and names that a lookup asks its source for, one after the
 * other (original_id.h).
 */
#pragma once

#include "lookup_state.h"

/* Sets what a lookup begins with, after its source, key, formats and name. */
void lookup_set_ids(struct lookup *lookup, const char *hints,
                    struct lookup_ids ids);

/* Sets lookup->at.  Returns false if the source has no place for such a
 * file. */
bool lookup_has_place(struct lookup *lookup);

/* Lets the lookup begin again with the next id, age or name.  Returns false if
 * there is none. */
bool lookup_try_next_id(struct lookup *lookup);

/* What the original that was found by the present id has. */
symcache_extent_e lookup_extent(const struct lookup *lookup);
