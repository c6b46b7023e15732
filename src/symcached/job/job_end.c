/*
 * Copyright (C) the ngx_symcache authors
 *
 * What happens when a job ends.  Whatever the reason, job_end(), at the end of
 * this file, does this, in this order:
 *
 *   its findings become its outcome, by findings_outcome();
 *   what still runs for it is ended, and its work directory is removed;
 *   the outcome is written down: for later requests as a negative entry, for
 *     people in the log, the counters and the list of misses;
 *   its slot goes to another job, and lookups do not find this one any more;
 *   each of its waiters, in the order of waiters_sort(), is answered by what is
 *     on disk and known now, and if that is no answer to its question, by the
 *     outcome or by another job;
 *   its attempts are kept for "why", and it is freed.
 *
 * Where the original becomes durable after what was made of it,
 * job_answer_published() has written the outcome down before.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <event2/event.h>
#include "base/disk_full.h"
#include "base/log.h"
#include "base/task.h"
#include "symcached/space/space.h"
#include "decision.h"
#include "jscache_inputs.h"
#include "prefetch.h"
#include "proto/header.h"
#include "second_original.h"
#include "source_member.h"
#include "scheduler_state.h"
#include "same_module_job.h"
#include "waiter.h"

static const char *const outcome_names[] = {
    [JOB_PUBLISHED] = "published", [JOB_NOTFOUND] = "notfound",
    [JOB_WRONG_FORMAT] = "wrong-format",
    [JOB_MALFORMED] = "malformed", [JOB_ERROR] = "error",
    [JOB_LOOP] = "loop",
    [JOB_UNCHANGED] = "unchanged", [JOB_STOPPED] = "stopped",
};

static const enum metric outcome_metrics[] = {
    [JOB_PUBLISHED] = METRIC_JOB_PUBLISHED,
    [JOB_NOTFOUND] = METRIC_JOB_NOTFOUND,
    [JOB_WRONG_FORMAT] = METRIC_JOB_WRONG_FORMAT,
    [JOB_MALFORMED] = METRIC_JOB_MALFORMED,
    [JOB_ERROR] = METRIC_JOB_ERROR,
    [JOB_LOOP] = METRIC_JOB_LOOP,
    [JOB_UNCHANGED] = METRIC_JOB_UNCHANGED,
    [JOB_STOPPED] = METRIC_JOB_STOPPED,
};

/*
 * Of jobs for files that are served packed, the first of three counters:
 * published, not found and error, in this order in metrics.h.
 */
static const enum metric packed_metrics[SYMCACHE_KINDS] = {
    [SYMCACHE_KIND_CABINET] = METRIC_PACKED_CABINET_FOUND,
    [SYMCACHE_KIND_GZIP] = METRIC_PACKED_GZIP_FOUND,
    [SYMCACHE_KIND_SYMGZIP] = METRIC_PACKED_SYMGZIP_FOUND,
};

/* its outcome ------------------------------------------------------------ */

/* Has the configuration been replaced since the job began? */
static bool is_outdated(const struct job *job)
{
    return job->config != job->scheduler->config;
}

/* Adds to a job's findings what happened meanwhile outside of the job. */
static unsigned all_findings(const struct job *job)
{
    unsigned findings = job->findings;

    if (job->order.not_newer) {
        findings |= FINDING_NOT_NEWER;
    }
    if (is_outdated(job)) {
        findings |= FINDING_OUTDATED;
    }
    if (job_was_lied_to(job)) {
        findings |= FINDING_DOUBTED;
    }
    return findings;
}

/*
 * Do the places where the job looked explain its outcome?  If a PDB was
 * malformed, the transcoder's message tells more, as long as it is believed.
 */
static bool explained_by_attempts(const struct job *job,
                                  enum job_outcome outcome)
{
    return (job->findings & FINDING_EXHAUSTED) &&
           (!(job->findings & FINDING_MALFORMED) || outcome == JOB_ERROR);
}

/*
 * The sentence before an outcome's list of places.  Even if all of them
 * answered, the outcome is an error when they were asked by a configuration
 * that is no longer in force.
 */
static const char *preface_of_outcome(const struct job *job)
{
    return is_outdated(job) ? "the configuration was reloaded meanwhile; " : "";
}

static void say_attempts(struct job *job)
{
    char looked[NEGCACHE_TEXT_MAX];

    attempt_log_print(job->attempt_log, false, looked, sizeof(looked));
    job_say(job, "%s%s", preface_of_outcome(job),
            looked[0] != '\0' ? looked : "no source is asked for it");
}

