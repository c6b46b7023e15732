/*
 * Copyright (C) the ngx_symcache authors
 */

#include "decision.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "symcached/upload_index/upload_index.h"
#include "symcached/source/original_id.h"
#include "symcached/source/via_header.h"
#include "jscache_inputs.h"
#include "source_order.h"
#include "symcached/store/store.h"

/* Short, since what depends on the configuration may change at a reload.
 */
#define CONFIG_SECONDS 60

/* For so long another machine may not see a new file in a folder that both
 * mount, although it sees one in another folder: NFS keeps what it knows of a
 * folder for a minute (acdirmax of nfs(5)). */
#define SHARE_SECONDS 90

/* Returns the transcoder that makes the newest version this client reads. */
static const struct transcoder_config *
decision_find_transcoder(const struct store_config *store,
                         symcache_kind_e kind, const symcache_ask_t *ask)
{
    const struct transcoder_config *transcoder, *best = NULL;
    size_t i;

    if (symcache_kind_is_original(kind)) {
        return symcache_version_serves(&order_original.version, &ask->version,
                                       &ask->min)
                   ? &order_original
                   : NULL;
    }
    for (i = 0; i < store->ntranscoders; i++) {
        transcoder = &store->transcoders[i];
        if (transcoder->makes == kind &&
            symcache_version_serves(&transcoder->version, &ask->version,
                                    &ask->min) &&
            (best == NULL ||
             symcache_version_cmp(&transcoder->version, &best->version) > 0)) {
            best = transcoder;
        }
    }
    return best;
}

/* The versions on disk, as store_versions() tells them, of any kind. */
static int
decision_find_versions(const struct store_config *store,
                       const struct config *config, const symcache_key_t *key,
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

/* The thread's own. */
struct decision_look {
    char root[PATH_MAX];
    bool has_uploads[2]; /* those of try builds: the second one */
    symcache_key_t keys[2];
    size_t nkeys;
    int64_t newest;
};

static void run_decision_look(void *data)
{
    struct decision_look *look = data;
    char root[PATH_MAX];
    int64_t changed;
    int is_try;
    size_t i;

    for (is_try = 0; is_try < 2; is_try++) {
        snprintf(root, sizeof(root), "%.1024s%s", look->root,
                 is_try ? "/" UPLOADS_TRY : "");
        for (i = 0; look->has_uploads[is_try] && i < look->nkeys; i++) {
            changed = upload_index_changed(root, &look->keys[i]);
            look->newest = changed > look->newest ? changed : look->newest;
        }
    }
}

/* Is there nothing to see, as for most keys that no upload has? */
static bool decision_looks_in_vain(const struct decision_look *look)
{
    char root[PATH_MAX];
    int is_try;
    size_t i;

    for (is_try = 0; is_try < 2; is_try++) {
        snprintf(root, sizeof(root), "%.1024s%s", look->root,
                 is_try ? "/" UPLOADS_TRY : "");
        for (i = 0; look->has_uploads[is_try] && i < look->nkeys; i++) {
            if (!upload_index_is_known_absent(root, &look->keys[i])) {
                return false;
            }
        }
    }
    return true;
}

int64_t decision_uploads_changed(const struct store_config *store,
                                 const struct config *config,
                                 const symcache_key_t *key, const char *hints)
{
    struct decision_look look = {
        .nkeys = 1,
        .newest = NEGCACHE_NO_UPLOADS,
        .has_uploads = {config_store_has_uploads(store, false),
                        config_store_has_uploads(store, true)}};

    if (config->uploads.root == NULL ||
        (!look.has_uploads[0] && !look.has_uploads[1])) {
        return NEGCACHE_NO_UPLOADS;
    }
    snprintf(look.root, sizeof(look.root), "%s", config->uploads.root);
    symcache_key_copy(&look.keys[0], key);
    if (hints != NULL && key->id_type == SYMCACHE_ID_DEBUG &&
        original_id_read_code_id(&look.keys[1], key, hints)) {
        look.nkeys = 2;
    }
    return !decision_looks_in_vain(&look) &&
                   uploads_disk_call(config->uploads.root, run_decision_look,
                                     NULL, &look, sizeof(look)) == 0
               ? look.newest
               : 0;
}

/* When the entry ends that a machine may have made while it saw that there were
 * uploads, and not yet all of them; or 0: it was made later than that. */
static time_t decision_early_until(const struct negcache_entry *entry)
{
    time_t until =
        (time_t)(entry->uploads_changed / 1000000000) + SHARE_SECONDS;

    return entry->uploads_changed > 0 && entry->since < until ? until : 0;
}

/*
 * Was a file with an id of the key uploaded since the entry was made, by
 * whatever name?  By its own name the entry would have been dropped, but for
 * one that another machine took whose folder this is, too: so times of that
 * folder are compared with each other, and the clock with none of them.
 */
static bool decision_is_outdated(const struct store_config *store,
                                 const struct config *config,
                                 const symcache_key_t *key, const char *hints,
                                 const struct negcache_entry *entry)
{
    int64_t changed;

    if (negcache_rules[entry->reason].needs_file) {
        return false;
    }
    changed = decision_uploads_changed(store, config, key, hints);
    if (entry->uploads_changed != NEGCACHE_NO_UPLOADS) {
        return changed > entry->uploads_changed ||
               (decision_early_until(entry) != 0 &&
                decision_early_until(entry) <= time(NULL));
    }
    /* without it: what is malformed, and entries of former releases */
    return changed > 0 && changed / 1000000000 >= entry->since;
}

/* Has a question come through all servers of a list that was left out? */
static bool decision_applies_to(const struct negcache_entry *entry,
                                const char *via)
{
    char lists[NEGCACHE_TEXT_MAX], *save, *list;

    if (entry->reason != NEGCACHE_LOOP) {
        return true;
    }
    snprintf(lists, sizeof(lists), "%s", entry->text);
    for (list = strtok_r(lists, ";", &save); list != NULL;
         list = strtok_r(NULL, ";", &save)) {
        if (via_has_all(via, list)) {
            return true;
        }
    }
    return false;
}

/* Where no source has a file, in any of its forms, none has it packed;
 * but gzip is no form of other files than Breakpad's. */
static bool decision_find_unpacked(struct decision *decision,
                                   struct negcache *negcache,
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
                         hints, &order_original.version, &decision->entry) &&
           decision->entry.reason == NEGCACHE_NOTFOUND;
}

