/*
 * Copyright (C) the ngx_symcache authors
 *
 * Decides which job has a slot and which waits for one, and has the table of
 * all jobs.
 */

#include "scheduler_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <event2/event.h>
#include "base/async_unlink.h"
#include "base/event.h"
#include "base/log.h"
#include "proto/header.h"
#include "prefetch.h"
#include "same_module_job.h"

const struct config *scheduler_config(const struct scheduler *scheduler)
{
    return scheduler->config;
}

void scheduler_want_gzip(struct scheduler *scheduler,
                         const struct store_config *store,
                         const symcache_key_t *key,
                         const symcache_version_t *version)
{
    if (store->gzip) {
        gzip_files_want(
            scheduler->gzip_files, store->root, &scheduler->config->cache,
            scheduler_workdir(scheduler, store->root), key, version);
    }
}

/* slots ----------------------------------------------------------------- */

bool scheduler_has_slot(const struct scheduler *scheduler)
{
    return scheduler->downloading + scheduler->prefetching <
           scheduler->config->limits.downloads;
}

void scheduler_host_freed(void *arg)
{
    struct scheduler *scheduler = arg;

    scheduler->host_freed = true;
    event_active(scheduler->pump, 0, 0);
}

void scheduler_prefetches(struct scheduler *scheduler, int change)
{
    scheduler->prefetching += (unsigned)change;
    scheduler_host_freed(scheduler);
}

/* Results that may wait for the disk, for each transcoder that may run.  Four
 * syncs take as long as a conversion, or a few. */
#define PUBLISHING_EACH 8

/*
 * While results wait for the disk, other transcoders run; but on a disk that
 * does not answer no more results are to pile up.
 */
static bool may_transcode(const struct scheduler *scheduler)
{
    unsigned most = scheduler->config->limits.transcodes;

    return scheduler->transcoding < most &&
           scheduler->publishing <= PUBLISHING_EACH * most;
}

/* The same of all that share; it is not asked without a job that waits. */
static bool has_turn(const struct scheduler *scheduler)
{
    return scheduler->turn == NULL || conversion_slot_may(scheduler->turn);
}

static void on_turn(void *arg)
{
    struct scheduler *scheduler = arg;

    event_active(scheduler->pump, 0, 0);
}

void scheduler_share(struct scheduler *scheduler, struct conversion_slot *turn,
                     struct conversion_slots *turns,
                     struct conversion_slots_party *party)
{
    conversion_slot_join(turn, turns, party, on_turn, scheduler);
    scheduler->turn = turn;
}

/* One in so many download slots goes to a job whose key was absent the last
 * time, or has not been found where files are, if such a job waits.  All other
 * jobs go first. */
#define AGAIN_EACH 8

static void ask_next_source(struct scheduler *scheduler, struct job *job)
{
    scheduler->asked = job->waits_behind ? 0 : scheduler->asked + 1;
    job_ask_source(job);
}

/* Has jobs of a queue ask their sources, as long as there are slots, but no
 * more than so many.  Thousands may have waited for a host that has a slot free
 * now: the others stay where they are. */
static void ask_queue(struct scheduler *scheduler, struct job_queue *queue,
                      unsigned most)
{
    const struct source_config *busy = NULL;
    struct job *job, *next;

    for (job = TAILQ_FIRST(queue);
         !scheduler->stopping && scheduler_has_slot(scheduler) &&
         job != NULL && most > 0;
         job = next) {
        next = TAILQ_NEXT(job, queue);
        if (job->source != NULL && job->source == busy && !prefetch_has(job) &&
            !section_is_near(job)) {
            continue;
        }
        if (job_may_ask(job)) {
            if (job->state == JOB_WAITS_HOST) {
                job_set_state(job, JOB_WAITS_SOURCE);
            }
            ask_next_source(scheduler, job);
            most--;
        } else if (job->state == JOB_WAITS_HOST) {
            busy = job->source;
        } else {
            job_set_state(job, JOB_WAITS_HOST);
        }
    }
}

