/*
 * Copyright (C) the ngx_symcache authors
 */
#include "ahead.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remover.h"

struct ahead {
    struct event *timer;
    const struct source_config *source; /* that is looked up, or NULL */
    struct lookup *lookup;
    char *work; /* directory */
    bool runs;  /* the lookup: has a slot, and keeps its host busy */
};

static void ahead_arm(struct job *job)
{
    unsigned seconds = job->config->limits.look_ahead_after;
    struct timeval delay = {.tv_sec = seconds};

    evtimer_add(job->ahead->timer, &delay);
}

/* Its slot and its host are for others now; it waits for its turn. */
static void ahead_leave_slot(struct job *job)
{
    if (job->ahead->runs) {
        job->ahead->runs = false;
        jobs_ahead(job->jobs, -1);
    }
}

static void ahead_on_end(void *arg, enum source_outcome outcome)
{
    ahead_leave_slot(arg);
}

static const struct source_callbacks ahead_callbacks = {NULL, ahead_on_end};

/* Ends the lookup that was begun, if any. */
static void ahead_cancel(struct job *job)
{
    struct ahead *ahead = job->ahead;

    if (ahead->source == NULL) {
        return;
    }
    source_cancel(ahead->lookup);
    remover_add(ahead->work);
    free(ahead->work);
    ahead->source = NULL;
    ahead_leave_slot(job);
    metrics_add(METRIC_AHEAD_DROPPED, 1);
}

/* The source whose turn is next, if it may be asked before; or NULL. */
static const struct source_config *ahead_next(const struct job *job)
{
    struct order order = job->order; /* a look, which moves nothing */
    const struct source_config *source = order_next(&order);

    return source == NULL || source->type == SOURCE_SYMCACHE ||
                   source_busy(job->jobs->sources, job->config, source) ||
                   !jobs_has_slot(job->jobs)
               ? NULL
               : source;
}

static void ahead_begin(struct job *job, const struct source_config *source)
{
    struct workdir *workdir = jobs_workdir(job->jobs, job->config->downloads);
    struct ahead *ahead = job->ahead;
    char file[WORKDIR_PATH_MAX + SYMCACHE_NAME_MAX + 2];

    ahead->work = job_make_work(workdir);
    if (ahead->work == NULL) {
        return;
    }

    snprintf(file, sizeof(file), "%s/%s", ahead->work, job->key.name);
    ahead->lookup =
        source_lookup(job->jobs->sources, job->config, source, &job->key,
                      job->name, file, NULL, &ahead_callbacks, job);
    if (ahead->lookup == NULL) {
        remover_add(ahead->work);
        free(ahead->work);
        return;
    }
    ahead->source = source;
    ahead->runs = true;
    jobs_ahead(job->jobs, 1);
}

static void ahead_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct job *job = arg;
    const struct source_config *next;

    if (source_receives(job->lookup)) {
        /* it is likely to be had here: two transfers would be one too many */
        ahead_cancel(job);
    } else if (job->ahead->source == NULL) {
        next = ahead_next(job);
        if (next != NULL) {
            ahead_begin(job, next);
        }
    }
    ahead_arm(job);
}

static struct ahead *ahead_new(struct job *job)
{
    struct ahead *ahead = calloc(1, sizeof(*ahead));

    if (ahead != NULL) {
        ahead->timer = evtimer_new(job->jobs->base, ahead_on_timer, job);
        if (ahead->timer == NULL) {
            free(ahead);
            ahead = NULL;
        }
    }
    return ahead;
}

void ahead_watch(struct job *job)
{
    if (job->ahead != NULL) {
        evtimer_del(job->ahead->timer);
    }
    if (job->config->limits.look_ahead_after == 0 ||
        job->source->type == SOURCE_SYMCACHE || job->store->nsources < 2) {
        return;
    }

    if (job->ahead == NULL) {
        job->ahead = ahead_new(job);
    }
    if (job->ahead != NULL) {
        ahead_arm(job);
    }
}

bool ahead_has(const struct job *job)
{
    return job->ahead != NULL && job->source != NULL &&
           job->ahead->source == job->source;
}

void ahead_take(struct job *job, const struct source_callbacks *callbacks)
{
    struct ahead *ahead = job->ahead;

    job->work = ahead->work;
    job->lookup = ahead->lookup;
    ahead->source = NULL;
    ahead_leave_slot(job);
    metrics_add(METRIC_AHEAD_USED, 1);
    source_adopt(job->lookup, callbacks, job);
}

void ahead_drop(struct job *job)
{
    if (job->ahead == NULL) {
        return;
    }
    ahead_cancel(job);
    event_free(job->ahead->timer);
    free(job->ahead);
    job->ahead = NULL;
}
