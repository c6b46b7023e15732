/*
 * Copyright (C) the ngx_symcache authors
 *
 * Passwords and tokens as configurations name them: in the text itself, in the
 * environment or in a file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SECRET_MAX 8191

/*
 * Expands a text into buf.  "$NAME" and "${NAME}" anywhere in it stand for
 * environment variables, "$$" for a dollar; the text "@/path" stands for the
 * first line of a file.  Returns 0; or -1 with one line in error if a variable
 * is not set or empty, the file cannot be read, its first line is empty, or
 * the secret is too long or has control characters.  buf must be wiped in any
 * case.
 */
int secret_expand(const char *text, char *buf, size_t size, char *error,
                  size_t error_size);

/* The same of the value of an option on a command line, where a file after "@"
 * can also have a path relative to the working directory. */
int secret_expand_option(const char *text, char *buf, size_t size, char *error,
                         size_t error_size);

/* The same of a secret that may have several lines: a file stands for all of
 * it. */
int secret_expand_lines(const char *text, char *buf, size_t size, char *error,
                        size_t error_size);

/* Returns whether both are equal.  The time it takes tells nothing of where
 * they differ. */
bool secret_is_equal(const char *a, const char *b);

/* Returns whether this can be sent as a Bearer token (RFC 6750, "b64token"):
 * letters, digits and "-._~+/", then any number of "=". */
bool secret_is_token(const char *text);

/* Wipes and frees a text.  NULL is allowed. */
void secret_free(char *secret);
