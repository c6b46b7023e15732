/*
 * Copyright (C) the ngx_symcache authors
 *
 * How a job asks the tier of its store, before it looks for an original.  What
 * the tier answers is never a finding: without a file from it the job goes on
 * as if there were no tier.
 */

#include <stdio.h>
#include <string.h>
#include "symcached/upload_index/upload_index.h"
#include "scheduler_state.h"

/* For "why" only: a tier is none of the places that an outcome follows from.
 */
static void note_answer(struct job *job, const struct tier_result *result)
{
    static const enum source_outcome outcomes[] = {
        [TIER_HIT] = SOURCE_FOUND,
        [TIER_ABSENT] = SOURCE_NOT_FOUND,
        [TIER_REFUSED] = SOURCE_UNUSABLE,
        [TIER_FAILED] = SOURCE_FAILED,
    };
    struct lookup_attempt attempt = {.source = job->store->tier->name,
                                     .place = result->place,
                                     .outcome = outcomes[result->outcome],
                                     .detail = result->detail,
                                     .bytes = result->bytes,
                                     .ms = result->ms,
                                     .status = result->status};

    attempt_log_tier(job->attempt_log, &attempt);
}

/* A file made from an upload is removed together with it, under every name
 * that clients asked for.  Returns false if that cannot be noted. */
static bool note_asked(const struct job *job, const char *file)
{
    struct provenance provenance;
    const struct source_config *source;
    size_t i;

    if (!provenance_read(file, &provenance)) {
        return true;
    }
    for (i = 0; i < job->store->nsources; i++) {
        source = job->store->sources[i];
        if (strcmp(source->name, provenance.source) == 0 &&
            config_source_is_uploads(source)) {
            return uploads_disk_note_asked(source->path, &job->key) == 0;
        }
    }
    return true;
}

static void tier_on_answer(void *arg, const struct tier_result *result)
{
    struct job *job = arg;
    char file[WORKDIR_PATH_MAX + SYMCACHE_NAME_MAX + 2];

    job->tier_get = NULL;
    note_answer(job, result);
    snprintf(file, sizeof(file), "%s/%s", job->work, job->key.name);
    if (result->outcome == TIER_HIT && note_asked(job, file)) {
        job->original.from = job->store->tier->name;
        job->original.bytes = result->bytes;
        job_publish(job, &job->target.transcoder->version, file);
        return;
    }
    job->tier_replace = result->outcome == TIER_REFUSED;
    job_remove_work(job);
    job_seek_original(job);
}

bool job_ask_tier(struct job *job)
{
    char file[WORKDIR_PATH_MAX + SYMCACHE_NAME_MAX + 2];

    if (job->store->tier == NULL || symcache_key_is_download(&job->key) ||
        tiers_discarded(job->store, &job->key,
                        &job->target.transcoder->version)) {
        return false;
    }
    job->work =
        job_make_work(scheduler_workdir(job->scheduler, job->store->root));
    if (job->work == NULL) {
        return false; /* the next step has the same trouble, and tells of it */
    }
    snprintf(file, sizeof(file), "%s/%s", job->work, job->key.name);
    job->tier_get =
        tiers_get(job->scheduler->tiers, job->config, job->store, &job->key,
                  &job->target.transcoder->version, file, tier_on_answer, job);
    if (job->tier_get == NULL) {
        job_remove_work(job);
        return false;
    }
    job_set_state(job, JOB_IN_TIER);
    return true;
}
