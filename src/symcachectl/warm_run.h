/*
 * Copyright (C) the ngx_symcache authors
 *
 * Asks the helper for many modules at once, until each is known to be cached
 * or missing, or cannot be told.
 */
#ifndef SYMCACHECTL_WARM_RUN_H
#define SYMCACHECTL_WARM_RUN_H

#include "client.h"
#include "modules.h"

struct warm_run {
    struct client *client;
    const char *store;
    const char *version;
    unsigned concurrency;
    unsigned attempts; /* of a module that the helper cannot tell */
    struct modules *modules;
    void (*done)(void *arg, struct module *module); /* its outcome is known */
    /* it has a reason, and is asked again after so many seconds */
    void (*later)(void *arg, const struct module *module, unsigned seconds);
    /* at least five times a second */
    void (*progress)(void *arg, size_t running, size_t waiting);
    void *arg;
};

/*
 * Returns COMMAND_OK when every module has an outcome; COMMAND_INTERRUPTED
 * after SIGINT or SIGTERM, or another exit code after having said what is
 * wrong: then others were not asked.
 */
int warm_run_run(const struct warm_run *warm);

#endif
