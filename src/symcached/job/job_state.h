/*
 * Copyright (C) the ngx_symcache authors
 *
 * One job: it looks for the original of one key, makes of it what was asked
 * for, and publishes that.  The scheduler owns it, gives it slots and has its
 * waiters answered.  There is one job at a time for all kinds that are made of
 * one original; a module that has two may have two jobs, see
 * same_module_job.h.  A lookup for another kind than the job makes waits with
 * the others; when the job ends, the next one makes that kind from the same
 * download.
 *
 * This header is for the files of this room only; job.h is for the others.
 *
 * There is one file for each part of a job's life:
 *
 *   job.c                 begins it, and moves it from state to state
 *   source_search.c       asks its sources; prefetch.c asks the next one early
 *   same_module_job.c     tells it from the other one of its module
 *   convert_unverified.c  has a PDB converted that nobody has read yet
 *   job_conversion.c      runs its transcoder
 *   job_publication.c     publishes what that made, or a source had
 *   second_original.c     gets the second original of ELF files and PDBs
 *   job_original.c        has its original, or leaves it at its source
 *   jscache_inputs.c      takes what is in the store instead of an original
 *   section_search.c      cuts a section out of an ELF file
 *   source_member.c       copies a source file out of a SourceCache
 *   tier_lookup.c         asks the tier of its store, before all that
 *   transcoder_runs.c
 *                         tells failures of the transcoder from those of the
 *                         original
 *   job_end.c             ends it, whatever the reason
 *
 * Around them, scheduler.c has the slots and queues, lookup_answer.c takes a
 * lookup, which decision.c answers if no job is needed, and waiter.c holds it
 * until the job ends; upgrade.c starts jobs that nobody waits for.
 */
#pragma once

#include <sys/queue.h>
#include <sys/stat.h>
#include "base/clock.h"
#include "base/store_key.h"
#include "base/workdir.h"
#include "config/config.h"
#include "metrics/metrics.h"
#include "proto/provenance.h"
#include "symcached/negcache/negcache.h"
#include "symcached/source/lookup.h"
#include "symcached/source/source_stats.h"
#include "symcached/store/store.h"
#include "symcached/tier/tier.h"
#include "symcached/transcode/transcode.h"
#include "attempt_log.h"
#include "findings.h"
#include "job.h"
#include "source_order.h"

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
 *        JOB_IN_TRANSCODER --> JOB_WAITS_SOURCE, if the original is malformed
 *                |             and there is another source; or is unverified
 *                v
 *          JOB_PUBLISHES --> job_end()
 *
 * In a store that has a tier a job begins with JOB_IN_TIER, which leads to
 * job_end() with a file, or else to where it would have begun without a tier.
 *
 * A PDB that is among the downloads is used without asking a source.  If it is
 * gone when the job gets its slot, the job goes to JOB_WAITS_SOURCE and asks
 * the sources.  A job in JOB_IN_SOURCE goes back to JOB_WAITS_SOURCE, too, if
 * the host of its next source is busy.
 */
enum job_state {
    JOB_NEW,              /* is being set up */
    JOB_IN_TIER,          /* the tier is being asked; has no slot */
    JOB_WAITS_SOURCE,     /* for a download slot */
    JOB_WAITS_HOST,       /* for the host of its next source, which is busy; or
                             for its sibling */
    JOB_IN_SOURCE,        /* a source is being asked; has a download slot */
    JOB_WAITS_UPSTREAM,   /* to ask a SymCache server again; has no slot */
    JOB_WAITS_TRANSCODER, /* has the original; for a transcoder slot */
    JOB_IN_TRANSCODER,    /* the transcoder runs; has a transcoder slot */
    JOB_PUBLISHES,        /* what the transcoder made becomes durable, and then
                             its original */
    JOB_ENDED             /* its outcome is known; waiters are answered */
};