/* its records ------------------------------------------------------------ */

static void log_end(const struct job *job, enum job_outcome outcome)
{
    char version[SYMCACHE_VERSION_TEXT_MAX + 1], note[4096] = "";
    char key[SYMCACHE_KEY_TEXT_MAX + 1];
    const struct job_target *target = &job->target;
    enum log_level level =
        outcome == JOB_ERROR ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO;

    symcache_key_print(key, &job->key);
    symcache_version_print(version, outcome == JOB_PUBLISHED
                                        ? &target->published
                                        : &target->transcoder->version);

    if (explained_by_attempts(job, outcome)) {
        char looked[3072]; /* more than the text has room for */

        attempt_log_print(job->attempt_log, false, looked, sizeof(looked));
        snprintf(note, sizeof(note), ", %slooked in %s",
                 preface_of_outcome(job),
                 looked[0] != '\0' ? looked : "no source: none takes it");
    } else if (outcome != JOB_PUBLISHED) {
        snprintf(note, sizeof(note), ", %s", job_text(job));
    }

    log_write(level, 0,
              "job store=%s key=%s outcome=%s version=%s source=%s bytes=%llu "
              "symcache_bytes=%lld download_ms=%u transcode_ms=%u total_ms=%u "
              "waiters=%u%s",
              job->store->name, key, outcome_names[outcome], version,
              job->original.from != NULL ? job->original.from : "-",
              (unsigned long long)job->original.bytes, target->size,
              job->download_ms, job->transcode_ms, clock_since(job->began),
              job->nwaiters, note);
}

/* The reason of the negative entry for an outcome, if there is to be one. */
static enum negcache_reason reason_of(enum job_outcome outcome)
{
    switch (outcome) {
    case JOB_NOTFOUND:
        return NEGCACHE_NOTFOUND;
    case JOB_WRONG_FORMAT:
        return NEGCACHE_WRONG_FORMAT;
    case JOB_MALFORMED:
        return NEGCACHE_MALFORMED;
    case JOB_LOOP:
        return NEGCACHE_LOOP;
    case JOB_UNCHANGED:
        return NEGCACHE_UNCHANGED;
    default:
        return NEGCACHE_ERROR;
    }
}

/* seconds as in negcache_add() */
static void add_negative(struct job *job, enum negcache_reason reason,
                         unsigned seconds)
{
    struct workdir *workdir;
    char path[WORKDIR_PATH_MAX], *tmp = NULL;
    int rc;

    if (negcache_rules[reason].on_disk) {
        workdir = scheduler_workdir(job->scheduler, job->store->root);
        errno = ENOENT;
        if (workdir != NULL && workdir_file(workdir, path) == 0) {
            tmp = path;
        }
    }
    rc = negcache_add(job->scheduler->negcache, job->store,
                      &job->config->cache, &job->key, job->name,
                      job_hints(job), &job->target.transcoder->version, reason,
                      reason == NEGCACHE_LOOP ? job_via(job) : job_text(job),
                      seconds, job->uploads_changed, tmp);
    if (negcache_is_written(reason, &job->key, job_hints(job))) {
        scheduler_note_entry(job->scheduler, job->store->root, job_id(job),
                             rc != 0 ? errno : 0);
    }
}

/* Will a repeated request for the target be served what was published? */
static bool is_as_wanted(const struct job_target *target)
{
    const symcache_version_t *version = &target->transcoder->version;

    return target->published.major == version->major &&
           symcache_version_cmp(&target->published, version) >= 0;
}

/* Keeps for later requests what this job found out. */
static void remember_outcome(struct job *job, enum job_outcome outcome)
{
    const struct job_target *target = &job->target;
    const struct cache_config *cache = &job->config->cache;
    const symcache_version_t *version = &target->transcoder->version;
    enum negcache_reason reason = reason_of(outcome);
    unsigned seconds = 0;

    if (outcome == JOB_STOPPED) {
        return;
    }
    if (outcome == JOB_PUBLISHED) {
        negcache_drop(job->scheduler->negcache, job->store, &job->key,
                      version);
        if (is_as_wanted(target)) {
            return;
        }
        /* another file than the requested one: do not make it again at each
         * request */
        seconds = cache->retry_misses_after;
        if (target->published.major <= version->major) {
            reason = NEGCACHE_UNCHANGED;
        }
    } else if (outcome == JOB_ERROR) {
        seconds = job->run.pause > 0 ? job->run.pause
                                     : cache->retry_errors_after;
        /* of what was not asked for the pause of a host, nothing is known */
        if (job->retry_after > seconds ||
            (job->retry_after > 0 && !job->has_answers)) {
            seconds = job->retry_after;
        }
    }
    add_negative(job, reason, seconds);
}

