/*
 * Copyright (C) the ngx_symcache authors
 */
#include "space_monitor.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/event.h"
#include "disk_space.h"

#define MONITOR_MS 250
#define MONITOR_PAUSE_MS 3000 /* pause before another monitor is told */

struct space_monitor {
    struct event *timer;
    struct cache_config cache;
    space_monitor_fn low;
    void *arg;
    char path[];
};

static uint64_t
    monitor_told; /* clock_ms() when a monitor was told last, or 0 */

static void space_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct space_monitor *monitor = arg;

    if (disk_space_left(monitor->path, &monitor->cache) > 0 ||
        (monitor_told != 0 && clock_since(monitor_told) < MONITOR_PAUSE_MS)) {
        return;
    }
    monitor_told = clock_ms();
    evtimer_del(monitor->timer);
    monitor->low(monitor->arg);
}

struct space_monitor *space_monitor_start(struct event_base *base,
                                          const char *path,
                                          const struct cache_config *cache,
                                          space_monitor_fn low, void *arg)
{
    size_t size = strlen(path) + 1;
    struct space_monitor *monitor = calloc(1, sizeof(*monitor) + size);
    struct timeval every = {MONITOR_MS / 1000, MONITOR_MS % 1000 * 1000};

    if (monitor == NULL) {
        return NULL;
    }
    memcpy(monitor->path, path, size);
    monitor->cache = *cache;
    monitor->low = low;
    monitor->arg = arg;
    monitor->timer = event_new(base, -1, EV_PERSIST, space_on_timer, monitor);
    if (monitor->timer == NULL || event_add(monitor->timer, &every) != 0) {
        space_monitor_stop(monitor);
        return NULL;
    }
    return monitor;
}

void space_monitor_stop(struct space_monitor *monitor)
{
    if (monitor != NULL) {
        event_drop(monitor->timer);
        free(monitor);
    }
}
