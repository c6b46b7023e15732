/*
 * Copyright (C) the ngx_symcache authors
 */
#include "artifact_list.h"

#include <ctype.h>
#include <nettle/sha2.h>
#include <string.h>
#include "hex.h"

#define UUID 36

bool artifact_list_of_id(char name[ARTIFACT_LIST_SIZE], const char *debug_id)
{
    size_t i;

    if (strlen(debug_id) != UUID) {
        return false;
    }
    for (i = 0; i < UUID; i++) {
        if (i == 8 || i == 13 || i == 18 || i == 23
                ? debug_id[i] != '-'
                : !isxdigit((unsigned char)debug_id[i])) {
            return false;
        }
        name[i] = (char)tolower((unsigned char)debug_id[i]);
    }
    name[i] = '\0';
    return true;
}

void artifact_list_of_release(char name[ARTIFACT_LIST_SIZE],
                              const char *release, size_t size,
                              const char *dist, size_t dist_size)
{
    uint8_t digest[SHA256_DIGEST_SIZE];
    struct sha256_ctx context;

    sha256_init(&context);
    sha256_update(&context, size, (const uint8_t *)release);
    sha256_update(&context, 1, (const uint8_t *)"");
    sha256_update(&context, dist_size, (const uint8_t *)dist);
    sha256_digest(&context, sizeof(digest), digest);
    hex_print(stpcpy(name, "release-"), digest, sizeof(digest), HEX_LOWER);
}

void artifact_list_key(symcache_key_t *key, const char *name)
{
    struct sha256_ctx context;

    (void)symcache_name_parse(SYMCACHE_NAME_NONE, strlen(SYMCACHE_NAME_NONE),
                              key);
    key->kind = SYMCACHE_KIND_SOURCE;
    key->id_type = SYMCACHE_ID_HASH;
    key->build_len = SHA256_DIGEST_SIZE;
    sha256_init(&context);
    sha256_update(&context, strlen(name), (const uint8_t *)name);
    sha256_digest(&context, SHA256_DIGEST_SIZE, key->build);
}
