/*
 * Copyright (C) the ngx_symcache authors
 *
 * What the pages of the socket show of jobs: all that run, and all that is
 * known of one key.
 */

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/store_key.h"
#include "proto/hints.h"
#include "scheduler_state.h"
#include "same_module_job.h"
#include "symcached/store/store.h"

/* The most jobs that a page shows; it also has the number of all. */
#define SCHEDULER_SHOWN 1000

void scheduler_gauges(const struct scheduler *scheduler,
                      struct scheduler_gauges *gauges)
{
    gauges->begun = scheduler->begun;
    gauges->queued = scheduler->queued;
    gauges->downloading = scheduler->downloading;
    gauges->transcoding = scheduler->transcoding;
    gauges->waiters = scheduler->waiters;
    gauges->failures = negcache_errors(scheduler->negcache);
    gauges->missing = missing_modules_count(scheduler->missing);
    gauges->draining = scheduler->draining;
}

cJSON *scheduler_sources(const struct scheduler *scheduler)
{
    cJSON *array =
              source_stats_json(scheduler->source_stats, scheduler->config),
          *item, *host;
    size_t i = 0;

    cJSON_ArrayForEach(item, array)
    {
        host =
            source_host(scheduler->sources, &scheduler->config->sources[i++]);
        if (host != NULL) {
            cJSON_AddItemToObject(item, "host", host);
            if (cJSON_HasObjectItem(host, "not_asked_for")) {
                cJSON_ReplaceItemInObjectCaseSensitive(
                    item, "health", cJSON_CreateString("left alone"));
            }
        }
    }
    return array;
}

void scheduler_print_sources(const struct scheduler *scheduler,
                             struct evbuffer *buf)
{
    source_stats_print(scheduler->source_stats, buf);
    sources_print(scheduler->sources, buf);
    tiers_print(scheduler->tiers, buf);
}

static void json_add_version(cJSON *object, const char *name,
                             const symcache_version_t *version)
{
    char text[SYMCACHE_VERSION_TEXT_MAX + 1];

    symcache_version_print(text, version);
    cJSON_AddStringToObject(object, name, text);
}

static cJSON *job_json(const struct job *job)
{
    cJSON *object = cJSON_CreateObject();
    char key[SYMCACHE_KEY_TEXT_MAX + 1];

    symcache_key_print(key, &job->key);
    cJSON_AddStringToObject(object, "store", job->store->name);
    cJSON_AddStringToObject(object, "key", key);
    json_add_version(object, "version", &job->target.transcoder->version);
    cJSON_AddStringToObject(object, "state", job_state_name(job->state));
    if ((job->state == JOB_IN_SOURCE || job->state == JOB_WAITS_UPSTREAM) &&
        job->source != NULL) {
        cJSON_AddStringToObject(object, "source", job->source->name);
    }
    cJSON_AddNumberToObject(object, "ms", clock_since(job->began));
    cJSON_AddNumberToObject(object, "waiters", job->nwaiters);
    cJSON_AddBoolToObject(object, "upgrade", job->purpose != JOB_FOR_LOOKUP);
    return object;
}

cJSON *scheduler_json(const struct scheduler *scheduler)
{
    cJSON *object = cJSON_CreateObject();
    cJSON *array = cJSON_AddArrayToObject(object, "jobs");
    const struct job *job;
    unsigned n = 0;

    LIST_FOREACH(job, &scheduler->all, all)
    {
        if (n++ < SCHEDULER_SHOWN) {
            cJSON_AddItemToArray(array, job_json(job));
        }
    }

    cJSON_AddNumberToObject(object, "total", n);
    cJSON_AddNumberToObject(object, "queued", scheduler->queued);
    cJSON_AddNumberToObject(object, "queue", scheduler->config->limits.queue);
    cJSON_AddNumberToObject(object, "downloading", scheduler->downloading);
    cJSON_AddNumberToObject(object, "transcoding", scheduler->transcoding);
    cJSON_AddNumberToObject(object, "waiters", scheduler->waiters);
    cJSON_AddNumberToObject(object, "missing",
                            missing_modules_count(scheduler->missing));
    cJSON_AddBoolToObject(object, "draining", scheduler->draining);
    return object;
}

cJSON *scheduler_tiers(const struct scheduler *scheduler)
{
    return tiers_json(scheduler->tiers);
}

cJSON *scheduler_missing(const struct scheduler *scheduler, time_t since)
{
    return missing_modules_json(scheduler->missing, since);
}

cJSON *scheduler_misses(const struct scheduler *scheduler)
{
    return recent_misses_json(scheduler->misses);
}

