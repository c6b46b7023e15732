/*
 * Copyright (C) the ngx_symcache authors
 *
 * What the end of a job leaves behind.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "job.h"
#include "log.h"

static const char *const outcome_names[] = {
    "published", "notfound", "malformed", "error", "unchanged", "stopped"};

static void log_end(const struct job *job)
{
    char version[SYMCACHE_VERSION_TEXT_MAX + 1], note[4096] = "";
    enum log_level level =
        job->outcome == JOB_ERROR ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO;

    if (job->outcome == JOB_PUBLISHED) {
        symcache_version_print(version, &job->published);
    } else {
        symcache_version_print(version, &job->transcoder->version);
    }

    /* for a miss where it looked, otherwise what went wrong */
    if (job->exhausted) {
        char looked[3072];

        trail_print(job->trail, looked, sizeof(looked));
        snprintf(note, sizeof(note), ", looked in %s",
                 looked[0] != '\0' ? looked : "no source: none takes it");
    } else if (job->outcome != JOB_PUBLISHED) {
        snprintf(note, sizeof(note), ", %s", job_text(job));
    }

    log_write(level, 0,
              "job store=%s key=%s outcome=%s version=%s source=%s bytes=%llu "
              "symcache_bytes=%lld download_ms=%u transcode_ms=%u total_ms=%u "
              "waiters=%u%s",
              job->store->name, job->id + strlen(job->store->name) + 1,
              outcome_names[job->outcome], version,
              job->from != NULL ? job->from : "-",
              (unsigned long long)job->bytes, job->size, job->download_ms,
              job->transcode_ms, clock_since(job->began), job->nwaiters, note);
}

/* Keeps for later requests what this job found out. */
static void remember(struct job *job, struct absent *absent)
{
    const struct cache_config *cache = &job->config->cache;
    const symcache_version_t *version = &job->transcoder->version;
    enum absent_reason reason =
        job->outcome == JOB_NOTFOUND ? ABSENT_NOTFOUND : ABSENT_MALFORMED;
    unsigned seconds = cache->retry_errors_after;
    char tmp[WORKDIR_PATH_MAX];
    struct workdir *workdir;

    switch (job->outcome) {
    case JOB_PUBLISHED:
        absent_drop(absent, job->store, &job->key, version);
        if (job->published.major == version->major &&
            symcache_version_cmp(&job->published, version) >= 0) {
            return;
        }
        /* not what was asked for: made once, not at each request */
        seconds = cache->retry_misses_after;
        if (job->published.major > version->major) {
            break;
        }
        /* fall through */

    case JOB_UNCHANGED:
        absent_note_unchanged(absent, job->store, &job->key, version,
                              job_text(job), cache->retry_misses_after);
        return;

    case JOB_NOTFOUND:
    case JOB_MALFORMED:
        workdir = jobs_workdir(job->jobs, job->store->root);
        errno = ENOENT;
        if (workdir != NULL) {
            workdir_file(workdir, tmp);
            if (absent_write(absent, job->store, cache, &job->key, job->name,
                             version, reason, job_text(job), tmp) == 0) {
                return;
            }
        }
        log_crit(errno, "job %s: negative entry not written", job->id);
        break;

    case JOB_ERROR:
        if (job->retry_after > seconds) {
            seconds = job->retry_after;
        }
        break;

    case JOB_STOPPED:
        return;
    }

    absent_note_error(absent, job->store, &job->key, version, job_text(job),
                      seconds);
}

static const enum metric outcome_metrics[] = {
    METRIC_JOB_PUBLISHED, METRIC_JOB_NOTFOUND,  METRIC_JOB_MALFORMED,
    METRIC_JOB_ERROR,     METRIC_JOB_UNCHANGED, METRIC_JOB_STOPPED};

static void note_miss(struct job *job)
{
    char looked[ABSENT_TEXT_MAX] = "";

    if (job->outcome == JOB_PUBLISHED || job->outcome == JOB_STOPPED) {
        return;
    }
    if (job->exhausted) {
        trail_print_brief(job->trail, looked, sizeof(looked));
    }
    misses_add(job->jobs->misses, job->store->name,
               job->id + strlen(job->store->name) + 1,
               &job->transcoder->version, outcome_names[job->outcome],
               looked[0] != '\0' ? looked : job_text(job));
}

void job_record(struct job *job)
{
    metrics_add(outcome_metrics[job->outcome], 1);
    if (!job->better) {
        remember(job, job->jobs->absent);
        note_miss(job);
    } else if (job->outcome == JOB_PUBLISHED) {
        metrics_add(METRIC_BETTER_FOUND, 1);
    }
    log_end(job);
}
