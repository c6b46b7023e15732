/*
 * Copyright (C) the ngx_symcache authors
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <event2/event.h>
#include "decision.h"
#include "id.h"
#include "job.h"
#include "log.h"
#include "proto/symcache_header.h"
#include "quality.h"
#include "store.h"
#include "waiter.h"

/* Upgrades serve nobody at once; more than these are left for a later hit. */
#define UPGRADES_MAX 20

#define BUSY_SECONDS 5
#define LOOP_SECONDS 60 /* until somebody changes a configuration */

const struct config *jobs_config(const struct jobs *jobs)
{
    return jobs->config;
}

void jobs_want_sidecar(struct jobs *jobs, const struct store_config *store,
                       const symcache_key_t *key,
                       const symcache_version_t *version)
{
    if (store->gzip) {
        sidecars_want(jobs->sidecars, store->root,
                      jobs_workdir(jobs, store->root), key, version);
    }
}

/* slots ----------------------------------------------------------------- */

bool jobs_has_slot(const struct jobs *jobs)
{
    return jobs->downloading + jobs->aheads < jobs->config->limits.downloads;
}

void jobs_host_freed(struct jobs *jobs)
{
    jobs->host_freed = true;
    event_active(jobs->pump, 0, 0);
}

void jobs_ahead(struct jobs *jobs, int change)
{
    jobs->aheads += (unsigned)change;
    jobs_host_freed(jobs);
}

/* Who waited for a host is looked at again, before those who came later. */
static void unpark(struct jobs *jobs)
{
    struct job *job;

    TAILQ_FOREACH(job, &jobs->wait_host, queue)
    {
        job->parked = false;
    }
    TAILQ_CONCAT(&jobs->wait_host, &jobs->wait_source, queue);
    TAILQ_CONCAT(&jobs->wait_source, &jobs->wait_host, queue);
    jobs->host_freed = false;
}

static void park(struct jobs *jobs, struct job *job)
{
    TAILQ_REMOVE(&jobs->wait_source, job, queue);
    TAILQ_INSERT_TAIL(&jobs->wait_host, job, queue);
    job->parked = true;
}

static void on_pump(evutil_socket_t fd, short events, void *arg)
{
    struct jobs *jobs = arg;
    const struct limits_config *limits = &jobs->config->limits;
    struct job *job, *next;

    if (jobs->host_freed) {
        unpark(jobs);
    }
    for (job = TAILQ_FIRST(&jobs->wait_source);
         !jobs->stopping && jobs_has_slot(jobs) && job != NULL; job = next) {
        next = TAILQ_NEXT(job, queue);
        if (job_may_ask(job)) {
            job_ask_source(job);
        } else {
            park(jobs, job);
        }
    }
    while (!jobs->stopping && jobs->transcoding < limits->transcodes &&
           (job = TAILQ_FIRST(&jobs->wait_transcoder)) != NULL) {
        job_run_transcoder(job);
    }
}

static void finish(struct job *job);

void jobs_moved(struct job *job, enum job_state from, enum job_state to)
{
    struct jobs *jobs = job->jobs;

    switch (from) {
    case JOB_WAITS_SOURCE:
        TAILQ_REMOVE(job->parked ? &jobs->wait_host : &jobs->wait_source, job,
                     queue);
        job->parked = false;
        jobs->queued--;
        break;
    case JOB_WAITS_TRANSCODER:
        TAILQ_REMOVE(&jobs->wait_transcoder, job, queue);
        jobs->queued--;
        break;
    case JOB_IN_SOURCE:
        jobs->downloading--;
        jobs->host_freed = true;
        break;
    case JOB_WAITS_UPSTREAM:
        jobs->queued--;
        break;
    case JOB_IN_TRANSCODER:
        jobs->transcoding--;
        break;
    case JOB_NEW:
    case JOB_ENDED:
        break;
    }

    switch (to) {
    case JOB_WAITS_SOURCE:
        TAILQ_INSERT_TAIL(&jobs->wait_source, job, queue);
        jobs->queued++;
        break;
    case JOB_WAITS_TRANSCODER:
        TAILQ_INSERT_TAIL(&jobs->wait_transcoder, job, queue);
        jobs->queued++;
        break;
    case JOB_IN_SOURCE:
        jobs->downloading++;
        break;
    case JOB_WAITS_UPSTREAM:
        jobs->queued++;
        break;
    case JOB_IN_TRANSCODER:
        jobs->transcoding++;
        break;
    case JOB_ENDED:
        finish(job);
        break;
    case JOB_NEW:
        break;
    }
    event_active(jobs->pump, 0, 0);
}

