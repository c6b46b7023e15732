/*
 * Copyright (C) the ngx_symcache authors
 *
 * Numbers as text, where printf() costs more than all else that is written.
 */
#ifndef BASE_DECIMAL_H
#define BASE_DECIMAL_H

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

#endif
