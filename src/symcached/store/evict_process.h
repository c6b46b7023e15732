/*
 * Copyright (C) the ngx_symcache authors
 *
 * The child process of the helper that runs a pass of cleaning.
 */
#pragma once

#include "child/child.h"
#include "config/config.h"
#include "symcached/space/space.h"

struct event_base;

enum evict_pass_scope {
    EVICT_WORK, /* only what killed processes left in .tmp */
    EVICT_ALL
};

/* Facts about the helper for a pass. */
struct evict_life {
    uint64_t run;   /* a number that identifies it, not 0 */
    uint64_t began; /* clock_ms() */
    uint64_t noted; /* clock_ms() of its last pass, or of its start */
};

/*
 * Starts "symcached --evict" for a configuration, at low priority.  0 bytes
 * mean that there is no request.  The child process writes its report, a JSON
 * object, to the descriptor `report`, which the caller keeps, and exits with
 * 0.  Returns NULL with errno on failure.
 */
struct child *evict_pass_start(struct event_base *base,
                               const struct config *config,
                               enum evict_pass_scope scope,
                               const struct space_request *request,
                               const struct evict_life *life, int report,
                               child_done_fn done, void *arg);

/* The child: main() of "symcached --evict ...". */
int evict_pass_main(int argc, char **argv);
