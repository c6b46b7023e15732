/*
 * Copyright (C) the ngx_symcache authors
 *
 * The keys "only" and "except" of a source, which are patterns for names, and
 * "paths", which are such for names and ids.
 */
#ifndef CONFIG_NAME_PATTERN_H
#define CONFIG_NAME_PATTERN_H

#include "config.h"
#include "field.h"

/* A config_read_fn for one PCRE2 pattern or a list of them, which fills a
 * struct patterns_config. */
int config_patterns(struct config_reader *r, const cJSON *item,
                    const struct config_field *field, void *at);

/*
 * Returns whether any of the patterns matches a text, ignoring case.  A pattern
 * that fails, such as by needing too many steps, counts as doubt says.
 */
bool config_patterns_match(const struct patterns_config *patterns,
                           const char *text, bool doubt);

void config_patterns_clear(struct patterns_config *patterns);

#endif