static void scheduler_on_pump(evutil_socket_t fd, short events, void *arg)
{
    struct scheduler *scheduler = arg;
    static const struct timeval soon = {.tv_usec = ASYNC_UNLINK_MS * 1000};
    unsigned waiting = scheduler->host_freed ? UINT_MAX : 0;
    struct job *job, *next;

    /* those that waited for a host go before those that came later */
    scheduler->host_freed = false;
    if (scheduler->asked >= AGAIN_EACH && waiting > 0) {
        ask_queue(scheduler, &scheduler->wait_host_again, 1);
    }
    if (scheduler->asked >= AGAIN_EACH) {
        ask_queue(scheduler, &scheduler->wait_source_again, 1);
    }
    ask_queue(scheduler, &scheduler->wait_host, waiting);
    ask_queue(scheduler, &scheduler->wait_source, UINT_MAX);
    ask_queue(scheduler, &scheduler->wait_host_again, waiting);
    ask_queue(scheduler, &scheduler->wait_source_again, UINT_MAX);
    for (job = TAILQ_FIRST(&scheduler->wait_transcoder);
         !scheduler->stopping && may_transcode(scheduler) && job != NULL;
         job = next) {
        next = TAILQ_NEXT(job, queue);
        if (job_awaits_space(job)) {
            event_add(scheduler->pump, &soon);
        } else if (job_may_transcode(job)) {
            if (!has_turn(scheduler)) {
                break;
            }
            job_run_transcoder(job);
        }
    }
}

/* The queue of a job that waits for a download slot. */
static struct job_queue *source_queue(struct scheduler *scheduler,
                                      const struct job *job)
{
    return job->waits_behind ? &scheduler->wait_source_again
                             : &scheduler->wait_source;
}

/* The queue of one that waits for a host. */
static struct job_queue *host_queue(struct scheduler *scheduler,
                                    const struct job *job)
{
    return job->waits_behind ? &scheduler->wait_host_again
                             : &scheduler->wait_host;
}

/* Takes the job from its queue, or its slot from it. */
static void leave_state(struct scheduler *scheduler, struct job *job,
                        enum job_state state)
{
    switch (state) {
    case JOB_WAITS_SOURCE:
        TAILQ_REMOVE(source_queue(scheduler, job), job, queue);
        scheduler->queued--;
        break;
    case JOB_WAITS_HOST:
        TAILQ_REMOVE(host_queue(scheduler, job), job, queue);
        scheduler->queued--;
        break;
    case JOB_IN_TIER:
    case JOB_WAITS_UPSTREAM:
        scheduler->queued--;
        break;
    case JOB_WAITS_TRANSCODER:
        TAILQ_REMOVE(&scheduler->wait_transcoder, job, queue);
        scheduler->queued--;
        break;
    case JOB_IN_SOURCE:
        scheduler->downloading--;
        scheduler->host_freed = true;
        break;
    case JOB_IN_TRANSCODER:
        scheduler->transcoding--;
        if (scheduler->turn != NULL) {
            conversion_slot_ended(scheduler->turn);
        }
        break;
    case JOB_PUBLISHES:
        scheduler->publishing--;
        break;
    case JOB_NEW:
    case JOB_ENDED:
        break;
    }
}

void scheduler_moved(struct job *job, enum job_state from, enum job_state to)
{
    struct scheduler *scheduler = job->scheduler;

    leave_state(scheduler, job, from);
    switch (to) {
    case JOB_WAITS_SOURCE:
        job->waits_behind = job->was_absent || job->is_unlikely;
        if (from == JOB_WAITS_HOST) {
            TAILQ_INSERT_HEAD(source_queue(scheduler, job), job, queue);
        } else {
            TAILQ_INSERT_TAIL(source_queue(scheduler, job), job, queue);
        }
        scheduler->queued++;
        break;
    case JOB_WAITS_HOST:
        TAILQ_INSERT_TAIL(host_queue(scheduler, job), job, queue);
        scheduler->queued++;
        return; /* no slot was freed and none is wanted: no need to pump */
    case JOB_IN_TIER:
    case JOB_WAITS_UPSTREAM:
        scheduler->queued++;
        break;
    case JOB_WAITS_TRANSCODER:
        TAILQ_INSERT_TAIL(&scheduler->wait_transcoder, job, queue);
        scheduler->queued++;
        break;
    case JOB_IN_SOURCE:
        scheduler->downloading++;
        break;
    case JOB_IN_TRANSCODER:
        scheduler->transcoding++;
        if (scheduler->turn != NULL) {
            conversion_slot_begun(scheduler->turn);
        }
        break;
    case JOB_PUBLISHES:
        scheduler->publishing++;
        break;
    case JOB_NEW:
    case JOB_ENDED:
        break;
    }
    event_active(scheduler->pump, 0, 0);
}

