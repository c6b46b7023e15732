/*
 * Copyright (C) the ngx_symcache authors
 *
 * Reads values from a type record, from its beginning to its end.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/le.h"

#define FIRST_NUL_NAME 0x1501 /* older kinds have a length before a name */

enum {
    LF_CHAR = 0x8000,
    LF_SHORT = 0x8001,
    LF_USHORT = 0x8002,
    LF_LONG = 0x8003,
    LF_ULONG = 0x8004,
    LF_QUADWORD = 0x8009,
    LF_UQUADWORD = 0x800A
};

struct bytes {
    const uint8_t *p;
    uint32_t left;
    int is_short; /* more was read than the record has */
};

static inline uint32_t take(struct bytes *b, unsigned n)
{
    const uint8_t *p;

    p = b->p;
    if (b->left < n) {
        b->is_short = 1;
        b->left = 0;
        return 0;
    }
    b->p += n;
    b->left -= n;
    return n == 4 ? le32(p) : n == 2 ? le16(p) : *p;
}

static inline uint64_t take_eight(struct bytes *b)
{
    uint64_t low;

    low = take(b, 4);
    return low | (uint64_t)take(b, 4) << 32;
}

/* Not negative. */
static inline uint64_t take_numeric(struct bytes *b)
{
    uint32_t kind;

    kind = take(b, 2);
    switch (kind) {
    case LF_CHAR:
        return take(b, 1);
    case LF_USHORT:
        return take(b, 2);
    case LF_ULONG:
        return take(b, 4);
    case LF_UQUADWORD:
        return take_eight(b);
    default:
        if (kind >= LF_CHAR) {
            b->is_short = 1;
        }
        return kind;
    }
}

/* Inside the record, without the NUL. */
static inline void take_name(struct bytes *b, uint32_t kind, const char **name,
                             uint32_t *size)
{
    const uint8_t *end;

    *name = (const char *)b->p;
    if (kind < FIRST_NUL_NAME) {
        *size = take(b, 1);
        *name = (const char *)b->p;
        if (*size > b->left) {
            b->is_short = 1;
            *size = 0;
        }
        b->p += *size;
        b->left -= *size;
        return;
    }
    end = b->left == 0 ? NULL : memchr(b->p, 0, b->left);
    if (end == NULL) {
        b->is_short = 1;
        *size = 0;
        return;
    }
    *size = (uint32_t)(end - b->p);
    b->left -= *size + 1;
    b->p += *size + 1;
}

/* Skips padding: bytes from 0xF0 on, whose low half says how many there are.
 */
static inline void take_padding(struct bytes *b)
{
    uint32_t n;

    while (b->left > 0 && *b->p >= 0xF0) {
        n = take(b, 1) & 0x0F;
        for (; n > 1; n--) {
            take(b, 1);
        }
    }
}
