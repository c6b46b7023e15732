/*
 * Copyright (C) the ngx_symcache authors
 *
 * The id of a file at a URL, which is the hash of a key (proto/key.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define URL_ID_SIZE 32

/*
 * The SHA-256 of a URL in its normal form (proto/url.h), together with the
 * values of the hints SYMCACHE_HINT_SINCE, which can be "", and
 * SYMCACHE_HINT_SCRAPED.
 */
void url_id(uint8_t id[URL_ID_SIZE], const char *url, const char *since,
            bool is_scraped);
