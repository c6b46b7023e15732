/*
 * Copyright (C) the ngx_symcache authors
 *
 * The origin of a URL is its scheme, host and port.  A directory has an
 * origin, too: "file://" and its path.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define ORIGIN_MAX 300 /* a host name has up to 253 characters */

/*
 * Writes an origin such as "https://host:443", in lower case and always with
 * the port.  Returns 0, or -1 if url is not an http or https URL or too long.
 */
int origin_print(char *buf, size_t size, const char *url);

/* Returns the origin of a directory, which the caller frees, or NULL when out
 * of memory. */
char *origin_directory(const char *path);

/* Returns the path in the origin of a directory; NULL for that of a server. */
const char *origin_path(const char *origin);

/* Writes the host alone, without the port.  Returns 0, or -1 as above. */
int origin_host(char *buf, size_t size, const char *url);

/*
 * Returns whether two URLs have the same scheme, host and port.  Credentials
 * for one origin must not be sent to another.
 */
bool origin_same(const char *a, const char *b);

/*
 * Returns url without user info and fragment, which the caller frees, or NULL
 * if it is not a URL or when out of memory.
 */
char *origin_plain(const char *url);

/*
 * Returns whether the host is a reserved address, or a name that is localhost
 * or ends with ".localhost".  Other names can be judged only when they are
 * resolved.
 */
bool origin_reserved(const char *url);

/*
 * Writes url without user info, query and fragment, so that it contains no
 * credentials and may be logged.
 */
void origin_place(char *buf, size_t size, const char *url);
