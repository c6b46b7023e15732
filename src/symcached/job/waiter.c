/*
 * Copyright (C) the ngx_symcache authors
 */

#include "waiter.h"

#include <stdlib.h>
#include <string.h>
#include <event2/event.h>
#include "scheduler.h"

/* So many waiters without a client may a job have. */
#define WANTED_MAX 16

void waiter_join(struct waiter *w, struct job *job)
{
    TAILQ_INSERT_TAIL(&job->waiters, w, entry);
    w->job = job;
    job->nwaiters += w->fn != NULL;
}

void waiter_detach(struct waiter *w)
{
    if (w->job != NULL) {
        TAILQ_REMOVE(&w->job->waiters, w, entry);
        w->job->nwaiters -= w->fn != NULL;
        w->job = NULL;
    }
}

void waiter_answer(struct waiter *w, const struct scheduler_answer *answer)
{
    scheduler_answer_fn fn = w->fn;
    void *arg = w->arg;

    scheduler_leave(w);
    if (fn != NULL) {
        fn(arg, answer);
    }
}

void scheduler_leave(struct waiter *w)
{
    waiter_detach(w);
    w->scheduler->waiters -= w->fn != NULL;
    evtimer_del(&w->deadline);
    free(w);
}

static void on_deadline(evutil_socket_t fd, short events, void *arg)
{
    struct waiter *w = arg;
    struct scheduler_answer pending = {.kind = SCHEDULER_PENDING,
                                       .seconds = WAITER_PENDING_SECONDS};

    waiter_answer(w, &pending);
}

/* Returns a waiter that no job has yet, or NULL when out of memory. */
static struct waiter *make(struct scheduler *scheduler, symcache_kind_e kind,
                           const symcache_ask_t *ask, const char *name,
                           const char *hints)
{
    size_t len = strlen(name) + 1, size = strlen(hints) + 1;
    struct waiter *w = calloc(1, sizeof(*w) + len + size);

    if (w != NULL) {
        w->scheduler = scheduler;
        evtimer_assign(&w->deadline, scheduler->base, on_deadline, w);
        w->kind = kind;
        w->ask = *ask;
        memcpy(w->name, name, len);
        w->hints = memcpy(w->name + len, hints, size);
    }
    return w;
}

struct waiter *waiter_new(struct job *job, symcache_kind_e kind,
                          const symcache_ask_t *ask, const char *name,
                          const char *hints, unsigned wait,
                          scheduler_answer_fn fn, void *arg)
{
    struct timeval tv = {.tv_sec = (time_t)wait};
    struct waiter *w = make(job->scheduler, kind, ask, name, hints);

    if (w == NULL || evtimer_add(&w->deadline, &tv) != 0) {
        free(w);
        return NULL;
    }
    w->fn = fn;
    w->arg = arg;
    w->scheduler->waiters++;
    waiter_join(w, job);
    return w;
}

/* Does the job do this already, or does one of its waiters see to it?  Or are
 * these as many as may be? */
static bool is_seen_to(const struct job *job, symcache_kind_e kind,
                       const char *hints)
{
    const struct waiter *w;
    unsigned n = 0;

    if (kind == job->key.kind && strcmp(hints, job_hints(job)) == 0) {
        return true;
    }
    TAILQ_FOREACH(w, &job->waiters, entry)
    {
        if (w->kind == kind && strcmp(hints, w->hints) == 0) {
            return true;
        }
        n += w->fn == NULL;
    }
    return n >= WANTED_MAX;
}

void waiter_want(struct job *job, symcache_kind_e kind,
                 const symcache_ask_t *ask, const char *name,
                 const char *hints)
{
    struct waiter *w;

    if (is_seen_to(job, kind, hints)) {
        return;
    }
    w = make(job->scheduler, kind, ask, name, hints);
    if (w != NULL) {
        waiter_join(w, job);
    }
}
