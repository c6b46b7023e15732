/*
 * Copyright (C) the ngx_symcache authors
 *
 * FNV-1a, a hash of bytes that is compared with former ones.  It need not be
 * cryptographic: it stays in the process or the store, and nothing is gained
 * by a collision.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define FINGERPRINT_BASIS 0xcbf29ce484222325u
#define FINGERPRINT_PRIME 0x100000001b3u

/* Continues a hash, which begins as FINGERPRINT_BASIS, with more bytes. */
static inline uint64_t fingerprint(uint64_t hash, const void *data, size_t len)
{
    const unsigned char *p = data;

    while (len-- > 0) {
        hash = (hash ^ *p++) * FINGERPRINT_PRIME;
    }
    return hash;
}
