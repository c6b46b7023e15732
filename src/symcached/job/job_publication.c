/*
 * Copyright (C) the ngx_symcache authors
 *
 * How a job publishes the file that it made or received, and keeps the
 * original among the downloads.
 */

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "base/disk_full.h"
#include "base/log.h"
#include "scheduler_state.h"
#include "symcached/space/space.h"
#include "waiter.h"

static void publication_on_kept(void *arg, long long result, int errnum)
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
static bool publication_keep_original(struct job *job)
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
                                    publication_on_kept, job);
    if (job->publish == NULL) {
        log_warn(errno, "job %s: the original cannot be kept", job_id(job));
        return false;
    }
    job_answer_published(job);
    return true;
}

static void job_on_published(void *arg, long long size, int errnum)
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
    /* A file that lacks something is each machine's own: so each knows what
     * it lacks, and drops it when that is uploaded. */
    if (job->state != JOB_IN_TIER && !symcache_key_is_download(&job->key) &&
        job->original.missing_seconds == 0) {
        tiers_put(job->scheduler->tiers, job->store,
                  scheduler_workdir(job->scheduler, job->store->root),
                  &job->key, &target->published, job->tier_replace);
    }
    if (!publication_keep_original(job)) {
        job_end(job, FINDING_PUBLISHED);
    }
}

/* Is the digest needed now?  It is if a waiter serves the file at once, or if
 * the digest identifies files made from this one. */
static bool publication_wants_digest(const struct job *job)
{
    const struct waiter *waiter;

    if (symcache_key_is_url(&job->key)) {
        return true;
    }
    TAILQ_FOREACH(waiter, &job->waiters, entry)
    {
        if (waiter->fn != NULL && !waiter->ask.reads_file) {
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

/* Starts to give the file its place in the store, or among the downloads. */
static void start_publication(struct job *job,
                              const symcache_version_t *version,
                              const char *file)
{
    char path[PATH_MAX];

    if (!symcache_key_is_download(&job->key)) {
        job->publish = publish_start(
            job->scheduler->base, job->store->root, &job->key, version, file,
            publication_wants_digest(job), job_on_published, job);
        return;
    }
    store_download_path(path, job->config->downloads, job->store->name,
                        &job->key);
    (void)chmod(file, 0644); /* nginx may serve it, whatever the umask is */
    job->publish = publish_original(job->scheduler->base, file, path,
                                    job_on_published, job);
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
        provenance_note_builder(file, job->original.lacks_seconds != 0,
                                job->original.missing_seconds != 0);
    }
    job_note_places(job, file);
    job->target.published = *version;
    start_publication(job, version, file);
    if (job->publish == NULL) {
        job_on_published(job, -1, errno);
    }
}