/* The file that a source had. */
struct job_original {
    const char
        *from; /* name of the source, or JOB_ORIGINAL_DOWNLOADS; or NULL */
    enum original_format format;
    symcache_kind_e slot; /* its place among the downloads */
    symcache_extent_e extent;
    unsigned features; /* what it has, a set of proto/kind.h */
    unsigned id_at;    /* of the lookup, see struct lookup_ids */
    uint64_t bytes;    /* received from all sources */
    char *link;        /* if it was left at its source: a symbolic link to it,
                          in folder, or its path there; or itself, in folder,
                          if it was received and nobody has read it yet; or
                          NULL: it is among the downloads */
    char *seconds[SECONDS]; /* paths of what is used besides; or NULL */
    unsigned asked_seconds; /* a set of 1 << SECOND_...: asked for already */
    unsigned lacks_seconds; /* such a set: they may be there later */
    unsigned missing_seconds; /* such a set: they were not to be had */
    unsigned told_seconds;  /* such a set: the log has what is odd of them */
    char *folder;           /* of the lookup, of which nothing else is left; or
                               NULL */
    time_t unchanged;   /* since when it must be what its source had; 0: nobody
                           else can change it */
    struct stat left;   /* it, when it was left there */
    bool is_unverified; /* nobody has read it yet, see convert_unverified.c */
    bool copies;        /* it is to be copied from its source */
};

/* The original was among the downloads, and no source was asked. */
extern const char JOB_ORIGINAL_DOWNLOADS[];

/*
 * What a job is to make of the original: a version of the kind that its key
 * has, or nothing for an original itself, whose target is reached once it is
 * among the downloads.
 */
struct job_target {
    const struct transcoder_config *transcoder; /* whose version it is, or
                                                   &order_original */
    symcache_version_t published; /* the version of the file that was made */
    long long size;               /* of that file */
};

/* Which files of its module a job asks for, see same_module_job.h. */
enum job_reach {
    JOB_ASKS_ALL,
    JOB_ASKS_OWN,  /* its sibling asks for the others */
    JOB_ASKED_OWN, /* no source has that; its sibling may be running */
    JOB_ASKS_REST
};

/* A file that waits for what else is to be found for it. */
struct made {
    symcache_version_t version;
    char *file;   /* in the work folder; or NULL: there is none */
    char *output; /* the end of what the converter wrote; or NULL */
};

/* The run of the transcoder, see transcoder_runs.c. */
struct run {
    struct transcode *transcode; /* or NULL */
    struct task *inputs; /* see jscache_inputs.h; or NULL */
    struct canary *canary; /* the transcoder is tried on it; or NULL */
    /* the first transcoder that called the PDB malformed, and its health->lies
     * at that time; another one may run later, on another format */
    const struct transcoder_config *accuser;
    unsigned lies;
    struct waiter *second;   /* see second_original.h; or NULL */
    struct made made;        /* what a run without it has made */
    uint8_t seeks;           /* which one the waiter is for */
    unsigned is_seeking : 1; /* the waiter is not known yet */
    unsigned has_second : 1; /* one was found since the run */
    unsigned may_come : 1;   /* a source may have that which is sought later */
    unsigned pause : 27;     /* seconds that the transcoder is left alone */
    unsigned is_counted : 1; /* in health->running */
    unsigned is_probe : 1;   /* its end tells whether the transcoder works */
};

/* Ordered to leave few gaps, as ten thousand jobs may be waiting. */
struct job {
    LIST_ENTRY(job) all;
    TAILQ_ENTRY(job) queue;       /* while it waits for a slot */
    TAILQ_HEAD(, waiter) waiters; /* who came first is first */

    struct scheduler *scheduler;
    struct config *config; /* reference: what the job began with */
    const struct store_config *store;
    const char *name; /* the key's, as the first who asked spelled it */
    char *via;   /* the way of the question that its sources hear of
                    (via_header.h); or NULL: only clients have asked */
    char *hints; /* of the first who asked, see proto/hints.h; or NULL */
    enum job_purpose purpose;
    enum job_state state;
    enum job_reach reach;
    unsigned findings; /* so far */
    int64_t uploads_changed; /* before it looked for anything, see
                                decision_uploads_changed() */
    bool was_absent;   /* all sources said so the last time */
    bool is_unlikely;  /* what is left to ask no source has ever had */
    bool waits_behind; /* in the queue of those, while it waits for a slot */
    bool is_beyond;    /* it has asked for files of its sibling */
    bool via_is_new;   /* its source has been asked with a former one */
    bool loop_is_old;  /* and so has one that has left out servers */
    uint8_t via_changes;
    unsigned nwaiters; /* with a client */
    char *text;        /* says what went wrong, see job_say(); or NULL */
    struct attempt_log *attempt_log;

