/*
 * Copyright (C) the ngx_symcache authors
 *
 * Patterns over PDB names: "only" and "except" of a source.
 */
#ifndef CONFIG_PATTERN_H
#define CONFIG_PATTERN_H

#include "config.h"
#include "field.h"

/* One PCRE2 pattern or a list of them, into a struct patterns_config. */
int config_patterns(struct config_reader *r, const cJSON *item,
                    const struct config_field *field, void *at);

/*
 * Does any of them match the name?  Letters match in either case.  doubt is
 * the answer where a pattern needs too many steps to tell.
 */
bool config_patterns_match(const struct patterns_config *patterns,
                           const symcache_key_t *key, bool doubt);

void config_patterns_clear(struct patterns_config *patterns);

#endif
