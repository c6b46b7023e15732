/*
 * Copyright (C) the ngx_symcache authors
 *
 * One job: find the PDB of one key, transcode it, publish the result.  Owned
 * by the hub (jobs.c), which gives it slots and answers its waiters.  This
 * header is for the files of the hub only; jobs.h is for the others.
 */
#ifndef SYMCACHED_JOB_H
#define SYMCACHED_JOB_H

#include <limits.h>
#include <sys/queue.h>
#include "absent.h"
#include "clock.h"
#include "config.h"
#include "jobs.h"
#include "metrics.h"
#include "misses.h"
#include "order.h"
#include "sidecar.h"
#include "source.h"
#include "trail.h"
#include "transcode.h"
#include "via.h"
#include "workdir.h"

enum job_state {
    JOB_NEW,              /* being set up */
    JOB_WAITS_SOURCE,     /* no PDB yet; waits for a download slot */
    JOB_IN_SOURCE,        /* a source is being asked; has a download slot */
    JOB_WAITS_UPSTREAM,   /* a SymCache server works on it; has no slot */
    JOB_WAITS_TRANSCODER, /* PDB is there; waits for a transcoder slot */
    JOB_IN_TRANSCODER,    /* the transcoder runs; has a transcoder slot */
    JOB_ENDED             /* outcome is set; only its waiters are left */
};

enum job_outcome {
    JOB_PUBLISHED,
    JOB_NOTFOUND,  /* every source said so: negative entry */
    JOB_MALFORMED, /* the transcoder failed on it: negative entry */
    JOB_ERROR,     /* could not be told: remembered for a short time */
    JOB_UNCHANGED, /* nothing newer than the version on disk */
    JOB_STOPPED    /* we stop: says nothing about the key */
};

struct job {
    LIST_ENTRY(job) bucket; /* the hub's table */
    LIST_ENTRY(job) all;
    TAILQ_ENTRY(job) queue; /* while it waits for a slot */
    LIST_HEAD(, waiter) waiters;
    unsigned nwaiters;

    struct jobs *jobs;
    struct config *config; /* reference: what the job began with */
    const struct store_config *store;
    const struct transcoder_config *transcoder; /* whose version it makes */
    char *name;     /* the key's, as the first who asked spelled it */
    const char *id; /* of the trail */
    char *via;      /* whoever waits for it, see via.h; or NULL */
    bool upgrade;   /* a file is being served meanwhile */
    bool better;    /* ... of this version: only for a better PDB */

    enum job_state state;
    bool parked;                  /* in wait_host */
    enum job_outcome outcome;     /* JOB_ENDED */
    char *text;                   /* why, unless published; or NULL */
    symcache_version_t published; /* JOB_PUBLISHED */
    long long size;               /* of the SymCache */

    struct trail *trail;
    struct order order;
    const struct source_config *source; /* that is asked, or is the next */
    struct source_symcache symcache;
    struct lookup *lookup;
    struct ahead *ahead;  /* or NULL; see ahead.h */
    struct event *again;  /* of JOB_WAITS_UPSTREAM; or NULL */
    uint64_t pending;     /* since when, or 0 */
    unsigned again_after; /* seconds that it asked for */
    bool exhausted;       /* all sources were asked */
    bool malformed;       /* the transcoder failed; others may have it */
    bool unsure_server;   /* of unsure, a SymCache server */
    bool kept;            /* a server has nothing newer than what we have */
    bool unsure;          /* a source could not tell, or sent garbage */
    bool forgotten;       /* what it found out before may be true no more */
    unsigned retry_after; /* the most that a source asked for */
    const char *from;     /* name of the source that had it */
    bool publics_only;    /* what it had has public symbols only */
    uint64_t bytes;       /* received */
    bool downloaded;      /* asked its sources */
    char *work;           /* directory, or NULL */
    struct transcode *transcode;
    struct publish *publish; /* the last step, with the slot of the former */

    uint64_t began; /* milliseconds */
    uint64_t step;  /* when the present step began */
    unsigned download_ms;
    unsigned transcode_ms;

