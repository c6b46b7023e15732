/*
 * Copyright (C) the ngx_symcache authors
 *
 * Lookups, from begin to end.
 */
#include "lookup.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "early_attempts.h"
#include "child/child.h"
#include "lookup_ids.h"
#include "lookup_steps.h"
#include "metrics/metrics.h"
#include "base/event.h"
#include "base/fd_close.h"
#include "base/origin.h"
#include "base/task.h"
#include "symcached/tier/tier.h"

void lookup_set_step(struct lookup *lookup, enum lookup_step step, void *task)
{
    lookup->step = step;
    lookup->task = task;
}

static void cancel_task(struct lookup *lookup)
{
    switch (lookup->step) {
    case LOOKUP_FETCHES:
        fetch_cancel(lookup->task);
        break;
    case LOOKUP_SEARCHES:
    case LOOKUP_CHECKS:
        unpack_cancel(lookup->task);
        break;
    case LOOKUP_VALIDATES:
        child_cancel(lookup->task);
        break;
    case LOOKUP_IN_TIER:
        tiers_get_cancel(lookup->task);
        break;
    case LOOKUP_IN_INDEX:
    case LOOKUP_FINDS_LOCAL:
        task_cancel(lookup->task);
        break;
    case LOOKUP_BEGINS:
    case LOOKUP_BETWEEN_STEPS:
    case LOOKUP_UNVERIFIED:
    case LOOKUP_ENDED:
        break;
    }
}

void lookup_cancel(struct lookup *lookup)
{
    size_t i;

    cancel_task(lookup);
    event_drop(lookup->begin);
    early_attempts_free(lookup->attempt_queue);
    lookup_leave_dir(lookup, BREAKER_NOTHING, "");
    host_leave(lookup->slot);
    fd_close(lookup->part_fd);
    fd_close(lookup->out_fd);
    fd_close(lookup->dir.new_index);

    for (i = 0; i < lookup->dir.nplaces; i++) {
        free(lookup->dir.places[i]);
    }
    free(lookup->pointed_packed);
    free(lookup->state);
    free(lookup->dir.root);
    free(lookup->file);
    free(lookup->part);
    free(lookup->properties);
    free(lookup->out);
    free(lookup);
}

void *lookup_type_state(struct lookup *lookup, size_t size)
{
    lookup->state = calloc(1, size);
    if (lookup->state == NULL) {
        lookup_attempt_here(lookup, SOURCE_FAILED_HERE, "out of memory");
        lookup_end(lookup);
        return NULL;
    }
    return lookup->state;
}

static unsigned outcome_severity(enum source_outcome outcome)
{
    static const unsigned gravities[] = {
        [SOURCE_NOT_FOUND] = 0, [SOURCE_WRONG_FORMAT] = 1,
        [SOURCE_MALFORMED] = 2, [SOURCE_UNUSABLE] = 3,
        [SOURCE_FAILED] = 4,    [SOURCE_FAILED_HERE] = 4,
        [SOURCE_PENDING] = 5,   [SOURCE_FOUND] = 6,
    };

    return gravities[outcome];
}

static void report_attempt(struct lookup *lookup,
                           const struct lookup_attempt *attempt)
{
    if (outcome_severity(attempt->outcome) >
        outcome_severity(lookup->outcome)) {
        lookup->outcome = attempt->outcome;
    }

    if (lookup->attempt_queue != NULL) {
        early_attempts_add(lookup->attempt_queue, attempt);
    } else {
        lookup->callbacks.attempt(lookup->arg, attempt);
    }
}

void lookup_attempt_here(struct lookup *lookup, enum source_outcome outcome,
                         const char *detail)
{
    char text[600];
    struct lookup_attempt attempt = {
        .source = lookup->source->name,
        .place = lookup->place,
        .outcome = outcome,
        .detail = detail,
        .bytes = lookup->received.bytes,
        .ms = lookup->received.ms,
        .retry_after = lookup->received.retry_after,
        .extent = lookup_extent(lookup),
        .features = lookup->features,
        .id_at = lookup->id_at,
        .status = lookup->received.status,
        .errnum = lookup->received.errnum,
    };

    if (outcome == SOURCE_FOUND && lookup->by_index) {
        metrics_add(METRIC_UPLOADS_INDEXED, 1);
        snprintf(text, sizeof(text), "%.500s, found by its id", detail);
        attempt.detail = text;
    }
    metrics_add(METRIC_PLACE_PLAIN + layout_form(lookup->place), 1);
    report_attempt(lookup, &attempt);
}

void lookup_end(struct lookup *lookup)
{
    void (*done)(void *, enum source_outcome) = lookup->callbacks.done;
    void (*left_out)(void *) =
        lookup->leaves_out ? lookup->callbacks.left_out : NULL;
    enum source_outcome outcome = lookup->outcome;
    void *arg = lookup->arg;

    if ((outcome == SOURCE_NOT_FOUND || outcome == SOURCE_WRONG_FORMAT ||
         outcome == SOURCE_MALFORMED || outcome == SOURCE_UNUSABLE) &&
        lookup_try_next_id(lookup)) {
        return;
    }

    if (lookup->attempt_queue != NULL) {
        lookup_set_step(lookup, LOOKUP_ENDED, NULL);
        lookup_leave_dir(lookup, BREAKER_NOTHING, "");
        host_leave(lookup->slot);
        lookup->slot = NULL;
        done(arg, outcome);
        return;
    }

    if (outcome == SOURCE_FOUND && lookup->found != NULL) {
        lookup->found(lookup);
    }

    /* first, so that nothing of ours is in use when done is called */
    lookup_cancel(lookup);
    if (left_out != NULL && outcome != SOURCE_FOUND) {
        left_out(arg);
    }
    done(arg, outcome);
}

