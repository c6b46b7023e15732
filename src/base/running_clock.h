/*
 * Copyright (C) the ngx_symcache authors
 *
 * A clock that stands still while this process is paused, for limits on
 * clients and on other processes.
 *
 * SIGSTOP, the freezer of a cgroup and the suspension of a machine pause all
 * that we wait for, or keep us from reading what came meanwhile.  The kernel
 * then ends the wait of the loop without reporting input, so timers run before
 * that is read.  A limit that counted the pause would end what was in time.
 *
 * The rule: whoever has a limit looks at its clock every second, and between
 * two looks at most RUNNING_CLOCK_MOST_MS pass.  So a pause counts for as long,
 * however many there are, and a loop that is always late has limits, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/time.h>

#define RUNNING_CLOCK_LOOK_MS 1000
#define RUNNING_CLOCK_MOST_MS 2000

/* All zero at first. */
struct running_clock {
    uint64_t looked; /* clock_ms() */
    uint64_t ms;
};

/* A look: milliseconds since an arbitrary point in the past, never 0. */
uint64_t running_clock_ms(struct running_clock *clock);

/* Returns false when a time of this clock has come; or how long to wait until
 * the next look at it. */
bool running_clock_wait(struct running_clock *clock, uint64_t due,
                        struct timeval *wait);