/* decisions ------------------------------------------------------------- */

/* Not one of a former configuration whose store is elsewhere. */
static struct job *find_job(const struct jobs *jobs,
                            const struct store_config *store, const char *id)
{
    struct job *job;

    LIST_FOREACH(job, &jobs->buckets[id_hash(id) % JOBS_BUCKETS], bucket)
    {
        if (strcmp(job->id, id) == 0 &&
            strcmp(job->store->root, store->root) == 0) {
            return job;
        }
    }
    return NULL;
}

/* NULL: *reason says why not. */
static struct job *start_job(struct jobs *jobs,
                             const struct store_config *store,
                             const struct transcoder_config *transcoder,
                             const symcache_key_t *key, const char *name,
                             bool upgrade, size_t better, const char **reason)
{
    const struct limits_config *limits = &jobs->config->limits;
    struct job *job;

    if (jobs->stopping) {
        *reason = SYMCACHE_REASON_STOPPING;
        return NULL;
    }
    if (jobs->queued >= limits->queue) {
        metrics_add(METRIC_JOB_REFUSED, 1);
        *reason = "queue-full";
        return NULL;
    }

    job = job_new(jobs, jobs->config, store, transcoder, key, name);
    if (job == NULL) {
        *reason = "out-of-memory";
        return NULL;
    }

    job->upgrade = upgrade;
    jobs->upgrades += upgrade;
    LIST_INSERT_HEAD(&jobs->buckets[id_hash(job->id) % JOBS_BUCKETS], job,
                     bucket);
    LIST_INSERT_HEAD(&jobs->all, job, all);
    job_begin(job, better);
    return job;
}

/* A job in the background.  Returns false if it cannot be now. */
static bool start_upgrade(struct jobs *jobs, const struct store_config *store,
                          const struct transcoder_config *transcoder,
                          const symcache_key_t *key, const char *name,
                          const char *via, size_t better)
{
    struct job *job;
    const char *reason;
    char id[ID_MAX];

    id_print(id, store->name, key);
    if (store->nsources == 0 || find_job(jobs, store, id) != NULL ||
        via_loops(via)) {
        return false;
    }
    if (jobs->upgrades >= UPGRADES_MAX) {
        metrics_add(METRIC_UPGRADE_SKIPPED, 1);
        return false;
    }
    job = start_job(jobs, store, transcoder, key, name, true, better, &reason);
    if (job != NULL) {
        job_join_via(job, via);
    }
    return job != NULL;
}

/*
 * The file that serves this hit was made from a worse source than there are:
 * these are asked again, at most as often as for what nobody has.
 */
static void ask_better(struct jobs *jobs, const struct store_config *store,
                       const struct decision *d, const symcache_key_t *key,
                       const char *name, const char *via)
{
    const struct cache_config *cache = &jobs->config->cache;
    struct quality quality;
    time_t now = time(NULL);
    char path[PATH_MAX];
    size_t better;

    if (d->transcoder == NULL ||
        symcache_version_cmp(&d->transcoder->version, &d->best) != 0) {
        return;
    }
    store_path(path, store->root, key, &d->best, SYMCACHE_FILE_PLAIN);
    if (!quality_read(path, &quality) ||
        (quality.checked <= now &&
         now - quality.checked < (time_t)cache->retry_misses_after)) {
        return;
    }
    better = quality_better(&quality, store);
    if (better > 0 &&
        start_upgrade(jobs, store, d->transcoder, key, name, via, better)) {
        metrics_add(METRIC_BETTER_ASKED, 1);
        quality.checked = now;
        quality_write(path, &quality);
    }
}

static void count_remembered(enum absent_reason reason)
{
    static const enum metric metrics[] = {
        [ABSENT_NOTFOUND] = METRIC_REMEMBERED_NOTFOUND,
        [ABSENT_MALFORMED] = METRIC_REMEMBERED_MALFORMED,
        [ABSENT_ERROR] = METRIC_REMEMBERED_ERROR,
        [ABSENT_UNCHANGED] = METRIC_REMEMBERED_UNCHANGED,
    };

    metrics_add(metrics[reason], 1);
}

/* What is on disk or remembered, and what a hit starts in the background. */
static void answer_decided(struct jobs *jobs, const struct store_config *store,
                           const struct decision *d, const symcache_key_t *key,
                           const char *name, const char *via,
                           struct jobs_answer *a)
{
    a->key = key;
    if (a->kind == JOBS_HIT) {
        store_touch(store->root, key, &a->version);
        jobs_want_sidecar(jobs, store, key, &a->version);
    }
    if (d->what == SYMCACHE_ANSWER_STALE) {
        a->stale = true;
        if (start_upgrade(jobs, store, d->transcoder, key, name, via, 0)) {
            metrics_add(METRIC_JOB_UPGRADE, 1);
        }
    } else if (d->what == SYMCACHE_ANSWER_HIT) {
        ask_better(jobs, store, d, key, name, via);
    }
}

