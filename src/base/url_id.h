/*
 * Copyright (C) the ngx_symcache authors
 *
 * The id of a file at a URL, which is the hash of a key (proto/key.h).
 */
#ifndef BASE_URL_ID_H
#define BASE_URL_ID_H

#include <stdint.h>

#define URL_ID_SIZE 32

/*
 * The SHA-256 of a URL in its normal form (proto/url.h); with a time of
 * SYMCACHE_HINT_SINCE, of "<url>#<since>".  since may be "".  Returns 0, or -1
 * without memory.
 */
int url_id(uint8_t id[URL_ID_SIZE], const char *url, const char *since);

#endif
