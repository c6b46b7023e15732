
/*
 * Copyright (C) the ngx_symcache authors
 *
 * The normal form of a URL, of which a key has the SHA-256 (key.h).  It is a
 * part of the format of keys: whatever changes it changes the ids of files that
 * are on disks.
 * Pure functions on (pointer, length): no I/O, no allocation, no globals.
 */


#ifndef _SYMCACHE_URL_H_INCLUDED_
#define _SYMCACHE_URL_H_INCLUDED_


#include <stddef.h>


/* The longest URL, before and in its normal form, without a NUL. */
#define SYMCACHE_URL_MAX  8192


/*
 * Writes the normal form and a NUL to buf, and returns its length.  Returns 0
 * if the text is not a URL of http or https, is too long, or has a user name or
 * password, which belong to no key.
 *
 * The form is that of RFC 3986, 6.2.2 and 6.2.3: scheme and host in lower
 * case, without the port if it is the scheme's own, "/" for an empty path,
 * without the segments "." and "..", with upper-case hex digits of what is
 * escaped, and letters, digits and "-._~" not escaped.  What must not be in a
 * URL (spaces, quotes, brackets, bytes above 127) is escaped.  The fragment,
 * which no server gets, is left out.  A query stays as it is but for its
 * escapes.
 */
size_t symcache_url_normalise(char buf[SYMCACHE_URL_MAX + 1], const char *url,
    size_t len);


#endif /* _SYMCACHE_URL_H_INCLUDED_ */