    symcache_key_t key; /* last: as long as its name, and job->name behind */
};

/* NULL when out of memory.  The job has no state and is in no list yet. */
struct job *job_new(struct jobs *jobs, struct config *config,
                    const struct store_config *store,
                    const struct transcoder_config *transcoder,
                    const symcache_key_t *key, const char *name);
void job_free(struct job *job);

/* Adds the ids of one who waits for it. */
void job_join_via(struct job *job, const char *via);

const char *job_text(const struct job *job); /* "" if there is none */

/*
 * Looks among the downloads; the job then waits for one of the two slots.
 * better: not 0 if a file of this version is there, and only so many sources,
 * the first ones, can have a better PDB.
 */
void job_begin(struct job *job, size_t better);

/* Is the host of the next source free to be asked, or no source left? */
bool job_may_ask(struct job *job);

/* Of one that has ended: log line, counters, and what later requests know. */
void job_record(struct job *job);

/* With a slot: asks the next source, or runs the transcoder. */
void job_ask_source(struct job *job);
void job_run_transcoder(struct job *job);

/* A new directory, or NULL with errno. */
char *job_make_work(struct workdir *workdir);

/* Both are gone at once; their blocks are freed beside the loop. */
void job_remove_work(struct job *job);
void job_discard_pdb(struct job *job);

/* Where the PDB is, or will be; until the next call. */
const char *job_pdb_path(const struct job *job);

/*
 * A SymCache is smaller than its PDB.  Where not even the PDB would have room,
 * a transcoder that failed says nothing about the PDB.
 */
bool job_has_room(const char *root, off_t size);

/* What is still being removed shall not make the transcoder fail. */
void job_wait_for_room(const struct job *job);

/* Ends whatever runs, with JOB_STOPPED. */
void job_stop(struct job *job);

const char *job_state_name(enum job_state state);

#define JOBS_BUCKETS 16384

struct jobs_root {
    SLIST_ENTRY(jobs_root) next;
    char *path;
    struct workdir *workdir;
};

struct jobs {
    struct event_base *base;
    struct event *pump; /* gives free slots to queued jobs */
    struct sources *sources;
    struct config *config;
    struct absent *absent;
    struct trails *trails;
    struct tally *tally;
    struct sidecars *sidecars;
    struct misses *misses;
    SLIST_HEAD(, jobs_root) roots; /* all that were ever configured */
    bool stopping;

    LIST_HEAD(, job) buckets[JOBS_BUCKETS];
    LIST_HEAD(, job) all;
    TAILQ_HEAD(job_queue, job) wait_source;
    struct job_queue wait_host; /* of these, who found its host busy */
    bool host_freed;            /* since then */
    struct job_queue wait_transcoder;
    unsigned queued;
    unsigned downloading;
    unsigned aheads; /* lookups before their turn */
    unsigned transcoding;
    unsigned upgrades;
    unsigned former; /* jobs of configurations before this one */
    unsigned waiters;
};

/* What the hub gives to a job. */

struct workdir *jobs_workdir(struct jobs *jobs, const char *root);

/* Writes <root>/.transcoders again, where somebody has taken the root away, or
 * the disk was full. */
void jobs_keep_transcoders(struct jobs *jobs,
                           const struct store_config *store);

/* The file of this version is on disk: makes its sidecar, if it shall. */
void jobs_want_sidecar(struct jobs *jobs, const struct store_config *store,
                       const symcache_key_t *key,
                       const symcache_version_t *version);
/* Forgets what is known of sources that the configuration does not have. */
void jobs_forget_former(struct jobs *jobs);

/* Is one of limits.downloads free? */
bool jobs_has_slot(const struct jobs *jobs);
/* A lookup ended: jobs that wait for its host may ask. */
void jobs_host_freed(struct jobs *jobs);
/* A lookup before its turn began, or was ended or taken. */
void jobs_ahead(struct jobs *jobs, int change);
/* Called by the one setter of a job's state: slots and queues follow it. */
void jobs_moved(struct job *job, enum job_state from, enum job_state to);

#endif
