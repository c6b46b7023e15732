/*
 * Copyright (C) the ngx_symcache authors
 *
 * A clock for intervals.  Unlike the time of day it is never set back.
 */
#pragma once

#include <stdint.h>

/* Milliseconds since an arbitrary point in the past. */
uint64_t clock_ms(void);

/* Microseconds since the same point. */
uint64_t clock_usec(void);

/* Milliseconds since an earlier clock_ms(), at most UINT_MAX. */
unsigned clock_since(uint64_t start);
