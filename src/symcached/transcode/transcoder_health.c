/*
 * Copyright (C) the ngx_symcache authors
 */
#include "transcoder_health.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "metrics/metrics.h"

struct transcoder_healths {
    SLIST_HEAD(, transcoder_health) list;
};

struct transcoder_healths *transcoder_healths_new(void)
{
    return calloc(1, sizeof(struct transcoder_healths));
}

void transcoder_healths_free(struct transcoder_healths *healths)
{
    if (healths != NULL) {
        transcoder_healths_reset(healths, NULL);
        free(healths);
    }
}

static void reset_health(struct transcoder_health *health)
{
    memset(&health->breaker, 0, sizeof(health->breaker));
    health->nrow = 0;
    health->is_doubted = false;
    health->has_faulty = false;
}

void transcoder_healths_reset(struct transcoder_healths *healths,
                              const struct store_config *store)
{
    struct transcoder_health *health;

    while (store == NULL && (health = SLIST_FIRST(&healths->list)) != NULL) {
        SLIST_REMOVE_HEAD(&healths->list, next);
        free(health);
    }
    SLIST_FOREACH(health, &healths->list, next)
    {
        if (health->store == store) {
            reset_health(health);
        }
    }
}

struct transcoder_health *
transcoder_healths_find(const struct transcoder_healths *healths,
                        const struct transcoder_config *transcoder)
{
    struct transcoder_health *health;

    SLIST_FOREACH(health, &healths->list, next)
    {
        if (health->transcoder == transcoder) {
            return health;
        }
    }
    return NULL;
}

struct transcoder_health *
transcoder_healths_get(struct transcoder_healths *healths,
                       const struct store_config *store,
                       const struct transcoder_config *transcoder)
{
    struct transcoder_health *health =
        transcoder_healths_find(healths, transcoder);

    if (health == NULL && (health = calloc(1, sizeof(*health))) != NULL) {
        health->store = store;
        health->transcoder = transcoder;
        SLIST_INSERT_HEAD(&healths->list, health, next);
    }
    return health;
}

/* For log lines: "transcoder WHAT of store NAME, version M.m.p". */
#define WHO "transcoder \"%s\" of store \"%s\", version %s"

#define WHO_ARGS(transcoder_health, version)                                  \
    (health)->transcoder->command[0], (health)->store->name,                  \
        who_version((health), (version))

static const char *who_version(const struct transcoder_health *health,
                               char version[SYMCACHE_VERSION_TEXT_MAX + 1])
{
    symcache_version_print(version, &health->transcoder->version);
    return version;
}

/* running it ------------------------------------------------------------ */

bool transcoder_health_is_tried(const struct transcoder_health *health)
{
    return health->breaker.state == BREAKER_HALF_OPEN;
}

unsigned transcoder_health_left(const struct transcoder_health *health)
{
    return (unsigned)((breaker_left(&health->breaker, clock_ms()) + 999) /
                      1000);
}

bool transcoder_health_begins(struct transcoder_health *health)
{
    (void)breaker_allows(&health->breaker, clock_ms());
    return transcoder_health_is_tried(health);
}

void transcoder_health_ends(struct transcoder_health *health, bool is_probe)
{
    struct breaker_limits limits = {0};

    breaker_end(&health->breaker, &limits, BREAKER_NOTHING, is_probe,
                clock_ms());
}

static void transcoder_works(struct transcoder_health *health, bool is_probe)
{
    char version[SYMCACHE_VERSION_TEXT_MAX + 1];
    struct breaker_limits limits = {0};

    health->has_faulty = false;
    if (breaker_end(&health->breaker, &limits, BREAKER_GOOD, is_probe,
                    clock_ms())) {
        log_info(0, WHO ": works again", WHO_ARGS(transcoder_health, version));
    }
}

/* Returns true if it is left alone from now on. */
static bool transcoder_fails(struct transcoder_health *health,
                             unsigned failures, const char *why,
                             unsigned seconds, bool is_probe)
{
    struct breaker_limits limits = {failures, UINT_MAX, seconds};

    snprintf(health->failure, sizeof(health->failure), "%s", why);
    if (!breaker_end(&health->breaker, &limits, BREAKER_FAULT, is_probe,
                     clock_ms())) {
        return false;
    }
    metrics_add(METRIC_TRANSCODER_PAUSED, 1);
    return true;
}