    struct job_target target;
    struct job_original original;
    struct job_original kept; /* with symbols only, until something better was
                             converted */
    char *kept_work;          /* its directory; or NULL: there is none */

    struct tier_get *tier_get; /* of JOB_IN_TIER */
    bool tier_replace; /* what the tier has is bad, or worse than ours */

    /* its sources */
    struct source_order order;
    const struct source_config *source; /* being asked, or the next one */
    unsigned id_at; /* of that, the first: what was before it is malformed */
    struct lookup_symcache symcache;
    struct lookup *lookup;     /* at its end; or with an unverified original */
    struct prefetch *prefetch; /* or NULL; see prefetch.h */
    struct source_member *member; /* of a source file; or NULL */
    struct section
        *section;         /* of a job for one, see section_search.c; or NULL */
    struct event *again;  /* of JOB_WAITS_UPSTREAM; or NULL */
    uint64_t pending;     /* since when the source works on it, or 0 */
    unsigned again_after; /* seconds after which it wants to be asked */
    unsigned retry_after; /* the most that a source asked for */
    bool has_answers;     /* that say something else than "there is none" */

    /* its transcoder; what a tier or a SymCache server had is published with
     * the slot of that step */
    struct run run;
    struct task *publish;

    char *work; /* directory, or NULL */

    uint64_t began; /* milliseconds */
    uint64_t step;  /* when the present step began */
    unsigned download_ms;
    unsigned transcode_ms;

    /* must be last: only as long as its name, and job->name follows it if
     * that is spelled differently */
    symcache_key_t key;
};

/*
 * <store>/<name>/<id>, for tables and log lines: of the original, whatever is
 * made of it.
 */
static inline const char *job_id(const struct job *job)
{
    return attempt_log_id(job->attempt_log);
}

static inline const char *job_via(const struct job *job)
{
    return job->via != NULL ? job->via : "";
}

static inline const char *job_hints(const struct job *job)
{
    return job->hints != NULL ? job->hints : "";
}

/* job.c ----------------------------------------------------------------- */

/* Jobs for one module and id are one job if this is the same: that for which
 * programs are the best originals, or else any. */
symcache_kind_e job_kind_of_id(const symcache_key_t *key);

/* Writes the job_id() of the job that looks for the original of a key. */
void job_print_id(char id[STORE_KEY_MAX], const char *store,
                  const symcache_key_t *key);

/* What a job is begun for.  Nothing of it need outlive the call but store and
 * transcoder, which are of the scheduler's configuration. */
struct job_request {
    const struct store_config *store;
    const struct transcoder_config *transcoder;
    const symcache_key_t *key;
    const char *name;  /* the key's, as who asks spells it */
    const char *hints; /* see proto/hints.h; or "" */
    const char *via;   /* see via_header.h; or "" */
    enum job_purpose purpose;
    size_t better; /* sources from which a better file may come, the first
                      ones of the order; of jobs for a better file */
};

/* NULL when out of memory.  The job has no state and is in no list yet. */
struct job *job_new(struct scheduler *scheduler,
                    const struct job_request *request);
void job_free(struct job *job);

/*
 * Looks among the downloads; the job then waits for a transcoder slot or a
 * download slot.  better is for jobs that improve a file: the number of
 * sources, the first ones, that can have a better original.
 */
void job_begin(struct job *job, size_t better);

void job_set_state(struct job *job, enum job_state state);
const char *job_state_name(enum job_state state);

/* A request waits for the job: takes its way, if it goes before that which the
 * job has (via_precedes()). */
void job_join_via(struct job *job, const char *via);

/* Replaces the job's text. */
__attribute__((format(printf, 2, 3))) void job_say(struct job *job,
                                                   const char *format, ...);
const char *job_text(const struct job *job); /* "" if there is none */

/* tier_lookup.c --------------------------------------------------------- */

/* Asks the tier of the job's store.  Returns false if it has none, or one that
 * is not to be asked for this file. */
