/*
 * Copyright (C) the ngx_symcache authors
 *
 * The section "symbolication" of the configuration.
 */
#ifndef CONFIG_SYMBOLICATION_H
#define CONFIG_SYMBOLICATION_H

#include "config.h"
#include "field.h"

/*
 * Reads the section into the reader's config, whose stores must be known.  If
 * the file has no such section, item is NULL, and everything gets its default.
 * Returns 0, or -1 with error set.
 */
int config_symbolication(struct config_reader *r, const cJSON *item);

/* Frees the members of the struct. */
void config_symbolication_clear(struct symbolication_config *symbolication);

#endif