/* its files ------------------------------------------------------------- */

static bool in_row(const struct transcoder_health *health,
                   const symcache_key_t *key)
{
    size_t i;

    for (i = 0; i < health->nrow; i++) {
        if (symcache_key_equal(&health->row[i].key, key)) {
            return true;
        }
    }
    return false;
}

void transcoder_health_converted(struct transcoder_health *health,
                                 const symcache_key_t *key, const char *path,
                                 bool is_probe)
{
    struct transcoder_health_good *good = &health->good;
    struct stat st;

    transcoder_works(health, is_probe);
    health->nrow = 0;
    health->is_doubted = false;

    good->is_known = stat(path, &st) == 0;
    if (good->is_known) {
        symcache_key_copy(&good->key, key);
        good->device = st.st_dev;
        good->inode = st.st_ino;
        good->size = st.st_size;
    }
}

bool transcoder_health_has_good(const struct transcoder_health *health,
                                const char *path)
{
    const struct transcoder_health_good *good = &health->good;
    struct stat st;

    return good->is_known && stat(path, &st) == 0 &&
           st.st_dev == good->device && st.st_ino == good->inode &&
           st.st_size == good->size;
}

void transcoder_health_failed(struct transcoder_health *health,
                              const symcache_key_t *key, const char *why,
                              unsigned seconds, bool is_probe)
{
    char version[SYMCACHE_VERSION_TEXT_MAX + 1];

    if (!is_probe && health->has_faulty &&
        symcache_key_equal(&health->faulty, key)) {
        return; /* one file may be too much for this machine */
    }
    symcache_key_copy(&health->faulty, key);
    health->has_faulty = true;
    if (transcoder_fails(health, TRUST_ROW, why, seconds, is_probe)) {
        log_error(0,
                  WHO ": failed for %u files in a row by no fault of theirs, "
                      "the last time: %s; not run for %u s, then by one job "
                      "to see whether it works",
                  WHO_ARGS(transcoder_health, version),
                  health->breaker.failures, why, seconds);
    }
}

bool transcoder_health_needs_canary(const struct transcoder_health *health,
                                    const symcache_key_t *key)
{
    return health->is_doubted ||
           (health->nrow == TRUST_ROW - 1 && !in_row(health, key));
}

void transcoder_health_believes(struct transcoder_health *health,
                                const symcache_key_t *key,
                                const symcache_version_t *version,
                                bool is_probe)
{
    transcoder_works(health, is_probe);
    if (!in_row(health, key)) {
        health->row[health->nrow].version = *version;
        symcache_key_copy(&health->row[health->nrow++].key, key);
    }
}

void transcoder_health_canary_lives(struct transcoder_health *health,
                                    const char *canary, bool is_probe)
{
    char version[SYMCACHE_VERSION_TEXT_MAX + 1];

    metrics_add(METRIC_CANARY_GOOD, 1);
    log_info(0,
             WHO ": failed on different files in a row and converts \"%s\": "
                 "its failures are believed",
             WHO_ARGS(transcoder_health, version), canary);
    transcoder_works(health, is_probe);
    health->nrow = 0;
    health->is_doubted = false;
}

void transcoder_health_canary_dies(struct transcoder_health *health,
                                   const char *canary, const char *why,
                                   unsigned n, unsigned seconds, bool is_probe)
{
    char version[SYMCACHE_VERSION_TEXT_MAX + 1];

    metrics_add(METRIC_CANARY_BAD, 1);
    metrics_add(METRIC_TAKEN_BACK, n);
    health->nrow = 0;
    health->is_doubted = true;
    health->lies++;
    (void)transcoder_fails(health, 1, why, seconds, is_probe);
    log_error(0,
              WHO ": fails on \"%s\", too, which is a good PDB: %s; %u files "
                  "that it called malformed are tried again; not run for "
                  "%u s, then by one job to see whether it works",
              WHO_ARGS(transcoder_health, version), canary, why, n, seconds);
}