static void on_begin(evutil_socket_t fd, short what, void *arg)
{
    struct lookup *lookup = arg;
    const struct source_config *source = lookup->source;
    const char *why;

    if (lookup->step == LOOKUP_ENDED) {
        lookup_end(lookup);
        return;
    }
    lookup_set_step(lookup, LOOKUP_BETWEEN_STEPS, NULL);
    if (!lookup->is_named) {
        lookup->second = true;
        lookup->id_at = ORIGINAL_IDS;
        lookup_end(lookup); /* nothing is told of it */
        return;
    }
    if (!config_source_serves(source, &lookup->key)) {
        why = "excluded by \"only\" or \"except\"";
    } else if (!lookup_has_place(lookup)) {
        why = "its layout has no place for such a file";
    } else {
        source->type->begin(lookup);
        return;
    }
    origin_place(lookup->place, sizeof(lookup->place), source_place(source));
    lookup->second = true;
    lookup->id_at = ORIGINAL_IDS;
    report_attempt(lookup, &(struct lookup_attempt){
                               .source = source->name,
                               .place = lookup->place,
                               .outcome = SOURCE_NOT_FOUND,
                               .detail = why,
                               .id_at = lookup->id_at,
                               .is_ruled_out = true,
                           });
    lookup_end(lookup);
}

struct lookup *
lookup_start(struct sources *sources, const struct config *config,
             const struct source_config *source, const symcache_key_t *key,
             const char *name, const char *hints, unsigned formats,
             struct lookup_ids ids, time_t unchanged, const char *file,
             struct lookup_symcache *symcache,
             const struct lookup_callbacks *callbacks, void *arg)
{
    struct lookup *lookup = calloc(1, sizeof(*lookup));
    char scraped[SYMCACHE_HINT_MAX + 1];
    struct timeval now = {0, 0};

    if (lookup == NULL) {
        return NULL;
    }

    lookup->sources = sources;
    lookup->config = config;
    lookup->source = source;
    symcache_key_copy(&lookup->key, key);
    lookup->formats = formats;
    lookup->variants = ids.variants;
    lookup->unchanged = unchanged;
    symcache_hint_get(hints, SYMCACHE_HINT_CHECKSUM, lookup->checksum);
    symcache_hint_get_url(hints, lookup->url);
    symcache_hint_get(hints, SYMCACHE_HINT_ARTIFACTS, lookup->artifacts);
    symcache_hint_get(hints, SYMCACHE_HINT_SCRAPED, scraped);
    lookup->is_scraped = scraped[0] != '\0';
    snprintf(lookup->name, sizeof(lookup->name), "%s", name);
    lookup_set_ids(lookup, hints, ids);
    lookup->symcache = symcache;
    lookup->callbacks = *callbacks;
    lookup->arg = arg;
    if (callbacks->attempt == NULL) {
        lookup->attempt_queue = early_attempts_new();
    }
    lookup->part_fd = -1;
    lookup->out_fd = -1;
    lookup->dir.new_index = -1;
    lookup->outcome = SOURCE_NOT_FOUND;
    lookup->file = strdup(file);
    lookup->begin = evtimer_new(sources->base, on_begin, lookup);
    if (lookup->file == NULL || lookup->begin == NULL ||
        (callbacks->attempt == NULL && lookup->attempt_queue == NULL) ||
        asprintf(&lookup->part, "%s.part", file) < 0 ||
        asprintf(&lookup->out, "%s.out.part", file) < 0) {
        lookup_cancel(lookup);
        return NULL;
    }

    if (source->origin != NULL) {
        lookup->slot = host_enter(sources->hosts, source->origin, true);
    }
    evtimer_add(lookup->begin, &now);
    return lookup;
}

void lookup_promote(struct lookup *lookup,
                    const struct lookup_callbacks *callbacks, void *arg)
{
    struct timeval now = {0, 0};

    early_attempts_tell(lookup->attempt_queue, callbacks, arg);
    early_attempts_free(lookup->attempt_queue);
    lookup->attempt_queue = NULL;
    lookup->callbacks = *callbacks;
    lookup->arg = arg;
    if (lookup->step == LOOKUP_ENDED) {
        evtimer_add(lookup->begin, &now);
    }
}

bool lookup_receives(const struct lookup *lookup)
{
    switch (lookup->step) {
    case LOOKUP_FETCHES:
        return fetch_receives(lookup->task);
    case LOOKUP_SEARCHES:
    case LOOKUP_CHECKS:
        /* the child of a directory may be waiting for the directory */
        return lookup->source->url != NULL;
    default:
        return false;
    }
}

bool lookup_is_silent(const struct lookup *lookup)
{
    return lookup->step == LOOKUP_FETCHES && fetch_is_silent(lookup->task);
}

const char *lookup_place_asked(const struct lookup *lookup)
{
    return lookup->place;
}