/* The job of the key, new if there is none; NULL: a says why not. */
static struct job *get_job(struct jobs *jobs, const struct store_config *store,
                           const struct decision *d, const symcache_key_t *key,
                           const char *name, const char *via,
                           struct jobs_answer *a)
{
    char id[ID_MAX];
    struct job *job;

    a->kind = JOBS_BUSY;
    if (via_loops(via)) {
        metrics_add(METRIC_LOOP_REFUSED, 1);
        a->reason = "loop";
        a->text = "the request came through this helper already";
        a->seconds = LOOP_SECONDS;
        return NULL;
    }

    a->seconds = BUSY_SECONDS;
    id_print(id, store->name, key);
    job = find_job(jobs, store, id);
    if (job == NULL) {
        job = start_job(jobs, store, d->transcoder, key, name, false, 0,
                        &a->reason);
    }
    if (job != NULL) {
        /* all who wait for it, so that two that wait for each other see it */
        job_join_via(job, via);
        a->kind = JOBS_PENDING;
        a->seconds = WAITER_PENDING_SECONDS;
    }
    return job;
}

struct waiter *jobs_ask(struct jobs *jobs, const struct store_config *store,
                        const symcache_key_t *key, const char *name,
                        const symcache_ask_t *ask, const char *via,
                        unsigned wait, jobs_answer_fn fn, void *arg)
{
    struct jobs_answer a = {.kind = JOBS_ABSENT,
                            .reason = "unstorable",
                            .text = "the name is too long for a file system",
                            .seconds = 86400};
    struct waiter *w = NULL;
    struct decision d;
    struct job *job;

    if (!symcache_path_storable(key)) {
        fn(arg, &a);
        return NULL;
    }

    decision_make(&d, jobs->absent, store, &jobs->config->cache, key, name,
                  ask);
    if (d.blocked) {
        count_remembered(d.entry.reason);
    }
    if (decision_answer(&d, store, &a)) {
        answer_decided(jobs, store, &d, key, name, via, &a);
        fn(arg, &a);
        return NULL;
    }

    job = get_job(jobs, store, &d, key, name, via, &a);
    if (job != NULL && wait > 0) {
        w = waiter_new(job, ask, name, wait, fn, arg);
    }
    if (w == NULL) {
        fn(arg, &a);
    }
    return w;
}

/* the end of a job ------------------------------------------------------ */

/* For a waiter that wanted what the job could not make. */
static void answer_outcome(const struct job *job, struct jobs_answer *a)
{
    const struct cache_config *cache = &job->config->cache;

    memset(a, 0, sizeof(*a));
    a->text = job_text(job);
    switch (job->outcome) {
    case JOB_NOTFOUND:
        a->kind = JOBS_ABSENT;
        a->reason = "notfound";
        a->seconds = cache->retry_misses_after;
        break;
    case JOB_MALFORMED:
        a->kind = JOBS_ABSENT;
        a->reason = "malformed";
        a->seconds = cache->retry_malformed_after;
        break;
    case JOB_PUBLISHED: /* and gone again */
    case JOB_UNCHANGED:
    case JOB_ERROR:
        a->kind = JOBS_BUSY;
        a->reason = "error";
        a->seconds = cache->retry_errors_after;
        break;
    case JOB_STOPPED:
        a->kind = JOBS_BUSY;
        a->reason = SYMCACHE_REASON_STOPPING;
        a->seconds = BUSY_SECONDS;
        break;
    }
}

/* Of a waiter that was not answered by what the job has found out. */
static bool needs_another(const struct job *job, const struct waiter *w,
                          const struct decision *d)
{
    return d->transcoder != job->transcoder ||
           (job->outcome == JOB_NOTFOUND && strcmp(w->name, job->name) != 0);
}

/* Has the waiter wait for a job of its own.  Returns false if none can be. */
static bool start_another(struct jobs *jobs, const struct job *job,
                          struct waiter *w, const struct decision *d)
{
    const char *reason;
    struct job *next;

