/*
 * Copyright (C) the ngx_symcache authors
 */
#include "url_id.h"

#include <nettle/sha2.h>
#include <stdio.h>
#include "proto/hints.h"

int url_id(uint8_t id[URL_ID_SIZE], const char *url, const char *since,
           bool is_scraped)
{
    char text[2 * SYMCACHE_HINT_MAX + 16];
    struct sha256_ctx context;
    int n = snprintf(text, sizeof(text), "%s%s%s%s", url,
                     since[0] != '\0' ? "#" : "", since,
                     is_scraped ? "#scraped" : "");

    if (n < 0 || (size_t)n >= sizeof(text)) {
        return -1;
    }
    sha256_init(&context);
    sha256_update(&context, (size_t)n, (const uint8_t *)text);
    sha256_digest(&context, URL_ID_SIZE, id);
    return 0;
}
