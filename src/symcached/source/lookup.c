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
#include <unistd.h>

#include "early_attempts.h"
#include "child/child.h"
#include "debuginfo/portablepdb/portablepdb.h"
#include "symcached/fetch/fetch.h"
#include "lookup_steps.h"
#include "metrics/metrics.h"
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

static void lookup_free(struct lookup *lookup)
{
    size_t i;

    cancel_task(lookup);
    if (lookup->begin != NULL) {
        event_free(lookup->begin);
    }
    early_attempts_free(lookup->attempt_queue);
    lookup_leave_dir(lookup, BREAKER_NOTHING, "");
    host_leave(lookup->slot);
    if (lookup->part_fd >= 0) {
        close(lookup->part_fd);
    }
    if (lookup->out_fd >= 0) {
        close(lookup->out_fd);
    }
    if (lookup->dir.new_index >= 0) {
        close(lookup->dir.new_index);
    }

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

static void lookup_attempt(struct lookup *lookup,
                           const struct source_attempt *attempt)
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

/* Has the original several ids, as one to be converted has? */
static bool has_several_ids(const struct lookup *lookup)
{
    return original_id_has_several((symcache_kind_e)lookup->key.kind) &&
           !config_source_is_ready_made(lookup->source, &lookup->key);
}

/* Does the id at a position lead to a program? */
static bool is_program(const symcache_key_t *key, unsigned position)
{
    return position < ORIGINAL_IDS &&
           original_id_at((symcache_kind_e)key->kind, position) >=
               ORIGINAL_ID_PROGRAM;
}

/* Or to a source bundle? */
static bool is_bundle(const symcache_key_t *key, unsigned position)
{
    enum original_id which =
        position < ORIGINAL_IDS
            ? original_id_at((symcache_kind_e)key->kind, position)
            : ORIGINAL_IDS;

    return which == ORIGINAL_ID_BUNDLE || which == ORIGINAL_ID_BUNDLE_KEY;
}

symcache_kind_e source_id_slot(const symcache_key_t *key, unsigned id_at,
                               enum original_format format)
{
    if (symcache_kind_is_original((symcache_kind_e)key->kind)) {
        return (symcache_kind_e)key->kind;
    }
    if (key->kind == SYMCACHE_KIND_SOURCECACHE) {
        return is_bundle(key, id_at) ? SYMCACHE_KIND_SOURCEBUNDLE
                                     : SYMCACHE_KIND_DEBUGINFO;
    }
    if (key->id_type == SYMCACHE_ID_HASH && format == FORMAT_SYMBFILE) {
        return SYMCACHE_KIND_SYMBFILE;
    }
    if (!original_id_has_several((symcache_kind_e)key->kind)) {
        return (symcache_kind_e)symcache_kind((symcache_kind_e)key->kind)
            ->slots[0];
    }
    if (key->id_type == SYMCACHE_ID_PE ||
        (original_id_has_several((symcache_kind_e)key->kind) &&
         is_program(key, id_at))) {
        return SYMCACHE_KIND_EXECUTABLE;
    }
    return format == FORMAT_BREAKPAD ? SYMCACHE_KIND_SYM
                                     : SYMCACHE_KIND_DEBUGINFO;
}

static symcache_extent_e lookup_extent(const struct lookup *lookup)
{
    if (!lookup->publics_only) {
        return SYMCACHE_EXTENT_FULL;
    }
    return has_several_ids(lookup) && is_program(&lookup->key, lookup->id_at)
               ? SYMCACHE_EXTENT_PROGRAM
               : SYMCACHE_EXTENT_PUBLICS;
}

void lookup_attempt_here(struct lookup *lookup, enum source_outcome outcome,
                         const char *detail)
{
    char text[600];
    struct source_attempt attempt = {
        lookup->source->name,
        lookup->place,
        outcome,
        detail,
        lookup->received.bytes,
        lookup->received.ms,
        lookup->received.retry_after,
        lookup_extent(lookup),
        lookup->features,
        lookup->id_at,
        lookup->received.status,
        lookup->received.errnum,
    };

    if (outcome == SOURCE_FOUND && lookup->by_index) {
        metrics_add(METRIC_UPLOADS_INDEXED, 1);
        snprintf(text, sizeof(text), "%.500s, found by its id", detail);
        attempt.detail = text;
    }
    metrics_add(METRIC_PLACE_PLAIN + layout_form(lookup->place), 1);
    lookup_attempt(lookup, &attempt);
}

/*
 * A portable PDB can lie in the image of its module.  In a flat layout the
 * image would be in the same folder: gives the lookup the name of an image
 * that was not looked for yet.
 */
static bool take_image(struct lookup *lookup)
{
    symcache_key_t *key = &lookup->key;
    char *end = key->name + key->name_len - 4;
    bool second = key->name_len > 4 && strcmp(end, ".dll") == 0;

    if (lookup->second || lookup->source->layout != LAYOUT_FLAT ||
        lookup->source->url == NULL ||
        key->kind != SYMCACHE_KIND_PPDBCACHE || key->name_len <= 4 ||
        (!second && strcmp(end, ".pdb") != 0)) {
        return false;
    }
    lookup->second = second;
    memcpy(end, second ? ".exe" : ".dll", 4);
    memcpy(lookup->name + key->name_len - 4, end, 4);
    return true;
}

/* Sets lookup->at to the key of this id or of the next one that the source
 * has places for.  Returns false if there is none. */
static bool find_id(struct lookup *lookup)
{
    return original_id_find(&lookup->id_at, lookup->source, &lookup->key,
                            lookup->has_code_id ? &lookup->code_id : NULL,
                            lookup->formats, lookup->ids, &lookup->at);
}

/*
 * The key of a portable PDB has the age FFFFFFFF, but some tools and clients
 * store it and ask for it with the age 1.  Gives the lookup the age that was
 * not looked for yet, at which a Windows PDB is another file.  Returns false
 * if there is none.
 */
static bool take_other_age(struct lookup *lookup)
{
    symcache_key_t *key = &lookup->key;

    if (lookup->second || key->id_type != SYMCACHE_ID_DEBUG ||
        config_source_is_ready_made(lookup->source, key) ||
        lookup->source->layout == LAYOUT_FLAT ||
        (key->kind == SYMCACHE_KIND_SOURCECACHE
             ? key->age != PORTABLEPDB_AGE
             : key->kind != SYMCACHE_KIND_PPDBCACHE &&
                   (key->kind != SYMCACHE_KIND_DEBUGINFO ||
                    (key->age != PORTABLEPDB_AGE && key->age != 1)))) {
        return false;
    }
    lookup->second = true;
    lookup->formats &=
        1u << FORMAT_PORTABLEPDB | 1u << FORMAT_SOURCEBUNDLE;
    key->age = key->age == PORTABLEPDB_AGE ? 1 : PORTABLEPDB_AGE;
    lookup->id_at = 0;
    return !has_several_ids(lookup) || find_id(lookup);
}

/* The layout unified and Sentry have the stamp of a portable PDB where its key
 * has FFFFFFFF, which is the other age then. */
static void take_stamp(struct lookup *lookup, const char *hints)
{
    char stamp[SYMCACHE_HINT_MAX + 1];

    symcache_hint_get(hints, SYMCACHE_HINT_STAMP, stamp);
    if (stamp[0] != '\0' &&
        (lookup->key.kind == SYMCACHE_KIND_PPDBCACHE ||
         lookup->key.kind == SYMCACHE_KIND_SOURCECACHE) &&
        (lookup->source->layout == LAYOUT_UNIFIED ||
         lookup->source->type->has_list)) {
        lookup->key.age = (uint32_t)strtoul(stamp, NULL, 16);
    }
}

/* The layout slashsymbols has the name of the program, which can differ from
 * that of its debug file. */
static void take_code_file(struct lookup *lookup, const char *hints)
{
    char name[SYMCACHE_HINT_MAX + 1];

    symcache_hint_get(hints, SYMCACHE_HINT_CODE_FILE, name);
    if (name[0] != '\0' && lookup->source->layout == LAYOUT_SLASHSYMBOLS) {
        snprintf(lookup->name, sizeof(lookup->name), "%.*s", SYMCACHE_NAME_MAX,
                 name);
    }
}

static bool take_next_id(struct lookup *lookup)
{
    if (!has_several_ids(lookup) || lookup->id_at == ORIGINAL_IDS) {
        return false;
    }
    lookup->id_at++;
    return find_id(lookup);
}

/* Returns false if the source has no place for such a file. */
static bool has_place(struct lookup *lookup)
{
    if (has_several_ids(lookup)) {
        return find_id(lookup);
    }
    symcache_key_copy(&lookup->at, &lookup->key);
    return config_source_is_ready_made(lookup->source, &lookup->key)
               ? config_source_ready_made(lookup->source, &lookup->key) != NULL
               : config_source_has_key(lookup->source, &lookup->key);
}

/* Looks at the other places, as if the lookup had just begun. */
static void begin_again(struct lookup *lookup)
{
    struct timeval now = {0, 0};

    free(lookup->state);
    lookup->state = NULL;
    free(lookup->pointed_packed);
    lookup->pointed_packed = NULL;
    lookup->resume = NULL;
    lookup->found = NULL;
    lookup->pointers = 0;
    lookup->pointed = lookup->pointed_below = false;
    lookup->by_index = lookup->has_index_id;
    memset(&lookup->received, 0, sizeof(lookup->received));
    lookup_set_step(lookup, LOOKUP_BEGINS, NULL);
    evtimer_add(lookup->begin, &now);
}

bool lookup_take_build_id(struct lookup *lookup,
                          const symcache_key_t *build_id)
{
    const unsigned ids =
        1u << ORIGINAL_ID_DEBUG_FILE | 1u << ORIGINAL_ID_PROGRAM;

    if (lookup->has_code_id || !has_several_ids(lookup) ||
        lookup->key.id_type != SYMCACHE_ID_DEBUG ||
        !original_id_is_made_of(&lookup->key, build_id)) {
        return false;
    }
    symcache_key_copy(&lookup->code_id, build_id);
    lookup->has_code_id = lookup->has_index_id = true;
    lookup->ids &= ids;
    lookup->id_at = lookup->first_id;
    if (!find_id(lookup)) {
        return false;
    }
    begin_again(lookup);
    return true;
}

bool lookup_take_ids(struct lookup *lookup, const symcache_key_t *debug_id,
                     const symcache_key_t *code_id)
{
    unsigned formats = code_id == NULL ? 1u << FORMAT_ELF
                                       : 1u << FORMAT_PDB | 1u << FORMAT_PE;

    if ((debug_id == NULL && code_id == NULL) ||
        lookup->key.kind != SYMCACHE_KIND_SYMCACHE ||
        lookup->key.id_type != SYMCACHE_ID_HASH ||
        !(lookup->formats & formats)) {
        return false;
    }
    if (debug_id != NULL) {
        lookup->key.id_type = SYMCACHE_ID_DEBUG;
        lookup->key.age = debug_id->age;
        memcpy(lookup->key.guid, debug_id->guid, sizeof(lookup->key.guid));
    } else {
        lookup->key.id_type = SYMCACHE_ID_PE;
        lookup->key.timestamp = code_id->timestamp;
        lookup->key.image_size = code_id->image_size;
    }
    if (code_id != NULL) {
        symcache_key_copy(&lookup->code_id, code_id);
        lookup->has_code_id = true;
    }
    lookup->formats &= formats;
    lookup->ids = ORIGINAL_IDS_ALL;
    lookup->id_at = lookup->first_id = 0;
    if (!find_id(lookup)) {
        return false;
    }
    begin_again(lookup);
    return true;
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
        (take_next_id(lookup) || take_other_age(lookup) ||
         take_image(lookup))) {
        begin_again(lookup);
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
    lookup_free(lookup);
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

    (void)fd;
    (void)what;

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
    } else if (!has_place(lookup)) {
        why = "its layout has no place for such a file";
    } else {
        source->type->begin(lookup);
        return;
    }
    origin_place(lookup->place, sizeof(lookup->place), source_place(source));
    lookup->second = true;
    lookup->id_at = ORIGINAL_IDS;
    lookup_attempt_here(lookup, SOURCE_NOT_FOUND, why);
    lookup_end(lookup);
}

