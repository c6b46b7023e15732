/*
 * Copyright (C) the ngx_symcache authors
 *
 * Asks the helper for many modules at a time, until each of them is cached,
 * missing, or cannot be told.
 */
#pragma once

#include "client.h"
#include "warm_modules.h"

struct warm_run {
    struct client *client;
    const char *store;
    symcache_kind_e kind; /* of the files that are asked for */
    const char *version;
    unsigned concurrency;
    unsigned attempts; /* for a module about which the helper cannot tell */
    struct warm_modules *modules;
    void (*done)(void *arg,
                 struct warm_module *module); /* the outcome is known */
    /* The module has a reason, and is asked for again after so many
     * seconds. */
    void (*later)(void *arg, const struct warm_module *module,
                  unsigned seconds);
    /* Is called at least five times a second. */
    void (*progress)(void *arg, size_t running, size_t waiting);
    void *arg;
};

/*
 * Returns COMMAND_OK when the outcome of every module is known.  Returns
 * COMMAND_INTERRUPTED after SIGINT or SIGTERM, or another exit code after
 * printing what is wrong; then some modules were not asked for.
 */
int warm_run_run(const struct warm_run *warm);
