/*
 * Copyright (C) the ngx_symcache authors
 */

#include "waiter.h"

#include <stdlib.h>
#include <string.h>
#include <event2/event.h>
#include "base/clock.h"
#include "scheduler_state.h"

/* So many waiters without a client may a job have, and so many hints that are
 * not its own. */
#define WANTED_MAX 16
#define HINTS_MAX 16

/* Between looks whether a file is still being received. */
#define LOOK_MS 1000

/* The first waiter with these hints, or NULL. */
static struct waiter *first_with(const struct job *job, const char *hints)
{
    struct waiter *waiter;

    TAILQ_FOREACH(waiter, &job->waiters, entry)
    {
        if (strcmp(waiter->hints, hints) == 0) {
            return waiter;
        }
    }
    return NULL;
}

/* Those without hints are not counted: there may be thousands of them, and
 * they come first anyway. */
static void count_hints(const struct job *job, const char *hints, int change)
{
    struct waiter *first = *hints != '\0' ? first_with(job, hints) : NULL;

    if (first != NULL) {
        first->alike += (unsigned)change;
    }
}

void waiter_join(struct waiter *waiter, struct job *job)
{
    TAILQ_INSERT_TAIL(&job->waiters, waiter, entry);
    waiter->job = job;
    waiter->alike = 0;
    job->nwaiters += waiter->fn != NULL;
    count_hints(job, waiter->hints, 1);
    if (symcache_kind_is_original(waiter->kind)) {
        job_hurry_original(job);
    }
}

void waiter_detach(struct waiter *waiter)
{
    struct job *job = waiter->job;

    if (job != NULL) {
        waiter->job = NULL;
        job->nwaiters -= waiter->fn != NULL;
        TAILQ_REMOVE(&job->waiters, waiter, entry);
        count_hints(job, waiter->hints,
                    waiter->alike > 0 ? (int)waiter->alike - 1 : -1);
    }
}

/* Has the job these hints, or a waiter, or may there be others? */
static bool may_wait(const struct job *job, const char *hints)
{
    const struct waiter *waiter;
    unsigned n = 0;

    if (*hints == '\0' || strcmp(hints, job_hints(job)) == 0 ||
        first_with(job, hints) != NULL) {
        return true;
    }
    TAILQ_FOREACH(waiter, &job->waiters, entry)
    {
        n += waiter->alike > 0 && strcmp(waiter->hints, job_hints(job)) != 0;
    }
    return n < HINTS_MAX;
}

/* The hints that most waiters have, or NULL if none has any. */
static const char *most_wanted(const struct job *job)
{
    const struct waiter *waiter, *best = NULL;

    TAILQ_FOREACH(waiter, &job->waiters, entry)
    {
        if (waiter->alike > (best != NULL ? best->alike : 0)) {
            best = waiter;
        }
    }
    return best != NULL ? best->hints : NULL;
}

void waiters_sort(struct job *job)
{
    TAILQ_HEAD(, waiter) sorted = TAILQ_HEAD_INITIALIZER(sorted);
    const char *hints = "";
    struct waiter *w, *next;

    for (; hints != NULL; hints = most_wanted(job)) {
        for (w = TAILQ_FIRST(&job->waiters); w != NULL; w = next) {
            next = TAILQ_NEXT(w, entry);
            if (strcmp(w->hints, hints) == 0) {
                TAILQ_REMOVE(&job->waiters, w, entry);
                TAILQ_INSERT_TAIL(&sorted, w, entry);
            }
        }
    }
    TAILQ_CONCAT(&job->waiters, &sorted, entry);
}

void waiter_answer(struct waiter *waiter,
                   const struct scheduler_answer *answer)
{
    scheduler_answer_fn fn = waiter->fn;
    void *arg = waiter->arg;

    scheduler_leave(waiter);
    if (fn != NULL) {
        fn(arg, answer);
    }
}

void scheduler_leave(struct waiter *waiter)
{
    waiter_detach(waiter);
    waiter->scheduler->waiters -= waiter->fn != NULL;
    evtimer_del(&waiter->deadline);
    free(waiter);
}

/* Until when is it to be looked for the file?  At the latest at w->until. */
static uint64_t search_end(const struct waiter *waiter, uint64_t now)
{
    uint64_t end = waiter->job->began +
                   (uint64_t)waiter->job->config->limits.search_time * 1000;

    if (!waiter->is_search || end > waiter->until) {
        return waiter->until;
    }
    if (job_is_decided(waiter->job)) {
        end = now + LOOK_MS;
    }
    return end < waiter->until ? end : waiter->until;
}

