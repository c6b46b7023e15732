/*
 * Copyright (C) the ngx_symcache authors
 */
#ifndef BASE_HEX_H
#define BASE_HEX_H

/* The value of a hexadecimal digit, or -1. */
static inline int hex_digit(char c)
{
    /* one more than it */
    static const signed char digits[256] = {
        ['0'] = 1, 2,  3,  4,  5,  6,          7,  8,  9,  10, ['A'] = 11,
        12,        13, 14, 15, 16, ['a'] = 11, 12, 13, 14, 15, 16};

    return digits[(unsigned char)c] - 1;
}

#endif
