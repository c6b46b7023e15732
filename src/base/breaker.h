/*
 * Copyright (C) the ngx_symcache authors
 *
 * A circuit breaker.  After a number of failures in a row within a window it
 * allows no requests for a pause, and then a single one, whose end decides
 * whether it closes or opens again.  The caller passes the time, in
 * milliseconds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum breaker_state {
    BREAKER_CLOSED,   /* every request is allowed */
    BREAKER_OPEN,     /* none is allowed until the pause is over */
    BREAKER_HALF_OPEN /* the request that decides is under way */
};

struct breaker_limits {
    unsigned failures; /* in a row; 0 = never opens */
    unsigned window;   /* seconds that may lie between the first and the last */
    unsigned pause;    /* seconds for which no request is allowed */
};

struct breaker {
    enum breaker_state state;
    unsigned failures;
    uint64_t since; /* time of the first of the failures */
    uint64_t until; /* end of the pause */
};

enum breaker_end {
    BREAKER_GOOD,
    BREAKER_FAULT,
    BREAKER_NOTHING /* the request ended without showing either */
};

/*
 * Returns whether one more request may be made now.  If it is the one that
 * decides, the state becomes BREAKER_HALF_OPEN, and the caller must pass
 * probe = true to breaker_end() for it.
 */
bool breaker_allows(struct breaker *breaker, uint64_t now);

/* To be called when a request ends.  Returns true if the state changed. */
bool breaker_end(struct breaker *breaker, const struct breaker_limits *limits,
                 enum breaker_end end, bool probe, uint64_t now);

/*
 * The request that decides has begun well: the others are allowed before its
 * end, which may be far.  The next failure opens the breaker again.  Returns
 * true if the state changed.
 */
bool breaker_trust(struct breaker *breaker, uint64_t now);

/* Opens a closed breaker until a time.  Returns true if the state changed. */
bool breaker_trip(struct breaker *breaker, uint64_t until);

/*
 * The state to report: one whose pause ended ten minutes ago, and that was not
 * asked since, is not known to be at fault any more.
 */
enum breaker_state breaker_report(const struct breaker *breaker, uint64_t now);

/* Returns the milliseconds until the pause is over, or 0 if there is none. */
uint64_t breaker_left(const struct breaker *breaker, uint64_t now);
