/*
 * Copyright (C) the ngx_symcache authors
 */
#include "breaker.h"

#define REPORTED_MS 600000

bool breaker_allows(struct breaker *breaker, uint64_t now)
{
    switch (breaker->state) {
    case BREAKER_OPEN:
        if (now < breaker->until) {
            return false;
        }
        breaker->state = BREAKER_HALF_OPEN;
        return true;
    case BREAKER_HALF_OPEN:
        return false;
    default:
        return true;
    }
}

static void breaker_open(struct breaker *breaker, uint64_t until)
{
    breaker->state = BREAKER_OPEN;
    breaker->until = until;
}

bool breaker_trip(struct breaker *breaker, uint64_t until)
{
    if (breaker->state != BREAKER_CLOSED) {
        return false;
    }
    breaker_open(breaker, until);
    return true;
}

static bool record_fault(struct breaker *breaker,
                         const struct breaker_limits *limits, uint64_t now)
{
    uint64_t pause = (uint64_t)limits->pause * 1000;

    if (breaker->failures == 0 ||
        now - breaker->since > (uint64_t)limits->window * 1000) {
        breaker->failures = 0;
        breaker->since = now;
    }
    breaker->failures++;

    if (breaker->state == BREAKER_HALF_OPEN) {
        breaker_open(breaker, now + pause);
        return true;
    }
    if (breaker->state == BREAKER_CLOSED && limits->failures > 0 &&
        breaker->failures >= limits->failures) {
        breaker_open(breaker, now + pause);
        return true;
    }
    return false;
}

bool breaker_end(struct breaker *breaker, const struct breaker_limits *limits,
                 enum breaker_end end, bool probe, uint64_t now)
{
    bool closed = breaker->state == BREAKER_CLOSED;

    switch (end) {
    case BREAKER_GOOD:
        breaker->state = BREAKER_CLOSED;
        breaker->failures = 0;
        return !closed;
    case BREAKER_FAULT:
        return record_fault(breaker, limits, now);
    default:
        if (probe && breaker->state == BREAKER_HALF_OPEN) {
            /* the pause is over at once, so that the next request decides */
            breaker_open(breaker, now);
            return true;
        }
        return false;
    }
}

bool breaker_trust(struct breaker *breaker, uint64_t now)
{
    if (breaker->state != BREAKER_HALF_OPEN) {
        return false;
    }
    breaker->state = BREAKER_CLOSED;
    breaker->since = now; /* all failures so far are within the window */
    return true;
}

enum breaker_state breaker_report(const struct breaker *breaker, uint64_t now)
{
    return breaker->state == BREAKER_OPEN &&
                   now >= breaker->until + REPORTED_MS
               ? BREAKER_CLOSED
               : breaker->state;
}

uint64_t breaker_left(const struct breaker *breaker, uint64_t now)
{
    return breaker->state == BREAKER_OPEN && breaker->until > now
               ? breaker->until - now
               : 0;
}
