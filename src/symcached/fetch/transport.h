/*
 * Copyright (C) the ngx_symcache authors
 *
 * How a source is talked to: which headers are sent, how we authenticate, whom
 * we trust, and through which proxy.
 */
#pragma once

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include "config/config.h"

/* Sets the options that are the same for each of our requests. */
void transport_prepare(CURL *easy);

/*
 * Sets everything for the next request to url, with the given headers and
 * those of a signature.  method: of the request, for the signature; it is not
 * set.  credentials: url belongs to the source's own origin and gets its
 * credentials; otherwise those of an earlier request are removed from the
 * handle.  again: an earlier request failed, perhaps because of its
 * connection, so a new one is used.  The texts of transport and headers must
 * live as long as the handle.  *headers becomes NULL when out of memory.
 */
CURLcode transport_apply(const struct transport_config *transport, CURL *easy,
                         const char *method, const char *url,
                         struct curl_slist **headers, bool credentials,
                         bool again);

/* May a request connect to a private, loopback or link-local address?  own: it
 * goes to the source's own origin. */
bool transport_reaches_internal(const struct transport_config *transport,
                                bool own);

/*
 * Appends n headers to list.  Returns the new list; or NULL when out of
 * memory, with list freed.
 */
struct curl_slist *transport_headers(const struct header_config *headers,
                                     size_t n, struct curl_slist *list);
