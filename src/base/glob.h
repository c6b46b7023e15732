/*
 * Copyright (C) the ngx_symcache authors
 *
 * Patterns for names of files, as strangers write them: "?" is a character,
 * "*" any number of them, slashes included, "[a-z]" one of a set and "[!a-z]"
 * one that is not in it; "**" and a slash, where a folder begins, are any
 * number of folders, also none.  Letters of ASCII match without case.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether each "[" is closed. */
bool glob_is_valid(const char *pattern, size_t pattern_size);

/*
 * Whether a valid pattern matches all of the text.  Takes as many steps off as
 * it needs: of most patterns two for each byte, but as many as the product of
 * both sizes of hostile ones, or of many sets.  It matches nothing when none
 * are left.
 */
bool glob_matches(const char *pattern, size_t pattern_size, const char *text,
                  size_t size, size_t *steps);
