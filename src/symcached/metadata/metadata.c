/*
 * Copyright (C) the ngx_symcache authors
 */
#include "metadata.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/queue.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd_close.h"
#include "base/log.h"
#include "base/percent.h"
#include "base/task.h"
#include "base/unnamed_file.h"
#include "proto/key.h"
#include "symcached/fetch/fetch.h"

#include "downloads.h"
#include "stored_uploads.h"

#define QUERIES_MAX 16 /* at a time */
#define ANSWER_MAX ((uint64_t)4 << 20)
#define SECONDS 20

const char *const metadata_keys[METADATA_KEYS] = {"buildid", "file", "glob"};

/* The request to a source. */
struct metadata_request {
    struct metadata_query *query;
    const struct source_config *source;
    struct fetch *fetch; /* NULL: it has ended */
    int fd;
};

/* The data of the thread.  The thread owns it, because it cannot be
 * stopped. */
struct metadata_local {
    struct metadata_query *query; /* for the loop alone */
    struct config *config; /* a reference */
    enum metadata_key key;
    char *value;
    struct results results;
    bool is_whole;
};

struct metadata_query {
    LIST_ENTRY(metadata_query) next;
    struct metadata *metadata;
    struct config *config; /* a reference */
    metadata_fn fn;
    void *arg;
    struct results results;
    bool is_complete;
    struct task *task; /* NULL: it has ended */
    unsigned open; /* requests, and the thread */
    size_t n;
    struct metadata_request requests[];
};

/* Threads that look through downloads: on a disk that does not answer they
 * outlive those who asked. */
static atomic_uint walks;

struct metadata {
    struct event_base *base;
    struct fetcher *fetcher;
    LIST_HEAD(, metadata_query) all;
    unsigned nqueries;
};

/* the end ------------------------------------------------------------------ */

static void release_metadata_query(struct metadata_query *query)
{
    size_t i;

    for (i = 0; i < query->n; i++) {
        if (query->requests[i].fetch != NULL) {
            fetch_cancel(query->requests[i].fetch);
        }
        fd_close(query->requests[i].fd);
    }
    task_cancel(query->task);
    LIST_REMOVE(query, next);
    query->metadata->nqueries--;
    config_unref(query->config);
    cJSON_Delete(query->results.list);
    free(query);
}

static void one_metadata_ended(struct metadata_query *query)
{
    cJSON *answer;

    if (--query->open > 0) {
        return;
    }
    answer = cJSON_CreateObject();
    cJSON_AddItemToObject(answer, "results", query->results.list);
    cJSON_AddBoolToObject(answer, "complete",
                          query->is_complete && !query->results.is_cut);
    query->results.list = NULL;
    query->fn(query->arg, answer);
    release_metadata_query(query);
}

/* the downloads ------------------------------------------------------------ */

static void metadata_local_run(void *arg)
{
    struct metadata_local *local = arg;
    const struct config *config = local->config;
    char folder[PATH_MAX];
    size_t i;

    for (i = 0; i < config->nstores; i++) {
        snprintf(folder, sizeof(folder), "%.2000s/%.200s/%s",
                 config->downloads, config->stores[i].name,
                 SYMCACHE_NAME_NONE);
        local->is_whole &=
            downloads_walk(&local->results, folder, local->key, local->value);
    }
    if (local->key == METADATA_BUILDID) {
        local->is_whole &=
            stored_uploads_add(&local->results, config, local->value);
    }
}

static void metadata_local_done(void *arg, bool late)
{
    struct metadata_local *local = arg;
    struct metadata_query *query = local->query;
    const cJSON *entry;

    query->task = NULL;
    query->is_complete &= !late;
    if (!late) {
        query->is_complete &= local->is_whole && !local->results.is_cut;
        cJSON_ArrayForEach(entry, local->results.list)
        {
            results_add(
                &query->results,
                cJSON_GetObjectItem(entry, "type")->valuestring,
                cJSON_GetObjectItem(entry, "buildid")->valuestring,
                cJSON_GetStringValue(cJSON_GetObjectItem(entry, "file")),
                cJSON_GetStringValue(cJSON_GetObjectItem(entry, "archive")));
        }
    }
    one_metadata_ended(query);
}

static void metadata_local_drop(void *arg)
{
    struct metadata_local *local = arg;

    config_unref(local->config);
    cJSON_Delete(local->results.list);
    free(local->value);
    free(local);
    atomic_fetch_sub(&walks, 1);
}

static const struct task_calls local_calls = {
    metadata_local_run, metadata_local_done, metadata_local_drop};

static bool metadata_start_local(struct metadata_query *query,
                                 enum metadata_key key, const char *value)
{
    struct metadata_local *local = NULL;

    if (atomic_fetch_add(&walks, 1) < QUERIES_MAX) {
        local = calloc(1, sizeof(*local));
    }
    if (local == NULL) {
        atomic_fetch_sub(&walks, 1);
        return false;
    }
    local->query = query;
    local->config = config_ref(query->config);
    local->key = key;
    local->value = strdup(value);
    local->results.list = cJSON_CreateArray();
    local->is_whole = true;
    if (local->value == NULL || local->results.list == NULL) {
        metadata_local_drop(local);
        return false;
    }
    query->task =
        task_start(query->metadata->base,
                   query->config->limits.first_byte_time, &local_calls, local);
    return query->task != NULL;
}

