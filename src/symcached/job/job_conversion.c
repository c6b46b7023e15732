/*
 * Copyright (C) the ngx_symcache authors
 *
 * How a job runs its transcoder on the original.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/async_unlink.h"
#include "base/log.h"
#include "jscache_inputs.h"
#include "scheduler_state.h"
#include "second_original.h"
#include "symcached/space/space.h"

bool job_lacks_space(const struct job *job, bool full)
{
    const char *root = job->store->root;
    struct stat st;

    if (stat(job_pdb_path(job), &st) != 0 ||
        (!full &&
         disk_space_left(root, &job->config->cache) >= (uint64_t)st.st_size)) {
        return false;
    }
    disk_space_want_in(root, (uint64_t)st.st_size);
    return true;
}

bool job_awaits_space(const struct job *job)
{
    struct stat st;

    return async_unlink_works() && stat(job_pdb_path(job), &st) == 0 &&
           disk_space_left(job->store->root, &job->config->cache) <
               (uint64_t)st.st_size;
}

bool job_has_work(const struct job *job)
{
    char out[WORKDIR_PATH_MAX + sizeof("/out")];

    snprintf(out, sizeof(out), "%s%s", job->work,
             transcode_is_ours(job_transcoder(job)) ? "" : "/out");
    return access(out, F_OK) == 0;
}

static void conversion_end_forgotten(struct job *job)
{
    job_discard_pdb(job);
    job_fail(job, 0, "forgotten while the transcoder ran");
}

/* After a malformed debug file the source may have the program.  Is it to be
 * asked for that? */
static bool conversion_has_more(const struct job *job)
{
    return job->source != NULL && job->original.from == job->source->name &&
           lookup_has_id(job->source, &job->key, job_hints(job),
                         job->order.formats,
                         job_source_ids(job, job->original.id_at + 1));
}

/* Only this copy is malformed: another source may have a good one, or the
 * SymCache, so the next source is asked. */
static void conversion_mark_malformed(struct job *job)
{
    job_leaves_run(job);
    job->findings |= FINDING_MALFORMED;
    attempt_log_mark_unusable(job->attempt_log, job->original.from,
                              job_pdb_path(job), job_text(job));
    job_discard_pdb(job);
    job->id_at = conversion_has_more(job) ? job->original.id_at + 1 : 0;
    if (job->id_at == 0) {
        job->source = source_order_next(&job->order);
    }
    if (job->source == NULL && job->kept_work == NULL &&
        job->reach != JOB_ASKS_OWN) {
        job_end(job, FINDING_EXHAUSTED);
        return;
    }

    log_warn(0,
             "job %s: the original of \"%s\" is malformed, \"%s\" is asked: "
             "%s",
             job_id(job), job->original.from,
             job->source != NULL      ? job->source->name
             : job->kept_work != NULL ? job->kept.from
                                      : JOB_ORIGINAL_DOWNLOADS,
             job_text(job));
    job_remove_work(job);
    job_set_state(job, JOB_WAITS_SOURCE);
}

/* Is it the fault of the PDB, or of something around the run? */
static void conversion_diagnose(struct job *job)
{
    struct stat st;

    if (stat(job_pdb_path(job), &st) != 0) {
        job_fail(job, 0, "the original vanished under the transcoder");
    } else if (!job_has_work(job)) {
        job_fail(job, 0, "its folder vanished under the transcoder");
    } else if (job->findings & FINDING_FORGOTTEN) {
        conversion_end_forgotten(job);
    } else {
        job_diagnose(job);
    }
}

void job_diagnosed(struct job *job, const char *doubt)
{
    if (doubt != NULL) {
        job_fail(job, 0, doubt);
    } else if (job->findings & FINDING_FORGOTTEN) {
        conversion_end_forgotten(job);
    } else {
        conversion_mark_malformed(job);
    }
}

/* of an original that was left at its source */
static const char changed[] = "the file of the source changed meanwhile";

static void conversion_on_transcoded(void *arg,
                                     const struct transcode_result *result)
{
    struct job *job = arg;
    char text[NEGCACHE_TEXT_MAX];

    job->run.transcode = NULL;
    job->transcode_ms += result->ms;
    metrics_add(METRIC_TRANSCODE_RUNS, 1);
    metrics_observe(METRICS_TRANSCODE, result->ms);

    if (result->ok) {
        job_run_spoke(job, result->proof != PROOF_NONE);
    }
    if (job_is_unverified(job)) {
        if (!result->ok || result->proof < PROOF_FULL ||
            !job_has_original(job)) {
            job_leave_unverified(job);
            return;
        }
        job_take_verified(job, result->proof);
    } else if (job->original.link != NULL && !job_has_original(job)) {
        job_fail(job, 0, changed);
        return;
    }
    if (result->ok) {
        job_run_converted(job);
        if (job_wants_second(job, result)) {
            return;
        }
        job_set_state(job, JOB_PUBLISHES);
        job_publish(job, &result->version, result->file);
        return;
    }

    transcode_describe(result, text, sizeof(text));
    job_say(job, "%s", text);
    if (job_has_work(job) && job_lacks_space(job, result->full)) {
        job_say(job, "the disk of the store is full: %s", text);
        job_end(job, FINDING_FAILED);
    } else if (result->system) {
        job_run_failed(job, text);
        job_end(job, FINDING_FAILED);
    } else {
        conversion_diagnose(job);
    }
}

void job_start_transcoder(struct job *job)
{
    job->run.transcode =
        transcode_start(job->scheduler->base, job->config, job_transcoder(job),
                        &job->key, job_pdb_path(job), job->original.seconds,
                        job->work, conversion_on_transcoded, job);
    if (job->run.transcode == NULL) {
        job_fail(job, ENOMEM, "the transcoder cannot be started");
    }
}

/* The folder of the file system on which the file will lie. */
static const char *conversion_file_root(const struct job *job)
{
    return symcache_key_is_download(&job->key) ? job->config->downloads
                                               : job->store->root;
}

void job_run_transcoder(struct job *job)
{
    struct workdir *workdir =
        scheduler_workdir(job->scheduler, conversion_file_root(job));
    char error[NEGCACHE_TEXT_MAX];

    bool has_inputs = kind_has_inputs((symcache_kind_e)job->key.kind);

    /* Cleaning may have removed it while the job waited.  A job that took it
     * from the downloads can still ask its sources. */
    if (!has_inputs && !job_has_original(job)) {
        if (job_is_unverified(job)) {
            job_leave_unverified(job);
        } else if (job->original.from == JOB_ORIGINAL_DOWNLOADS) {
            job->original.from = NULL;
            job_set_state(job, JOB_WAITS_SOURCE);
        } else {
            job_fail(job, 0, job->original.link != NULL
                                 ? changed
                                 : "the original vanished before it was used");
        }
        return;
    }

    if (!job_begins_run(job, error, sizeof(error))) {
        job_fail(job, 0, error);
        return;
    }
    job_set_state(job, JOB_IN_TRANSCODER);
    job->work = job_make_work(workdir);
    if (job->work == NULL) {
        job_fail(job, errno, "no work directory in \"root\" of the store");
        return;
    }
    if (has_inputs) {
        job_take_inputs(job);
    } else {
        job_start_transcoder(job);
    }
}
