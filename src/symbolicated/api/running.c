/*
 * Copyright (C) the ngx_symcache authors
 */
#include "running.h"

static atomic_size_t bodies; /* bytes */

bool running_begin(running_count *count, unsigned most, size_t size,
                   size_t most_size)
{
    size_t others = atomic_fetch_add(&bodies, size);

    if (atomic_fetch_add(count, 1) < most &&
        (others == 0 || (size <= most_size && others <= most_size - size))) {
        return true;
    }
    running_end(count, size);
    return false;
}

void running_end(running_count *count, size_t size)
{
    atomic_fetch_sub(count, 1);
    atomic_fetch_sub(&bodies, size);
}
