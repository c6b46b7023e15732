/*
 * Copyright (C) the ngx_symcache authors
 */
#include "trust.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "metrics/metrics.h"

struct trusts {
    SLIST_HEAD(, trust) list;
};

struct trusts *trusts_new(void)
{
    return calloc(1, sizeof(struct trusts));
}

void trusts_free(struct trusts *trusts)
{
    if (trusts != NULL) {
        trusts_reset(trusts, NULL);
        free(trusts);
    }
}

static void reset(struct trust *trust)
{
    memset(&trust->breaker, 0, sizeof(trust->breaker));
    trust->nrow = 0;
    trust->is_doubted = false;
    trust->has_faulty = false;
}

void trusts_reset(struct trusts *trusts, const struct store_config *store)
{
    struct trust *trust;

    while (store == NULL && (trust = SLIST_FIRST(&trusts->list)) != NULL) {
        SLIST_REMOVE_HEAD(&trusts->list, next);
        free(trust);
    }
    SLIST_FOREACH(trust, &trusts->list, next)
    {
        if (trust->store == store) {
            reset(trust);
        }
    }
}

struct trust *trusts_find(const struct trusts *trusts,
                          const struct transcoder_config *transcoder)
{
    struct trust *trust;

    SLIST_FOREACH(trust, &trusts->list, next)
    {
        if (trust->transcoder == transcoder) {
            return trust;
        }
    }
    return NULL;
}

struct trust *trusts_get(struct trusts *trusts,
                         const struct store_config *store,
                         const struct transcoder_config *transcoder)
{
    struct trust *trust = trusts_find(trusts, transcoder);

    if (trust == NULL && (trust = calloc(1, sizeof(*trust))) != NULL) {
        trust->store = store;
        trust->transcoder = transcoder;
        SLIST_INSERT_HEAD(&trusts->list, trust, next);
    }
    return trust;
}

/* For log lines: "transcoder WHAT of store NAME, version M.m.p". */
#define WHO "transcoder \"%s\" of store \"%s\", version %s"

#define WHO_ARGS(trust, version)                                              \
    (trust)->transcoder->command[0], (trust)->store->name,                    \
        who_version((trust), (version))

static const char *who_version(const struct trust *trust,
                               char version[SYMCACHE_VERSION_TEXT_MAX + 1])
{
    symcache_version_print(version, &trust->transcoder->version);
    return version;
}

/* running it ------------------------------------------------------------ */

bool trust_is_tried(const struct trust *trust)
{
    return trust->breaker.state == BREAKER_HALF_OPEN;
}

unsigned trust_left(const struct trust *trust)
{
    return (unsigned)((breaker_left(&trust->breaker, clock_ms()) + 999) /
                      1000);
}

bool trust_begins(struct trust *trust)
{
    (void)breaker_allows(&trust->breaker, clock_ms());
    return trust_is_tried(trust);
}

void trust_ends(struct trust *trust, bool is_probe)
{
    struct breaker_limits limits = {0};

    breaker_end(&trust->breaker, &limits, BREAKER_NOTHING, is_probe,
                clock_ms());
}

static void works(struct trust *trust, bool is_probe)
{
    char version[SYMCACHE_VERSION_TEXT_MAX + 1];
    struct breaker_limits limits = {0};

    trust->has_faulty = false;
    if (breaker_end(&trust->breaker, &limits, BREAKER_GOOD, is_probe,
                    clock_ms())) {
        log_info(0, WHO ": works again", WHO_ARGS(trust, version));
    }
}

/* Returns true if it is left alone from now on. */
static bool fails(struct trust *trust, unsigned failures, const char *why,
                  unsigned seconds, bool is_probe)
{
    struct breaker_limits limits = {failures, UINT_MAX, seconds};

    snprintf(trust->failure, sizeof(trust->failure), "%s", why);
    if (!breaker_end(&trust->breaker, &limits, BREAKER_FAULT, is_probe,
                     clock_ms())) {
        return false;
    }
    metrics_add(METRIC_TRANSCODER_PAUSED, 1);
    return true;
}

