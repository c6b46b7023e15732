/*
 * Copyright (C) the ngx_symcache authors
 */
#include "cleaning.h"

#include <errno.h>
#include <event2/event.h>
#include <event2/util.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd_close.h"
#include "base/log.h"
#include "metrics/metrics.h"
#include "symcached/store/store.h"

#define REPORT_MAX 65536

struct dirty {
    TAILQ_ENTRY(dirty) next;
    struct config *config; /* reference */
    struct space_request wanted; /* 0 bytes: none */
};

struct cleaning {
    struct event_base *base;
    struct event *start; /* the next pass */
    TAILQ_HEAD(, dirty) queue;
    struct dirty *running; /* the first, while its pass runs; or NULL */
    struct child *child;
    int report;
    struct evict_life life;
};

static void drop_store(struct cleaning *cleaning, struct dirty *dirty)
{
    TAILQ_REMOVE(&cleaning->queue, dirty, next);
    config_unref(dirty->config);
    free(dirty);
}

static void clean_next(struct cleaning *cleaning)
{
    if (cleaning->running == NULL && !TAILQ_EMPTY(&cleaning->queue)) {
        event_active(cleaning->start, 0, 0);
    }
}

/* The bytes that a pass has left, or -1 without a report. */
static double bytes_left(int fd)
{
    char *text = malloc(REPORT_MAX);
    ssize_t n = text != NULL ? pread(fd, text, REPORT_MAX, 0) : -1;
    cJSON *report = n > 0 ? cJSON_ParseWithLength(text, (size_t)n) : NULL;
    const cJSON *tree, *bytes;
    double sum = report != NULL ? 0 : -1;

    cJSON_ArrayForEach(tree, cJSON_GetObjectItem(report, "trees"))
    {
        bytes = cJSON_GetObjectItem(tree, "bytes");
        sum += cJSON_IsNumber(bytes) ? bytes->valuedouble : 0;
    }
    cJSON_Delete(report);
    free(text);
    return sum;
}

static void end_cleaning(struct cleaning *cleaning)
{
    struct dirty *dirty = cleaning->running;

    close(cleaning->report);
    cleaning->report = -1;
    cleaning->child = NULL;
    cleaning->running = NULL;
    drop_store(cleaning, dirty);
    clean_next(cleaning);
}

static void cleaning_on_passed(void *arg, struct child_result *result)
{
    struct cleaning *cleaning = arg;
    const struct config *config = cleaning->running->config;
    double left = WIFEXITED(result->status) && WEXITSTATUS(result->status) == 0
                      ? bytes_left(cleaning->report)
                      : -1;
    char end[CHILD_END_SIZE];

    if (left >= 0) {
        metrics_add(METRIC_CLEAN_PASSES, 1);
        total_stored(&config->cache, (uint64_t)left);
    } else {
        metrics_add(METRIC_CLEAN_PASSES_FAILED, 1);
        child_end_print(end, result);
        log_error(result->error,
                  "clean: the pass of store \"%s\" ended with %s%s%s",
                  config->stores[0].name, end,
                  result->tail_len > 0 ? ": " : "", result->tail);
    }
    end_cleaning(cleaning);
}

/* Stores before this one may have made the room. */
static bool is_needed(const struct dirty *dirty)
{
    const struct config *config = dirty->config;

    return dirty->wanted.bytes == 0 ||
           disk_space_left(config->stores[0].root, &config->cache) <
               dirty->wanted.bytes;
}

static void on_start(evutil_socket_t fd, short what, void *arg)
{
    struct cleaning *cleaning = arg;
    struct dirty *dirty;

    while ((dirty = TAILQ_FIRST(&cleaning->queue)) != NULL &&
           cleaning->running == NULL && !is_needed(dirty)) {
        drop_store(cleaning, dirty);
    }
    if (dirty == NULL || cleaning->running != NULL) {
        return;
    }
    cleaning->running = dirty;
    cleaning->report = memfd_create("evict", MFD_CLOEXEC);
    if (cleaning->report != -1) {
        cleaning->child = evict_pass_start(
            cleaning->base, dirty->config, EVICT_ALL, &dirty->wanted,
            &cleaning->life, cleaning->report, cleaning_on_passed, cleaning);
    }
    if (cleaning->child == NULL) {
        metrics_add(METRIC_CLEAN_PASSES_FAILED, 1);
        log_crit(errno, "clean: no process");
        end_cleaning(cleaning);
    }
}

struct cleaning *cleaning_new(struct event_base *base)
{
    struct cleaning *cleaning = calloc(1, sizeof(*cleaning));

    if (cleaning == NULL) {
        return NULL;
    }
    TAILQ_INIT(&cleaning->queue);
    cleaning->base = base;
    cleaning->report = -1;
    evutil_secure_rng_get_bytes(&cleaning->life.run,
                                sizeof(cleaning->life.run));
    cleaning->life.run |= 1; /* 0 means that there is no helper */
    cleaning->life.began = cleaning->life.noted = clock_ms();
    cleaning->start = event_new(base, -1, 0, on_start, cleaning);
    if (cleaning->start == NULL) {
        free(cleaning);
        return NULL;
    }
    return cleaning;
}

void cleaning_free(struct cleaning *cleaning)
{
    if (cleaning == NULL) {
        return;
    }
    child_cancel(cleaning->child);
    fd_close(cleaning->report);
    while (!TAILQ_EMPTY(&cleaning->queue)) {
        drop_store(cleaning, TAILQ_FIRST(&cleaning->queue));
    }
    event_free(cleaning->start);
    free(cleaning);
}

static struct dirty *cleaning_find_store(const struct cleaning *cleaning,
                                         const struct config *config)
{
    struct dirty *dirty;

    TAILQ_FOREACH(dirty, &cleaning->queue, next)
    {
        if (dirty->config == config && dirty != cleaning->running) {
            break;
        }
    }
    return dirty;
}

static struct dirty *add_store(struct cleaning *cleaning,
                               struct config *config)
{
    struct dirty *dirty = cleaning_find_store(cleaning, config);

    if (dirty == NULL && (dirty = calloc(1, sizeof(*dirty))) != NULL) {
        dirty->config = config_ref(config);
        TAILQ_INSERT_TAIL(&cleaning->queue, dirty, next);
        clean_next(cleaning);
    }
    return dirty;
}

void cleaning_add(struct cleaning *cleaning, struct config *config)
{
    struct dirty *dirty = add_store(cleaning, config);

    if (dirty != NULL) { /* whether there is room or not */
        memset(&dirty->wanted, 0, sizeof(dirty->wanted));
    }
}

void cleaning_drop(struct cleaning *cleaning, const struct config *config)
{
    struct dirty *dirty = cleaning_find_store(cleaning, config);

    if (dirty != NULL) {
        drop_store(cleaning, dirty);
    }
    if (cleaning->running != NULL && cleaning->running->config == config) {
        child_cancel(cleaning->child);
        end_cleaning(cleaning);
    }
}

void cleaning_make_space(struct cleaning *cleaning, struct config *config,
                        const struct space_request *request)
{
    bool is_new = cleaning_find_store(cleaning, config) == NULL;
    struct dirty *dirty = add_store(cleaning, config);

    if (dirty != NULL && (is_new || dirty->wanted.bytes > 0)) {
        dirty->wanted = *request;
        dirty->wanted.bytes += request->bytes / 2; /* what is made of it */
        dirty->wanted.is_elsewhere = true;
    }
}
