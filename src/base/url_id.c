/*
 * Copyright (C) the ngx_symcache authors
 */
#include "url_id.h"

#include <openssl/evp.h>
#include <stdio.h>
#include "proto/hints.h"

int url_id(uint8_t id[URL_ID_SIZE], const char *url, const char *since,
           bool is_scraped)
{
    char text[2 * SYMCACHE_HINT_MAX + 16];
    int n = snprintf(text, sizeof(text), "%s%s%s%s", url,
                     since[0] != '\0' ? "#" : "", since,
                     is_scraped ? "#scraped" : "");

    return n >= 0 && (size_t)n < sizeof(text) &&
                   EVP_Digest(text, (size_t)n, id, NULL, EVP_sha256(), NULL) ==
                       1
               ? 0
               : -1;
}
