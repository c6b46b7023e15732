/*
 * Copyright (C) the ngx_symcache authors
 */

#include <stdio.h>
#include <string.h>
#include <time.h>
#include "id.h"
#include "job.h"
#include "quality.h"
#include "store.h"

/* A page that a person reads; the number of all is given besides. */
#define JOBS_SHOWN 1000

void jobs_gauges(const struct jobs *jobs, struct jobs_gauges *gauges)
{
    gauges->queued = jobs->queued;
    gauges->downloading = jobs->downloading;
    gauges->transcoding = jobs->transcoding;
    gauges->waiters = jobs->waiters;
    gauges->failures = absent_errors(jobs->absent);
}

cJSON *jobs_sources(const struct jobs *jobs)
{
    cJSON *array = tally_json(jobs->tally, jobs->config), *item, *host;
    size_t i = 0;

    cJSON_ArrayForEach(item, array)
    {
        host = source_host(jobs->sources, &jobs->config->sources[i++]);
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

void jobs_print_sources(const struct jobs *jobs, struct evbuffer *buf)
{
    tally_print(jobs->tally, buf);
    sources_print(jobs->sources, buf);
}

static void add_version(cJSON *object, const char *name,
                        const symcache_version_t *version)
{
    char text[SYMCACHE_VERSION_TEXT_MAX + 1];

    symcache_version_print(text, version);
    cJSON_AddStringToObject(object, name, text);
}

static cJSON *job_json(const struct job *job)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, "store", job->store->name);
    cJSON_AddStringToObject(object, "key",
                            job->id + strlen(job->store->name) + 1);
    add_version(object, "version", &job->transcoder->version);
    cJSON_AddStringToObject(object, "state", job_state_name(job->state));
    if ((job->state == JOB_IN_SOURCE || job->state == JOB_WAITS_UPSTREAM) &&
        job->source != NULL) {
        cJSON_AddStringToObject(object, "source", job->source->name);
    }
    cJSON_AddNumberToObject(object, "ms", clock_since(job->began));
    cJSON_AddNumberToObject(object, "waiters", job->nwaiters);
    cJSON_AddBoolToObject(object, "upgrade", job->upgrade);
    return object;
}

cJSON *jobs_json(const struct jobs *jobs)
{
    cJSON *object = cJSON_CreateObject();
    cJSON *array = cJSON_AddArrayToObject(object, "jobs");
    const struct job *job;
    unsigned n = 0;

    LIST_FOREACH(job, &jobs->all, all)
    {
        if (n++ < JOBS_SHOWN) {
            cJSON_AddItemToArray(array, job_json(job));
        }
    }

    cJSON_AddNumberToObject(object, "total", n);
    cJSON_AddNumberToObject(object, "queued", jobs->queued);
    cJSON_AddNumberToObject(object, "downloading", jobs->downloading);
    cJSON_AddNumberToObject(object, "transcoding", jobs->transcoding);
    cJSON_AddNumberToObject(object, "waiters", jobs->waiters);
    return object;
}

cJSON *jobs_misses(const struct jobs *jobs)
{
    return misses_json(jobs->misses);
}

/* What it was made from, and when better sources were asked. */
static void add_quality(cJSON *file, const struct store_config *store,
                        const symcache_key_t *key,
                        const symcache_version_t *version)
{
    struct quality quality;
    char path[PATH_MAX];

    store_path(path, store->root, key, version, SYMCACHE_FILE_PLAIN);
    if (quality_read(path, &quality)) {
        cJSON_AddStringToObject(file, "source", quality.source);
        cJSON_AddBoolToObject(file, "publics_only", quality.publics_only);
        if (quality_better(&quality, store) > 0) {
            cJSON_AddNumberToObject(file, "checked", (double)quality.checked);
        }
    }
}

static void add_files(cJSON *object, const struct store_config *store,
                      const symcache_key_t *key)
{
    cJSON *array = cJSON_AddArrayToObject(object, "files");
    symcache_version_t versions[STORE_VERSIONS_MAX];
    char path[SYMCACHE_PATH_MAX + 1];
    cJSON *file;
    int i, n = store_versions(store->root, key, versions);

    for (i = 0; i < n; i++) {
        file = cJSON_CreateObject();
        add_version(file, "version", &versions[i]);
        symcache_path_file(path, key, &versions[i], SYMCACHE_FILE_PLAIN);
        cJSON_AddStringToObject(file, "path", path);
        add_quality(file, store, key, &versions[i]);
        cJSON_AddItemToArray(array, file);
    }
}

