/*
 * Copyright (C) the ngx_symcache authors
 */
#include "clock.h"

#include <limits.h>
#include <time.h>

uint64_t clock_usec(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t clock_ms(void)
{
    return clock_usec() / 1000;
}

unsigned clock_since(uint64_t start)
{
    uint64_t ms = clock_ms() - start;

    return ms > UINT_MAX ? UINT_MAX : (unsigned)ms;
}