/* Adds the job to the list of misses, which is for people to look at. */
static void note_miss(struct job *job, enum job_outcome outcome)
{
    char looked[NEGCACHE_TEXT_MAX] = "", key[SYMCACHE_KEY_TEXT_MAX + 1];
    size_t n = 0;

    if (outcome == JOB_PUBLISHED || outcome == JOB_STOPPED ||
        outcome == JOB_LOOP) {
        return;
    }
    if (explained_by_attempts(job, outcome)) {
        n = (size_t)snprintf(looked, sizeof(looked), "%s",
                             preface_of_outcome(job));
        attempt_log_print(job->attempt_log, true, looked + n,
                          sizeof(looked) - n);
    }
    symcache_key_print(key, &job->key);
    recent_misses_add(job->scheduler->misses, job->store->name, key,
                      &job->target.transcoder->version, outcome_names[outcome],
                      looked[n] != '\0' ? looked : job_text(job));
}

/* One in another form than its name says is not there in the asked one. */
static void count_packed(const struct job *job, enum job_outcome outcome)
{
    enum metric first = packed_metrics[job->key.kind];

    if (!symcache_kind_is_packed((symcache_kind_e)job->key.kind)) {
        return;
    }
    metrics_add(first, outcome == JOB_PUBLISHED);
    metrics_add(first + 1,
                outcome == JOB_NOTFOUND || outcome == JOB_WRONG_FORMAT);
    metrics_add(first + 2, outcome == JOB_ERROR);
}

static void record_outcome(struct job *job, enum job_outcome outcome)
{
    count_packed(job, outcome);
    metrics_add(outcome_metrics[outcome], 1);
    metrics_observe(METRICS_JOB, clock_since(job->began));
    if (purpose_has_file(job->purpose)) {
        /* the file on disk stays valid, whatever this job found out */
        metrics_add(METRIC_BETTER_FOUND,
                    purpose_is_better(job->purpose) &&
                        outcome == JOB_PUBLISHED);
    } else {
        remember_outcome(job, outcome);
        note_miss(job, outcome);
    }
    log_end(job, outcome);
}

/* its waiters ------------------------------------------------------------ */

/* Fills the answer for a waiter that wanted what the job could not make. */
static void answer_outcome(const struct job *job, enum job_outcome outcome,
                           struct scheduler_answer *answer)
{
    enum negcache_reason reason = reason_of(outcome);

    memset(answer, 0, sizeof(*answer));
    answer->text = job_text(job);
    if (outcome == JOB_STOPPED) {
        answer->kind = SCHEDULER_BUSY;
        answer->reason = SYMCACHE_REASON_STOPPING;
        answer->seconds = SCHEDULER_BUSY_SECONDS;
        return;
    }
    if (negcache_rules[reason].needs_file) {
        /* the file that would have been the answer has vanished */
        reason = NEGCACHE_ERROR;
    }
    answer->kind =
        negcache_rules[reason].is_final ? SCHEDULER_ABSENT : SCHEDULER_BUSY;
    answer->reason = negcache_rules[reason].name;
    answer->seconds = negcache_life(reason, &job->config->cache);
}

/* Does this waiter need another decision: because it asked for something that
 * the job did not look for, because the findings no longer matter, or because
 * the published file is gone again? */
static bool needs_another(const struct job *job, enum job_outcome outcome,
                          const struct waiter *waiter,
                          const struct decision *decision)
{
    return outcome == JOB_STOPPED || waiter->kind != job->key.kind ||
           (outcome == JOB_PUBLISHED && is_as_wanted(&job->target)) ||
           job->target.transcoder != decision->transcoder ||
           strcmp(waiter->hints, job_hints(job)) != 0 ||
           (outcome == JOB_LOOP && !via_has_all(waiter->via, job_via(job))) ||
           ((outcome == JOB_NOTFOUND || outcome == JOB_WRONG_FORMAT) &&
            strcmp(waiter->name, job->name) != 0);
}

/* Does this SymCache have places that other kinds do not use: those of modules
 * other than PDBs, by their own ids? */
static bool looks_further(const struct job *job)
{
    return (job->order.formats &
            ~(1u << FORMAT_PDB | 1u << FORMAT_BREAKPAD)) != 0;
}

