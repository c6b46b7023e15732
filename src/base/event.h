/*
 * Copyright (C) the ngx_symcache authors
 *
 * What libevent leaves to its callers.
 */
#pragma once

#include <event2/event.h>

/* event_free(), which NULL crashes. */
static inline void event_drop(struct event *event)
{
    if (event != NULL) {
        event_free(event);
    }
}
