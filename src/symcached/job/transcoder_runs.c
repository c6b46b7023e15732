/*
 * Copyright (C) the ngx_symcache authors
 *
 * Is a failure of the transcoder the fault of the PDB, or its own?  Tells
 * transcoder_health.h of each run of a job's transcoder.  If a failure is
 * doubted, the transcoder has to convert the canary, a PDB that is known to be
 * good: the one that it has converted last, if that is still among the
 * downloads, or else the small one that comes with symcached.  This run uses
 * the slot of the run that failed.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "jscache_inputs.h"
#include "scheduler_state.h"
#include "base/log.h"
#include "symcached/store/store.h"

struct canary {
    bool is_own; /* the one that comes with symcached */
    symcache_key_t key;
    char path[PATH_MAX];
};

/*
 * Returns NULL for a job of a former configuration, whose transcoders are not
 * judged any more, and when out of memory.
 */
static struct transcoder_health *
health_in(const struct job *job, const struct transcoder_config *transcoder)
{
    if (job->config != scheduler_config(job->scheduler)) {
        return NULL;
    }
    return transcoder_healths_get(job->scheduler->healths, job->store,
                                  transcoder);
}

/* A conversion of several files cannot show a faulty transcoder: the canary is
 * one file. */
static struct transcoder_health *health_of(const struct job *job)
{
    return kind_has_inputs((symcache_kind_e)job->key.kind)
               ? NULL
               : health_in(job, job_transcoder(job));
}

static bool take_probe(struct job *job)
{
    bool is_probe = job->run.is_probe;

    job->run.is_probe = false;
    return is_probe;
}

/* running it ------------------------------------------------------------ */

bool job_may_transcode(const struct job *job)
{
    const struct transcoder_health *health = health_of(job);
    unsigned parallel = job_transcoder(job)->parallel;

    return health == NULL || (!transcoder_health_is_tried(health) &&
                              (parallel == 0 || health->running < parallel));
}

bool job_begins_run(struct job *job, char *error, size_t size)
{
    struct transcoder_health *health = health_of(job);

    if (health == NULL) {
        return true;
    }
    job->run.pause = transcoder_health_left(health);
    if (job->run.pause > 0) {
        metrics_add(METRIC_TRANSCODE_REFUSED, 1);
        snprintf(error, size, "the transcoder is left alone, it failed: %s",
                 health->failure);
        return false;
    }
    job->run.is_probe = transcoder_health_begins(health);
    job->run.is_counted = true;
    health->running++;
    return true;
}

void job_run_spoke(struct job *job, bool spoke)
{
    struct transcoder_health *health = health_of(job);

    if (health != NULL) {
        health->is_silent = !spoke;
    }
}

bool job_may_speak(const struct job *job,
                   const struct transcoder_config *transcoder)
{
    const struct transcoder_health *health = health_in(job, transcoder);

    return transcode_proves(transcoder) &&
           (health == NULL || !health->is_silent);
}

void job_leaves_run(struct job *job)
{
    struct transcoder_health *health = health_of(job);

    if (take_probe(job) && health != NULL) {
        transcoder_health_ends(health, true);
    }
    if (job->run.is_counted && health != NULL) {
        health->running--;
    }
    job->run.is_counted = false;
    free(job->run.canary);
    job->run.canary = NULL;
}

void job_run_converted(struct job *job)
{
    struct transcoder_health *health = health_of(job);
    symcache_key_t original;

    if (health != NULL) {
        job_original_key(job, &original);
        transcoder_health_converted(health, &original, job_pdb_path(job),
                                    take_probe(job));
    }
}

void job_run_failed(struct job *job, const char *why)
{
    struct transcoder_health *health = health_of(job);

    if (health != NULL) {
        transcoder_health_failed(health, &job->key, why,
                                 job->config->cache.retry_errors_after,
                                 take_probe(job));
    }
}

bool job_was_lied_to(const struct job *job)
{
    const struct transcoder_health *health =
        job->findings & FINDING_MALFORMED ? health_in(job, job->run.accuser)
                                          : NULL;

    return health != NULL && health->lies != job->run.lies;
}

/* the canary ------------------------------------------------------------ */

/* Chooses a canary.  Returns false if there is none. */
static bool choose_canary(const struct job *job,
                          const struct transcoder_health *health,
                          struct canary *canary)
{
    store_download_path(canary->path, job->config->downloads, job->store->name,
                        &health->good.key);
    if (transcoder_health_has_good(health, canary->path)) {
        symcache_key_copy(&canary->key, &health->good.key);
        canary->key.kind = job->key.kind;
        return true;
    }

    canary->is_own = true;
    return good_pdb_find((symcache_kind_e)job->key.kind, &canary->key,
                         canary->path);
}