/*
 * The next job continues where this one ended: it does not ask sources again
 * that had no such original, and it reports their answers.  This holds only if
 * it is for a SymCache: jobs for other kinds look for a portable PDB at more
 * places, because that has a second age and can lie in an image.  And it holds
 * only if all sources were asked, in all spellings, for whatever it can use.
 */
static void hand_over(struct job *job, enum job_outcome outcome,
                      struct job *next)
{
    struct attempt_log *attempt_log = next->attempt_log;

    if ((job->findings & FINDING_FORGOTTEN) || job->reach != JOB_ASKS_ALL ||
        next->key.kind != SYMCACHE_KIND_SYMCACHE ||
        strcmp(job->name, next->name) != 0 ||
        strcmp(job_hints(job), job_hints(next)) != 0) {
        return;
    }
    if (outcome == JOB_NOTFOUND &&
        (next->order.formats & ~job->order.formats) == 0 &&
        (!looks_further(next) || next->key.kind == job->key.kind)) {
        next->order.absent = job->order.absent;
        next->uploads_changed = job->uploads_changed;
    }
    if (strcmp(job_id(job), job_id(next)) == 0) {
        next->attempt_log = job->attempt_log;
        job->attempt_log = attempt_log;
    }
}

/* Makes the waiter wait for another job.  Returns false if there is none. */
static bool start_another(struct job *job, enum job_outcome outcome,
                          const symcache_key_t *key, struct waiter *waiter,
                          const struct decision *decision)
{
    struct scheduler *scheduler = job->scheduler;
    const char *reason;
    struct job *next;

    if (scheduler->stopping || is_outdated(job)) {
        return false;
    }
    next = same_module_job_or_own(scheduler, job->store, key, waiter->hints);
    if (next == NULL) {
        struct job_request request = {.store = job->store,
                                      .transcoder = decision->transcoder,
                                      .key = key,
                                      .name = waiter->name,
                                      .hints = waiter->hints,
                                      .via = waiter->via,
                                      .purpose = JOB_FOR_LOOKUP};

        next = scheduler_start(scheduler, &request, &reason);
        if (next == NULL) {
            return false;
        }
        hand_over(job, outcome, next);
    } else {
        job_join_via(next, waiter->via);
    }
    waiter_join(waiter, next);
    return true;
}

static void note_missing(const struct waiter *waiter,
                         const symcache_key_t *key,
                         const struct scheduler_answer *answer)
{
    if (waiter->fn != NULL && answer->kind == SCHEDULER_ABSENT) {
        missing_modules_note(waiter->scheduler->missing, key, waiter->name,
                             waiter->hints);
    }
}

/* What the job has made, or what was there before, cannot be seen now. */
static void answer_unseen(const struct job *job, const symcache_key_t *key,
                          struct waiter *waiter, const char *why)
{
    const struct scheduler_answer answer = {.kind = SCHEDULER_BUSY,
                                            .reason = "error",
                                            .text = why,
                                            .seconds = SCHEDULER_BUSY_SECONDS};
    char id[STORE_KEY_MAX];

    store_key_print(id, job->store->name, key);
    log_error(0, "lookup %s: answered 503, %s", id, why);
    waiter_answer(waiter, &answer);
}

/*
 * Each waiter is answered by a new decision, from what is on disk now.  One
 * that asked for another kind or version than the job made, or in another
 * spelling or with other hints than the job looked for, may need another job.
 * If there can be none, it must not be told that the file is absent, since this
 * job has not looked for it.
 */
static void answer_waiter(struct job *job, enum job_outcome outcome,
                          struct waiter *waiter)
{
    struct scheduler *scheduler = job->scheduler;
    struct scheduler_answer answer;
    symcache_key_t key;
    struct decision decision;
    bool another;

    symcache_key_copy(&key, &job->key);
    key.kind = (uint8_t)waiter->kind;
    decision_make(&decision, scheduler->negcache, job->store,
                  scheduler->config, &key, waiter->name, waiter->hints,
                  waiter->via, &waiter->ask);
    if (decision_answer(&decision, job->store, &key, &answer)) {
        answer.key = &key;
        note_missing(waiter, &key, &answer);
        waiter_answer(waiter, &answer);
        return;
    }

    /* of a job that failed, its own reason is the cause */
    if (decision.unseen != 0 &&
        (outcome == JOB_PUBLISHED || outcome == JOB_UNCHANGED)) {
        answer_unseen(job, &key, waiter, decision.entry.text);
        return;
    }
    another =
        decision.unseen != 0 || needs_another(job, outcome, waiter, &decision);
    if (another && decision.unseen == 0 &&
        start_another(job, outcome, &key, waiter, &decision)) {
        return;
    }

