/*
 * Copyright (C) the ngx_symcache authors
 *
 * The processes that run a sweep: the helper's child, and the command.
 */
#ifndef SYMCACHED_SWEEP_MAIN_H
#define SYMCACHED_SWEEP_MAIN_H

#include "child.h"
#include "config.h"

struct event_base;

enum sweep_scope {
    SWEEP_WORK, /* only what killed processes left in .tmp */
    SWEEP_ALL
};

/*
 * Starts "symcached --sweep" for a configuration, at low priority; so many
 * bytes more than min_free shall be free on a device.  It writes its report, a
 * JSON object, to the descriptor `report`, which stays the caller's, and exits
 * with 0.  Returns NULL with errno.
 */
struct child *sweep_start(struct event_base *base, const struct config *config,
                          enum sweep_scope scope, dev_t device, uint64_t room,
                          int report, child_done_fn done, void *arg);

/* The child: main() of "symcached --sweep ...". */
int sweep_main(int argc, char **argv);

/* The command: main() of "symcached --clean [--dry-run] [--json] [-c FILE]".
 */
int sweep_command(int argc, char **argv, const char *default_config);

#endif
