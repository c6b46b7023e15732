/*
 * Copyright (C) the ngx_symcache authors
 *
 * Texts of the configuration that may be secrets: passwords, tokens, header
 * values.  They come from the file itself, the environment or another file.
 */
#ifndef CONFIG_SECRET_H
#define CONFIG_SECRET_H

#include "field.h"

#define CONFIG_SECRET_MAX 8191

/*
 * A config_read_fn for a char *, which config_secret_free() frees.
 * "$NAME" and "${NAME}" anywhere in the text stand for environment variables,
 * "$$" for a dollar; the text "@/path" stands for the first line of a file.
 * It is an error if the variable is not set or empty, the file cannot be read
 * or its first line is empty: without its secret a source would answer 401
 * for everything.
 */
int config_secret(struct config_reader *r, const cJSON *item,
                  const struct config_field *field, void *at);

/* Wipes and frees a text.  NULL is allowed. */
void config_secret_free(char *secret);

#endif