/* all jobs -------------------------------------------------------------- */

struct job *scheduler_find(const struct scheduler *scheduler,
                           const struct store_config *store,
                           const symcache_key_t *key)
{
    struct job *job;
    char id[STORE_KEY_MAX];
    uint64_t hash;
    size_t at = 0;

    job_print_id(id, store->name, key);
    hash = table_hash_text(&scheduler->by_id, id);
    while ((job = (struct job *)table_next(&scheduler->by_id, hash, &at)) !=
           NULL) {
        if (strcmp(job_id(job), id) == 0 &&
            strcmp(job->store->root, store->root) == 0) {
            break;
        }
    }
    return job;
}

static int add_by_id(struct job *job)
{
    struct table *by_id = &job->scheduler->by_id;

    return table_add(by_id, table_hash_text(by_id, job_id(job)),
                     (uintptr_t)job);
}

struct job *scheduler_start(struct scheduler *scheduler,
                            const struct job_request *request,
                            const char **reason)
{
    const struct limits_config *limits = &scheduler->config->limits;
    struct job *job;

    if (scheduler->stopping) {
        *reason = SYMCACHE_REASON_STOPPING;
        return NULL;
    }
    if (scheduler->queued >= limits->queue) {
        metrics_add(METRIC_JOB_REFUSED, 1);
        *reason = "queue-full";
        return NULL;
    }

    job = job_new(scheduler, request);
    if (job != NULL && add_by_id(job) != 0) {
        job_free(job);
        job = NULL;
    }
    if (job == NULL) {
        *reason = "out-of-memory";
        return NULL;
    }

    job->was_absent =
        negcache_was_absent(scheduler->negcache, request->store,
                            &scheduler->config->cache, request->key,
                            &request->transcoder->version);
    scheduler->begun++;
    scheduler->background += request->purpose != JOB_FOR_LOOKUP;
    LIST_INSERT_HEAD(&scheduler->all, job, all);
    same_module_job_part(job);
    job_begin(job, request->better);
    return job;
}

void scheduler_deregister(struct job *job)
{
    struct table *by_id = &job->scheduler->by_id;

    table_remove(by_id, table_hash_text(by_id, job_id(job)), (uintptr_t)job);
    LIST_REMOVE(job, all);
    job->scheduler->background -= job->purpose != JOB_FOR_LOOKUP;
}

void scheduler_leave_config(struct job *job)
{
    struct scheduler *scheduler = job->scheduler;

    if (job->config != scheduler->config && --scheduler->former == 0) {
        scheduler_forget_former(scheduler);
    }
}

struct tier_redirect *scheduler_redirect(struct scheduler *scheduler,
                                         const struct store_config *store,
                                         const symcache_key_t *key,
                                         tier_redirect_done_fn done, void *arg)
{
    return tier_redirect_start(scheduler->base, scheduler->tiers,
                               scheduler->config, store, key, done, arg);
}

/* Does the job look for the file of this key, or make something of it? */
static bool is_about(const struct job *job, const symcache_key_t *key)
{
    return symcache_key_same_module(&job->key, key) ||
           (job->key.kind == SYMCACHE_KIND_SECTION &&
            symcache_key_same_id(&job->key, key));
}

unsigned scheduler_forget(struct scheduler *scheduler,
                          const struct store_config *store,
                          const symcache_key_t *key, bool has_id, int *errnum)
{
    char downloads[PATH_MAX];
    struct job *job;
    unsigned n;

    LIST_FOREACH(job, &scheduler->all, all)
    {
        if (strcmp(job->store->name, store->name) == 0 &&
            (has_id ? symcache_key_same_id(&job->key, key) ||
                          negcache_hints_name(job_hints(job), key)
                    : strcmp(job->key.name, key->name) == 0)) {
            job->findings |= FINDING_FORGOTTEN;
        }
    }
    n = negcache_forget(scheduler->negcache, store, key, has_id, errnum);
    store_download_root(downloads, scheduler->config->downloads, store->name);
    if (store_tell_forgotten(store->root) != 0 ||
        store_tell_forgotten(downloads) != 0) {
        log_error(errno, "store=%s: nginx cannot be told what was forgotten",
                  store->name);
    }
    return n;
}

