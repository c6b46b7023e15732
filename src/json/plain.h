/*
 * Copyright (C) the ngx_symcache authors
 *
 * What most bytes of most strings are, for the reader as for the writer.
 */
#ifndef JSON_PLAIN_H
#define JSON_PLAIN_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/*
 * json_plain(p): how many of the JSON_PLAIN_STEP bytes at p, from the first
 * on, need no attention: no quote, backslash or control character, DEL
 * included, and nothing beyond ASCII.
 */
#ifdef __SSE2__

#define JSON_PLAIN_STEP 16

static inline size_t json_plain(const unsigned char *p)
{
    int found;
    __m128i x, y;

    x = _mm_loadu_si128((const __m128i *)p);
    /* bytes beyond ASCII are negative */
    y = _mm_cmplt_epi8(x, _mm_set1_epi8(0x20));
    y = _mm_or_si128(y, _mm_cmpeq_epi8(x, _mm_set1_epi8('"')));
    y = _mm_or_si128(y, _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
    y = _mm_or_si128(y, _mm_cmpeq_epi8(x, _mm_set1_epi8(0x7F)));
    found = _mm_movemask_epi8(y);
    return found == 0 ? JSON_PLAIN_STEP
                      : (size_t)__builtin_ctz((unsigned)found);
}

#else

#define JSON_PLAIN_STEP 8

static inline size_t json_plain(const unsigned char *p)
{
    uint64_t x;
    const uint64_t ones = 0x0101010101010101, tops = ones << 7;

    memcpy(&x, p, 8);
    x = le64toh(x);
    /* the top bit of a byte that does; a borrow can set it of those behind */
    x = (((x ^ ones * '"') - ones) | ((x ^ ones * '\\') - ones) |
         ((x ^ ones * 0x7F) - ones) | (x - ones * 0x20) | x) &
        tops;
    return x == 0 ? JSON_PLAIN_STEP : (size_t)__builtin_ctzll(x) / 8;
}

#endif

#endif