/* the sources -------------------------------------------------------------- */

static void metadata_take_answer(struct metadata_request *request)
{
    struct metadata_query *query = request->query;
    struct stat st;
    void *text;

    if (fstat(request->fd, &st) != 0 || st.st_size == 0) {
        query->is_complete = false;
        return;
    }
    text =
        mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, request->fd, 0);
    if (text == MAP_FAILED) {
        query->is_complete = false;
        return;
    }
    query->is_complete &=
        results_add_answer(&query->results, text, (size_t)st.st_size);
    munmap(text, (size_t)st.st_size);
}

/* A server without this page says that it has none (404): it is older. */
static void metadata_on_fetched(void *arg, const struct fetch_result *result)
{
    struct metadata_request *request = arg;

    request->fetch = NULL;
    if (result->outcome == SOURCE_FOUND) {
        metadata_take_answer(request);
    } else {
        request->query->is_complete = false;
        log_info(0, "metadata: source \"%s\" does not tell: %s",
                 request->source->name, result->detail);
    }
    one_metadata_ended(request->query);
}

static bool metadata_is_asked(const struct source_config *source)
{
    return source->layout == LAYOUT_DEBUGINFOD && source->url != NULL &&
           source->type != NULL && strcmp(source->type->name, "http") == 0;
}

static bool metadata_start_request(struct metadata_request *request,
                                   enum metadata_key key, const char *value)
{
    struct metadata_query *query = request->query;
    const struct source_config *source = request->source;
    struct fetch_request fetch = {0};
    char encoded[3 * METADATA_VALUE_MAX + 1];
    char *url;

    request->fd = unnamed_file_open(query->config->downloads);
    percent_encode(encoded, value);
    if (request->fd == -1 ||
        asprintf(&url, "%s/metadata?key=%s&value=%s", source->url,
                 metadata_keys[key], encoded) < 0) {
        return false;
    }
    fetch.url = url;
    fetch.transport = &source->transport;
    fetch.credentials = true;
    fetch.limits = &query->config->limits;
    fetch.cache = &query->config->cache;
    fetch.fd = request->fd;
    fetch.max = ANSWER_MAX;
    fetch.seconds = SECONDS;
    request->fetch = fetch_start(query->metadata->fetcher, &fetch,
                                 metadata_on_fetched, request);
    free(url);
    return request->fetch != NULL;
}

static void metadata_ask_sources(struct metadata_query *query,
                                 enum metadata_key key, const char *value)
{
    size_t i;

    for (i = 0; i < query->config->nsources; i++) {
        struct metadata_request *request = &query->requests[query->n];

        if (!metadata_is_asked(&query->config->sources[i])) {
            continue;
        }
        request->query = query;
        request->source = &query->config->sources[i];
        request->fd = -1;
        query->n++;
        if (metadata_start_request(request, key, value)) {
            query->open++;
        } else {
            query->is_complete = false;
        }
    }
}

/* -------------------------------------------------------------------------- */

bool metadata_ask(struct metadata *metadata, const struct config *config,
                  enum metadata_key key, const char *value, metadata_fn fn,
                  void *arg)
{
    struct metadata_query *query;

    if (metadata->nqueries == QUERIES_MAX ||
        strlen(value) > METADATA_VALUE_MAX) {
        return false;
    }
    query = calloc(1, sizeof(*query) +
                          config->nsources * sizeof(query->requests[0]));
    if (query == NULL) {
        return false;
    }
    query->metadata = metadata;
    query->config = config_ref((struct config *)config); /* counts only */
    query->fn = fn;
    query->arg = arg;
    query->is_complete = true;
    query->results.list = cJSON_CreateArray();
    query->open = 1;
    LIST_INSERT_HEAD(&metadata->all, query, next);
    metadata->nqueries++;
    if (query->results.list == NULL ||
        !metadata_start_local(query, key, value)) {
        release_metadata_query(query);
        return false;
    }
    metadata_ask_sources(query, key, value);
    return true;
}

struct metadata *metadata_new(struct event_base *base)
{
    struct metadata *metadata = calloc(1, sizeof(*metadata));

    if (metadata == NULL) {
        return NULL;
    }
    metadata->base = base;
    LIST_INIT(&metadata->all);
    metadata->fetcher = fetcher_new(base, NULL, NULL);
    if (metadata->fetcher == NULL) {
        free(metadata);
        return NULL;
    }
    return metadata;
}

void metadata_stop(struct metadata *metadata)
{
    struct metadata_query *query;

    while ((query = LIST_FIRST(&metadata->all)) != NULL) {
        query->fn(query->arg, NULL);
        release_metadata_query(query);
    }
}

void metadata_free(struct metadata *metadata)
{
    if (metadata == NULL) {
        return;
    }
    fetcher_free(metadata->fetcher);
    free(metadata);
}

unsigned metadata_running(const struct metadata *metadata)
{
    return metadata->nqueries;
}
