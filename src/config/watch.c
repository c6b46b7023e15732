/*
 * Copyright (C) the ngx_symcache authors
 */
#include "watch.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/event.h"
#include "base/task.h"
#include "config.h"
#include "json_file.h"

#define LOOK_SECONDS 5
#define WHY_SIZE 512

struct config_watch {
    struct event_base *base;
    struct config *config;
    config_watch_fn fn;
    void *arg;
    struct event *timer;
    struct task *task;     /* a look, or NULL */
    char failed[WHY_SIZE]; /* the error of the last reload, or "" */
    unsigned failures;
    bool failed_seen;      /* a look has found the file that failed, ... */
    uint64_t failed_bytes; /* with these bytes */
    char found[WHY_SIZE];  /* by the last look */
    char told[WHY_SIZE];
};

struct watch_look {
    struct config_watch *watch;
    struct config *config;
    unsigned failures; /* of watch, when this began */
    uint64_t bytes;
    char why[WHY_SIZE];
};

/* Calls fn if there is news. */
static void tell_change(struct config_watch *watch)
{
    const char *why =
        watch->failed[0] != '\0' ? watch->failed : watch->found;

    if (strcmp(watch->told, why) != 0) {
        snprintf(watch->told, sizeof(watch->told), "%s", why);
        watch->fn(watch->arg, watch->told);
    }
}

static void look_run(void *arg)
{
    struct watch_look *look = arg;
    const struct config *config = look->config;
    struct config *other;

    look->bytes = json_file_look(config->file, config->fingerprint);
    if (look->bytes != config->fingerprint &&
        config_read(config->file, config->types, &other, look->why,
                    sizeof(look->why)) == 0) {
        config_unref(other);
        snprintf(look->why, sizeof(look->why),
                 "%s was changed and waits for a reload", config->file);
    }
}

/* An error of a reload is one of the file as it was then. */
static void watch_forget_failure(struct config_watch *watch,
                                 const struct watch_look *look)
{
    if (look->failures != watch->failures) {
        return;
    }
    if (!watch->failed_seen) {
        watch->failed_seen = true;
        watch->failed_bytes = look->bytes;
    } else if (look->bytes != watch->failed_bytes) {
        watch->failed[0] = '\0';
    }
}

static void look_done(void *arg, bool late)
{
    struct watch_look *look = arg;
    struct config_watch *watch = look->watch;

    watch->task = NULL;
    if (look->config == watch->config) { /* no reload since */
        memcpy(watch->found, look->why, sizeof(watch->found));
        watch_forget_failure(watch, look);
        tell_change(watch);
    }
}

static void look_drop(void *arg)
{
    struct watch_look *look = arg;

    config_unref(look->config);
    free(look);
}

static const struct task_calls look_calls = {look_run, look_done, look_drop};

static void look_start(struct config_watch *watch)
{
    struct watch_look *look =
        watch->task == NULL ? calloc(1, sizeof(*look)) : NULL;

    if (look != NULL) {
        look->watch = watch;
        look->config = config_ref(watch->config);
        look->failures = watch->failures;
        watch->task = task_start(watch->base, 0, &look_calls, look);
    }
}

static void on_timer(evutil_socket_t fd, short events, void *arg)
{
    look_start(arg);
}

struct config_watch *config_watch_new(struct event_base *base,
                                      struct config *config,
                                      config_watch_fn fn, void *arg)
{
    static const struct timeval every = {.tv_sec = LOOK_SECONDS};
    struct config_watch *watch = calloc(1, sizeof(*watch));

    if (watch == NULL) {
        return NULL;
    }
    watch->base = base;
    watch->config = config_ref(config);
    watch->fn = fn;
    watch->arg = arg;
    watch->timer = event_new(base, -1, EV_PERSIST, on_timer, watch);
    if (watch->timer == NULL || event_add(watch->timer, &every) != 0) {
        config_watch_free(watch);
        return NULL;
    }
    return watch;
}

void config_watch_reloaded(struct config_watch *watch, struct config *config,
                           const char *error)
{
    snprintf(watch->failed, sizeof(watch->failed), "%s",
             config == NULL ? error : "");
    if (config != NULL) {
        config_ref(config);
        config_unref(watch->config);
        watch->config = config;
        watch->found[0] = '\0';
    } else {
        watch->failures++;
        watch->failed_seen = false;
        look_start(watch);
    }
    tell_change(watch);
}

void config_watch_free(struct config_watch *watch)
{
    if (watch == NULL) {
        return;
    }
    task_cancel(watch->task);
    event_drop(watch->timer);
    config_unref(watch->config);
    free(watch);
}
