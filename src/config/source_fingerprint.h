/*
 * Copyright (C) the ngx_symcache authors
 *
 * A number for where a store looks: another one when a source is added, moved
 * or asked in another way.  "Nobody has it" is believed for the places that
 * were asked only.
 */
#ifndef SYMCACHED_CONFIG_PLACES_H
#define SYMCACHED_CONFIG_PLACES_H

#include <stdint.h>
#include <cjson/cJSON.h>
#include "config.h"

/* Of one source, as the file describes it; nothing secret is in it. */
uint64_t config_places_source(const cJSON *source);

/* Of a store, from those of its sources. */
uint64_t config_places_store(const struct store_config *store);

#endif
