/*
 * Copyright (C) the ngx_symcache authors
 *
 * Percent-encoding (RFC 3986).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Encodes every byte outside the unreserved set.  p must have room for three
 * times the length of text, and a NUL.  Returns the place of that NUL.
 */
char *percent_encode(char *p, const char *text);

/* The same for a path, in which "/" is not encoded. */
void percent_encode_path(char *p, const char *path);

/* Decodes size bytes; a "%" without two digits stays.  Returns the size of what
 * is at `to` then, which can be text itself, and gets no NUL. */
size_t percent_decode(char *to, const char *text, size_t size);

/* Is a part of a path "." or ".."?  Clients and servers take these out of a
 * URL, which then names another place, or has another signature. */
bool percent_path_has_dots(const char *path, size_t size);