/* The ids by which a lookup asks the source. */
static unsigned wanted_ids(const struct source_config *source,
                           const char *hints, struct source_ids ids)
{
    return original_id_wanted(source, hints) &
           (ids.programs ? ORIGINAL_IDS_ALL : ORIGINAL_IDS_NO_PROGRAMS) &
           ids.among;
}

unsigned source_first_ids(const symcache_key_t *key)
{
    if (!original_id_has_several((symcache_kind_e)key->kind)) {
        return 0;
    }
    if (is_bundle(key, 0)) {
        return 1u << ORIGINAL_ID_BUNDLE | 1u << ORIGINAL_ID_BUNDLE_KEY;
    }
    return is_program(key, 0) ? ORIGINAL_IDS_ALL & ~ORIGINAL_IDS_NO_PROGRAMS
                              : ORIGINAL_IDS_NO_PROGRAMS;
}

bool source_id_is_among(const symcache_key_t *key, unsigned id_at,
                        unsigned ids)
{
    return !original_id_has_several((symcache_kind_e)key->kind) ||
           id_at >= ORIGINAL_IDS ||
           (ids & 1u << original_id_at((symcache_kind_e)key->kind, id_at)) != 0;
}

bool source_asks_among(const struct lookup *lookup, unsigned ids)
{
    return source_id_is_among(&lookup->key, lookup->id_at, ids);
}

