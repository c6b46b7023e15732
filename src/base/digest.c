/*
 * Copyright (C) the ngx_symcache authors
 */
#include "digest.h"

#include <nettle/base64.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "hex.h"

#define READ_SIZE 65536

struct digest {
    struct sha256_ctx context;
};

struct digest *digest_new(void)
{
    struct digest *digest = malloc(sizeof(*digest));

    if (digest != NULL) {
        sha256_init(&digest->context);
    }
    return digest;
}

void digest_free(struct digest *digest)
{
    free(digest);
}

void digest_add(struct digest *digest, const void *data, size_t len)
{
    if (digest != NULL) {
        sha256_update(&digest->context, len, data);
    }
}

struct digest *digest_read(int fd, const atomic_bool *stops)
{
    struct digest *digest = digest_new();
    unsigned char *buf = malloc(READ_SIZE);
    ssize_t n = -1;

    while (buf != NULL && !(stops != NULL && *stops) &&
           (n = read(fd, buf, READ_SIZE)) > 0) {
        digest_add(digest, buf, (size_t)n);
    }
    free(buf);
    if (n != 0) {
        digest_free(digest);
        digest = NULL;
    }
    return digest;
}

void digest_text(struct digest *digest, char text[SYMCACHE_DIGEST_TEXT + 1])
{
    static const char start[] = "sha-256=:";
    const size_t n = sizeof(start) - 1;
    uint8_t sum[SHA256_DIGEST_SIZE];

    sha256_digest(&digest->context, sizeof(sum), sum);
    memcpy(text, start, n);
    base64_encode_raw(text + n, sizeof(sum), sum);
    memcpy(text + SYMCACHE_DIGEST_TEXT - 1, ":", 2);
}

void digest_hex(struct digest *digest, char text[DIGEST_HEX + 1])
{
    uint8_t sum[SHA256_DIGEST_SIZE];

    sha256_digest(&digest->context, sizeof(sum), sum);
    hex_print(text, sum, sizeof(sum), HEX_LOWER);
}
