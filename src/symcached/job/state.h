/*
 * Copyright (C) the ngx_symcache authors
 *
 * One job: it looks for the original of one key, makes of it what was asked
 * for, and publishes that.  The scheduler owns it, gives it slots and has its
 * waiters answered.  This header is for the files of this room only; job.h is
 * for the others.
 *
 * What a job does stands in one file for each part of its life:
 *
 *   state.c       begins it, and moves it from state to state
 *   search.c      asks its sources; prefetch.c looks ahead of that
 *   conversion.c  runs its transcoder, and publishes what that made
 *   canary.c      diagnoses its failure: of the original, or its own
 *   end.c         ends it, whatever the reason
 *
 * Around them: scheduler.c has the slots and queues, ask.c takes a lookup,
 * which decision.c answers if no job is needed, and waiter.c holds it until
 * the end.
 */
#ifndef SYMCACHED_JOB_STATE_H
#define SYMCACHED_JOB_STATE_H

#include <limits.h>
#include <sys/queue.h>
#include "base/clock.h"
#include "base/workdir.h"
#include "config/config.h"
#include "metrics/metrics.h"
#include "symcached/negcache/negcache.h"
#include "symcached/source/source.h"
#include "symcached/store/store.h"
#include "symcached/transcode/transcode.h"
#include "attempt_log.h"
#include "findings.h"
#include "job.h"
#include "order.h"

/*
 * job_set_state() is the only place that changes it; the slots and queues of
 * the scheduler follow from it.  From every state, job_end() leads to
 * JOB_ENDED, and then the job is gone.
 *
 *   job_begin()
 *     |   |                            the host of its source is busy
 *     |   +--> JOB_WAITS_SOURCE <---------------------> JOB_WAITS_HOST
 *     |          |       ^   ^
 *     |   a slot |       |   | the time is over
 *     |          v       |   +------------------------- JOB_WAITS_UPSTREAM
 *     |        JOB_IN_SOURCE                                    ^
 *     |          |   |   |  a SymCache server: "ask again"      |
 *     |          |   |   +--------------------------------------+
 *     |    a PDB |   | a SymCache, or nothing
 *     |          |   +--> job_end()
 *     v          v
 *   JOB_WAITS_TRANSCODER
 *                |
 *         a slot |
 *                v
 *        JOB_IN_TRANSCODER --> job_end(), or if the original is malformed and
 *                              there is another source, JOB_WAITS_SOURCE
 *
 * A PDB that lies among the downloads is taken without asking a source, and
 * if it is gone when the slot comes, they are asked: JOB_WAITS_SOURCE.  To
 * that a job in JOB_IN_SOURCE goes back, too, if the host of its next source
 * is busy.
 */
enum job_state {
    JOB_NEW,              /* is being set up */
    JOB_WAITS_SOURCE,     /* for a download slot */
    JOB_WAITS_HOST,       /* ... and the host that is next has no room */
    JOB_IN_SOURCE,        /* a source is being asked; has a download slot */
    JOB_WAITS_UPSTREAM,   /* for a SymCache server's work; has no slot */
    JOB_WAITS_TRANSCODER, /* the original is there; for a transcoder slot */
    JOB_IN_TRANSCODER,    /* the transcoder runs; has a transcoder slot */
    JOB_ENDED             /* its outcome is known; waiters are answered */
};

/* The file that a source had, of which every target is made. */
struct original {
    const char *from;  /* name of the source, or ORIGINAL_DOWNLOADS; or NULL */
    enum original_format format;
    bool publics_only; /* it has public symbols only */
    uint64_t bytes;    /* received from all sources */
};

/* It lay among the downloads: no source was asked. */
extern const char ORIGINAL_DOWNLOADS[];

/* One version that is to be made of it. */
struct job_target {
    const struct transcoder_config *transcoder; /* whose version it is */
    symcache_version_t published; /* what came of it; JOB_PUBLISHED */
    long long size;               /* of that file */
};

/*
 * There is one, as there is one kind of files.  A lookup for another kind, of
 * the same name and id, will add a target to the job that runs, and the end of
 * one target's conversion begin that of the next; original and sources stay.
 */
#define JOB_TARGETS 1

/* The run of the transcoder, see canary.c. */
struct run {
    struct transcode *transcode; /* or NULL */
    struct canary *canary;       /* the transcoder is tried on it; or NULL */
    /* the first that called the PDB malformed, and its trust->lies then: with
     * originals of several formats another one may be run afterwards */
    const struct transcoder_config *accuser;
    unsigned lies;
    unsigned pause : 31;   /* seconds that the transcoder is left alone */
    unsigned is_probe : 1; /* its end tells whether the transcoder works */
};

/* There may be ten thousand, mostly waiting: no space is left between. */
struct job {
    LIST_ENTRY(job) all;
    TAILQ_ENTRY(job) queue; /* while it waits for a slot */
    LIST_HEAD(, waiter) waiters;

    struct scheduler *scheduler;
    struct config *config; /* reference: what the job began with */
    const struct store_config *store;
    const char *name; /* the key's, as the first who asked spelled it */
    char *via;        /* whoever waits for it, see via.h; or NULL */
    enum job_purpose purpose;
    enum job_state state;
    unsigned findings; /* so far */
    unsigned nwaiters;
    char *text; /* the latest of them in words; or NULL */
    struct attempt_log *attempt_log;

