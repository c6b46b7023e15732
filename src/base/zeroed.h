/*
 * Copyright (C) the ngx_symcache authors
 *
 * Zeroed memory of small structures that live as long as a request.  calloc()
 * of glibc before 2.41 does not look at what the thread has freed before,
 * which malloc() does, and takes ten times as long.
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Bytes; glibc keeps no larger blocks in the thread. */
#define ZEROED_SMALL 1032

/* As calloc(). */
static inline void *zeroed_alloc(size_t count, size_t size)
{
    size_t bytes;
    void *p;

    if (__builtin_mul_overflow(count, size, &bytes) || bytes > ZEROED_SMALL) {
        return calloc(count, size);
    }
    p = malloc(bytes);
    /* compilers make calloc() of malloc() and memset() otherwise */
    __asm__("" : "+r"(p));
    if (p != NULL) {
        memset(p, 0, bytes);
    }
    return p;
}
