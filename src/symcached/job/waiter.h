/*
 * Copyright (C) the ngx_symcache authors
 *
 * One lookup that waits until its job ends or its time is over.  There may be
 * many thousands.  Each belongs to the job whose list it is in.
 */
#pragma once

#include <sys/queue.h>
#include <event2/event_struct.h>
#include "job.h"

struct job;

struct waiter {
    TAILQ_ENTRY(waiter) entry; /* job->waiters */
    struct scheduler *scheduler;
    struct job *job;
    struct event deadline;
    uint64_t until;  /* milliseconds: the wait that was asked for is over */
    bool is_search;  /* it ends earlier, unless there is a file then */
    symcache_kind_e kind;
    symcache_ask_t ask;
    unsigned alike; /* of the first with its hints: how many have the same */
    scheduler_answer_fn fn; /* or NULL: nobody is to be told */
    void *arg;
    const char *hints; /* behind the name, see proto/hints.h */
    const char *via; /* behind that, see via_header.h */
    char name[]; /* the key's, as it was asked for */
};

/* Short, so that a client that asks again soon learns that the job ended. */
#define WAITER_PENDING_SECONDS 1

/*
 * Waits for the job, as long as the lookup may.  NULL when out of memory, or
 * when there are too many different hints: each takes a job of its own, and a
 * client with many wrong hints must not delay those with the right one for
 * long.
 */
struct waiter *waiter_new(struct job *job,
                          const struct scheduler_lookup *lookup,
                          scheduler_answer_fn fn, void *arg);

/*
 * A client that does not wait asks a job for another kind than it makes, or
 * with other hints: it is made when the job has ended.  Done by waiters without
 * a client, of which a job has a few.
 */
void waiter_want(struct job *job, const struct scheduler_lookup *lookup);

/*
 * Orders the waiters of a job that ends, of whom the first ones get the next
 * job: those without hints, then those whose hints most have.
 */
void waiters_sort(struct job *job);

/* Adds the waiter to a job's list, and removes it. */
void waiter_join(struct waiter *waiter, struct job *job);
void waiter_detach(struct waiter *waiter);

/* Frees the waiter, and then calls its function, if any, with the answer. */
void waiter_answer(struct waiter *waiter,
                   const struct scheduler_answer *answer);