/* Does what was found in decision->entry answer this question? */
static bool decision_is_valid(const struct decision *decision,
                              const struct store_config *store,
                              const struct config *config,
                              const symcache_key_t *key, const char *hints,
                              const char *via, bool has_file)
{
    const struct negcache_entry *entry = &decision->entry;

    return (has_file || !negcache_rules[entry->reason].needs_file) &&
           decision_applies_to(entry, via) &&
           !decision_is_outdated(store, config, key, hints, entry);
}

/* An entry on disk hides what a later job has failed with, also when it does
 * not hold any more. */
static bool decision_find_negative(struct decision *decision,
                                   struct negcache *negcache,
                                   const struct store_config *store,
                                   const struct config *config,
                                   const symcache_key_t *key, const char *name,
                                   const char *hints, const char *via,
                                   bool has_file)
{
    const symcache_version_t *made = &decision->transcoder->version;

    if ((negcache_find(negcache, store, &config->cache, key, name, hints, made,
                       &decision->entry) ||
         decision_find_unpacked(decision, negcache, store, config, key, name,
                                hints)) &&
        decision_is_valid(decision, store, config, key, hints, via,
                          has_file)) {
        return true;
    }
    return negcache_find_noted(negcache, store, key, name, hints, made,
                               &decision->entry) &&
           decision_is_valid(decision, store, config, key, hints, via,
                             has_file);
}