    answer_outcome(job, outcome, &answer);
    if (another && answer.kind == SCHEDULER_ABSENT) {
        answer.kind = SCHEDULER_BUSY;
        answer.reason = "error";
        answer.seconds = SCHEDULER_BUSY_SECONDS;
    }
    note_missing(waiter, &key, &answer);
    waiter_answer(waiter, &answer);
}

/* Answers the waiters of this key whose file is on disk as they want it. */
static void answer_hits(struct job *job, const symcache_key_t *key)
{
    struct scheduler *scheduler = job->scheduler;
    struct waiter *waiter, *next;
    struct scheduler_answer answer;
    struct decision decision;

    for (waiter = TAILQ_FIRST(&job->waiters); waiter != NULL; waiter = next) {
        next = TAILQ_NEXT(waiter, entry);
        if (waiter->kind != key->kind) {
            continue;
        }
        decision_make(&decision, scheduler->negcache, job->store,
                      scheduler->config, key, waiter->name, waiter->hints,
                      waiter->via, &waiter->ask);
        if (decision.what == SYMCACHE_ANSWER_HIT &&
            decision_answer(&decision, job->store, key, &answer)) {
            answer.key = key;
            waiter_answer(waiter, &answer);
        }
    }
}

void job_answer_original(struct job *job)
{
    symcache_key_t key;

    job_original_key(job, &key);
    answer_hits(job, &key);
}

void job_answer_published(struct job *job)
{
    job->findings |= FINDING_PUBLISHED;
    record_outcome(job, JOB_PUBLISHED);
    answer_hits(job, &job->key);
}

/* the end ---------------------------------------------------------------- */

/* Ends what still runs for a job, which is the case only when it is stopped. */
static void cancel_tasks(struct job *job)
{
    if (job->tier_get != NULL) {
        tiers_get_cancel(job->tier_get);
        job->tier_get = NULL;
    }
    if (job->lookup != NULL) {
        lookup_cancel(job->lookup);
        job->lookup = NULL;
    }
    if (job->run.transcode != NULL) {
        transcode_cancel(job->run.transcode);
        job->run.transcode = NULL;
    }
    job_leave_second(job);
    job_leave_inputs(job);
    section_free(job);
    source_member_leave(job);
    task_cancel(job->publish);
    job->publish = NULL;
    if (job->again != NULL) {
        evtimer_del(job->again);
    }
}

void job_end(struct job *job, unsigned found)
{
    struct scheduler *scheduler = job->scheduler;
    bool is_recorded = (job->findings & FINDING_PUBLISHED) != 0;
    enum job_outcome outcome;
    struct waiter *waiter;

    job->findings |= found;
    outcome = findings_outcome(all_findings(job), job->purpose);

    cancel_tasks(job);
    job_drop_kept(job);
    prefetch_drop(job);
    job_leaves_run(job);
    job_remove_work(job);
    job_leave_original(job);

    if (!is_recorded) {
        if (explained_by_attempts(job, outcome)) {
            say_attempts(job);
        }
        record_outcome(job, outcome);
    }

    job_set_state(job, JOB_ENDED);
    scheduler_deregister(job);
    if (same_module_job_find(scheduler, job->store, &job->key) != NULL) {
        scheduler_host_freed(scheduler); /* it may be waiting for this */
    }
    waiters_sort(job);
    while ((waiter = TAILQ_FIRST(&job->waiters)) != NULL) {
        waiter_detach(waiter);
        answer_waiter(job, outcome, waiter);
    }

    scheduler_leave_config(job);
    attempt_logs_keep(scheduler->attempt_logs, job->attempt_log);
    job->attempt_log = NULL;
    job_free(job);
}

/* Has room made on a full disk, on whichever of the two it was. */
static void say_full(struct job *job, int errnum, const char *what)
{
    const char *const roots[] = {job->store->root, job->config->downloads};
    const char *why = "";
    size_t i;

    for (i = 0; i < 2; i++) {
        disk_space_want_in(roots[i], 0);
        if (disk_space_lacks_inodes_in(roots[i])) {
            why = " (no inodes are left)";
        }
    }
    job_say(job, "%s: %s%s", what, strerror(errnum), why);
}

void job_fail(struct job *job, int errnum, const char *what)
{
    if (disk_is_full(errnum)) {
        say_full(job, errnum, what);
    } else if (errnum != 0) {
        job_say(job, "%s: %s", what, strerror(errnum));
    } else {
        job_say(job, "%s", what);
    }
    job_end(job, FINDING_FAILED);
}
