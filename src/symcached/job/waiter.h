/*
 * Copyright (C) the ngx_symcache authors
 *
 * One lookup that is held until its job ends or its time is over.  There may
 * be many thousands; jobs.c owns them.
 */
#ifndef SYMCACHED_WAITER_H
#define SYMCACHED_WAITER_H

#include <sys/queue.h>
#include <event2/event_struct.h>
#include "jobs.h"

struct job;

struct waiter {
    LIST_ENTRY(waiter) entry; /* job->waiters */
    struct jobs *jobs;
    struct job *job;
    struct event deadline;
    symcache_ask_t ask;
    jobs_answer_fn fn;
    void *arg;
    char name[]; /* the key's, as it was asked for */
};

/* A client that asks again finds the job's end soon after it. */
#define WAITER_PENDING_SECONDS 1

/* Waits for the job, at most `wait` seconds.  NULL when out of memory. */
struct waiter *waiter_new(struct job *job, const symcache_ask_t *ask,
                          const char *name, unsigned wait, jobs_answer_fn fn,
                          void *arg);

void waiter_join(struct waiter *w, struct job *job);
void waiter_part(struct waiter *w);

/* Frees the waiter and tells its owner. */
void waiter_answer(struct waiter *w, const struct jobs_answer *answer);

#endif