void decision_make(struct decision *decision, struct negcache *negcache,
                   const struct store_config *store,
                   const struct config *config, const symcache_key_t *key,
                   const char *name, const char *hints, const char *via,
                   const symcache_ask_t *ask)
{
    symcache_version_t versions[STORE_VERSIONS_MAX], *best = NULL;
    const symcache_version_t *made;
    bool in_store = !symcache_key_is_download(key);
    bool alone;
    time_t until, now = time(NULL);
    int i, n;

    decision->transcoder =
        decision_find_transcoder(store, (symcache_kind_e)key->kind, ask);
    made =
        decision->transcoder != NULL ? &decision->transcoder->version : NULL;
    alone = in_store && made != NULL &&
            negcache_is_alone(negcache, store, key, made);
    n = alone ? 0 : decision_find_versions(store, config, key, versions);

    decision->unseen = n < 0 ? errno : 0;
    if (decision->unseen != 0) {
        decision->what = SYMCACHE_ANSWER_MAKE;
        decision->transcoder = NULL;
        decision->negative = false;
        snprintf(decision->entry.text, sizeof(decision->entry.text),
                 "what the store has of it cannot be seen: %s",
                 strerror(decision->unseen));
        return;
    }
    i = symcache_version_best(versions, n, &ask->version, &ask->min);
    if (i >= 0) {
        best = &versions[i];
        decision->best = versions[i];
    }

    decision->what = symcache_answer(ask, best, made);
    decision->negative = false;

    if ((decision->what == SYMCACHE_ANSWER_MAKE ||
         decision->what == SYMCACHE_ANSWER_STALE) &&
        decision_find_negative(decision, negcache, store, config, key, name,
                               hints, via, best != NULL)) {
        /* no newer version can be made now: decide by what is on disk */
        decision->negative = true;
        until = decision_early_until(&decision->entry);
        if (until != 0 && until - now < decision->entry.valid) {
            decision->entry.valid = (unsigned)(until - now);
        }
        decision->what = symcache_answer(ask, best, NULL);
        if (in_store && n == 0 && !alone) {
            negcache_set_alone(negcache, store, key, made);
        }
    }
}

bool decision_answer(const struct decision *decision,
                     const struct store_config *store,
                     const symcache_key_t *key,
                     struct scheduler_answer *answer)
{
    const struct negcache_rule *rule;

    memset(answer, 0, sizeof(*answer));
    if (decision->unseen != 0) {
        return false;
    }
    switch (decision->what) {
    case SYMCACHE_ANSWER_HIT:
    case SYMCACHE_ANSWER_STALE:
        answer->kind = SCHEDULER_HIT;
        answer->version = decision->best;
        return true;

    case SYMCACHE_ANSWER_NOT_MODIFIED:
        answer->kind = SCHEDULER_NOT_MODIFIED;
        return true;

    case SYMCACHE_ANSWER_NONE:
        if (decision->negative) {
            rule = &negcache_rules[decision->entry.reason];
            answer->kind = rule->is_final ? SCHEDULER_ABSENT : SCHEDULER_BUSY;
            answer->reason = rule->name;
            answer->text = decision->entry.text;
            answer->seconds = decision->entry.valid;
            return true;
        }
        answer->kind = SCHEDULER_ABSENT;
        answer->reason = "no-transcoder";
        answer->text =
            "no transcoder of this store makes a version that this "
            "client reads";
        answer->seconds = CONFIG_SECONDS;
        return true;

    case SYMCACHE_ANSWER_MAKE:
        break;
    }

    if (store->nsources == 0 &&
        !kind_has_inputs((symcache_kind_e)key->kind)) {
        answer->kind = SCHEDULER_ABSENT;
        answer->reason = "no-source";
        answer->text = "this store has no sources";
        answer->seconds = CONFIG_SECONDS;
        return true;
    }
    if (decision->transcoder != NULL &&
        !source_order_has_way(store, key, &decision->transcoder->version)) {
        answer->kind = SCHEDULER_ABSENT;
        answer->reason = "no-transcoder";
        answer->text =
            "no transcoder of this store takes what its sources have";
        if (decision->transcoder == &order_original) {
            answer->reason = "no-source";
            answer->text = "no source of this store has such files";
        }
        answer->seconds = CONFIG_SECONDS;
        return true;
    }
    return false;
}