    struct job_target targets[JOB_TARGETS];
    struct original original;

    /* its sources */
    struct order order;
    const struct source_config *source; /* that is asked, or is the next */
    struct source_symcache symcache;
    struct lookup *lookup;
    struct prefetch *prefetch; /* or NULL; see prefetch.h */
    struct event *again;       /* of JOB_WAITS_UPSTREAM; or NULL */
    uint64_t pending;          /* since when, or 0 */
    unsigned again_after;      /* seconds that it asked for */
    unsigned retry_after;      /* the most that a source asked for */

    /* its transcoder, and the last step, which has the slot of the former */
    struct run run;
    struct publish *publish;

    char *work; /* directory, or NULL */

    uint64_t began; /* milliseconds */
    uint64_t step;  /* when the present step began */
    unsigned download_ms;
    unsigned transcode_ms;

    /* last: as long as its name, and behind it job->name, if that differs */
    symcache_key_t key;
};

/* <store>/<name>/<id>, for tables and log lines. */
static inline const char *job_id(const struct job *job)
{
    return attempt_log_id(job->attempt_log);
}

/* state.c --------------------------------------------------------------- */

/* NULL when out of memory.  The job has no state and is in no list yet. */
struct job *job_new(struct scheduler *scheduler, struct config *config,
                    const struct store_config *store,
                    const struct transcoder_config *transcoder,
                    const symcache_key_t *key, const char *name);
void job_free(struct job *job);

/*
 * Looks among the downloads; the job then waits for one of the two slots.
 * better: of JOB_FOR_BETTER, how many sources, the first ones, can have a
 * better PDB.
 */
void job_begin(struct job *job, size_t better);

void job_set_state(struct job *job, enum job_state state);
const char *job_state_name(enum job_state state);

/* Adds the ids of one who waits for it. */
void job_join_via(struct job *job, const char *via);

/* Replaces its text. */
__attribute__((format(printf, 2, 3))) void job_say(struct job *job,
                                                   const char *format, ...);
const char *job_text(const struct job *job); /* "" if there is none */

/* end.c ----------------------------------------------------------------- */

/* The job is gone afterwards.  found: one last finding, or 0. */
void job_end(struct job *job, unsigned found);

/* The same, of what failed on our side; errnum is 0 or why. */
void job_fail(struct job *job, int errnum, const char *what);

/* search.c -------------------------------------------------------------- */

/* Is the host of the next source free to be asked, or no source left? */
bool job_may_ask(struct job *job);

/* With a download slot: asks the next source. */
void job_ask_source(struct job *job);

/* None is asked any more, or not now: counts the time that it took. */
void job_leave_sources(struct job *job);

/* conversion.c ---------------------------------------------------------- */

/* What is still being removed shall not make the transcoder fail. */
bool job_awaits_space(const struct job *job);

/* With a transcoder slot. */
void job_run_transcoder(struct job *job);

/* Its work directory holds a file of this version, which is published. */
void job_publish(struct job *job, const symcache_version_t *version,
                 const char *file);

/* The answer to job_diagnose(): NULL, or why the failure is not believed. */
void job_diagnosed(struct job *job, const char *doubt);

/* Or did somebody take the store away, or empty .tmp? */
bool job_has_work(const struct job *job);

/*
 * A SymCache is smaller than its PDB.  Where not even the PDB would have room
 * beside cache.min_free, or the transcoder was ended for that (full), its
 * failure says nothing about the PDB, nor about itself: room is asked for.
 */
bool job_lacks_space(const struct job *job, bool full);

/* canary.c -------------------------------------------------------------- */

/*
 * What its runs of the transcoder make that thought of, see trust.h.  Is it to
 * wait while another job sees whether the transcoder works?
 */
bool job_may_transcode(const struct job *job);

/* Returns false and says in error why it is not to be run. */
bool job_begins_run(struct job *job, char *error, size_t size);
void job_leaves_run(struct job *job);
void job_run_converted(struct job *job);
void job_run_failed(struct job *job, const char *why); /* not by the PDB */

/*
 * The transcoder failed on the PDB: job_diagnosed() is called, now or later,
 * with NULL, or with the reason why that is not to be believed.
 */
void job_diagnose(struct job *job);

/* What it called the PDB then is not believed now. */
bool job_was_lied_to(const struct job *job);

/* folders.c ------------------------------------------------------------- */

/* A new directory, or NULL with errno. */
char *job_make_work(struct workdir *workdir);

/* Both are gone at once; their blocks are freed beside the loop. */
void job_remove_work(struct job *job);
void job_discard_pdb(struct job *job);

/* Where the PDB is, or will be; until the next call. */
const char *job_pdb_path(const struct job *job);

/* Takes the original that lies among the downloads, if there is one of which
 * the version that the job is for can be made.  Returns whether it did. */
bool job_take_download(struct job *job);

/* What is run on its original; NULL: no transcoder takes that. */
static inline const struct transcoder_config *
job_transcoder(const struct job *job)
{
    return job->order.transcoders[job->original.format];
}

#endif
