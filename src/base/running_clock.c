/*
 * Copyright (C) the ngx_symcache authors
 */
#include "running_clock.h"

#include <sys/param.h>
#include "clock.h"

uint64_t running_clock_ms(struct running_clock *clock)
{
    uint64_t now = clock_ms();

    if (clock->looked == 0) {
        clock->ms = now;
    } else {
        clock->ms += MIN(now - clock->looked, RUNNING_CLOCK_MOST_MS);
    }
    clock->looked = now;
    return clock->ms;
}

bool running_clock_wait(struct running_clock *clock, uint64_t due,
                        struct timeval *wait)
{
    uint64_t now = running_clock_ms(clock), ms;

    if (now >= due) {
        return false;
    }
    ms = MIN(due - now, RUNNING_CLOCK_LOOK_MS);
    wait->tv_sec = (time_t)(ms / 1000);
    wait->tv_usec = (suseconds_t)(ms % 1000 * 1000);
    return true;
}
