/*
 * Copyright (C) the ngx_symcache authors
 */

#include "decision.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "symcached/upload_index/upload_index.h"
#include "symcached/source/original_id.h"
#include "inputs.h"
#include "source_order.h"
#include "symcached/store/store.h"

/* Short, since what depends on the configuration may change at a reload. */
#define CONFIG_SECONDS 60

/* Returns the transcoder that makes the newest version this client reads. */
static const struct transcoder_config *
find_transcoder(const struct store_config *store, symcache_kind_e kind,
                const symcache_ask_t *ask)
{
    const struct transcoder_config *t, *best = NULL;
    size_t i;

    if (symcache_kind_is_original(kind)) {
        return symcache_version_serves(&order_original.version, &ask->version,
                                       &ask->min)
                   ? &order_original
                   : NULL;
    }
    for (i = 0; i < store->ntranscoders; i++) {
        t = &store->transcoders[i];
        if (t->makes == kind &&
            symcache_version_serves(&t->version, &ask->version, &ask->min) &&
            (best == NULL ||
             symcache_version_cmp(&t->version, &best->version) > 0)) {
            best = t;
        }
    }
    return best;
}

/* The versions on disk, as store_versions() tells them, of any kind. */
static int find_versions(const struct store_config *store,
                         const struct config *config,
                         const symcache_key_t *key,
                         symcache_version_t versions[STORE_VERSIONS_MAX])
{
    char path[PATH_MAX];

    if (!symcache_key_is_download(key)) {
        return store_versions(store->root, key, versions);
    }
    store_download_path(path, config->downloads, store->name, key);
    versions[0] = order_original.version;
    return store_download_find(path) ? 1 : 0;
}

static bool changed_since(const struct config *config, bool is_try,
                          const symcache_key_t *key, time_t since)
{
    char root[PATH_MAX];

    snprintf(root, sizeof(root), "%.1024s%s", config->uploads.root,
             is_try ? "/" UPLOADS_TRY : "");
    return index_is_newer(root, key, since);
}

/* Was a file with an id of the key uploaded since the entry was made, by
 * whatever name?  By its own name the entry would have been dropped. */
static bool is_outdated(const struct store_config *store,
                        const struct config *config, const symcache_key_t *key,
                        const char *hints, const struct negcache_entry *entry)
{
    symcache_key_t code_id;
    bool has_code_id, is_newer = false;
    int is_try;

    if (config->uploads.root == NULL ||
        negcache_rules[entry->reason].needs_file) {
        return false;
    }
    has_code_id = hints != NULL && key->id_type == SYMCACHE_ID_DEBUG &&
                  original_id_read_code_id(&code_id, key, hints);
    for (is_try = 0; is_try < 2 && !is_newer; is_try++) {
        is_newer =
            config_store_has_uploads(store, is_try) &&
            (changed_since(config, is_try, key, entry->since) ||
             (has_code_id &&
              changed_since(config, is_try, &code_id, entry->since)));
    }
    return is_newer;
}

/* Where no source has a file, in any of its forms, none has it packed; but
 * gzip is no form of other files than Breakpad's. */
static bool find_unpacked(struct decision *d, struct negcache *negcache,
                          const struct store_config *store,
                          const struct config *config,
                          const symcache_key_t *key, const char *name,
                          const char *hints)
{
    symcache_key_t unpacked;

    symcache_key_copy(&unpacked, key);
    unpacked.kind = (uint8_t)symcache_key_unpacked(key);
    return unpacked.kind != key->kind && key->kind != SYMCACHE_KIND_GZIP &&
           negcache_find(negcache, store, &config->cache, &unpacked, name,
                         hints, &order_original.version, &d->entry) &&
           d->entry.reason == NEGCACHE_NOTFOUND;
}

