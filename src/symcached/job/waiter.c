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
    job->nwaiters++;
}

void waiter_detach(struct waiter *w)
{
    if (w->job != NULL) {
        LIST_REMOVE(w, entry);
        w->job->nwaiters--;
        w->job = NULL;
    }
}

void waiter_answer(struct waiter *w, const struct scheduler_answer *answer)
{
    scheduler_answer_fn fn = w->fn;
    void *arg = w->arg;

    scheduler_leave(w);
    fn(arg, answer);
}

void scheduler_leave(struct waiter *w)
{
    waiter_detach(w);
    w->scheduler->waiters--;
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

struct waiter *waiter_new(struct job *job, const symcache_ask_t *ask,
                          const char *name, unsigned wait,
                          scheduler_answer_fn fn, void *arg)
{
    struct timeval tv = {.tv_sec = (time_t)wait};
    size_t len = strlen(name);
    struct waiter *w = calloc(1, sizeof(*w) + len + 1);

    if (w == NULL) {
        return NULL;
    }
    evtimer_assign(&w->deadline, job->scheduler->base, on_deadline, w);
    if (evtimer_add(&w->deadline, &tv) != 0) {
        free(w);
        return NULL;
    }

    w->scheduler = job->scheduler;
    w->ask = *ask;
    memcpy(w->name, name, len + 1);
    w->fn = fn;
    w->arg = arg;
    w->scheduler->waiters++;
    waiter_join(w, job);
    return w;
}
