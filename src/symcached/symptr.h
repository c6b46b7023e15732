/*
 * Copyright (C) the ngx_symcache authors
 *
 * file.ptr: a text beside, or instead of, a file of a symbol store, that says
 * where the file is.  Windows locations become local ones by the table of the
 * source only: what a server writes there never names a local file.
 */
#ifndef SYMCACHED_SYMPTR_H
#define SYMCACHED_SYMPTR_H

#include <stddef.h>
#include <stdint.h>
#include "config.h"

/* how much of a file.ptr counts */
#define SYMPTR_MAX 4096

/* UTF-16 text grows by half */
#define SYMPTR_TEXT (SYMPTR_MAX / 2 * 3 + 1)

enum symptr_kind {
    SYMPTR_PATH,    /* text is a Windows location or a relative one */
    SYMPTR_URL,     /* text is an http or https URL */
    SYMPTR_MESSAGE, /* the server explains that it has none */
    SYMPTR_BAD      /* text says why it is no file.ptr */
};

/* Reads a file.ptr; text is always set, without control characters. */
enum symptr_kind symptr_parse(const uint8_t *data, size_t len,
                              char text[SYMPTR_TEXT]);

/*
 * Maps a location by the longest prefix of the table, without case, "/" and
 * "\" equal, at component boundaries.  A relative location goes below `base`,
 * unless that is NULL.  Sets *root to the local directory and rel to the rest
 * with "/" between its components, none of which is empty, "." or "..".
 * Returns NULL, or why there is no such place.
 */
const char *symptr_map(const struct map_config *map, size_t nmap,
                       const char *base, const char *location,
                       const char **root, char rel[SYMPTR_TEXT]);

#endif
