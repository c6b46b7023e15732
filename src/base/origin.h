/*
 * Copyright (C) the ngx_symcache authors
 *
 * What a URL says about the server: its scheme, host and port.  A directory
 * has an origin, too: "file://" and its path.
 */
#ifndef BASE_ORIGIN_H
#define BASE_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>

#define ORIGIN_MAX 300 /* a host name has up to 253 characters */

/*
 * Writes "https://host:443": scheme and host in lower case, the port always.
 * Returns 0, or -1 if url is no http or https URL or too long.
 */
int origin_print(char *buf, size_t size, const char *url);

/* The origin of a directory, to be freed; NULL when out of memory. */
char *origin_directory(const char *path);

/* The path of a directory's origin; NULL for that of a server. */
const char *origin_path(const char *origin);

/* Writes the host alone, without the port.  Returns 0, or -1 as above. */
int origin_host(char *buf, size_t size, const char *url);

/*
 * The same scheme, host and port?  Credentials for one are not for the other.
 */
bool origin_same(const char *a, const char *b);

/*
 * Returns url without user info and fragment, to be freed; NULL if it is no
 * URL or memory is out.
 */
char *origin_plain(const char *url);

/*
 * Is the host spelled as a reserved address, or as localhost?  Says nothing
 * of other names: those are known when they are resolved.
 */
bool origin_reserved(const char *url);

/*
 * Writes url without user info, query and fragment: what may stand in a log.
 */
void origin_place(char *buf, size_t size, const char *url);

#endif
