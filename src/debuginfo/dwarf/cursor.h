/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads numbers from a part of a section.  Reading beyond its end gives 0 and
 * is remembered, so that only the last of several reads must be checked.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/byte_order.h"

struct cursor {
    const uint8_t *at;
    const uint8_t *end;
    bool is_big;
    bool failed;
};

static inline void cursor_fail(struct cursor *c)
{
    c->failed = true;
    c->at = c->end;
}

static inline bool cursor_has(struct cursor *c, uint64_t size)
{
    if (size > (size_t)(c->end - c->at)) {
        cursor_fail(c);
        return false;
    }
    return true;
}

static inline void cursor_skip(struct cursor *c, uint64_t size)
{
    if (cursor_has(c, size)) {
        c->at += size;
    }
}

static inline uint8_t cursor_8(struct cursor *c)
{
    return cursor_has(c, 1) ? *c->at++ : 0;
}

static inline uint16_t cursor_16(struct cursor *c)
{
    const uint8_t *p = c->at;

    if (!cursor_has(c, 2)) {
        return 0;
    }
    c->at += 2;
    return byte_order_16(p, c->is_big);
}

static inline uint32_t cursor_32(struct cursor *c)
{
    const uint8_t *p = c->at;

    if (!cursor_has(c, 4)) {
        return 0;
    }
    c->at += 4;
    return byte_order_32(p, c->is_big);
}

static inline uint64_t cursor_64(struct cursor *c)
{
    const uint8_t *p = c->at;

    if (!cursor_has(c, 8)) {
        return 0;
    }
    c->at += 8;
    return byte_order_64(p, c->is_big);
}

/* Reads a number of 1, 2, 3, 4 or 8 bytes. */
static inline uint64_t cursor_number(struct cursor *c, unsigned size)
{
    uint32_t low;

    switch (size) {
    case 1:
        return cursor_8(c);
    case 2:
        return cursor_16(c);
    case 3:
        if (c->is_big) {
            low = cursor_16(c);
            return low << 8 | cursor_8(c);
        }
        low = cursor_16(c);
        return low | (uint32_t)cursor_8(c) << 16;
    case 4:
        return cursor_32(c);
    default:
        return cursor_64(c);
    }
}

/* The rare part of cursor_uleb(): more than one byte.  Fails if the number has
 * more than 64 bits. */
static __attribute__((noinline, unused)) uint64_t
cursor_long_uleb(struct cursor *c)
{
    uint8_t byte;
    unsigned shift = 0;
    uint64_t value = 0;

    do {
        byte = cursor_8(c);
        if (shift >= 63 && byte > 1) {
            cursor_fail(c);
            return 0;
        }
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    return value;
}

static inline uint64_t cursor_uleb(struct cursor *c)
{
    return c->at < c->end && *c->at < 0x80 ? *c->at++ : cursor_long_uleb(c);
}

static inline int64_t cursor_sleb(struct cursor *c)
{
    uint8_t byte;
    unsigned shift = 0;
    uint64_t value = 0;

    do {
        byte = cursor_8(c);
        if (shift >= 63 && byte != 0 && byte != 0x7f) {
            cursor_fail(c);
            return 0;
        }
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (shift < 64 && (byte & 0x40)) {
        value |= UINT64_MAX << shift;
    }
    return (int64_t)value;
}

/* Skips a LEB128 number of any length. */
static inline void cursor_skip_leb(struct cursor *c)
{
    while (cursor_8(c) & 0x80) {
    }
}

/* Reads a string that ends with a NUL, which is not counted. */
static inline const char *cursor_string(struct cursor *c, size_t *size)
{
    const uint8_t *p = c->at, *end;

    end = c->at == c->end ? NULL : memchr(p, 0, (size_t)(c->end - p));
    if (end == NULL) {
        cursor_fail(c);
        *size = 0;
        return "";
    }
    c->at = end + 1;
    *size = (size_t)(end - p);
    return (const char *)p;
}
