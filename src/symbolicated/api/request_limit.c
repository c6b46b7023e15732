/*
 * Copyright (C) the ngx_symcache authors
 */
#include "request_limit.h"

static atomic_size_t bodies; /* bytes */

bool request_limit_begin(request_count *count, unsigned most, size_t size,
                         size_t most_size)
{
    size_t others = atomic_fetch_add(&bodies, size);

    if (atomic_fetch_add(count, 1) < most &&
        (others == 0 || (size <= most_size && others <= most_size - size))) {
        return true;
    }
    request_limit_end(count, size);
    return false;
}

void request_limit_end(request_count *count, size_t size)
{
    atomic_fetch_sub(count, 1);
    atomic_fetch_sub(&bodies, size);
}
