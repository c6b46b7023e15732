/*
 * Copyright (C) the ngx_symcache authors
 *
 * How a lookup is answered: by decision.h, from what is on disk or known to be
 * absent, or else by the job of its key.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/store_key.h"
#include "base/log.h"
#include "metrics/metrics.h"
#include "proto/header.h"

#include "decision.h"
#include "job_state.h"
#include "same_module_job.h"
#include "scheduler_state.h"
#include "upgrade.h"
#include "waiter.h"

#define LOOP_SECONDS 60 /* until somebody changes a configuration */

/*
 * Completes an answer from what is on disk or remembered, and starts what a
 * hit wants done in the background.
 */
static void answer_decided(struct scheduler *scheduler,
                           const struct scheduler_lookup *lookup,
                           const struct decision *decision,
                           struct scheduler_answer *answer)
{
    const struct store_config *store = lookup->store;
    const symcache_key_t *key = lookup->key;
    char path[PATH_MAX];

    answer->key = key;
    if (answer->kind == SCHEDULER_HIT && symcache_key_is_url(key)) {
        store_touch(store->root, key, &answer->version);
    } else if (answer->kind == SCHEDULER_HIT &&
               !symcache_key_is_download(key)) {
        if (store_touch(store->root, key, &answer->version)) {
            store_path(path, store->root, key, &answer->version,
                       SYMCACHE_FILE_PLAIN);
            if (!provenance_is_incomplete(path)) {
                tiers_used(scheduler->tiers, store,
                           scheduler_workdir(scheduler, store->root), key,
                           &answer->version);
            }
        }
        scheduler_want_gzip(scheduler, store, key, &answer->version);
    }
    if (decision->what == SYMCACHE_ANSWER_STALE) {
        answer->stale = true;
        if (upgrade_start(scheduler, lookup, decision->transcoder,
                          JOB_FOR_NEWER, 0)) {
            metrics_add(METRIC_JOB_UPGRADE, 1);
        }
    } else if (decision->what == SYMCACHE_ANSWER_HIT) {
        upgrade_consider(scheduler, lookup, decision);
    }
}

/*
 * Returns the job of the key, which is new if there was none, or NULL, and
 * then answer says why.
 */
static struct job *get_job(struct scheduler *scheduler,
                           const struct scheduler_lookup *lookup,
                           const struct decision *decision,
                           struct scheduler_answer *answer)
{
    const struct store_config *store = lookup->store;
    char id[STORE_KEY_MAX];
    struct job *job;

    answer->kind = SCHEDULER_BUSY;
    if (via_loops(lookup->via, store->name)) {
        metrics_add(METRIC_LOOP_REFUSED, 1);
        answer->reason = SYMCACHE_REASON_LOOP;
        answer->text = "the request came through this helper already";
        answer->seconds = LOOP_SECONDS;
        return NULL;
    }

    answer->seconds = SCHEDULER_BUSY_SECONDS;
    job = same_module_job_or_own(scheduler, store, lookup->key, lookup->hints);
    if (job == NULL && decision->unseen != 0) {
        /* what may be on disk is neither made again nor called absent */
        store_key_print(id, store->name, lookup->key);
        log_error(0, "lookup %s: answered 503, %s", id, decision->entry.text);
        answer->reason = "error";
        answer->text = decision->entry.text;
        return NULL;
    }
    if (job == NULL && scheduler->draining) {
        metrics_add(METRIC_JOB_REFUSED, 1);
        answer->reason = SYMCACHE_REASON_DRAINING;
        answer->text = "the helper starts no new job until its drain ends";
        return NULL;
    }
    if (job == NULL) {
        struct job_request request = {.store = store,
                                      .transcoder = decision->transcoder,
                                      .key = lookup->key,
                                      .name = lookup->name,
                                      .hints = lookup->hints,
                                      .via = lookup->via,
                                      .purpose = JOB_FOR_LOOKUP};

        job = scheduler_start(scheduler, &request, &answer->reason);
    } else if (job != NULL) {
        job_join_via(job, lookup->via);
    }
    if (job != NULL) {
        answer->kind = SCHEDULER_PENDING;
        answer->seconds = WAITER_PENDING_SECONDS;
    }
    return job;
}

struct waiter *scheduler_ask(struct scheduler *scheduler,
                             const struct scheduler_lookup *lookup,
                             scheduler_answer_fn fn, void *arg)
{
    struct scheduler_answer answer = {
        .kind = SCHEDULER_ABSENT,
        .reason = "unstorable",
        .text = "the name is too long for a file system",
        .seconds = 86400};
    struct waiter *waiter = NULL;
    struct decision decision;
    struct job *job;

    if (!symcache_path_storable(lookup->key)) {
        fn(arg, &answer);
        return NULL;
    }

    decision_make(&decision, scheduler->negcache, lookup->store,
                  scheduler->config, lookup->key, lookup->name, lookup->hints,
                  lookup->via, lookup->ask);
    if (decision.negative) {
        metrics_add(negcache_rules[decision.entry.reason].metric, 1);
    }
    if (decision_answer(&decision, lookup->store, lookup->key, &answer)) {
        answer_decided(scheduler, lookup, &decision, &answer);
        if (answer.kind == SCHEDULER_ABSENT) {
            missing_modules_note(scheduler->missing, lookup->key, lookup->name,
                                 lookup->hints);
        }
        fn(arg, &answer);
        return NULL;
    }

    job = get_job(scheduler, lookup, &decision, &answer);
    if (job != NULL && lookup->wait > 0) {
        waiter = waiter_new(job, lookup, fn, arg);
    } else if (job != NULL) {
        waiter_want(job, lookup);
    }
    if (waiter == NULL) {
        fn(arg, &answer);
    }
    return waiter;
}
