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

/*
 * How many of the eight bytes at p, from the first on, need no attention: no
 * quote, backslash or control character, DEL included, and nothing beyond
 * ASCII.
 */
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
    return x == 0 ? 8 : (size_t)__builtin_ctzll(x) / 8;
}

#endif