/* Jobs for one name and id, whatever they make. */
#define SAME_MAX 16

static size_t find_same(const struct scheduler *scheduler,
                        const struct store_config *store,
                        const symcache_key_t *key, struct job *jobs[SAME_MAX])
{
    struct job *job;
    size_t n = 0;

    LIST_FOREACH(job, &scheduler->all, all)
    {
        if (n < SAME_MAX && strcmp(job->store->name, store->name) == 0 &&
            is_about(job, key)) {
            jobs[n++] = job;
        }
    }
    return n;
}

/* Has the tier's files removed, of the versions that are made of the key or on
 * the disk: *is_made if there is one. */
static void discard_in_tier(struct scheduler *scheduler,
                            const struct store_config *store,
                            const symcache_key_t *key, bool *is_made)
{
    symcache_version_t versions[STORE_VERSIONS_MAX];
    symcache_key_t each;
    int kind, n;
    size_t i;

    symcache_key_copy(&each, key);
    for (i = 0; i < store->ntranscoders; i++) {
        each.kind = (uint8_t)store->transcoders[i].makes;
        if (symcache_key_is_download(&each)) {
            continue; /* it is in no tier */
        }
        tiers_discard(scheduler->tiers, store, &each,
                      &store->transcoders[i].version);
    }
    for (kind = 0; kind < SYMCACHE_KINDS; kind++) {
        if (symcache_kind((symcache_kind_e)kind)->end != NULL) {
            continue;
        }
        each.kind = (uint8_t)kind;
        n = store_versions(store->root, &each, versions);
        *is_made = *is_made || n > 0;
        while (n-- > 0) {
            tiers_discard(scheduler->tiers, store, &each, &versions[n]);
        }
    }
}

/* Removes the downloads of a key, of every kind, and with a build id also the
 * sections that were cut out of them. */
static void discard_downloads(const struct scheduler *scheduler,
                              const struct store_config *store,
                              const symcache_key_t *key)
{
    const char *downloads = scheduler->config->downloads;
    char path[PATH_MAX];
    symcache_key_t each;
    int kind;

    symcache_key_copy(&each, key);
    for (kind = 0; kind < SYMCACHE_KINDS; kind++) {
        if (symcache_kind((symcache_kind_e)kind)->end != NULL) {
            each.kind = (uint8_t)kind;
            store_download_path(path, downloads, store->name, &each);
            (void)unlink(path);
        }
    }
    if (key->id_type == SYMCACHE_ID_BUILD &&
        strcmp(key->name, SYMCACHE_NAME_NONE) == 0) {
        store_download_root(path, downloads, store->name);
        section_names_discard(path, key);
    }
}

bool scheduler_discard(struct scheduler *scheduler,
                       const struct store_config *store,
                       const symcache_key_t *key, bool *is_made)
{
    struct job *jobs[SAME_MAX];
    size_t i, n = find_same(scheduler, store, key, jobs);
    bool done;

    if (store->tier != NULL) {
        discard_in_tier(scheduler, store, key, is_made);
    }
    missing_modules_drop(scheduler->missing, key);
    /* Files first: a waiter of a job that ends begins another job. */
    done = store_discard(store->root, key);
    discard_downloads(scheduler, store, key);
    for (i = 0; i < n; i++) {
        if (jobs[i]->publish != NULL) {
            done = false;
        } else {
            job_say(jobs[i], "another original was uploaded");
            /* also of the next one: a source that had none has it now */
            jobs[i]->findings |= FINDING_FORGOTTEN;
            job_end(jobs[i], FINDING_STOPPED);
        }
    }
    return done;
}