/* Adds what a file was made from, and when better sources were asked. */
static void json_add_provenance(cJSON *file, const struct store_config *store,
                                const char *path)
{
    struct provenance provenance;

    if (provenance_read(path, &provenance)) {
        cJSON_AddStringToObject(file, "source", provenance.source);
        cJSON_AddBoolToObject(file, "publics_only",
                              provenance.extent != SYMCACHE_EXTENT_FULL);
        if (provenance_better(&provenance, store) > 0 ||
            provenance.extent == SYMCACHE_EXTENT_PROGRAM) {
            cJSON_AddNumberToObject(file, "checked",
                                    (double)provenance.checked);
        }
    }
}

/* Adds a file at path, of which relative is the end. */
static void json_add_file(cJSON *array, const struct store_config *store,
                          const symcache_version_t *version, const char *path,
                          const char *relative)
{
    cJSON *file = cJSON_CreateObject();

    json_add_version(file, "version", version);
    cJSON_AddStringToObject(file, "path", relative);
    json_add_provenance(file, store, path);
    cJSON_AddItemToArray(array, file);
}

static void json_add_files(cJSON *object, const struct scheduler *scheduler,
                           const struct store_config *store,
                           const symcache_key_t *key)
{
    cJSON *array = cJSON_AddArrayToObject(object, "files");
    symcache_version_t versions[STORE_VERSIONS_MAX];
    char relative[SYMCACHE_PATH_MAX + 1], path[PATH_MAX];
    int i, n;

    if (symcache_key_is_download(key)) {
        store_download_path(path, scheduler->config->downloads, store->name,
                            key);
        symcache_path_original(relative, key);
        if (access(path, F_OK) == 0) {
            json_add_file(array, store, &order_original.version, path,
                          relative);
        }
        return;
    }
    n = store_versions(store->root, key, versions);
    for (i = 0; i < n; i++) {
        store_path(path, store->root, key, &versions[i], SYMCACHE_FILE_PLAIN);
        symcache_path_file(relative, key, &versions[i], SYMCACHE_FILE_PLAIN);
        json_add_file(array, store, &versions[i], path, relative);
    }
}

/* Adds the spellings of the name that the negative entry is about. */
static void json_add_variants(cJSON *item, const symcache_key_t *key,
                              const struct negcache_entry *entry)
{
    const char *p = entry->variants.text;
    char name[SYMCACHE_NAME_MAX + 1];
    cJSON *array;
    size_t n;

    if (!negcache_rules[entry->reason].by_name) {
        return;
    }
    array = cJSON_AddArrayToObject(item, "spellings");
    cJSON_AddItemToArray(array, cJSON_CreateString(key->name));
    while (*p != '\0') {
        n = strcspn(p, "/");
        snprintf(name, sizeof(name), "%.*s", (int)n, p);
        cJSON_AddItemToArray(array, cJSON_CreateString(name));
        p += n + (p[n] == '/');
    }
}

static void json_add_negcache_entry(cJSON *item,
                                    const struct negcache_entry *entry)
{
    cJSON_AddStringToObject(item, "blocked",
                            negcache_rules[entry->reason].name);
    cJSON_AddStringToObject(item, "reason", entry->text);
    cJSON_AddNumberToObject(item, "since", (double)entry->since);
    cJSON_AddNumberToObject(item, "retry_in", entry->valid);
}

/* A version that can be made, and why it is not being made now. */
static cJSON *made_json(const struct scheduler *scheduler,
                        const struct store_config *store,
                        const symcache_key_t *key,
                        const symcache_version_t *version)
{
    cJSON *item = cJSON_CreateObject(), *hinted;
    char hints[SYMCACHE_HINTS_MAX + 1];
    struct negcache_entry entry;

    json_add_version(item, "version", version);
    if (negcache_find(scheduler->negcache, store, &scheduler->config->cache,
                      key, NULL, NULL, version, &entry)) {
        json_add_negcache_entry(item, &entry);
        json_add_variants(item, key, &entry);
    }
    if (negcache_find_hinted(scheduler->negcache, store, key, version, &entry,
                             hints)) {
        hinted = cJSON_AddObjectToObject(item, "hinted");
        json_add_version(hinted, "version", version);
        cJSON_AddStringToObject(hinted, "hints", hints);
        json_add_negcache_entry(hinted, &entry);
    }
    return item;
}

