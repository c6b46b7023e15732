/*
 * Copyright (C) the ngx_symcache authors
 *
 * Lines of the log that clients can cause as often as they like are written
 * once a minute, with how many there would have been.
 */
#pragma once

#include <stdint.h>

struct log_pause {
    uint64_t said; /* clock_ms(), or 0 */
    unsigned n;    /* since then */
};

/* Counts a line.  Returns 0 if it is not to be written, or how many there were
 * since the last one that was, this one included. */
unsigned log_pause_end(struct log_pause *pause);
