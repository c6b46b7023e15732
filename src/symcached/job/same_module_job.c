/*
 * Copyright (C) the ngx_symcache authors
 */
#include "same_module_job.h"

#include <stddef.h>
#include <string.h>

#include "prefetch.h"
#include "scheduler_state.h"

struct job *same_module_job_find(const struct scheduler *scheduler,
                                 const struct store_config *store,
                                 const symcache_key_t *key)
{
    symcache_key_t other;

    if (key->id_type != SYMCACHE_ID_DEBUG ||
        !symcache_kind_is_debuginfo((symcache_kind_e)key->kind)) {
        return NULL;
    }
    symcache_key_copy(&other, key);
    other.kind = job_kind_of_id(key) == SYMCACHE_KIND_SYMCACHE
                     ? SYMCACHE_KIND_CFICACHE
                     : SYMCACHE_KIND_SYMCACHE;
    return scheduler_find(scheduler, store, &other);
}

/* Has a source places for the best original of a key? */
static bool has_own(const struct store_config *store,
                    const symcache_key_t *key, const char *hints)
{
    struct lookup_ids ids = {.programs = true, .among = lookup_first_ids(key)};
    size_t i;

    if (ids.among == 0) {
        return true;
    }
    for (i = 0; i < store->nsources; i++) {
        if (lookup_has_id(store->sources[i], key, hints, ~0u, ids)) {
            return true;
        }
    }
    return false;
}

/* Has the job asked for nothing but its own file so far? */
static bool is_apart(const struct job *job)
{
    return !job->is_beyond && !prefetch_runs(job) &&
           (job->lookup == NULL ||
            lookup_asks_among(job->lookup, lookup_first_ids(&job->key)));
}

struct job *same_module_job_or_own(const struct scheduler *scheduler,
                                   const struct store_config *store,
                                   const symcache_key_t *key,
                                   const char *hints)
{
    struct job *job = scheduler_find(scheduler, store, key);

    if (job == NULL) {
        job = same_module_job_find(scheduler, store, key);
        if (job != NULL && job->purpose == JOB_FOR_LOOKUP && is_apart(job) &&
            has_own(store, key, hints) &&
            has_own(store, &job->key, job_hints(job))) {
            job = NULL;
        }
    }
    return job;
}

static void narrow_to_own(struct job *job)
{
    unsigned ids = lookup_first_ids(&job->key);

    if (job->reach == JOB_ASKS_ALL && ids != 0) {
        job->reach = JOB_ASKS_OWN;
        if (job->lookup != NULL) {
            lookup_narrow(job->lookup, ids);
        }
    }
}

void same_module_job_part(struct job *job)
{
    struct job *sibling =
        same_module_job_find(job->scheduler, job->store, &job->key);

    if (sibling != NULL) {
        narrow_to_own(job);
        narrow_to_own(sibling);
    }
}

bool same_module_job_awaits(struct job *job)
{
    const struct job *sibling;

    if (job->reach == JOB_ASKS_OWN && job->kept_work == NULL) {
        job->reach = JOB_ASKED_OWN;
    }
    if (job->reach != JOB_ASKED_OWN) {
        return false;
    }
    /* of two that could wait for each other, the second goes on */
    sibling = same_module_job_find(job->scheduler, job->store, &job->key);
    return sibling != NULL && sibling->reach != JOB_ASKED_OWN;
}

/* A source whose file was of no use would only send it again, but one with
 * Breakpad's layout can have a debug file next to the text. */
static void leave_out(struct job *job, symcache_kind_e slot)
{
    struct lookup_attempt attempt = {
        .outcome = SOURCE_NOT_FOUND,
        .detail = "what it has is among the downloads, and of no use for this",
    };
    struct provenance provenance;
    char path[PATH_MAX];
    symcache_key_t key;
    const struct source_config *source;
    size_t i;

    symcache_key_copy(&key, &job->key);
    key.kind = (uint8_t)slot;
    store_download_path(path, job->config->downloads, job->store->name, &key);
    if (!store_download_find(path) || !provenance_read(path, &provenance)) {
        return;
    }
    for (i = 0; i < job->store->nsources; i++) {
        source = job->store->sources[i];
        if (source->layout != LAYOUT_BREAKPAD &&
            strcmp(source->name, provenance.source) == 0) {
            attempt.source = source->name;
            attempt.place = path;
            attempt_log_add(job->attempt_log, &attempt);
            source_order_absent(&job->order, source);
        }
    }
}

bool same_module_job_goes_on(struct job *job)
{
    const uint8_t *slots =
        symcache_kind((symcache_kind_e)job->key.kind)->slots;
    unsigned i;

    if (job->reach != JOB_ASKED_OWN) {
        return false;
    }
    job->reach = JOB_ASKS_REST;
    job->is_beyond = true;
    source_order_rewind(&job->order);
    if (job_take_download(job)) {
        metrics_add(METRIC_DOWNLOAD_REUSED, 1);
        job_leave_sources(job);
        job_set_state(job, JOB_WAITS_TRANSCODER);
        return true;
    }
    for (i = 1; slots[i] != SYMCACHE_KINDS; i++) {
        leave_out(job, (symcache_kind_e)slots[i]);
    }
    job_ask_source(job);
    return true;
}
