/*
 * Copyright (C) the ngx_symcache authors
 *
 * The tiers of the configuration, and the one of a store.
 */
#ifndef CONFIG_TIER_H
#define CONFIG_TIER_H

#include "config.h"

/* Readers as of field.h, for "tiers" and for the "tier" of a store, which is a
 * struct tier_config *.  Both do nothing where sources are not read. */
int config_tiers(struct config_reader *r, const cJSON *item,
                 const struct config_field *field, void *at);
int config_store_tier(struct config_reader *r, const cJSON *item,
                      const struct config_field *field, void *at);

/* Bytes of one PUT at Amazon. */
#define CONFIG_TIER_OBJECT_MAX (5ull * 1024 * 1024 * 1024)

void config_tier_clear(struct tier_config *tier);

#endif
