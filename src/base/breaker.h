/*
 * Copyright (C) the ngx_symcache authors
 *
 * Leaves alone what fails again and again: after a number of failures in a
 * row within a window it is not asked for a pause, then by one request, whose
 * end decides.  Time comes from outside.
 */
#ifndef BASE_BREAKER_H
#define BASE_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

enum breaker_state {
    BREAKER_CLOSED,   /* asked as ever */
    BREAKER_OPEN,     /* not asked until a time */
    BREAKER_HALF_OPEN /* one request is out */
};

struct breaker_limits {
    unsigned failures; /* in a row; 0 = never opens */
    unsigned window;   /* seconds from the first to the last of them */
    unsigned pause;    /* seconds */
};

struct breaker {
    enum breaker_state state;
    unsigned failures;
    uint64_t since; /* milliseconds: the first of the failures */
    uint64_t until; /* the end of the pause */
};

enum breaker_end {
    BREAKER_GOOD,
    BREAKER_FAULT,
    BREAKER_NOTHING /* the request ended without telling */
};

/*
 * May one more request be made now?  If it is the one that decides, the state
 * changes to half open, and it must be ended with probe set.
 */
bool breaker_allows(struct breaker *breaker, uint64_t now);

/* A request ended.  Returns true if the state changed. */
bool breaker_end(struct breaker *breaker, const struct breaker_limits *limits,
                 enum breaker_end end, bool probe, uint64_t now);

/* Milliseconds until it may be asked, or 0. */
uint64_t breaker_left(const struct breaker *breaker, uint64_t now);

#endif