void source_narrow(struct lookup *lookup, unsigned ids)
{
    lookup->ids &= ids;
}

bool source_has_id(const struct source_config *source,
                   const symcache_key_t *key, const char *hints,
                   unsigned formats, struct source_ids ids)
{
    unsigned id_at = ids.first;
    symcache_key_t code_id, at;

    return original_id_has_several((symcache_kind_e)key->kind) &&
           !config_source_is_ready_made(source, key) &&
           original_id_find(
               &id_at, source, key,
               original_id_read_code_id(&code_id, key, hints) ? &code_id : NULL,
               formats, wanted_ids(source, hints, ids), &at);
}

struct lookup *
source_lookup(struct sources *sources, const struct config *config,
              const struct source_config *source, const symcache_key_t *key,
              const char *name, const char *hints, unsigned formats,
              struct source_ids ids, time_t unchanged, const char *file,
              struct source_symcache *symcache,
              const struct source_callbacks *callbacks, void *arg)
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
    lookup->id_at = lookup->first_id = ids.first;
    lookup->ids = wanted_ids(source, hints, ids);
    lookup->variants = ids.variants;
    lookup->is_named = original_id_wanted(source, hints) != 0;
    lookup->unchanged = unchanged;
    symcache_hint_get(hints, SYMCACHE_HINT_CHECKSUM, lookup->checksum);
    symcache_hint_get_url(hints, lookup->url);
    symcache_hint_get(hints, SYMCACHE_HINT_ARTIFACTS, lookup->artifacts);
    symcache_hint_get(hints, SYMCACHE_HINT_SCRAPED, scraped);
    lookup->is_scraped = scraped[0] != '\0';
    lookup->has_code_id =
        original_id_read_code_id(&lookup->code_id, key, hints);
    take_stamp(lookup, hints);
    snprintf(lookup->name, sizeof(lookup->name), "%s", name);
    take_code_file(lookup, hints);
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
        lookup_free(lookup);
        return NULL;
    }

    if (source->origin != NULL) {
        lookup->slot = host_enter(sources->hosts, source->origin, true);
    }
    evtimer_add(lookup->begin, &now);
    return lookup;
}

void source_promote(struct lookup *lookup,
                    const struct source_callbacks *callbacks, void *arg)
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

bool source_receives(const struct lookup *lookup)
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

bool source_is_silent(const struct lookup *lookup)
{
    return lookup->step == LOOKUP_FETCHES && fetch_is_silent(lookup->task);
}

const char *source_place_asked(const struct lookup *lookup)
{
    return lookup->place;
}

void source_cancel(struct lookup *lookup)
{
    lookup_free(lookup);
}
