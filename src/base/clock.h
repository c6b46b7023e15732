/*
 * Copyright (C) the ngx_symcache authors
 *
 * A clock for intervals.  Unlike the time of day it is never set back.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Milliseconds since an arbitrary point in the past. */
uint64_t clock_ms(void);

/* Microseconds since the same point. */
uint64_t clock_usec(void);

/* Milliseconds since an earlier clock_ms(), at most UINT_MAX. */
unsigned clock_since(uint64_t start);

/* Tells whether a timer for every second comes late, as after a stop of the
 * process.  The kernel ends a wait without telling what came meanwhile, so
 * timers come before it: nobody is to be called late by such a one.  *last is
 * the timer's; two in a row are never late. */
bool clock_tick_is_late(uint64_t *last);

#endif
