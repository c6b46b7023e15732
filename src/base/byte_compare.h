/*
 * Copyright (C) the ngx_symcache authors
 *
 * The order of texts by their bytes, in which a text is behind its own
 * beginnings.
 */
#pragma once

#include <stddef.h>
#include <string.h>

/* Returns a number below, equal to or above 0.  The pointer of an empty text
 * may be NULL. */
static inline int byte_compare(const void *a, size_t a_size, const void *b,
                               size_t b_size)
{
    size_t n = a_size < b_size ? a_size : b_size;
    int order = n > 0 ? memcmp(a, b, n) : 0;

    return order != 0 ? order : (a_size > b_size) - (a_size < b_size);
}
