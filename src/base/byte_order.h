/*
 * Copyright (C) the ngx_symcache authors
 *
 * Unaligned loads from files that may be of either byte order.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "le.h"

static inline uint16_t byte_order_16(const uint8_t *p, bool is_big)
{
    return is_big ? (uint16_t)(p[0] << 8 | p[1]) : le16(p);
}

static inline uint32_t byte_order_32(const uint8_t *p, bool is_big)
{
    return is_big ? __builtin_bswap32(le32(p)) : le32(p);
}

static inline uint64_t byte_order_64(const uint8_t *p, bool is_big)
{
    return is_big ? __builtin_bswap64(le64(p)) : le64(p);
}
