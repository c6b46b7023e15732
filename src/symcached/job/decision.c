/*
 * Copyright (C) the ngx_symcache authors
 */

#include <string.h>
#include "decision.h"
#include "store.h"

/* What depends on the configuration alone may change at its next reload. */
#define CONFIG_SECONDS 60

/* The transcoder for this client: the newest version that it reads. */
static const struct transcoder_config *
find_transcoder(const struct store_config *store, const symcache_ask_t *ask)
{
    const struct transcoder_config *t, *best = NULL;
    size_t i;

    for (i = 0; i < store->ntranscoders; i++) {
        t = &store->transcoders[i];
        if (symcache_version_serves(&t->version, &ask->version, &ask->min) &&
            (best == NULL ||
             symcache_version_cmp(&t->version, &best->version) > 0)) {
            best = t;
        }
    }
    return best;
}

void decision_make(struct decision *d, struct absent *absent,
                   const struct store_config *store,
                   const struct cache_config *cache, const symcache_key_t *key,
                   const char *name, const symcache_ask_t *ask)
{
    symcache_version_t versions[STORE_VERSIONS_MAX], *best = NULL;
    const symcache_version_t *made;
    int i;

    i = symcache_version_best(versions,
                              store_versions(store->root, key, versions),
                              &ask->version, &ask->min);
    if (i >= 0) {
        best = &versions[i];
        d->best = versions[i];
    }

    d->transcoder = find_transcoder(store, ask);
    made = d->transcoder != NULL ? &d->transcoder->version : NULL;
    d->what = symcache_answer(ask, best, made);
    d->blocked = false;

    if ((d->what == SYMCACHE_ANSWER_MAKE ||
         d->what == SYMCACHE_ANSWER_STALE) &&
        absent_find(absent, store, cache, key, name, made, &d->entry) &&
        (best != NULL || d->entry.reason != ABSENT_UNCHANGED)) {
        /* then what is on disk is the newest there is */
        d->blocked = true;
        d->what = symcache_answer(ask, best, NULL);
    }
}

bool decision_answer(const struct decision *d,
                     const struct store_config *store, struct jobs_answer *a)
{
    memset(a, 0, sizeof(*a));
    switch (d->what) {
    case SYMCACHE_ANSWER_HIT:
    case SYMCACHE_ANSWER_STALE:
        a->kind = JOBS_HIT;
        a->version = d->best;
        return true;

    case SYMCACHE_ANSWER_NOT_MODIFIED:
        a->kind = JOBS_NOT_MODIFIED;
        return true;

    case SYMCACHE_ANSWER_NONE:
        if (d->blocked) {
            a->kind =
                d->entry.reason >= ABSENT_ERROR ? JOBS_BUSY : JOBS_ABSENT;
            a->reason = absent_reason_name(d->entry.reason);
            a->text = d->entry.text;
            a->seconds = d->entry.valid;
            return true;
        }
        a->kind = JOBS_ABSENT;
        a->reason = "no-transcoder";
        a->text = "no transcoder of this store makes a version that this "
                  "client reads";
        a->seconds = CONFIG_SECONDS;
        return true;

    case SYMCACHE_ANSWER_MAKE:
        break;
    }

    if (store->nsources == 0) {
        a->kind = JOBS_ABSENT;
        a->reason = "no-source";
        a->text = "this store has no sources";
        a->seconds = CONFIG_SECONDS;
        return true;
    }
    return false;
}
