/*
 * Copyright (C) the ngx_symcache authors
 *
 * Names of request headers that clients may not set.
 */
#ifndef SYMBOLICATED_API_SYMBOLICATOR_RESERVED_HEADERS_H
#define SYMBOLICATED_API_SYMBOLICATOR_RESERVED_HEADERS_H

#include <stdbool.h>

#include "derived/symcache/symcache.h"

/* Whether a header is one of the connection, or one that symcached sends
 * itself, so that a client's source must not have it. */
bool header_is_reserved_in_source(struct symc_string name);

/* The same of a header of "scraping.headers". */
bool header_is_reserved_in_scraping(struct symc_string name);

#endif
