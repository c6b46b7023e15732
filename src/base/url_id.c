/*
 * Copyright (C) the ngx_symcache authors
 */
#include "url_id.h"

#include <nettle/sha2.h>
#include <string.h>

void url_id(uint8_t id[URL_ID_SIZE], const char *url, const char *since,
            bool is_scraped)
{
    const char *const parts[] = {url, since[0] != '\0' ? "#" : "", since,
                                 is_scraped ? "#scraped" : ""};
    struct sha256_ctx context;
    size_t i;

    sha256_init(&context);
    for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        sha256_update(&context, strlen(parts[i]), (const uint8_t *)parts[i]);
    }
    sha256_digest(&context, URL_ID_SIZE, id);
}