/* Those that the miss is one of. */
static void add_spellings(cJSON *item, const symcache_key_t *key,
                          const struct absent_entry *entry)
{
    const char *p = entry->spellings.text;
    char name[SYMCACHE_NAME_MAX + 1];
    cJSON *array;
    size_t n;

    if (entry->reason != ABSENT_NOTFOUND) {
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

/* Each version that can be made, and what is known against making it. */
static void add_transcoders(cJSON *object, const struct jobs *jobs,
                            const struct store_config *store,
                            const symcache_key_t *key)
{
    cJSON *array = cJSON_AddArrayToObject(object, "transcoders");
    const symcache_version_t *version;
    struct absent_entry entry;
    cJSON *item;
    size_t i;

    for (i = 0; i < store->ntranscoders; i++) {
        version = &store->transcoders[i].version;
        item = cJSON_CreateObject();
        add_version(item, "version", version);
        if (absent_find(jobs->absent, store, &jobs->config->cache, key, NULL,
                        version, &entry)) {
            cJSON_AddStringToObject(item, "blocked",
                                    absent_reason_name(entry.reason));
            cJSON_AddStringToObject(item, "reason", entry.text);
            cJSON_AddNumberToObject(item, "since", (double)entry.since);
            cJSON_AddNumberToObject(item, "retry_in", entry.valid);
            add_spellings(item, key, &entry);
        }
        cJSON_AddItemToArray(array, item);
    }
}

static void add_next(cJSON *object, const struct job *job,
                     const struct store_config *store)
{
    const cJSON *transcoders = cJSON_GetObjectItem(object, "transcoders");
    const char *idle = config_store_idle(store);
    const cJSON *item, *blocked = NULL;
    char text[128];

    cJSON_ArrayForEach(item, transcoders)
    {
        if (cJSON_HasObjectItem(item, "blocked")) {
            blocked = cJSON_GetObjectItem(item, "retry_in");
        }
    }

    if (job != NULL) {
        snprintf(text, sizeof(text), "a job runs: %s",
                 job_state_name(job->state));
    } else if (idle != NULL) {
        snprintf(text, sizeof(text), "nothing: the store has %s", idle);
    } else if (blocked != NULL) {
        snprintf(text, sizeof(text),
                 "the next request in %.0f s or later looks again",
                 blocked->valuedouble);
    } else if (cJSON_GetArraySize(cJSON_GetObjectItem(object, "files")) > 0) {
        snprintf(text, sizeof(text), "the next request is served from disk");
    } else {
        snprintf(text, sizeof(text), "the next request starts a job");
    }
    cJSON_AddStringToObject(object, "next", text);
}

cJSON *jobs_why(const struct jobs *jobs, const struct store_config *store,
                const symcache_key_t *key)
{
    cJSON *object = cJSON_CreateObject(), *list = NULL;
    const struct job *job, *running = NULL;
    const struct trail *trail;
    char id[ID_MAX], text[SYMCACHE_ID_TEXT_MAX + 1];

    id_print(id, store->name, key);
    symcache_id_print(text, key);
    LIST_FOREACH(job, &jobs->buckets[id_hash(id) % JOBS_BUCKETS], bucket)
    {
        if (strcmp(job->id, id) == 0) {
            running = job;
        }
    }

    cJSON_AddStringToObject(object, "store", store->name);
    cJSON_AddStringToObject(object, "pdb", key->name);
    cJSON_AddStringToObject(object, "id", text);
    cJSON_AddNumberToObject(object, "time", (double)time(NULL));
    add_files(object, store, key);
    add_transcoders(object, jobs, store, key);
    if (running != NULL) {
        cJSON_AddItemToObject(object, "job", job_json(running));
    }

    trail = running != NULL ? running->trail : trails_find(jobs->trails, id);
    if (trail != NULL) {
        list = trail_json(trail);
    }
    cJSON_AddItemToObject(object, "attempts",
                          list != NULL ? list : cJSON_CreateArray());
    add_next(object, running, store);
    return object;
}