/* Adds each of these versions; of an original there is one. */
static void json_add_transcoders(cJSON *object,
                                 const struct scheduler *scheduler,
                                 const struct store_config *store,
                                 const symcache_key_t *key)
{
    cJSON *array = cJSON_AddArrayToObject(object, "transcoders");
    const struct transcoder_health *health;
    cJSON *item;
    size_t i;

    if (symcache_kind_is_original((symcache_kind_e)key->kind)) {
        cJSON_AddItemToArray(
            array, made_json(scheduler, store, key, &order_original.version));
    }
    for (i = 0; i < store->ntranscoders; i++) {
        if (store->transcoders[i].makes != (symcache_kind_e)key->kind) {
            continue;
        }
        item = made_json(scheduler, store, key,
                         &store->transcoders[i].version);
        health = transcoder_healths_find(scheduler->healths,
                                         &store->transcoders[i]);
        if (health != NULL && transcoder_health_left(health) > 0) {
            cJSON_AddNumberToObject(item, "not_run_for",
                                    transcoder_health_left(health));
            cJSON_AddStringToObject(item, "failure", health->failure);
        }
        cJSON_AddItemToArray(array, item);
    }
}

static void json_add_next(cJSON *object, const struct scheduler *scheduler,
                          const struct job *job,
                          const struct store_config *store,
                          const symcache_key_t *key)
{
    const cJSON *transcoders = cJSON_GetObjectItem(object, "transcoders");
    /* originals come from any source, without a transcoder */
    const char *idle =
        store->nsources > 0 &&
                symcache_kind_is_original((symcache_kind_e)key->kind)
            ? NULL
            : config_store_idle(store);
    const bool is_there =
        cJSON_GetArraySize(cJSON_GetObjectItem(object, "files")) > 0;
    const cJSON *item, *negative = NULL;
    bool is_hinted = false;
    char text[128];

    cJSON_ArrayForEach(item, transcoders)
    {
        if (cJSON_HasObjectItem(item, "blocked")) {
            negative = cJSON_GetObjectItem(item, "retry_in");
        }
        is_hinted = is_hinted || cJSON_HasObjectItem(item, "hinted");
    }

    if (job != NULL) {
        snprintf(text, sizeof(text), "a job runs: %s",
                 job_state_name(job->state));
    } else if (is_there && idle == NULL && negative != NULL) {
        /* an older version, which is served meanwhile */
        snprintf(text, sizeof(text),
                 "the next request is served from disk; in %.0f s or later "
                 "one looks for a newer file",
                 negative->valuedouble);
    } else if (is_there) {
        snprintf(text, sizeof(text), "the next request is served from disk");
    } else if (idle != NULL) {
        snprintf(text, sizeof(text), "nothing: the store has %s", idle);
    } else if (negative != NULL) {
        snprintf(text, sizeof(text),
                 "the next request in %.0f s or later looks again",
                 negative->valuedouble);
    } else if (scheduler->draining) {
        snprintf(text, sizeof(text),
                 "the next request is refused: this machine drains, and "
                 "starts no job");
    } else {
        snprintf(text, sizeof(text), "the next request starts a job%s",
                 is_hinted ? ", unless it has these hints" : "");
    }
    cJSON_AddStringToObject(object, "next", text);
}

cJSON *scheduler_why(const struct scheduler *scheduler,
                     const struct store_config *store,
                     const symcache_key_t *key)
{
    cJSON *object = cJSON_CreateObject(), *list = NULL, *tier = NULL;
    const struct job *running;
    const struct attempt_log *attempt_log;
    char id[STORE_KEY_MAX], text[SYMCACHE_ID_TEXT_MAX + 1];

    job_print_id(id, store->name, key);
    symcache_id_print(text, key);
    running = same_module_job_or_own(scheduler, store, key, "");

    cJSON_AddStringToObject(object, "store", store->name);
    cJSON_AddStringToObject(object, "pdb", key->name);
    cJSON_AddStringToObject(object, "id", text);
    cJSON_AddStringToObject(object, "kind",
                            symcache_kind_text((symcache_kind_e)key->kind));
    cJSON_AddNumberToObject(object, "time", (double)time(NULL));
    json_add_files(object, scheduler, store, key);
    json_add_transcoders(object, scheduler, store, key);
    if (running != NULL) {
        cJSON_AddItemToObject(object, "job", job_json(running));
    }

    attempt_log = running != NULL
                      ? running->attempt_log
                      : attempt_logs_find(scheduler->attempt_logs, id);
    if (attempt_log != NULL) {
        list = attempt_log_json(attempt_log);
        tier = attempt_log_tier_json(attempt_log);
    }
    if (tier != NULL) {
        cJSON_AddItemToObject(object, "tier", tier);
    }
    cJSON_AddItemToObject(object, "attempts",
                          list != NULL ? list : cJSON_CreateArray());
    json_add_next(object, scheduler, running, store, key);
    return object;
}
