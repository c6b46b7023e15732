/*
 * Copyright (C) the ngx_symcache authors
 *
 * The "sources" object of the configuration.
 */
#ifndef CONFIG_SOURCE_CONFIG_H
#define CONFIG_SOURCE_CONFIG_H

#include "config.h"
#include "field.h"

/* A config_read_fn that fills the sources of the reader's config. */
int config_sources(struct config_reader *r, const cJSON *item,
                   const struct config_field *field, void *at);

/*
 * Adds a source that another section stands for.  item describes it as in
 * "sources", but is no part of the file; group may be NULL.  Returns 0, or -1
 * with error set.
 */
int config_source_add(struct config_reader *r, const cJSON *item,
                      const char *name, const char *group);

/* Frees the members of the struct. */
void config_source_clear(struct source_config *source);

#endif
