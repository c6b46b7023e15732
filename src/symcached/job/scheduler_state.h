/*
 * Copyright (C) the ngx_symcache authors
 *
 * All jobs, their slots and queues, and what they share.  For the files of
 * this room only; other rooms include job.h.
 */
#pragma once

#include "base/hash_table.h"
#include "recent_misses.h"
#include "missing_modules.h"
#include "job_state.h"
#include "conversion_slots.h"

/* A client that is answered "busy" may ask again after so many seconds. */
#define SCHEDULER_BUSY_SECONDS 5

struct scheduler_root {
    SLIST_ENTRY(scheduler_root) next;
    char *path;
    struct workdir *workdir;
    int unwritten; /* errno of the last negative entry, or 0 */
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
    struct tiers *tiers;
    struct recent_misses *misses;
    struct missing_modules *missing;
    struct transcoder_healths *healths;
    SLIST_HEAD(, scheduler_root) roots; /* all that were ever configured */
    bool stopping;
    bool draining; /* lookups start no job */

    struct table by_id;
    LIST_HEAD(, job) all;
    TAILQ_HEAD(job_queue, job) wait_source; /* JOB_WAITS_SOURCE */
    struct job_queue wait_source_again; /* the same, of keys that were absent
                                           until a moment ago, or are not where
                                           their sources have files */
    unsigned asked;             /* jobs that got a slot since one of these */
    struct job_queue wait_host; /* JOB_WAITS_HOST */
    struct job_queue wait_host_again; /* the same, of such keys */
    bool host_freed;                  /* look at these again */
    struct job_queue wait_transcoder;
    unsigned queued;
    unsigned downloading;
    unsigned prefetching; /* lookups before their turn, of all jobs */
    unsigned transcoding;
    struct conversion_slot
        *turn;           /* of those that share the processors, or NULL */
    unsigned long begun; /* jobs, ever */
    unsigned publishing; /* JOB_PUBLISHES, of what was transcoded */
    unsigned background; /* jobs that are not JOB_FOR_LOOKUP */
    unsigned former;     /* jobs of configurations before this one */
    unsigned waiters;
};

/*
 * Returns the job that looks for the original of a key, whatever it is to make
 * of it, or NULL.  A job of a former configuration in which the store had
 * another root does not count.
 */
struct job *scheduler_find(const struct scheduler *scheduler,
                           const struct store_config *store,
                           const symcache_key_t *key);

/*
 * Begins a job for a key whose original no job looks for.  Returns NULL with
 * one word in *reason if it cannot.
 */
struct job *scheduler_start(struct scheduler *scheduler,
                            const struct job_request *request,
                            const char **reason);

/* Removes a job that ends from the table and from the list of all jobs. */
void scheduler_deregister(struct job *job);

/*
 * A job is about to be freed.  If it is the last one of former configurations,
 * drops the state of sources that only these had.
 */
void scheduler_leave_config(struct job *job);

/* Called by job_set_state(): slots and queues follow a job's state. */
void scheduler_moved(struct job *job, enum job_state from, enum job_state to);

/* Is one of limits.downloads free? */
bool scheduler_has_slot(const struct scheduler *scheduler);

/* A lookup has ended, so jobs that wait for its host may ask it now. */
void scheduler_host_freed(void *scheduler);

/* A prefetch began (change is 1), or it ended or was taken (-1). */
void scheduler_prefetches(struct scheduler *scheduler, int change);

/* Has a file that is on disk compressed, if the store is configured so. */
void scheduler_want_gzip(struct scheduler *scheduler,
                         const struct store_config *store,
                         const symcache_key_t *key,
                         const symcache_version_t *version);

/* scheduler_config.c ---------------------------------------------------- */

/* Returns the work folder of a configured folder, or NULL. */
struct workdir *scheduler_workdir(struct scheduler *scheduler,
                                  const char *root);

/* A negative entry in a configured folder was written, or was not.  Logs it
 * when that changes, and not for each key of a read-only store. */
void scheduler_note_entry(struct scheduler *scheduler, const char *root,
                          const char *job, int errnum);

/* Writes <root>/.transcoders again if it is missing, because the root was
 * removed or the disk was full. */
void scheduler_keep_transcoders(struct scheduler *scheduler,
                                const struct store_config *store);

/* Drops the state of sources that the configuration does not have. */
void scheduler_forget_former(struct scheduler *scheduler);
