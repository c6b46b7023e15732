/*
 * Copyright (C) the ngx_symcache authors
 *
 * What most bytes of most strings are, for the reader as for the writer.
 */
#pragma once

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/*
 * json_marks(p): which of the JSON_PLAIN_STEP bytes at p need attention: a
 * quote, a backslash, a control character, DEL included, and all beyond ASCII.
 * The mark of byte i is one of the JSON_MARK_BITS bits from i * JSON_MARK_BITS
 * on.  A plain byte after one that needs attention may have a mark, too.
 */
#ifdef __SSE2__

#define JSON_PLAIN_STEP 16
#define JSON_MARK_BITS 1

static inline uint64_t json_marks(const unsigned char *p)
{
    __m128i x, y;

    x = _mm_loadu_si128((const __m128i *)p);
    /* bytes beyond ASCII are negative */
    y = _mm_cmplt_epi8(x, _mm_set1_epi8(0x20));
    y = _mm_or_si128(y, _mm_cmpeq_epi8(x, _mm_set1_epi8('"')));
    y = _mm_or_si128(y, _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
    y = _mm_or_si128(y, _mm_cmpeq_epi8(x, _mm_set1_epi8(0x7F)));
    return (unsigned)_mm_movemask_epi8(y);
}

#else

#define JSON_PLAIN_STEP 8
#define JSON_MARK_BITS 8

static inline uint64_t json_marks(const unsigned char *p)
{
    uint64_t x;
    const uint64_t ones = 0x0101010101010101, tops = ones << 7;

    memcpy(&x, p, 8);
    x = le64toh(x);
    /* the top bit of a byte that does; a borrow can set it of those after */
    return (((x ^ ones * '"') - ones) | ((x ^ ones * '\\') - ones) |
            ((x ^ ones * 0x7F) - ones) | (x - ones * 0x20) | x) &
           tops;
}

#endif

/* The place of the first mark; there is one. */
static inline size_t json_first(uint64_t marks)
{
    return (size_t)__builtin_ctzll(marks) / JSON_MARK_BITS;
}

/* How many of the JSON_PLAIN_STEP bytes at p, from the first on, need no
 * attention. */
static inline size_t json_plain(const unsigned char *p)
{
    uint64_t marks;

    marks = json_marks(p);
    return marks == 0 ? JSON_PLAIN_STEP : json_first(marks);
}
