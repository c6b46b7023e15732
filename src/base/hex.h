/*
 * Copyright (C) the ngx_symcache authors
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The value of a hexadecimal digit, or -1. */
static inline int hex_digit(char c)
{
    /* one more than it */
    static const signed char digits[256] = {
        ['0'] = 1, 2,  3,  4,  5,  6,          7,  8,  9,  10, ['A'] = 11,
        12,        13, 14, 15, 16, ['a'] = 11, 12, 13, 14, 15, 16};

    return digits[(unsigned char)c] - 1;
}

#define HEX_LOWER "0123456789abcdef"
#define HEX_UPPER "0123456789ABCDEF"

/* Writes two of these digits for each byte, and a NUL.  Returns its place. */
static inline char *hex_print(char *to, const void *bytes, size_t size,
                              const char *digits)
{
    const unsigned char *p = bytes, *end = p + size;

    for (; p < end; p++) {
        *to++ = digits[*p >> 4];
        *to++ = digits[*p & 15];
    }
    *to = '\0';
    return to;
}

/* Reads a text of two digits for each byte.  Returns false if it is another.
 */
static inline bool hex_bytes(const char *text, uint8_t *bytes, size_t size)
{
    int high, low;

    for (; size > 0; size--, text += 2) {
        high = hex_digit(text[0]);
        low = high >= 0 ? hex_digit(text[1]) : -1;
        if (low < 0) {
            return false;
        }
        *bytes++ = (uint8_t)(high << 4 | low);
    }
    return *text == '\0';
}

/* Reads a number of hexadecimal digits alone.  Returns false if there are none,
 * or it has more than 64 bits. */
static inline bool hex_number(const char *p, size_t size, uint64_t *number)
{
    const char *end = p + size;
    uint64_t n = 0;
    int digit, all = 0;

    while (end - p > 16 && *p == '0') {
        p++;
    }
    if (size == 0 || end - p > 16) {
        return false;
    }
    for (; p < end; p++) {
        digit = hex_digit(*p);
        all |= digit; /* negative, if one is none */
        n = n << 4 | (uint64_t)digit;
    }
    *number = n;
    return all >= 0;
}
