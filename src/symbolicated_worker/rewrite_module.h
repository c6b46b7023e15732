/*
 * Copyright (C) the ngx_symcache authors
 *
 * The part rewrite_first_module: rules for the name of the debug file that is
 * looked for.  Patterns are PCRE2's, with limits, which has the syntax of
 * Symbolicator's patterns, and more.
 */
#pragma once

#include "packed_body.h"

#define REWRITE_ERROR 512

struct rewrite;

/*
 * Reads the rules, of which there may be none (bytes without data).  Returns
 * 0, and *rewrite is to be freed; or -1 with the reason in error.
 */
int rewrite_read(struct rewrite **rewrite, const struct bytes *json,
                 char error[REWRITE_ERROR]);

/* By the first rule that matches.  Returns a name to be freed, or NULL: none
 * matches. */
char *rewrite_name(const struct rewrite *rewrite, const char *name);

void rewrite_free(struct rewrite *rewrite); /* NULL is allowed */