bool job_ask_tier(struct job *job);

/* Begins to look for an original: among the downloads, and at sources. */
void job_seek_original(struct job *job);

/* job_end.c --------------------------------------------------------------- */

/* Ends and frees the job.  found is one last finding, or 0. */
void job_end(struct job *job, unsigned found);

/* The same after a failure on our side; errnum is its errno, or 0. */
void job_fail(struct job *job, int errnum, const char *what);

/* Answers those who wait for the original, which is among the downloads now.
 */
void job_answer_original(struct job *job);

/* The target is published, but the job goes on: writes its outcome down, and
 * answers those who wait for the target. */
void job_answer_published(struct job *job);

/* source_search.c --------------------------------------------------------- */

/* By which ids a source is asked, from one on. */
struct lookup_ids job_source_ids(const struct job *job, unsigned first);

/* May the next source be asked now, or is no source left? */
bool job_may_ask(struct job *job);

/* Asks the next source; call it when there is a download slot. */
void job_ask_source(struct job *job);

/* The job has another list of servers now: a SymCache server is asked again
 * with it, but not before the next turn of the event loop. */
void job_tell_sources(struct job *job);

/* Leaves the source that is being asked and is silent for the next one. */
void job_pass_over(struct job *job);

/* Is a file being received, or is there one already? */
bool job_is_decided(const struct job *job);

/* By which ids, and in which spellings, a source is asked next. */
struct lookup_ids job_ask_ids(struct job *job,
                              const struct source_config *source);

/* Stops asking sources, for now or for good, and counts the time it took. */
void job_leave_sources(struct job *job);

/* Removes the original that is kept, if there is one. */
void job_drop_kept(struct job *job);

/* Puts a file of the work directory among the downloads.  Returns false after
 * it has ended the job. */
bool job_take_file(struct job *job, const char *file);

/* The same for an original that is the target, and ends the job. */
void job_take_target(struct job *job, const char *file);

/* The original is not copied into the downloads: file, itself or a link to it,
 * stays in a folder that the job keeps. */
void job_leave_at_source(struct job *job, const char *file);

/* convert_unverified.c ---------------------------------------------------- */

/* The callback of a lookup: a PDB is there that nobody has read yet. */
void job_take_unverified(void *arg, const char *here);

/* Is the job's original such a one? */
bool job_is_unverified(const struct job *job);

/* The converter has found out that it is what was looked for. */
void job_take_verified(struct job *job, enum converter_check proof);

/* It has not: the source looks at it again, with a process for that. */
void job_leave_unverified(struct job *job);

/* Somebody waits for the original itself.  He need not wait for the
 * conversion: one of an unverified original that was received begins anew
 * after a look. */
void job_hurry_original(struct job *job);

/* Goes on with that, when there is a download slot. */
void job_resume_source(struct job *job);

/* section_search.c -------------------------------------------------------- */

/* Makes what a job for a section needs, and nothing for others.  Returns false
 * when out of memory. */
bool section_new(struct job *job);
void section_free(struct job *job); /* also ends what runs */

/* Is there a file among the downloads that was not looked at yet? */
bool section_is_near(const struct job *job);

/* Looks at the next of these.  Returns false if there is none. */
bool section_cut_near(struct job *job);

/* All sources are asked again, and the downloads looked at. */
void section_rewind(struct job *job);

/* Call it when another source is to be asked.  Returns true if it has only the
 * files that are known to lack the section. */
bool section_skips(struct job *job);

/* What the source is asked for: the key and the formats of the job, or of a
 * file that a section is cut out of. */
void section_ask(const struct job *job, symcache_key_t *key,
                 unsigned *formats);

/* Is the job after such a file at the moment, and not after its target? */
bool section_wants_file(const struct job *job);

/* A source had it: cuts the section out of it. */
void section_cut_file(struct job *job, const char *file);

/* Moves on to what else the source is to be asked for.  Returns false if that
 * was all. */
bool section_next(struct job *job);

/* Sets the key of that file. */
void section_file_key(const struct job *job, symcache_key_t *key);

/* job_conversion.c ------------------------------------------------------ */

/*
 * Is room short while files are still being removed?  The transcoder then
 * waits for the room that this gives.
 */
