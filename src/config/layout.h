/*
 * Copyright (C) the ngx_symcache authors
 *
 * The keys "layout", "casing" and "forms" of a source.
 */
#ifndef CONFIG_LAYOUT_H
#define CONFIG_LAYOUT_H

#include "config.h"
#include "field.h"

/* Each is a config_read_fn that fills a struct source_config at `at`. */
int config_layout(struct config_reader *r, const cJSON *item,
                  const struct config_field *field, void *at);
int config_casing(struct config_reader *r, const cJSON *item,
                  const struct config_field *field, void *at);
int config_forms(struct config_reader *r, const cJSON *item,
                 const struct config_field *field, void *at);

/* Checks that the layout has the forms, when the whole source has been read. */
int config_layout_check(struct config_reader *r, const cJSON *item,
                        const struct source_config *source);

#endif
