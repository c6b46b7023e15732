/*
 * Copyright (C) the ngx_symcache authors
 */
#include "portable_pdb_checksum.h"

#include <nettle/nettle-meta.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>
#include <string.h>
#include <strings.h>
#include "base/hex.h"

#define ID_SIZE 20

static const struct {
    const char *name; /* as assemblies write it */
    const struct nettle_hash *hash;
} algorithms[] = {
    {"SHA256", &nettle_sha256},
    {"SHA384", &nettle_sha384},
    {"SHA512", &nettle_sha512},
    {"SHA1", &nettle_sha1},
};

#define ALGORITHMS (sizeof(algorithms) / sizeof(algorithms[0]))

/* The checksum of an algorithm as hex digits; *len is their number.  NULL if
 * text has none. */
static const char *find_checksum(const char *text, const char *name,
                                 size_t *len)
{
    size_t size = strlen(name);

    for (; *text != '\0'; text += *text != '\0') {
        if (strncasecmp(text, name, size) == 0 && text[size] == ':') {
            text += size + 1;
            *len = strcspn(text, ";");
            return text;
        }
        text += strcspn(text, ";");
    }
    return NULL;
}

static void digest_of_pdb(char hex[2 * SHA512_DIGEST_SIZE + 1],
                          const struct nettle_hash *hash, const uint8_t *data,
                          size_t size, size_t id_at)
{
    static const uint8_t zeros[ID_SIZE];
    uint8_t sum[SHA512_DIGEST_SIZE];
    union {
        struct sha1_ctx sha1;
        struct sha256_ctx sha256;
        struct sha512_ctx sha512;
    } context;
    size_t rest = id_at + ID_SIZE;

    hash->init(&context);
    hash->update(&context, id_at, data);
    hash->update(&context, ID_SIZE, zeros);
    hash->update(&context, size - rest, data + rest);
    hash->digest(&context, hash->digest_size, sum);
    hex_print(hex, sum, hash->digest_size, HEX_LOWER);
}

bool checksum_fits(const char *wanted, const uint8_t *data, size_t size,
                   size_t id_at)
{
    char hex[2 * SHA512_DIGEST_SIZE + 1];
    const char *text;
    bool known = false;
    size_t i, len;

    for (i = 0; wanted != NULL && i < ALGORITHMS; i++) {
        text = find_checksum(wanted, algorithms[i].name, &len);
        if (text == NULL) {
            continue;
        }
        known = true;
        digest_of_pdb(hex, algorithms[i].hash, data, size, id_at);
        if (len == strlen(hex) && strncasecmp(text, hex, len) == 0) {
            return true;
        }
    }
    return !known;
}
