/*
 * Copyright (C) the ngx_symcache authors
 */

#include "waiter.h"

#include <stdlib.h>
#include <string.h>
#include <event2/event.h>
#include "scheduler.h"

void waiter_join(struct waiter *w, struct job *job)
{
    LIST_INSERT_HEAD(&job->waiters, w, entry);
    w->job = job;
    if (w->fn != NULL) {
        job->nwaiters++;
    } else {
        job->wanted |= 1u << w->kind;
    }
}

void waiter_detach(struct waiter *w)
{
    if (w->job != NULL) {
        LIST_REMOVE(w, entry);
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
                           const symcache_ask_t *ask, const char *name)
{
    size_t len = strlen(name);
    struct waiter *w = calloc(1, sizeof(*w) + len + 1);

    if (w != NULL) {
        w->scheduler = scheduler;
        evtimer_assign(&w->deadline, scheduler->base, on_deadline, w);
        w->kind = kind;
        w->ask = *ask;
        memcpy(w->name, name, len + 1);
    }
    return w;
}

struct waiter *waiter_new(struct job *job, symcache_kind_e kind,
                          const symcache_ask_t *ask, const char *name,
                          unsigned wait, scheduler_answer_fn fn, void *arg)
{
    struct timeval tv = {.tv_sec = (time_t)wait};
    struct waiter *w = make(job->scheduler, kind, ask, name);

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

void waiter_want(struct job *job, symcache_kind_e kind,
                 const symcache_ask_t *ask, const char *name)
{
    struct waiter *w;

    if (kind == job->key.kind || (job->wanted & 1u << kind)) {
        return;
    }
    w = make(job->scheduler, kind, ask, name);
    if (w != NULL) {
        waiter_join(w, job);
    }
}
