/*
 * Copyright (C) the ngx_symcache authors
 *
 * A thread with an event loop, which answers requests from their first byte to
 * the last.  Workers share the listening socket and the modules.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "symbolicated/files/files.h"
#include "settings.h"
#include "stats.h"

struct worker;

/* All workers of the process, and what they share. */
struct workers {
    struct worker **list;
    unsigned n;
    int listener;
    time_t started;
    struct mapped_modules *mapped;
    atomic_bool config_stale; /* the configuration in use is not the file's */
};

/* spawner: starts processes that read bodies, or -1.  NULL without memory or
 * descriptors. */
struct worker *worker_new(struct workers *workers, int spawner,
                          struct settings *settings);

/* Its thread begins; all are in the list.  Returns 0, or an errno. */
int worker_start(struct worker *worker);

/* From the next request on.  For the main thread, as all below. */
void worker_configure(struct worker *worker, struct settings *settings);

/* Accepts nothing more, answers what it has, and ends, within seconds. */
void worker_stop(struct worker *worker);

/* Waits for its end.  NULL is allowed, as below. */
void worker_join(struct worker *worker);

/* When all have ended: any of them may read what another one has counted. */
void worker_free(struct worker *worker);

/* Whether its loop has turned in the last so many milliseconds.  It turns when
 * this is asked, and else every few seconds. */
bool worker_is_alive(const struct worker *worker, unsigned ms);

/* What it has counted, for any thread. */
const struct stats *worker_stats(const struct worker *worker);
