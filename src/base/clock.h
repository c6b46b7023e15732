/*
 * Copyright (C) the ngx_symcache authors
 *
 * Time for intervals: never set back, not the time of day.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_ms(void);

/* Milliseconds since an earlier clock_ms(), as far as an unsigned goes. */
unsigned clock_since(uint64_t start);

#endif
