/*
 * Copyright (C) the ngx_symcache authors
 */
#include "profiler_id.h"

#include <string.h>
#include <unistd.h>
#include <nettle/sha2.h>
#include "hex.h"
#include "proto/profiler_id.h"

static void set_id(symcache_key_t *key,
                   const uint8_t id[SYMCACHE_PROFILER_ID_SIZE])
{
    key->id_type = SYMCACHE_ID_HASH;
    key->build_len = SYMCACHE_PROFILER_ID_SIZE;
    memcpy(key->build, id, SYMCACHE_PROFILER_ID_SIZE);
}

static void put_be64(uint8_t p[8], uint64_t n)
{
    int i;

    for (i = 7; i >= 0; i--, n >>= 8) {
        p[i] = (uint8_t)n;
    }
}

void profiler_id_of_file(symcache_key_t *key, const uint8_t *head,
                         const uint8_t *tail, uint64_t size)
{
    size_t part = size < PROFILER_ID_PART ? (size_t)size : PROFILER_ID_PART;
    uint8_t length[8], id[SYMCACHE_PROFILER_ID_SIZE];
    struct sha256_ctx sha256;

    put_be64(length, size);
    sha256_init(&sha256);
    sha256_update(&sha256, part, head);
    sha256_update(&sha256, part, tail);
    sha256_update(&sha256, sizeof(length), length);
    sha256_digest(&sha256, sizeof(id), id);
    set_id(key, id);
}

bool profiler_id_of_fd(symcache_key_t *key, int fd, uint64_t size)
{
    uint8_t head[PROFILER_ID_PART], tail[PROFILER_ID_PART];
    ssize_t part = size < PROFILER_ID_PART ? (ssize_t)size : PROFILER_ID_PART;

    if (pread(fd, head, (size_t)part, 0) != part ||
        pread(fd, tail, (size_t)part, (off_t)size - part) != part) {
        return false;
    }
    profiler_id_of_file(key, head, tail, size);
    return true;
}

void profiler_id_of_kernel(symcache_key_t *key, const uint8_t *build_id,
                           size_t size, bool is_debug_file)
{
    /* FNV-1a of 128 bits, of the digits in lower case */
    const unsigned __int128 prime = ((unsigned __int128)1 << 88) + 0x13b;
    unsigned __int128 hash =
        (unsigned __int128)0x6c62272e07bb0142 << 64 | 0x62b821756295c58d;
    uint8_t id[SYMCACHE_PROFILER_ID_SIZE];
    char digits[3];
    size_t i, j;

    for (i = 0; i < size; i++) {
        hex_print(digits, &build_id[i], 1, HEX_LOWER);
        for (j = 0; j < 2; j++) {
            hash = (hash ^ (uint8_t)digits[j]) * prime;
        }
    }
    put_be64(id + (is_debug_file ? 8 : 0), (uint64_t)(hash >> 64));
    put_be64(id + (is_debug_file ? 0 : 8), (uint64_t)hash);
    set_id(key, id);
}
