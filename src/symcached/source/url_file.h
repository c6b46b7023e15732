/*
 * Copyright (C) the ngx_symcache authors
 *
 * The file at a URL, one step of a lookup: it is received and published as it
 * is, whatever it is.  What its answer said of it lies beside it, see
 * proto/properties.h.
 */
#ifndef SYMCACHED_SOURCE_URL_FILE_H
#define SYMCACHED_SOURCE_URL_FILE_H

#include <stdbool.h>

struct lookup;

/*
 * Is a URL in its normal form, or any other, the base or something below it?
 * "https://a/b" has "https://a/b/c" and "https://a/b?c", and not
 * "https://a/bc".
 */
bool url_is_below(const char *url, const char *base);

/*
 * Fetches lookup->url, and ends the lookup.  credentials: those of the source
 * are sent, to the URL's own origin.  Private, loopback and link-local
 * addresses are reached as far as the source may, and as clients' files may
 * (tenants_may_reach()).
 */
void lookup_url_file(struct lookup *lookup, bool credentials);

#endif
