/*
 * Copyright (C) the ngx_symcache authors
 */
#include "jscache_id.h"

#include <nettle/sha2.h>
#include <string.h>

void jscache_id(uint8_t id[JS_ID_SIZE], const uint8_t script[JS_ID_SIZE],
           const uint8_t *map)
{
    static const char embedded[] = "embedded";
    struct sha256_ctx context;

    sha256_init(&context);
    sha256_update(&context, JS_ID_SIZE, script);
    if (map != NULL) {
        sha256_update(&context, JS_ID_SIZE, map);
    } else {
        sha256_update(&context, strlen(embedded), (const uint8_t *)embedded);
    }
    sha256_digest(&context, JS_ID_SIZE, id);
}