/*
 * Drops the negative entries of files that the transcoder called malformed in
 * this row, because these reports are no longer believed.  Returns the number
 * of entries.
 */
static unsigned transcoder_take_back(const struct job *job,
                                     const struct transcoder_health *health)
{
    unsigned n = 0;
    size_t i;

    for (i = 0; i < health->nrow; i++) {
        n += negcache_take_back(job->scheduler->negcache, job->store,
                                &health->row[i].key, &health->row[i].version);
    }
    if (n > 0 && store_tell_forgotten(job->store->root) != 0) {
        log_error(errno, "store=%s: nginx cannot be told what was forgotten",
                  job->store->name);
    }
    return n;
}

static void believe_run(struct job *job,
                        const struct transcoder_health *health)
{
    if (!(job->findings & FINDING_MALFORMED)) {
        job->run.accuser = job_transcoder(job);
        job->run.lies = health != NULL ? health->lies : 0;
    }
    job_diagnosed(job, NULL);
}

static void on_canary(void *arg, const struct transcode_result *result)
{
    struct job *job = arg;
    struct transcoder_health *health = health_of(job);
    struct canary *canary = job->run.canary;
    char why[TRUST_TEXT], text[NEGCACHE_TEXT_MAX];

    job->run.transcode = NULL;
    job->run.canary = NULL;
    metrics_add(METRIC_TRANSCODE_RUNS, 1);
    metrics_observe(METRICS_TRANSCODE, result->ms);

    transcode_describe(result, why, sizeof(why));
    if (health == NULL) {
        believe_run(
            job, health); /* harmless, as an outdated job ends in an error */
    } else if (result->ok) {
        transcoder_health_canary_lives(health, canary->path, take_probe(job));
        believe_run(job, health);
    } else if (job_lacks_space(job, result->full) || result->full) {
        job_diagnosed(job, "no room to try the transcoder on a good PDB");
    } else if (!job_has_work(job)) {
        job_diagnosed(job,
                      "its folder vanished while the transcoder was tried "
                      "on a good PDB");
    } else if (!canary->is_own &&
               !transcoder_health_has_good(health, canary->path)) {
        job_diagnosed(job, "the PDB that the transcoder was to be tried on "
                           "vanished");
    } else {
        transcoder_health_canary_dies(
            health, canary->path, why, transcoder_take_back(job, health),
            job->config->cache.retry_errors_after, take_probe(job));
        snprintf(text, sizeof(text),
                 "the transcoder fails on a good PDB, too (%s): %s", why,
                 job_text(job));
        job_diagnosed(job, text);
    }
    free(canary);
}

/* Returns -1 with errno if it cannot be run. */
static int run_canary(struct job *job)
{
    static char *const none[SECONDS];
    const struct canary *canary = job->run.canary;

    job_remove_work(job);
    job->work =
        job_make_work(scheduler_workdir(job->scheduler, job->store->root));
    if (job->work == NULL) {
        return -1;
    }
    log_debug(0, "job %s: the transcoder is tried on \"%s\"", job_id(job),
              canary->path);
    errno = ENOMEM;
    job->run.transcode = transcode_start(
        job->scheduler->base, job->config, job_transcoder(job), &canary->key,
        canary->path, none, job->work, on_canary, job);
    return job->run.transcode != NULL ? 0 : -1;
}

void job_diagnose(struct job *job)
{
    struct transcoder_health *health = health_of(job);
    char error[PATH_MAX + 128];

    if (health == NULL || !transcoder_health_needs_canary(health, &job->key)) {
        if (health != NULL) {
            transcoder_health_believes(health, &job->key,
                                       &job->target.transcoder->version,
                                       take_probe(job));
        }
        believe_run(job, health);
        return;
    }

    job->run.canary = calloc(1, sizeof(*job->run.canary));
    if (job->run.canary == NULL) {
        job_diagnosed(job, "out of memory");
        return;
    }
    if (!choose_canary(job, health, job->run.canary)) {
        if (job->run.canary->path[0] != '\0') {
            snprintf(error, sizeof(error),
                     "failed on different files in a row, and there is no "
                     "\"%s\" to see whether it works",
                     job->run.canary->path);
        } else {
            snprintf(error, sizeof(error),
                     "failed on different files in a row, and no good file "
                     "of this kind comes with symcached to see whether it "
                     "works");
        }
        job_diagnosed(job, error);
        return;
    }
    if (run_canary(job) != 0) {
        snprintf(error, sizeof(error),
                 "the transcoder cannot be tried on a good PDB: %s",
                 strerror(errno));
        job_diagnosed(job, error);
    }
}
