/*
 * Copyright (C) the ngx_symcache authors
 *
 * Patterns for names of files, as strangers write them: "?" is a character,
 * "*" any number of them, slashes included, "[a-z]" one of a set and "[!a-z]"
 * one that is not in it.  Letters of ASCII match without case.
 */
#ifndef BASE_GLOB_H
#define BASE_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Whether each "[" is closed. */
bool glob_is_valid(const char *pattern, size_t pattern_size);

/*
 * Whether a valid pattern matches all of the text.  It takes a time in
 * proportion to the sizes of both: a pattern that leads to more than four
 * steps for each byte of them, of which most need two, matches nothing.
 */
bool glob_matches(const char *pattern, size_t pattern_size, const char *text,
                  size_t size);

#endif
