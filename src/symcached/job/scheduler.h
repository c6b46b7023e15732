/*
 * Copyright (C) the ngx_symcache authors
 *
 * All jobs, their slots and queues, and what they share.  For the files of
 * this room only; job.h is for the others.
 */
#ifndef SYMCACHED_JOB_SCHEDULER_H
#define SYMCACHED_JOB_SCHEDULER_H

#include "base/table.h"
#include "misses.h"
#include "state.h"

/* A client that is answered "busy" may ask again after so many seconds. */
#define SCHEDULER_BUSY_SECONDS 5

struct scheduler_root {
    SLIST_ENTRY(scheduler_root) next;
    char *path;
    struct workdir *workdir;
};

struct scheduler {
    struct event_base *base;
    struct event *pump; /* gives free slots to queued jobs */
    struct sources *sources;
    struct config *config;
    struct negcache *negcache;
    struct attempt_logs *attempt_logs;
    struct source_stats *source_stats;
    struct gzip_files *gzip_files;
    struct misses *misses;
    struct trusts *trusts;
    SLIST_HEAD(, scheduler_root) roots; /* all that were ever configured */
    bool stopping;

    struct table by_id;
    LIST_HEAD(, job) all;
    TAILQ_HEAD(job_queue, job) wait_source; /* JOB_WAITS_SOURCE */
    struct job_queue wait_host;             /* JOB_WAITS_HOST */
    bool host_freed;                        /* since a job was put there */
    struct job_queue wait_transcoder;
    unsigned queued;
    unsigned downloading;
    unsigned prefetching; /* lookups before their turn, of all jobs */
    unsigned transcoding;
    unsigned background; /* jobs that are not JOB_FOR_LOOKUP */
    unsigned former;     /* jobs of configurations before this one */
    unsigned waiters;
};

/* Not one of a former configuration whose store is elsewhere.  Or NULL. */
struct job *scheduler_find(const struct scheduler *scheduler,
                           const struct store_config *store, const char *id);

/*
 * Begins a job for a key that has none; better as in job_begin().  NULL:
 * *reason says why not, in one word.
 */
struct job *scheduler_start(struct scheduler *scheduler,
                            const struct store_config *store,
                            const struct transcoder_config *transcoder,
                            const symcache_key_t *key, const char *name,
                            enum job_purpose purpose, size_t better,
                            const char **reason);

/* The job ends: nobody finds it any more. */
void scheduler_deregister(struct job *job);

/*
 * The last that is heard of a job: forgets what is known of sources that only
 * a former configuration has, if it was the last job of those.
 */
void scheduler_leave_config(struct job *job);

/* Called by job_set_state(): slots and queues follow a job's state. */
void scheduler_moved(struct job *job, enum job_state from, enum job_state to);

/* Is one of limits.downloads free? */
bool scheduler_has_slot(const struct scheduler *scheduler);

/* A lookup ended: jobs that wait for its host may ask. */
void scheduler_host_freed(void *scheduler);

/* A lookup before its turn began, or was ended or taken. */
void scheduler_prefetches(struct scheduler *scheduler, int change);

/* The file of this version is on disk: compresses it, if the store wants. */
void scheduler_want_gzip(struct scheduler *scheduler,
                         const struct store_config *store,
                         const symcache_key_t *key,
                         const symcache_version_t *version);

/* folders.c ------------------------------------------------------------- */

/* The work folder of a configured folder; or NULL. */
struct workdir *scheduler_workdir(struct scheduler *scheduler,
                                  const char *root);

/* Writes <root>/.transcoders again, where somebody has taken the root away, or
 * the disk was full. */
void scheduler_keep_transcoders(struct scheduler *scheduler,
                                const struct store_config *store);

/* Forgets what is known of sources that the configuration does not have. */
void scheduler_forget_former(struct scheduler *scheduler);

#endif
