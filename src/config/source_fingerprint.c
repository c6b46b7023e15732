/*
 * Copyright (C) the ngx_symcache authors
 */

#include <stdlib.h>
#include <string.h>
#include "source_fingerprint.h"

/* FNV-1a: no secret is in it, and nobody gains from two that are alike. */
#define BASIS 0xcbf29ce484222325u
#define PRIME 0x100000001b3u

/* Not where a source looks, and perhaps secret. */
static const char *const left_out[] = {
    "headers",    "auth",       "tls",           "proxy", "user_agent",
    "access_key", "secret_key", "session_token", "token", "http_version"};

static uint64_t mix(uint64_t hash, const void *data, size_t len)
{
    const unsigned char *p = data;

    while (len-- > 0) {
        hash = (hash ^ *p++) * PRIME;
    }
    return hash;
}

uint64_t source_fingerprint_source(const cJSON *source)
{
    cJSON *copy = cJSON_Duplicate(source, true);
    uint64_t hash = BASIS;
    char *text;
    size_t i;

    for (i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++) {
        cJSON_DeleteItemFromObjectCaseSensitive(copy, left_out[i]);
    }
    text = cJSON_PrintUnformatted(copy);
    if (text != NULL) {
        hash = mix(hash, text, strlen(text));
    }
    free(text);
    cJSON_Delete(copy);
    return hash;
}

uint64_t source_fingerprint_store(const struct store_config *store)
{
    const struct source_config *source;
    uint64_t hash = BASIS;
    size_t i;

    for (i = 0; i < store->nsources; i++) {
        source = store->sources[i];
        hash = mix(hash, source->name, strlen(source->name) + 1);
        hash = mix(hash, &source->places, sizeof(source->places));
    }
    return hash;
}
