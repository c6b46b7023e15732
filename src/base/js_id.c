/*
 * Copyright (C) the ngx_symcache authors
 */
#include "js_id.h"

#include <openssl/evp.h>
#include <string.h>

void js_id(uint8_t id[JS_ID_SIZE], const uint8_t script[JS_ID_SIZE],
           const uint8_t *map)
{
    static const char embedded[] = "embedded";
    uint8_t text[2 * JS_ID_SIZE];
    size_t size = map != NULL ? JS_ID_SIZE : strlen(embedded);

    memcpy(text, script, JS_ID_SIZE);
    memcpy(text + JS_ID_SIZE, map != NULL ? map : (const uint8_t *)embedded,
           size);
    if (EVP_Digest(text, JS_ID_SIZE + size, id, NULL, EVP_sha256(), NULL) !=
        1) {
        memset(id, 0, JS_ID_SIZE); /* the id of nothing */
    }
}
