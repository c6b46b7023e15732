/*
 * Copyright (C) the ngx_symcache authors
 */

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/event.h"
#include "base/log.h"
#include "decision.h"
#include "jscache_inputs.h"
#include "scheduler_state.h"
#include "source_code.h"
#include "source_member.h"

const char JOB_ORIGINAL_DOWNLOADS[] = "downloads";

/* These words are on the status page, which does not tell of busy hosts. */
static const char *const state_names[] = {
    [JOB_NEW] = "new",
    [JOB_IN_TIER] = "in tier",
    [JOB_WAITS_SOURCE] = "waits for a download slot",
    [JOB_WAITS_HOST] = "waits for a download slot",
    [JOB_IN_SOURCE] = "in source",
    [JOB_WAITS_UPSTREAM] = "waits for a SymCache server",
    [JOB_WAITS_TRANSCODER] = "waits for a transcoder slot",
    [JOB_IN_TRANSCODER] = "transcoding",
    [JOB_PUBLISHES] = "publishing",
    [JOB_ENDED] = "ended",
};

const char *job_state_name(enum job_state state)
{
    return state_names[state];
}

symcache_kind_e job_kind_of_id(const symcache_key_t *key)
{
    const symcache_kind_t *kind = symcache_kind((symcache_kind_e)key->kind);

    if (key->id_type == SYMCACHE_ID_PE) {
        return SYMCACHE_KIND_EXECUTABLE;
    }
    return kind->debuginfo && kind->slots[0] != SYMCACHE_KIND_EXECUTABLE
               ? SYMCACHE_KIND_SYMCACHE
               : (symcache_kind_e)key->kind;
}

void job_print_id(char id[STORE_KEY_MAX], const char *store,
                  const symcache_key_t *key)
{
    symcache_key_t original;

    symcache_key_copy(&original, key);
    original.kind = (uint8_t)job_kind_of_id(key);
    store_key_print(id, store, &original);
}

/* Few jobs have such a list: it is allocated. */
static bool set_via(struct job *job, const char *via)
{
    if (via[0] == '\0') {
        return true;
    }
    if (job->via == NULL) {
        job->via = malloc(VIA_MAX);
        if (job->via == NULL) {
            return false;
        }
    }
    job->via[0] = '\0';
    via_join(job->via, via);
    return true;
}

struct job *job_new(struct scheduler *scheduler,
                    const struct job_request *request)
{
    const symcache_key_t *key = request->key;
    const char *name = request->name, *hints = request->hints;
    size_t len = offsetof(struct job, key.name) + key->name_len + 1;
    bool other_case = strcmp(name, key->name) != 0;
    struct job *job = calloc(1, len + (other_case ? strlen(name) + 1 : 0));
    char id[STORE_KEY_MAX];

    if (job == NULL) {
        return NULL;
    }

    job_print_id(id, request->store->name, key);
    TAILQ_INIT(&job->waiters);
    job->scheduler = scheduler;
    job->store = request->store;
    job->target.transcoder = request->transcoder;
    symcache_key_copy(&job->key, key);
    job->name = job->key.name;
    if (other_case) {
        job->name = (char *)job + len;
        memcpy((char *)job + len, name, strlen(name) + 1);
    }
    job->attempt_log = attempt_log_new(id);
    job->hints = hints[0] != '\0' ? strdup(hints) : NULL;
    if (job->attempt_log == NULL || !section_new(job) ||
        (hints[0] != '\0' && job->hints == NULL) ||
        !set_via(job, request->via)) {
        attempt_log_free(job->attempt_log);
        section_free(job);
        free(job->hints);
        free(job);
        return NULL;
    }

    job->config = config_ref(scheduler->config);
    job->began = job->step = clock_ms();
    job->original.slot = lookup_id_slot(
        &job->key, 0,
        job->key.id_type == SYMCACHE_ID_HASH ? FORMAT_SYMBFILE : FORMAT_PDB);
    job->purpose = request->purpose;
    source_order_begin(&job->order, request->store, &job->key,
                       request->transcoder);
    source_code_begin(job);
    return job;
}

void job_free(struct job *job)
{
    config_unref(job->config);
    event_drop(job->again);
    section_free(job);
    attempt_log_free(job->attempt_log);
    free(job->text);
    free(job->via);
    free(job->hints);
    free(job);
}

/* Clients can send ways without end, each before the former one. */
#define VIA_CHANGES_MAX 64

void job_join_via(struct job *job, const char *via)
{
    if (job->via_changes < VIA_CHANGES_MAX &&
        via_precedes(via, job_via(job), job->store->name) &&
        set_via(job, via)) {
        job->via_changes++;
        job_tell_sources(job);
    }
}

const char *job_text(const struct job *job)
{
    return job->text != NULL ? job->text : "";
}

/* The text is allocated, as few of the many jobs that may wait have one. */
void job_say(struct job *job, const char *format, ...)
{
    char text[NEGCACHE_TEXT_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    free(job->text);
    job->text = strdup(text);
}

void job_set_state(struct job *job, enum job_state state)
{
    enum job_state from = job->state;

    /* left out, since each host that is freed moves all that wait for hosts */
    if (from != JOB_WAITS_HOST && state != JOB_WAITS_HOST) {
        log_debug(0, "job %s: %s -> %s", job_id(job), state_names[from],
                  state_names[state]);
    }
    job->state = state;
    scheduler_moved(job, from, state);
}

void job_seek_original(struct job *job)
{
    if (source_member_begin(job)) {
        return;
    }
    if (kind_has_inputs((symcache_kind_e)job->key.kind)) {
        job->original.format = FORMAT_ANY;
        job_set_state(job, JOB_WAITS_TRANSCODER);
        return;
    }
    if (!purpose_is_better(job->purpose) &&
        job->target.transcoder->command != NULL && job_take_download(job)) {
        metrics_add(METRIC_DOWNLOAD_REUSED, 1);
        job_set_state(job, JOB_WAITS_TRANSCODER);
        return;
    }
    job_set_state(job, JOB_WAITS_SOURCE);
}

void job_begin(struct job *job, size_t better)
{
    metrics_add(METRIC_JOB_STARTED, 1);
    job->uploads_changed = decision_uploads_changed(job->store, job->config,
                                                    &job->key, job_hints(job));
    if (purpose_is_better(job->purpose)) {
        job->order.end = (unsigned)better;
        job->order.debug_files = job->purpose == JOB_FOR_DEBUG_FILE;
    }
    if (purpose_has_file(job->purpose)) {
        /* the tier may well have what is on disk already */
        job->tier_replace = true;
    } else if (job_ask_tier(job)) {
        return;
    }
    job_seek_original(job);
}
