/*
 * Copyright (C) the ngx_symcache authors
 *
 * Tells symcached now and then that this daemon is there, for its status.
 */
#pragma once

#include "settings.h"
#include "worker_thread.h"

struct event_base;

struct status_reporter;

/*
 * Reports what the workers have done, at once and from then on.  Call it
 * before the process locks itself in.  The workers must outlive it; they are
 * read when the loop runs.  NULL without memory.
 */
struct status_reporter *status_reporter_new(struct event_base *base,
                                            const struct workers *workers,
                                            struct settings *settings);

/* Reports at once, to the symcached of these settings from now on. */
void status_reporter_configure(struct status_reporter *status_reporter,
                               struct settings *settings);

void status_reporter_free(
    struct status_reporter *status_reporter); /* NULL is allowed */
