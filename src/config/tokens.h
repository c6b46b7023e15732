/*
 * Copyright (C) the ngx_symcache authors
 *
 * The list of tokens that "uploads.tokens" names: "TOKEN RIGHT USER" in each
 * line.  Empty lines, and those that begin with "#", are skipped.
 */
#pragma once

#include <stdio.h>

#include "config.h"

/*
 * Appends the tokens of a list to those of uploads, which owns them, whether
 * the list is good or not.  Returns NULL; or what is wrong, and *line is the
 * number of the line, from 1 on.
 */
const char *config_tokens_read(struct uploads_config *uploads, FILE *list,
                               unsigned *line);

/* Wipes and frees the tokens. */
void config_tokens_clear(struct uploads_config *uploads);
