/*
 * Copyright (C) the ngx_symcache authors
 */
#include "config_reload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/stat_timeout.h"
#include "base/task.h"
#include "symcached/source/sources.h"

/* Long, because shares that hang are waited for one after the other. */
#define RELOAD_SECONDS 60

struct config_reload {
    char *file;
    config_reload_fn fn;
    void *arg;
    struct config *config; /* the result, or NULL and error */
    char error[1024];
};

static bool reload_is_silent(const char *path)
{
    mode_t mode;

    return stat_with_timeout(path, F_OK, &mode) != 0 && errno == ETIMEDOUT;
}

/* Returns a folder for the loop to work in whose disk hangs, or NULL. */
static const char *silent_root(const struct config *config)
{
    size_t i;

    if (reload_is_silent(config->downloads)) {
        return config->downloads;
    }
    for (i = 0; i < config->nstores; i++) {
        if (reload_is_silent(config->stores[i].root)) {
            return config->stores[i].root;
        }
    }
    return NULL;
}

static void reload_run(void *arg)
{
    struct config_reload *reload = arg;
    const char *silent;

    if (config_read(reload->file, source_types, &reload->config, reload->error,
                    sizeof(reload->error)) != 0) {
        reload->config = NULL;
        return;
    }

    silent = silent_root(reload->config);
    if (silent != NULL) {
        snprintf(reload->error, sizeof(reload->error),
                 "%s: the disk of \"%s\" does not answer", reload->file,
                 silent);
        config_unref(reload->config);
        reload->config = NULL;
    }
}

static void reload_done(void *arg, bool late)
{
    struct config_reload *reload = arg;
    struct config *config;
    char error[128];

    if (late) {
        snprintf(error, sizeof(error),
                 "the configuration cannot be read within %d s",
                 RELOAD_SECONDS);
        reload->fn(reload->arg, NULL, error);
        return;
    }
    config = reload->config;
    reload->config = NULL;
    reload->fn(reload->arg, config, reload->error);
}

static void reload_drop(void *arg)
{
    struct config_reload *reload = arg;

    config_unref(reload->config);
    free(reload->file);
    free(reload);
}

static const struct task_calls reload_calls = {reload_run, reload_done,
                                               reload_drop};

struct task *config_reload_start(struct event_base *base, const char *file,
                                 config_reload_fn fn, void *arg)
{
    struct config_reload *reload = calloc(1, sizeof(*reload));

    if (reload == NULL) {
        return NULL;
    }
    reload->fn = fn;
    reload->arg = arg;
    reload->file = strdup(file);
    if (reload->file == NULL) {
        reload_drop(reload);
        errno = ENOMEM;
        return NULL;
    }
    return task_start(base, RELOAD_SECONDS, &reload_calls, reload);
}
