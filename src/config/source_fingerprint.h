/*
 * Copyright (C) the ngx_symcache authors
 *
 * A number for where a store looks: another one when a source is added, moved
 * or asked in another way.  "Nobody has it" is believed for the places that
 * were asked only.
 */
#ifndef CONFIG_SOURCE_FINGERPRINT_H
#define CONFIG_SOURCE_FINGERPRINT_H

#include <stdint.h>
#include <cjson/cJSON.h>
#include "config.h"

/* Of one source, as the file describes it; nothing secret is in it. */
uint64_t source_fingerprint_source(const cJSON *source,
                                   const struct source_type *type);

/*
 * Of a store, from those of its sources, and from what its transcoders take: a
 * source whose originals none of them takes is not asked.
 */
uint64_t source_fingerprint_store(const struct store_config *store);

#endif
