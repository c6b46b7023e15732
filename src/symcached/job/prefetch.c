/*
 * Copyright (C) the ngx_symcache authors
 */
#include "prefetch.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/async_unlink.h"
#include "scheduler_state.h"

struct prefetch {
    struct event *timer;
    const struct source_config *source; /* the one that is asked, or NULL */
    struct lookup *lookup;
    char *work; /* directory */
    bool runs;  /* the lookup: has a slot, and keeps its host busy */
    bool found; /* it has ended, with a file */
};

static void arm_prefetch(struct job *job)
{
    unsigned seconds = job->config->limits.look_ahead_after;
    struct timeval delay = {.tv_sec = seconds};

    evtimer_add(job->prefetch->timer, &delay);
}

/* Gives the slot and the host of the lookup to others. */
static void leave_slot(struct job *job)
{
    if (job->prefetch->runs) {
        job->prefetch->runs = false;
        scheduler_prefetches(job->scheduler, -1);
    }
}

static void on_end(void *arg, enum source_outcome outcome)
{
    struct job *job = arg;

    job->prefetch->found = outcome == SOURCE_FOUND;
    leave_slot(job);
}

static const struct lookup_callbacks end_only = {.done = on_end};

/* Ends the lookup that was begun, if any. */
static void cancel_prefetch(struct job *job)
{
    struct prefetch *prefetch = job->prefetch;

    if (prefetch->source == NULL) {
        return;
    }
    lookup_cancel(prefetch->lookup);
    async_unlink_add(prefetch->work);
    free(prefetch->work);
    prefetch->source = NULL;
    leave_slot(job);
    metrics_add(METRIC_PREFETCH_DROPPED, 1);
}

/* Returns the next source if it may be asked before its turn, or NULL. */
static const struct source_config *next_prefetch_source(const struct job *job)
{
    struct source_order order =
        job->order; /* a copy, so that the job's stays */
    const struct source_config *source = source_order_next(&order);

    return source == NULL || config_source_is_ready_made(source, &job->key) ||
                   job->section != NULL || order.is_last ||
                   source_busy(job->scheduler->sources, job->config, source) ||
                   !scheduler_has_slot(job->scheduler)
               ? NULL
               : source;
}

static void begin_prefetch(struct job *job, const struct source_config *source)
{
    struct workdir *workdir =
        scheduler_workdir(job->scheduler, job->config->downloads);
    struct prefetch *prefetch = job->prefetch;
    char file[WORKDIR_PATH_MAX + SYMCACHE_NAME_MAX + 2];

    prefetch->work = job_make_work(workdir);
    if (prefetch->work == NULL) {
        return;
    }

    snprintf(file, sizeof(file), "%s/%s", prefetch->work, job->key.name);
    prefetch->lookup =
        lookup_start(job->scheduler->sources, job->config, source, &job->key,
                     job->name, job_hints(job), job->order.formats,
                     job_ask_ids(job, source), 0, file, NULL, &end_only, job);
    if (prefetch->lookup == NULL) {
        async_unlink_add(prefetch->work);
        free(prefetch->work);
        return;
    }
    prefetch->source = source;
    prefetch->runs = true;
    prefetch->found = false;
    scheduler_prefetches(job->scheduler, 1);
}

static void prefetch_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct job *job = arg;
    const struct source_config *next;

    if (job->lookup == NULL) {
        return; /* its file is cut; the next lookup is watched anew */
    }
    if (lookup_receives(job->lookup)) {
        /* this source probably has it, so the other transfer is not needed */
        cancel_prefetch(job);
    } else if (job->prefetch->source != NULL && job->prefetch->found &&
               lookup_is_silent(job->lookup)) {
        job_pass_over(job);
        return;
    } else if (job->prefetch->source == NULL) {
        next = next_prefetch_source(job);
        if (next != NULL) {
            begin_prefetch(job, next);
        }
    }
    arm_prefetch(job);
}

static struct prefetch *new_prefetch(struct job *job)
{
    struct prefetch *prefetch = calloc(1, sizeof(*prefetch));

    if (prefetch != NULL) {
        prefetch->timer =
            evtimer_new(job->scheduler->base, prefetch_on_timer, job);
        if (prefetch->timer == NULL) {
            free(prefetch);
            prefetch = NULL;
        }
    }
    return prefetch;
}

void prefetch_watch(struct job *job)
{
    if (job->prefetch != NULL) {
        evtimer_del(job->prefetch->timer);
    }
    if (job->config->limits.look_ahead_after == 0 ||
        config_source_is_ready_made(job->source, &job->key) ||
        job->store->nsources < 2) {
        return;
    }

    if (job->prefetch == NULL) {
        job->prefetch = new_prefetch(job);
    }
    if (job->prefetch != NULL) {
        arm_prefetch(job);
    }
}

bool prefetch_runs(const struct job *job)
{
    return job->prefetch != NULL && job->prefetch->source != NULL;
}

bool prefetch_has(const struct job *job)
{
    return job->prefetch != NULL && job->source != NULL &&
           job->prefetch->source == job->source;
}

void prefetch_take(struct job *job, const struct lookup_callbacks *callbacks)
{
    struct prefetch *prefetch = job->prefetch;

    job->work = prefetch->work;
    job->lookup = prefetch->lookup;
    prefetch->source = NULL;
    leave_slot(job);
    metrics_add(METRIC_PREFETCH_USED, 1);
    lookup_promote(job->lookup, callbacks, job);
}

void prefetch_drop(struct job *job)
{
    if (job->prefetch == NULL) {
        return;
    }
    cancel_prefetch(job);
    event_free(job->prefetch->timer);
    free(job->prefetch);
    job->prefetch = NULL;
}