void decision_make(struct decision *d, struct negcache *negcache,
                   const struct store_config *store,
                   const struct config *config, const symcache_key_t *key,
                   const char *name, const char *hints,
                   const symcache_ask_t *ask)
{
    symcache_version_t versions[STORE_VERSIONS_MAX], *best = NULL;
    const symcache_version_t *made;
    bool in_store = !symcache_key_is_download(key);
    bool alone;
    int i, n;

    d->transcoder = find_transcoder(store, (symcache_kind_e)key->kind, ask);
    made = d->transcoder != NULL ? &d->transcoder->version : NULL;
    alone = in_store && made != NULL &&
            negcache_is_alone(negcache, store, key, made);
    n = alone ? 0 : find_versions(store, config, key, versions);

    d->unseen = n < 0 ? errno : 0;
    if (d->unseen != 0) {
        d->what = SYMCACHE_ANSWER_MAKE;
        d->transcoder = NULL;
        d->negative = false;
        snprintf(d->entry.text, sizeof(d->entry.text),
                 "what the store has of it cannot be seen: %s",
                 strerror(d->unseen));
        return;
    }
    i = symcache_version_best(versions, n, &ask->version, &ask->min);
    if (i >= 0) {
        best = &versions[i];
        d->best = versions[i];
    }

    d->what = symcache_answer(ask, best, made);
    d->negative = false;

    if ((d->what == SYMCACHE_ANSWER_MAKE ||
         d->what == SYMCACHE_ANSWER_STALE) &&
        (negcache_find(negcache, store, &config->cache, key, name, hints, made,
                       &d->entry) ||
         find_unpacked(d, negcache, store, config, key, name, hints)) &&
        (best != NULL || !negcache_rules[d->entry.reason].needs_file) &&
        !is_outdated(store, config, key, hints, &d->entry)) {
        /* no newer version can be made now: decide by what is on disk */
        d->negative = true;
        d->what = symcache_answer(ask, best, NULL);
        if (in_store && n == 0 && !alone) {
            negcache_set_alone(negcache, store, key, made);
        }
    }
}

bool decision_answer(const struct decision *d,
                     const struct store_config *store,
                     const symcache_key_t *key, struct scheduler_answer *a)
{
    const struct negcache_rule *rule;

    memset(a, 0, sizeof(*a));
    if (d->unseen != 0) {
        return false;
    }
    switch (d->what) {
    case SYMCACHE_ANSWER_HIT:
    case SYMCACHE_ANSWER_STALE:
        a->kind = SCHEDULER_HIT;
        a->version = d->best;
        return true;

    case SYMCACHE_ANSWER_NOT_MODIFIED:
        a->kind = SCHEDULER_NOT_MODIFIED;
        return true;

    case SYMCACHE_ANSWER_NONE:
        if (d->negative) {
            rule = &negcache_rules[d->entry.reason];
            a->kind = rule->is_final ? SCHEDULER_ABSENT : SCHEDULER_BUSY;
            a->reason = rule->name;
            a->text = d->entry.text;
            a->seconds = d->entry.valid;
            return true;
        }
        a->kind = SCHEDULER_ABSENT;
        a->reason = "no-transcoder";
        a->text = "no transcoder of this store makes a version that this "
                  "client reads";
        a->seconds = CONFIG_SECONDS;
        return true;

    case SYMCACHE_ANSWER_MAKE:
        break;
    }

    if (store->nsources == 0 &&
        !kind_has_inputs((symcache_kind_e)key->kind)) {
        a->kind = SCHEDULER_ABSENT;
        a->reason = "no-source";
        a->text = "this store has no sources";
        a->seconds = CONFIG_SECONDS;
        return true;
    }
    if (d->transcoder != NULL &&
        !source_order_has_way(store, key, &d->transcoder->version)) {
        a->kind = SCHEDULER_ABSENT;
        a->reason = "no-transcoder";
        a->text = "no transcoder of this store takes what its sources have";
        if (d->transcoder == &order_original) {
            a->reason = "no-source";
            a->text = "no source of this store has such files";
        }
        a->seconds = CONFIG_SECONDS;
        return true;
    }
    return false;
}
