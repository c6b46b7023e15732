/*
 * Copyright (C) the ngx_symcache authors
 */
#include "cleaner.h"

#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/task.h"
#include "config/config.h"
#include "metrics/metrics.h"
#include "symcached/index/index.h"
#include "removal.h"
#include "retention.h"
#include "sharing.h"
#include "symcached/job/job.h"

#define FIRST_SECONDS 1

/* How often the index is compared with all files, which takes longer than to
 * look how long they are kept. */
#define INDEX_SECONDS 86400

/* How often it is looked whether a pass is due, as a reload may change that. */
#define LOOK_SECONDS 10

struct cleaner {
    struct removals *removals;
    struct removing *removing; /* what the last pass has found, or NULL */
    struct event_base *base;
    struct scheduler *scheduler;
    struct event *timer;
    struct task *task; /* a pass, or NULL */
    uint64_t passed;   /* when the last one ended, or 0 */
    uint64_t indexed;  /* when the last one began that compared the index with
                          all files, or 0 */
};

/* The thread's own. */
struct pass {
    struct cleaner *cleaner;
    struct config *config;
    struct retention_sum sum;
    size_t ntry; /* of what was found, those before it are no try builds */
    bool indexes; /* see struct retention_rules */
};

/* Removal of the files that a pass has found, one after the other. */
struct removing {
    struct cleaner *cleaner; /* NULL: it is gone */
    unsigned max_unused_for;
    struct retention_sum sum;
    size_t ntry;
    size_t next;
    uint64_t files;
    uint64_t bytes;
};

static void run(void *arg)
{
    struct pass *pass = arg;
    const struct uploads_config *uploads = &pass->config->uploads;
    struct retention_rules rules = {.max_unused_for = uploads->max_unused_for,
                                    .indexes = pass->indexes};
    char path[1100];

    if (!index_is_whole(uploads->root)) {
        rules.indexes = true;
    }
    retention_pass(uploads->root, &rules, &pass->sum);
    pass->ntry = pass->sum.nfound;
    rules.max_age = uploads->try_max_age;
    snprintf(path, sizeof(path), "%.1024s/" UPLOADS_TRY, uploads->root);
    retention_pass(path, &rules, &pass->sum);
    if (rules.indexes) {
        index_set_whole(uploads->root);
    }
    index_clean(uploads->root, time(NULL));
    index_clean(path, time(NULL));
    artifacts_clean(uploads->root);
    artifacts_clean(path);
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

static void end_pass(struct cleaner *cleaner, uint64_t files, uint64_t bytes)
{
    if (files > 0) {
        log_info(0, "clean uploads files=%" PRIu64 " bytes=%" PRIu64, files,
                 bytes);
        metrics_add(METRIC_UPLOADS_REMOVED, files);
    }
    cleaner->passed = clock_ms();
    look_later(cleaner);
}

static void free_found(struct retention_sum *sum)
{
    while (sum->nfound > 0) {
        free(sum->found[--sum->nfound].path);
    }
    free(sum->found);
    sum->found = NULL;
}

static void remove_next(struct removing *removing);

static void on_removed(void *arg, int status, const char *text)
{
    struct removing *removing = arg;

    if (status == 200) {
        removing->files++;
        removing->bytes += removing->sum.found[removing->next].bytes;
    }
    removing->next++;
    if (status == 503) {
        removing->next = removing->sum.nfound; /* the next pass tries again */
    }
    remove_next(removing);
}

static void remove_next(struct removing *removing)
{
    struct cleaner *cleaner = removing->cleaner;
    const struct retention_found *found;
    struct removal_request request = {.is_old = true};
    char *path;

    if (cleaner == NULL || removing->next == removing->sum.nfound) {
        if (cleaner != NULL) {
            cleaner->removing = NULL;
            end_pass(cleaner, removing->files, removing->bytes);
        }
        free_found(&removing->sum);
        free(removing);
        return;
    }
    found = &removing->sum.found[removing->next];
    path = found->path;
    request.name = strsep(&path, "/");
    request.id = strsep(&path, "/");
    request.file = path;
    request.is_try = removing->next >= removing->ntry;
    request.unused_for = found->is_unused ? removing->max_unused_for : 0;
    removals_start(cleaner->removals, &request, on_removed, removing);
}

/* Returns false if there is nothing, or no memory. */
static bool remove_found(struct pass *pass)
{
    struct removing *removing =
        pass->sum.nfound > 0 ? calloc(1, sizeof(*removing)) : NULL;

    if (removing == NULL) {
        return false;
    }
    removing->cleaner = pass->cleaner;
    removing->max_unused_for = pass->config->uploads.max_unused_for;
    removing->sum = pass->sum;
    removing->ntry = pass->ntry;
    memset(&pass->sum, 0, sizeof(pass->sum));
    pass->cleaner->removing = removing;
    remove_next(removing);
    return true;
}

static void on_done(void *arg, bool late)
{
    struct pass *pass = arg;

    pass->cleaner->task = NULL;
    if (!remove_found(pass)) {
        end_pass(pass->cleaner, pass->sum.files, pass->sum.bytes);
    }
}

static void on_drop(void *arg)
{
    struct pass *pass = arg;

    free_found(&pass->sum);
    config_unref(pass->config);
    free(pass);
}

static struct pass *pass_new(struct cleaner *cleaner,
                             const struct config *config)
{
    struct pass *pass = calloc(1, sizeof(*pass));

    if (pass != NULL && sharing_is_wanted(config)) {
        pass->sum.found =
            calloc(RETENTION_FOUND_MAX, sizeof(pass->sum.found[0]));
        if (pass->sum.found == NULL) {
            free(pass);
            return NULL;
        }
    }
    if (pass != NULL) {
        pass->cleaner = cleaner;
        pass->config = config_ref((struct config *)config);
    }
    return pass;
}

static void on_timer(evutil_socket_t fd, short events, void *arg)
{
    static const struct task_calls calls = {run, on_done, on_drop};
    struct cleaner *cleaner = arg;
    const struct config *config = scheduler_config(cleaner->scheduler);
    struct pass *pass = NULL;

    if (is_due(cleaner, config)) {
        pass = pass_new(cleaner, config);
    }
    if (pass != NULL) {
        pass->indexes =
            cleaner->indexed == 0 ||
            clock_since(cleaner->indexed) / 1000 >= INDEX_SECONDS;
        if (pass->indexes) {
            cleaner->indexed = clock_ms();
        }
        cleaner->task = task_start(cleaner->base, 0, &calls, pass);
    }
    if (cleaner->task == NULL) {
        look_later(cleaner);
    }
}

struct cleaner *cleaner_new(struct event_base *base,
                            struct scheduler *scheduler,
                            struct removals *removals)
{
    struct cleaner *cleaner = calloc(1, sizeof(*cleaner));

    if (cleaner == NULL) {
        return NULL;
    }
    cleaner->base = base;
    cleaner->scheduler = scheduler;
    cleaner->removals = removals;
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
    if (cleaner->removing != NULL) {
        cleaner->removing->cleaner = NULL;
    }
    event_free(cleaner->timer);
    free(cleaner);
}
