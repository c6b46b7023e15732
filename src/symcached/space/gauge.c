/*
 * Copyright (C) the ngx_symcache authors
 */
#include "gauge.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "space.h"

#define GAUGE_MS 250
#define GAUGE_PAUSE_MS 3000 /* pause before another gauge is told */

struct gauge {
    struct event *timer;
    struct cache_config cache;
    gauge_fn low;
    void *arg;
    char path[];
};

static uint64_t gauge_told; /* clock_ms() when a gauge was told last, or 0 */

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct gauge *gauge = arg;

    (void)fd;
    (void)what;

    if (disk_space_left(gauge->path, &gauge->cache) > 0 ||
        (gauge_told != 0 && clock_since(gauge_told) < GAUGE_PAUSE_MS)) {
        return;
    }
    gauge_told = clock_ms();
    evtimer_del(gauge->timer);
    gauge->low(gauge->arg);
}

struct gauge *gauge_start(struct event_base *base, const char *path,
                          const struct cache_config *cache, gauge_fn low,
                          void *arg)
{
    size_t size = strlen(path) + 1;
    struct gauge *gauge = calloc(1, sizeof(*gauge) + size);
    struct timeval every = {GAUGE_MS / 1000, GAUGE_MS % 1000 * 1000};

    if (gauge == NULL) {
        return NULL;
    }
    memcpy(gauge->path, path, size);
    gauge->cache = *cache;
    gauge->low = low;
    gauge->arg = arg;
    gauge->timer = event_new(base, -1, EV_PERSIST, on_timer, gauge);
    if (gauge->timer == NULL || event_add(gauge->timer, &every) != 0) {
        gauge_stop(gauge);
        return NULL;
    }
    return gauge;
}

void gauge_stop(struct gauge *gauge)
{
    if (gauge != NULL) {
        if (gauge->timer != NULL) {
            event_free(gauge->timer);
        }
        free(gauge);
    }
}
