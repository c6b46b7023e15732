/*
 * Copyright (C) the ngx_symcache authors
 *
 * The section "uploads" of the configuration, and the sources that it makes.
 */
#ifndef CONFIG_UPLOADS_H
#define CONFIG_UPLOADS_H

#include "config.h"
#include "field.h"

/* A config_read_fn that fills a struct uploads_config. */
int config_uploads(struct config_reader *r, const cJSON *item,
                   const struct config_field *field, void *at);

/*
 * Adds the sources that the section stands for to the reader's config.  To be
 * called when both sections have been read; item is this one, or NULL.
 * Returns 0, or -1 with error set.
 */
int config_uploads_sources(struct config_reader *r, const cJSON *item);

/*
 * Finds the tier of uploads, when the stores have been read; item as above.
 * Returns 0, or -1 with error set.
 */
int config_uploads_tier(struct config_reader *r, const cJSON *item);

/* Moves the sources of uploads of a store before all others. */
void config_uploads_first(struct store_config *store);

/* Wipes and frees the members of the struct. */
void config_uploads_clear(struct uploads_config *uploads);

#endif
