/*
 * Copyright (C) the ngx_symcache authors
 */
#include "clock.h"

#include <limits.h>
#include <time.h>

#define LATE_MS 3000

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

bool clock_tick_is_late(uint64_t *last)
{
    uint64_t now = clock_ms();
    bool is_late = *last != 0 && now - *last > LATE_MS;

    *last = is_late ? 0 : now;
    return is_late;
}
