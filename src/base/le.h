/*
 * Copyright (C) the ngx_symcache authors
 *
 * Unaligned little-endian loads and stores.  The compiler turns each into a
 * single instruction where the processor allows it.
 */
#pragma once

#include <stdint.h>

static inline uint16_t le16(const uint8_t *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t le32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

static inline uint64_t le64(const uint8_t *p)
{
    return le32(p) | (uint64_t)le32(p + 4) << 32;
}

static inline void le32_store(uint8_t *p, uint32_t value)
{
    p[0] = (uint8_t)value;
    p[1] = (uint8_t)(value >> 8);
    p[2] = (uint8_t)(value >> 16);
    p[3] = (uint8_t)(value >> 24);
}

/* Puts the bytes of a stored GUID into the order in which text has them. */
static inline void le_guid(uint8_t text[16], const uint8_t *p)
{
    static const uint8_t order[16] = {3, 2, 1,  0,  5,  4,  7,  6,
                                      8, 9, 10, 11, 12, 13, 14, 15};
    unsigned i;

    for (i = 0; i < 16; i++) {
        text[i] = p[order[i]];
    }
}
