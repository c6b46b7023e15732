/*
 * Copyright (C) the ngx_symcache authors
 *
 * The keys "only" and "except" of a source, which are patterns for names, and
 * "paths", which are such for names and ids.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "field.h"

/* PCRE2 pattern for the name of a key */
struct pattern_config {
    char *text;
    struct pcre2_real_code_8 *code;
};

struct patterns_config {
    struct pattern_config *list;
    size_t n;
};

/* A config_read_fn for one PCRE2 pattern or a list of them, which fills a
 * struct patterns_config. */
config_read_fn config_patterns;

/*
 * Returns whether any of the patterns matches a text, ignoring case.  A pattern
 * that fails, such as by needing too many steps, counts as doubt says.
 */
bool config_patterns_match(const struct patterns_config *patterns,
                           const char *text, bool doubt);

void config_patterns_clear(struct patterns_config *patterns);
