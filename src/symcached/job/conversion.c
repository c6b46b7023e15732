/*
 * Copyright (C) the ngx_symcache authors
 *
 * How a job runs its transcoder on the original, and publishes the result, or
 * what a SymCache server had.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "second_original.h"
#include "base/async_unlink.h"
#include "base/disk_full.h"
#include "base/log.h"
#include "inputs.h"
#include "scheduler.h"
#include "symcached/space/space.h"
#include "waiter.h"

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

static void end_forgotten(struct job *job)
{
    job_discard_pdb(job);
    job_fail(job, 0, "forgotten while the transcoder ran");
}

/* After a malformed debug file the source may have the program.  Is it to be
 * asked for that? */
static bool has_more(const struct job *job)
{
    return job->source != NULL && job->original.from == job->source->name &&
           source_has_id(job->source, &job->key, job_hints(job),
                         job->order.formats,
                         job_source_ids(job, job->original.id_at + 1));
}

/* Only this copy is malformed: another source may have a good one, or the
 * SymCache, so the next source is asked. */
static void mark_malformed(struct job *job)
{
    job_leaves_run(job);
    job->findings |= FINDING_MALFORMED;
    attempt_log_mark_unusable(job->attempt_log, job->original.from,
                              job_pdb_path(job), job_text(job));
    job_discard_pdb(job);
    job->id_at = has_more(job) ? job->original.id_at + 1 : 0;
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
static void diagnose_failure(struct job *job)
{
    struct stat st;

    if (stat(job_pdb_path(job), &st) != 0) {
        job_fail(job, 0, "the original vanished under the transcoder");
    } else if (!job_has_work(job)) {
        job_fail(job, 0, "its folder vanished under the transcoder");
    } else if (job->findings & FINDING_FORGOTTEN) {
        end_forgotten(job);
    } else {
        job_diagnose(job);
    }
}

void job_diagnosed(struct job *job, const char *doubt)
{
    if (doubt != NULL) {
        job_fail(job, 0, doubt);
    } else if (job->findings & FINDING_FORGOTTEN) {
        end_forgotten(job);
    } else {
        mark_malformed(job);
    }
}

static void on_kept(void *arg, long long result, int errnum)
{
    struct job *job = arg;

    job->publish = NULL;
    if (result < 0) {
        if (disk_is_full(errnum)) {
            disk_space_want_in(job->config->downloads, 0);
        }
        log_warn(errnum, "job %s: the original cannot be kept", job_id(job));
    }
    job_end(job, 0);
}

/*
 * If the original was received but is not among the downloads yet, puts it
 * there.  The waiters of the converted file are answered at once: they do not
 * wait while a slow disk writes a large original.  Returns false if there is
 * nothing to wait for.
 */
static bool keep_original(struct job *job)
{
    const struct job_original *original = &job->original;
    char path[PATH_MAX];
    symcache_key_t key;

    if (original->link == NULL || original->unchanged != 0) {
        return false;
    }
    job_original_key(job, &key);
    store_download_path(path, job->config->downloads, job->store->name, &key);
    job->publish = publish_original(job->scheduler->base, original->link, path,
                                    on_kept, job);
    if (job->publish == NULL) {
        log_warn(errno, "job %s: the original cannot be kept", job_id(job));
        return false;
    }
    job_answer_published(job);
    return true;
}

static void on_published(void *arg, long long size, int errnum)
{
    char made[SYMCACHE_VERSION_TEXT_MAX + 1];
    struct job *job = arg;
    struct job_target *target = &job->target;
    bool received = job->state == JOB_IN_SOURCE;

    job->publish = NULL;
    if (received) {
        job_leave_sources(job);
    }
    if (size < 0) {
        job_fail(job, errnum, "the file cannot be stored");
        return;
    }

    target->size = size;
    metrics_add(METRIC_PUBLISHED_BYTES, (uint64_t)target->size);
    if (symcache_version_cmp(&target->published,
                             &target->transcoder->version) != 0) {
        symcache_version_print(made, &target->published);
        job_say(job,
                "%s made version %s, which is not the one that "
                "the configuration names",
                received ? job->original.from : "the transcoder", made);
        log_warn(0, "job %s: %s", job_id(job), job_text(job));
    }
    scheduler_keep_transcoders(job->scheduler, job->store);
    if (symcache_key_is_url(&job->key)) {
        job_end(job, FINDING_PUBLISHED);
        return;
    }
    if (!symcache_key_is_download(&job->key)) {
        scheduler_want_gzip(job->scheduler, job->store, &job->key,
                            &target->published);
    }
    if (job->state != JOB_IN_TIER && !symcache_key_is_download(&job->key)) {
        tiers_put(job->scheduler->tiers, job->store,
                  scheduler_workdir(job->scheduler, job->store->root),
                  &job->key, &target->published, job->tier_replace);
    }
    if (!keep_original(job)) {
        job_end(job, FINDING_PUBLISHED);
    }
}

/* Is the digest needed now?  It is if a waiter serves the file at once, or if
 * the digest identifies files made from this one. */
static bool wants_digest(const struct job *job)
{
    const struct waiter *w;

    if (symcache_key_is_url(&job->key)) {
        return true;
    }
    TAILQ_FOREACH(w, &job->waiters, entry)
    {
        if (w->fn != NULL && !w->ask.reads_file) {
            return true;
        }
    }
    return !file_digest_may_wait();
}

void job_note_places(const struct job *job, const char *file)
{
    char *places = attempt_log_places(job->attempt_log);

    if (places != NULL) {
        provenance_note_places(file, places);
        free(places);
    }
}

/* The folder of the file system on which the file will lie. */
static const char *file_root(const struct job *job)
{
    return symcache_key_is_download(&job->key) ? job->config->downloads
                                               : job->store->root;
}

/* Starts to give the file its place in the store, or among the downloads. */
static void start_publication(struct job *job,
                              const symcache_version_t *version,
                              const char *file)
{
    char path[PATH_MAX];

    if (!symcache_key_is_download(&job->key)) {
        job->publish = publish_start(job->scheduler->base, job->store->root,
                                     &job->key, version, file,
                                     wants_digest(job), on_published, job);
        return;
    }
    store_download_path(path, job->config->downloads, job->store->name,
                        &job->key);
    (void)chmod(file, 0644); /* nginx may serve it, whatever the umask is */
    job->publish = publish_original(job->scheduler->base, file, path,
                                    on_published, job);
}

void job_publish(struct job *job, const symcache_version_t *version,
                 const char *file)
{
    const struct job_original *original = &job->original;

    if (job->state == JOB_PUBLISHES && original->link != NULL) {
        provenance_note(file, original->from, original->extent,
                        original->features);
        if (original->unchanged == 0) {
            provenance_note(original->link, original->from, original->extent,
                            original->features);
        }
    } else if (job->state == JOB_PUBLISHES) {
        provenance_copy(job_pdb_path(job), file);
    }
    if (job->state == JOB_PUBLISHES &&
        transcode_is_ours(job_transcoder(job))) {
        provenance_note_builder(file, job->original.lacks_seconds != 0);
    }
    job_note_places(job, file);
    job->target.published = *version;
    start_publication(job, version, file);
    if (job->publish == NULL) {
        on_published(job, -1, errno);
    }
}

/* of an original that was left at its source */
static const char changed[] = "the file of the source changed meanwhile";

static void on_transcoded(void *arg, const struct transcode_result *result)
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
        diagnose_failure(job);
    }
}

void job_start_transcoder(struct job *job)
{
    job->run.transcode =
        transcode_start(job->scheduler->base, job->config, job_transcoder(job),
                        &job->key, job_pdb_path(job), job->original.seconds,
                        job->work, on_transcoded, job);
    if (job->run.transcode == NULL) {
        job_fail(job, ENOMEM, "the transcoder cannot be started");
    }
}

void job_run_transcoder(struct job *job)
{
    struct workdir *workdir =
        scheduler_workdir(job->scheduler, file_root(job));
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