/* its files ------------------------------------------------------------- */

static bool in_row(const struct trust *trust, const symcache_key_t *key)
{
    size_t i;

    for (i = 0; i < trust->nrow; i++) {
        if (symcache_key_equal(&trust->row[i].key, key)) {
            return true;
        }
    }
    return false;
}

void trust_converted(struct trust *trust, const symcache_key_t *key,
                     const char *path, bool is_probe)
{
    struct trust_good *good = &trust->good;
    struct stat st;

    works(trust, is_probe);
    trust->nrow = 0;
    trust->is_doubted = false;

    good->is_known = stat(path, &st) == 0;
    if (good->is_known) {
        symcache_key_copy(&good->key, key);
        good->device = st.st_dev;
        good->inode = st.st_ino;
        good->size = st.st_size;
    }
}

bool trust_has_good(const struct trust *trust, const char *path)
{
    const struct trust_good *good = &trust->good;
    struct stat st;

    return good->is_known && stat(path, &st) == 0 &&
           st.st_dev == good->device && st.st_ino == good->inode &&
           st.st_size == good->size;
}

void trust_failed(struct trust *trust, const symcache_key_t *key,
                  const char *why, unsigned seconds, bool is_probe)
{
    char version[SYMCACHE_VERSION_TEXT_MAX + 1];

    if (!is_probe && trust->has_faulty &&
        symcache_key_equal(&trust->faulty, key)) {
        return; /* one file may be too much for this machine */
    }
    symcache_key_copy(&trust->faulty, key);
    trust->has_faulty = true;
    if (fails(trust, TRUST_ROW, why, seconds, is_probe)) {
        log_error(0,
                  WHO ": failed for %u files in a row by no fault of theirs, "
                      "the last time: %s; not run for %u s, then by one job "
                      "to see whether it works",
                  WHO_ARGS(trust, version), trust->breaker.failures, why,
                  seconds);
    }
}

bool trust_needs_canary(const struct trust *trust, const symcache_key_t *key)
{
    return trust->is_doubted ||
           (trust->nrow == TRUST_ROW - 1 && !in_row(trust, key));
}

void trust_believes(struct trust *trust, const symcache_key_t *key,
                    const symcache_version_t *version, bool is_probe)
{
    works(trust, is_probe);
    if (!in_row(trust, key)) {
        trust->row[trust->nrow].version = *version;
        symcache_key_copy(&trust->row[trust->nrow++].key, key);
    }
}

void trust_canary_lives(struct trust *trust, const char *canary, bool is_probe)
{
    char version[SYMCACHE_VERSION_TEXT_MAX + 1];

    metrics_add(METRIC_CANARY_GOOD, 1);
    log_info(0,
             WHO ": failed on different files in a row and converts \"%s\": "
                 "its failures are believed",
             WHO_ARGS(trust, version), canary);
    works(trust, is_probe);
    trust->nrow = 0;
    trust->is_doubted = false;
}

void trust_canary_dies(struct trust *trust, const char *canary,
                       const char *why, unsigned n, unsigned seconds,
                       bool is_probe)
{
    char version[SYMCACHE_VERSION_TEXT_MAX + 1];

    metrics_add(METRIC_CANARY_BAD, 1);
    metrics_add(METRIC_TAKEN_BACK, n);
    trust->nrow = 0;
    trust->is_doubted = true;
    trust->lies++;
    (void)fails(trust, 1, why, seconds, is_probe);
    log_error(0,
              WHO ": fails on \"%s\", too, which is a good PDB: %s; %u files "
                  "that it called malformed are tried again; not run for "
                  "%u s, then by one job to see whether it works",
              WHO_ARGS(trust, version), canary, why, n, seconds);
}
