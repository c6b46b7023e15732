/*
 * Copyright (C) the ngx_symcache authors
 *
 * Names of request headers that clients may not set.
 */
#pragma once

#include <stdbool.h>

#include "derived/symcache/symcache.h"

/* Is a header one of the connection, or one that symcached sends itself, so
 * that neither a client's source nor "scraping.headers" may have it? */
bool header_is_reserved(struct symc_string name);
