/*
 * Copyright (C) the ngx_symcache authors
 *
 * The "sources" object of the configuration.
 */
#ifndef CONFIG_SOURCE_H
#define CONFIG_SOURCE_H

#include "config.h"
#include "field.h"

/* A config_read_fn that fills the sources of the reader's config. */
int config_sources(struct config_reader *r, const cJSON *item,
                   const struct config_field *field, void *at);

/* Frees what the struct points to. */
void config_source_clear(struct source_config *source);

#endif
