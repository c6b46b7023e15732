/*
 * Copyright (C) the ngx_symcache authors
 *
 * How a source is talked to: what is sent along, who we say that we are, whom
 * we trust, and the way there.
 */
#ifndef SYMCACHED_FETCH_TRANSPORT_H
#define SYMCACHED_FETCH_TRANSPORT_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include "config/config.h"

/* Sets what is the same for every request of ours. */
void transport_prepare(CURL *easy);

/*
 * Sets everything for the next request to url, with those headers and what a
 * signature adds to them.  home: url is of the source's own origin, and gets
 * its credentials; otherwise those of an earlier request are taken from the
 * handle.  again: an earlier request failed, and its connection may be what is
 * wrong, or others from that time.  The texts of the transport and the headers
 * must live as long as the handle; these are NULL when out of memory.
 */
CURLcode transport_apply(const struct transport_config *transport, CURL *easy,
                         const char *url, struct curl_slist **headers,
                         bool home, bool again);

/*
 * Appends n headers to list.  Returns the new list, or NULL when out of
 * memory; list is freed then.
 */
struct curl_slist *transport_headers(const struct header_config *headers,
                                     size_t n, struct curl_slist *list);

#endif
