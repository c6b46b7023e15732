/*
 * Copyright (C) the ngx_symcache authors
 *
 * What most bytes of most strings are, for the reader as for the writer.
 */
#ifndef JSON_PLAIN_H
#define JSON_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Whether none of the eight bytes at p needs attention: no quote, backslash
 * or control character, and nothing beyond ASCII.  (DEL is plain.) */
static inline bool json_is_plain(const unsigned char *p)
{
    uint64_t x;
    const uint64_t ones = 0x0101010101010101, tops = ones << 7;

    memcpy(&x, p, 8);
    return ((((x ^ ones * '"') - ones) | ((x ^ ones * '\\') - ones) |
             (x - ones * 0x20) | x) &
            tops) == 0;
}

#endif
