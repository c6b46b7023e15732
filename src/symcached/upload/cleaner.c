/*
 * Copyright (C) the ngx_symcache authors
 */
#include "cleaner.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/task.h"
#include "config/config.h"
#include "metrics/metrics.h"
#include "retention.h"
#include "symcached/job/job.h"

#define FIRST_SECONDS 1

/* How often it is looked whether a pass is due, as a reload may change that. */
#define LOOK_SECONDS 10

struct cleaner {
    struct event_base *base;
    struct scheduler *scheduler;
    struct event *timer;
    struct task *task; /* a pass, or NULL */
    uint64_t passed;   /* when the last one ended, or 0 */
};

/* The thread's own. */
struct pass {
    struct cleaner *cleaner;
    struct config *config;
    struct retention_sum sum;
};

static void run(void *arg)
{
    struct pass *pass = arg;
    const struct uploads_config *uploads = &pass->config->uploads;
    struct retention_rules rules = {.max_unused_for = uploads->max_unused_for};
    char path[1100];

    retention_pass(uploads->root, &rules, &pass->sum);
    rules.max_age = uploads->try_max_age;
    snprintf(path, sizeof(path), "%.1024s/" UPLOADS_TRY, uploads->root);
    retention_pass(path, &rules, &pass->sum);
}

static void start_timer(struct cleaner *cleaner, unsigned seconds)
{
    struct timeval pause = {.tv_sec = (time_t)seconds};

    event_add(cleaner->timer, &pause);
}

static void look_later(struct cleaner *cleaner)
{
    unsigned every = scheduler_config(cleaner->scheduler)->cache.clean_every;

    start_timer(cleaner, every < LOOK_SECONDS ? every : LOOK_SECONDS);
}

static bool is_due(const struct cleaner *cleaner, const struct config *config)
{
    return config->uploads.root != NULL &&
           (cleaner->passed == 0 ||
            clock_since(cleaner->passed) / 1000 >= config->cache.clean_every);
}

static void on_done(void *arg, bool late)
{
    struct pass *pass = arg;
    struct cleaner *cleaner = pass->cleaner;

    cleaner->task = NULL;
    if (pass->sum.files > 0) {
        log_info(0, "clean uploads files=%" PRIu64 " bytes=%" PRIu64,
                 pass->sum.files, pass->sum.bytes);
        metrics_add(METRIC_UPLOADS_REMOVED, pass->sum.files);
    }
    cleaner->passed = clock_ms();
    look_later(cleaner);
}

static void on_drop(void *arg)
{
    struct pass *pass = arg;

    config_unref(pass->config);
    free(pass);
}

static void on_timer(evutil_socket_t fd, short events, void *arg)
{
    static const struct task_calls calls = {run, on_done, on_drop};
    struct cleaner *cleaner = arg;
    const struct config *config = scheduler_config(cleaner->scheduler);
    struct pass *pass = NULL;

    if (is_due(cleaner, config)) {
        pass = calloc(1, sizeof(*pass));
    }
    if (pass != NULL) {
        pass->cleaner = cleaner;
        pass->config = config_ref((struct config *)config);
        cleaner->task = task_start(cleaner->base, 0, &calls, pass);
    }
    if (cleaner->task == NULL) {
        look_later(cleaner);
    }
}

struct cleaner *cleaner_new(struct event_base *base,
                            struct scheduler *scheduler)
{
    struct cleaner *cleaner = calloc(1, sizeof(*cleaner));

    if (cleaner == NULL) {
        return NULL;
    }
    cleaner->base = base;
    cleaner->scheduler = scheduler;
    cleaner->timer = evtimer_new(base, on_timer, cleaner);
    if (cleaner->timer == NULL) {
        free(cleaner);
        return NULL;
    }
    start_timer(cleaner, FIRST_SECONDS);
    return cleaner;
}

void cleaner_free(struct cleaner *cleaner)
{
    if (cleaner == NULL) {
        return;
    }
    if (cleaner->task != NULL) {
        task_cancel(cleaner->task);
    }
    event_free(cleaner->timer);
    free(cleaner);
}