static int set_deadline(struct waiter *waiter)
{
    uint64_t now = clock_ms(), end = search_end(waiter, now);
    uint64_t ms = end > now ? end - now : 0;
    struct timeval tv = {(time_t)(ms / 1000), (suseconds_t)(ms % 1000 * 1000)};

    return evtimer_add(&waiter->deadline, &tv);
}

static void on_deadline(evutil_socket_t fd, short events, void *arg)
{
    struct waiter *waiter = arg;
    uint64_t now = clock_ms();
    struct scheduler_answer pending = {.kind = SCHEDULER_PENDING,
                                       .seconds = WAITER_PENDING_SECONDS};
    struct scheduler_answer searching = {
        .kind = SCHEDULER_BUSY,
        .reason = "searching",
        .text = "no source has answered within limits.search_time",
        .seconds = SCHEDULER_BUSY_SECONDS};

    if (now < waiter->until && search_end(waiter, now) > now) {
        (void)set_deadline(waiter);
    } else {
        waiter_answer(waiter, now < waiter->until ? &searching : &pending);
    }
}

/* Returns a waiter that no job has yet, or NULL when out of memory. */
static struct waiter *make_waiter(struct scheduler *scheduler,
                                  const struct scheduler_lookup *lookup)
{
    size_t len = strlen(lookup->name) + 1, size = strlen(lookup->hints) + 1;
    size_t via_size = strlen(lookup->via) + 1;
    struct waiter *waiter = calloc(1, sizeof(*waiter) + len + size + via_size);

    if (waiter != NULL) {
        waiter->scheduler = scheduler;
        evtimer_assign(&waiter->deadline, scheduler->base, on_deadline,
                       waiter);
        waiter->kind = (symcache_kind_e)lookup->key->kind;
        waiter->ask = *lookup->ask;
        memcpy(waiter->name, lookup->name, len);
        waiter->hints = memcpy(waiter->name + len, lookup->hints, size);
        waiter->via = memcpy(waiter->name + len + size, lookup->via, via_size);
    }
    return waiter;
}

/* Is it a question of debuginfod's clients, for which limits.search_time is? */
static bool is_debuginfod(const struct job *job, symcache_kind_e kind)
{
    return job->config->limits.search_time > 0 &&
           job->key.id_type == SYMCACHE_ID_BUILD &&
           symcache_kind_is_original(kind);
}

struct waiter *waiter_new(struct job *job,
                          const struct scheduler_lookup *lookup,
                          scheduler_answer_fn fn, void *arg)
{
    struct waiter *waiter = may_wait(job, lookup->hints)
                                ? make_waiter(job->scheduler, lookup)
                                : NULL;

    if (waiter == NULL) {
        return NULL;
    }
    waiter->fn = fn;
    waiter->arg = arg;
    waiter->until = clock_ms() + (uint64_t)lookup->wait * 1000;
    waiter->is_search = is_debuginfod(job, waiter->kind);
    waiter->scheduler->waiters++;
    waiter_join(waiter, job);
    if (set_deadline(waiter) != 0) {
        scheduler_leave(waiter);
        return NULL;
    }
    return waiter;
}

/* Does the job do this already, or does one of its waiters see to it?  Or are
 * these as many as may be? */
static bool is_seen_to(const struct job *job, symcache_kind_e kind,
                       const char *hints)
{
    const struct waiter *waiter;
    unsigned n = 0;

    if (kind == job->key.kind && strcmp(hints, job_hints(job)) == 0) {
        return true;
    }
    TAILQ_FOREACH(waiter, &job->waiters, entry)
    {
        if (waiter->kind == kind && strcmp(hints, waiter->hints) == 0) {
            return true;
        }
        n += waiter->fn == NULL;
    }
    return n >= WANTED_MAX || !may_wait(job, hints);
}

void waiter_want(struct job *job, const struct scheduler_lookup *lookup)
{
    struct waiter *waiter;

    if (is_seen_to(job, (symcache_kind_e)lookup->key->kind, lookup->hints)) {
        return;
    }
    waiter = make_waiter(job->scheduler, lookup);
    if (waiter != NULL) {
        waiter_join(waiter, job);
    }
}
