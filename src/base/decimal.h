/*
 * Copyright (C) the ngx_symcache authors
 *
 * Decimal numbers as text: printf() costs more than all else that is written,
 * and strtoull() takes blanks and signs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DECIMAL_MAX 20 /* digits of a number */

/* Writes the digits of a number so that they end before end, DECIMAL_MAX at
 * most, and returns where they begin. */
static inline char *decimal_before(char *end, uint64_t number)
{
    do {
        *--end = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    return end;
}

/* Reads a number of decimal digits alone.  Returns false if there are none, or
 * it has more than 64 bits. */
static inline bool decimal_number(const char *p, size_t size, uint64_t *number)
{
    uint64_t n = 0;
    const char *end = p + size;

    for (; p < end; p++) {
        if (*p < '0' || *p > '9' ||
            __builtin_mul_overflow(n, (uint64_t)10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n)) {
            return false;
        }
    }
    *number = n;
    return size > 0;
}
