/*
 * Copyright (C) the ngx_symcache authors
 *
 * A number that identifies the places where a store looks.  It changes when a
 * source is added or moved, or when the files that it can have change.  A
 * remembered miss is valid only while this number is the same, because it is
 * true only for the places that were asked.
 */
#pragma once

#include <stdint.h>
#include <cjson/cJSON.h>
#include "config.h"

/* Returns the number of one source, from its keys in the file.  Secrets, and
 * keys that only say how it is asked, are left out. */
uint64_t source_fingerprint_source(const cJSON *source,
                                   const struct source_type *type);

/*
 * Returns the number of a store, from those of its sources and from the inputs
 * of its transcoders: if none of these accepts the format of a source, that
 * source is not asked.
 */
uint64_t source_fingerprint_store(const struct store_config *store);