unsigned scheduler_forget_transcoders(struct scheduler *scheduler,
                                      const struct store_config *store,
                                      time_t since)
{
    struct job *job;

    transcoder_healths_reset(scheduler->healths, store);
    LIST_FOREACH(job, &scheduler->all, all)
    {
        if (strcmp(job->store->name, store->name) == 0 &&
            (job->state == JOB_IN_TRANSCODER ||
             job->state == JOB_PUBLISHES ||
             (job->findings & FINDING_MALFORMED))) {
            job->findings |= FINDING_FORGOTTEN;
        }
    }
    return negcache_forget_malformed(scheduler->negcache, store, since);
}

struct tiers *scheduler_get_tiers(const struct scheduler *scheduler)
{
    return scheduler->tiers;
}

bool scheduler_tier_refuses_uploads(const struct scheduler *scheduler)
{
    const struct tier_config *tier = scheduler->config->uploads.tier;

    return tier != NULL && !tier->read_only &&
           tiers_refuse_files(scheduler->tiers, tier);
}

/* life ------------------------------------------------------------------ */

struct scheduler *scheduler_new(struct event_base *base,
                                struct sources *sources, struct tiers *tiers,
                                struct config *config)
{
    struct scheduler *scheduler = calloc(1, sizeof(*scheduler));

    if (scheduler == NULL) {
        return NULL;
    }

    TAILQ_INIT(&scheduler->wait_source);
    TAILQ_INIT(&scheduler->wait_source_again);
    TAILQ_INIT(&scheduler->wait_host);
    TAILQ_INIT(&scheduler->wait_host_again);
    TAILQ_INIT(&scheduler->wait_transcoder);
    scheduler->base = base;
    scheduler->sources = sources;
    scheduler->config = config_ref(config);
    scheduler->pump = event_new(base, -1, 0, scheduler_on_pump, scheduler);
    sources_watch(sources, scheduler_host_freed, scheduler);
    scheduler->negcache = negcache_new(time(NULL));
    scheduler->attempt_logs = attempt_logs_new();
    scheduler->source_stats = source_stats_new();
    scheduler->gzip_files = gzip_files_new(base);
    scheduler->tiers = tiers;
    scheduler->misses = recent_misses_new();
    scheduler->missing = missing_modules_new();
    scheduler->healths = transcoder_healths_new();

    if (scheduler->pump == NULL || scheduler->negcache == NULL ||
        scheduler->attempt_logs == NULL || scheduler->source_stats == NULL ||
        scheduler->gzip_files == NULL || scheduler->misses == NULL ||
        scheduler->missing == NULL || scheduler->healths == NULL) {
        scheduler_free(scheduler);
        return NULL;
    }
    return scheduler;
}

void scheduler_drain(struct scheduler *scheduler, bool drain)
{
    scheduler->draining = drain;
}

void scheduler_stop(struct scheduler *scheduler)
{
    struct job *job;

    scheduler->stopping = true;
    while ((job = LIST_FIRST(&scheduler->all)) != NULL) {
        job_say(job, "the helper stops");
        job_end(job, FINDING_STOPPED);
    }
    tier_redirects_end();
    gzip_files_stop(scheduler->gzip_files);
}

void scheduler_finish(struct scheduler *scheduler, void (*done)(void *arg),
                      void *arg)
{
    tiers_finish(scheduler->tiers, done, arg);
}

void scheduler_give_up(struct scheduler *scheduler)
{
    tiers_stop(scheduler->tiers);
}

void scheduler_free(struct scheduler *scheduler)
{
    struct scheduler_root *root;

    if (scheduler == NULL) {
        return;
    }
    sources_watch(scheduler->sources, NULL, NULL);
    gzip_files_free(scheduler->gzip_files);
    while ((root = SLIST_FIRST(&scheduler->roots)) != NULL) {
        SLIST_REMOVE_HEAD(&scheduler->roots, next);
        workdir_close(root->workdir);
        free(root->path);
        free(root);
    }
    event_drop(scheduler->pump);
    transcoder_healths_free(scheduler->healths);
    recent_misses_free(scheduler->misses);
    missing_modules_free(scheduler->missing);
    source_stats_free(scheduler->source_stats);
    attempt_logs_free(scheduler->attempt_logs);
    negcache_free(scheduler->negcache);
    config_unref(scheduler->config);
    table_free(&scheduler->by_id);
    free(scheduler);
}