    if (jobs->stopping || job->config != jobs->config) {
        return false;
    }
    next = find_job(jobs, job->store, job->id);
    if (next == NULL) {
        next = start_job(jobs, job->store, d->transcoder, &job->key, w->name,
                         false, 0, &reason);
    }
    if (next == NULL) {
        return false;
    }
    /* whoever waited here may be who waits there */
    job_join_via(next, job->via != NULL ? job->via : "");
    waiter_join(w, next);
    return true;
}

/*
 * Every waiter is decided afresh by what is on disk now.  One that asked for
 * another version than the job made, or in another spelling than the job
 * looked for, may need a job of its own; where there is none, what this one
 * found out is no answer to it.
 */
static void answer_waiter(struct jobs *jobs, const struct job *job,
                          struct waiter *w)
{
    const struct store_config *store = job->store;
    struct jobs_answer a;
    struct decision d;
    bool another;

    decision_make(&d, jobs->absent, store, &jobs->config->cache, &job->key,
                  w->name, &w->ask);
    if (decision_answer(&d, store, &a)) {
        a.key = &job->key;
        waiter_answer(w, &a);
        return;
    }

    another = needs_another(job, w, &d);
    if (another && start_another(jobs, job, w, &d)) {
        return;
    }

    answer_outcome(job, &a);
    if (another && a.kind == JOBS_ABSENT) {
        a.kind = JOBS_BUSY;
        a.reason = "error";
        a.seconds = BUSY_SECONDS;
    }
    waiter_answer(w, &a);
}

static void finish(struct job *job)
{
    struct jobs *jobs = job->jobs;
    struct waiter *w;

    LIST_REMOVE(job, bucket);
    LIST_REMOVE(job, all);
    jobs->upgrades -= job->upgrade;

    while ((w = LIST_FIRST(&job->waiters)) != NULL) {
        waiter_part(w);
        answer_waiter(jobs, job, w);
    }

    if (job->config != jobs->config && --jobs->former == 0) {
        jobs_forget_former(jobs);
    }
    trails_keep(jobs->trails, job->trail);
    job->trail = NULL;
    job_free(job);
}

unsigned jobs_forget(struct jobs *jobs, const struct store_config *store,
                     const symcache_key_t *key, bool has_id)
{
    struct job *job;

    LIST_FOREACH(job, &jobs->all, all)
    {
        if (strcmp(job->store->name, store->name) == 0 &&
            strcmp(job->key.name, key->name) == 0 &&
            (!has_id ||
             (job->key.age == key->age &&
              memcmp(job->key.guid, key->guid, sizeof(key->guid)) == 0))) {
            job->forgotten = true;
        }
    }
    return absent_forget(jobs->absent, store, key, has_id);
}

/* life ------------------------------------------------------------------ */

struct jobs *jobs_new(struct event_base *base, struct sources *sources,
                      struct config *config)
{
    struct jobs *jobs = calloc(1, sizeof(*jobs));

    if (jobs == NULL) {
        return NULL;
    }

    TAILQ_INIT(&jobs->wait_source);
    TAILQ_INIT(&jobs->wait_host);
    TAILQ_INIT(&jobs->wait_transcoder);
    jobs->base = base;
    jobs->sources = sources;
    jobs->config = config_ref(config);
    jobs->pump = event_new(base, -1, 0, on_pump, jobs);
    jobs->absent = absent_new(time(NULL));
    jobs->trails = trails_new();
    jobs->tally = tally_new();
    jobs->sidecars = sidecars_new(base);
    jobs->misses = misses_new();

    if (jobs->pump == NULL || jobs->absent == NULL || jobs->trails == NULL ||
        jobs->tally == NULL || jobs->sidecars == NULL ||
        jobs->misses == NULL) {
        jobs_free(jobs);
        return NULL;
    }
    return jobs;
}

void jobs_stop(struct jobs *jobs)
{
    struct job *job;

    jobs->stopping = true;
    while ((job = LIST_FIRST(&jobs->all)) != NULL) {
        job_stop(job);
    }
    sidecars_stop(jobs->sidecars);
}

void jobs_free(struct jobs *jobs)
{
    struct jobs_root *r;

    if (jobs == NULL) {
        return;
    }
    sidecars_free(jobs->sidecars);
    while ((r = SLIST_FIRST(&jobs->roots)) != NULL) {
        SLIST_REMOVE_HEAD(&jobs->roots, next);
        workdir_close(r->workdir);
        free(r->path);
        free(r);
    }
    if (jobs->pump != NULL) {
        event_free(jobs->pump);
    }
    misses_free(jobs->misses);
    tally_free(jobs->tally);
    trails_free(jobs->trails);
    absent_free(jobs->absent);
    config_unref(jobs->config);
    free(jobs);
}