bool job_awaits_space(const struct job *job);

/* Starts the transcoder; call it when there is a transcoder slot. */
void job_run_transcoder(struct job *job);

/* The same when the job has its original and a work folder. */
void job_start_transcoder(struct job *job);

/* The answer to job_diagnose(): NULL, or why the failure is not believed. */
void job_diagnosed(struct job *job, const char *doubt);

/* Is the work directory still there?  Somebody may have removed the store. */
bool job_has_work(const struct job *job);

/*
 * Did the run fail for lack of room?  A SymCache is smaller than its PDB, so
 * if not even the PDB would have room beside cache.min_free, or the transcoder
 * was ended for that (full), the failure says nothing about the PDB or about
 * the transcoder.  This then also asks for room.
 */
bool job_lacks_space(const struct job *job, bool full);

/* job_publication.c ----------------------------------------------------- */

/* Notes next to a file where the job looked for its original. */
void job_note_places(const struct job *job, const char *file);

/* Publishes a file of this version from the job's work directory. */
void job_publish(struct job *job, const symcache_version_t *version,
                 const char *file);

/* transcoder_runs.c ------------------------------------------------------  */

/*
 * These report the runs of a job's transcoder to transcoder_health.h.  This
 * one returns false if the job has to wait while another one sees whether the
 * transcoder works.
 */
bool job_may_transcode(const struct job *job);

/* Returns false, with the reason in error, if it is not to be run now. */
bool job_begins_run(struct job *job, char *error, size_t size);
void job_leaves_run(struct job *job);
void job_run_converted(struct job *job);
void job_run_failed(struct job *job, const char *why); /* not by the PDB */

/* Did the transcoder of a successful run report what it had checked? */
void job_run_spoke(struct job *job, bool spoke);

/* Can a transcoder be expected to report that? A wrapper that starts our
 * converter as a process of its own hides the report, and without a sandbox
 * the converter checks nothing: each PDB that it cannot confirm would be
 * converted twice. */
bool job_may_speak(const struct job *job,
                   const struct transcoder_config *transcoder);

/*
 * The transcoder failed on the PDB.  Finds out whether this is to be believed
 * and then calls job_diagnosed(), now or later, with NULL or with the reason
 * why not.
 */
void job_diagnose(struct job *job);

/* Has the transcoder that called the PDB malformed failed on a canary since?
 */
bool job_was_lied_to(const struct job *job);

/* job_work.c ------------------------------------------------------------ */

/* A new directory, or NULL with errno. */
char *job_make_work(struct workdir *workdir);

/* The path of one that is not made yet, or NULL with errno. */
char *job_name_work(struct workdir *workdir);

/* It vanishes at once, but its space is freed without blocking the loop. */
void job_remove_work(struct job *job);

/* job_original.c ---------------------------------------------------------- */

/* As job_remove_work(); not if the original was left at its source. */
void job_discard_pdb(struct job *job);
void job_leave_original(struct job *job); /* if it was: removes the folder */

/* The key of the original: the job's, with the kind of the format. */
void job_original_key(const struct job *job, symcache_key_t *key);

/* The path of the original: among the downloads, or of the link to it.  Valid
 * until the next call. */
const char *job_pdb_path(const struct job *job);

/* May the original stay in the folder of its source?  Yes, if no waiter wants
 * the original itself and our converter reads it, because that needs neither
 * its name nor rights to it. */
bool job_may_leave_original(const struct job *job);

/* Is it still the file that its source had? */
bool job_has_original(const struct job *job);

/*
 * Tells the format of a file by its first bytes, which are all that is read
 * here.  A file of no known format counts as a PDB, so that the transcoder
 * says what is wrong with it.  Returns false with errno if it cannot be read.
 */
bool job_format_of(const struct job *job, const char *path,
                   enum original_format *format);

/* Takes the original from the downloads, if there is one of which the version
 * that the job is for can be made.  Returns whether it did. */
bool job_take_download(struct job *job);

/* The transcoder for the job's original, or NULL if none takes its format. */
static inline const struct transcoder_config *
job_transcoder(const struct job *job)
{
    return job->order.transcoders[job->original.format];
}
