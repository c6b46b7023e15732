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

#define INQUIRIES_MAX 16 /* at a time */
#define ANSWER_MAX ((uint64_t)4 << 20)
#define SECONDS 20

const char *const metadata_keys[METADATA_KEYS] = {"buildid", "file", "glob"};

/* The request to a source. */
struct source_request {
    struct metadata_query *inquiry;
    const struct source_config *source;
    struct fetch *fetch; /* NULL: it has ended */
    int fd;
};

/* The data of the thread.  The thread owns it, because it cannot be
 * stopped. */
struct local {
    struct metadata_query *inquiry; /* for the loop alone */
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
    unsigned open;     /* questions, and the thread */
    size_t n;
    struct source_request questions[];
};

/* Threads that look through downloads: on a disk that does not answer they
 * outlive those who asked. */
static atomic_uint walks;

struct metadata {
    struct event_base *base;
    struct fetcher *fetcher;
    LIST_HEAD(, metadata_query) all;
    unsigned ninquiries;
};

/* the end ------------------------------------------------------------------ */

static void release_metadata_query(struct metadata_query *inquiry)
{
    size_t i;

    for (i = 0; i < inquiry->n; i++) {
        if (inquiry->questions[i].fetch != NULL) {
            fetch_cancel(inquiry->questions[i].fetch);
        }
        fd_close(inquiry->questions[i].fd);
    }
    task_cancel(inquiry->task);
    LIST_REMOVE(inquiry, next);
    inquiry->metadata->ninquiries--;
    config_unref(inquiry->config);
    cJSON_Delete(inquiry->results.list);
    free(inquiry);
}

static void one_ended(struct metadata_query *inquiry)
{
    cJSON *answer;

    if (--inquiry->open > 0) {
        return;
    }
    answer = cJSON_CreateObject();
    cJSON_AddItemToObject(answer, "results", inquiry->results.list);
    cJSON_AddBoolToObject(answer, "complete",
                          inquiry->is_complete && !inquiry->results.is_cut);
    inquiry->results.list = NULL;
    inquiry->fn(inquiry->arg, answer);
    release_metadata_query(inquiry);
}

/* the downloads ------------------------------------------------------------ */

static void local_run(void *arg)
{
    struct local *local = arg;
    const struct config *config = local->config;
    char folder[PATH_MAX];
    size_t i;

    for (i = 0; i < config->nstores; i++) {
        snprintf(folder, sizeof(folder), "%.2000s/%.200s/%s",
                 config->downloads, config->stores[i].name,
                 SYMCACHE_NAME_NONE);
        local->is_whole &= downloads_walk(&local->results, folder, local->key,
                                          local->value);
    }
}

static void local_done(void *arg, bool late)
{
    struct local *local = arg;
    struct metadata_query *inquiry = local->inquiry;
    const cJSON *entry;

    inquiry->task = NULL;
    inquiry->is_complete &= !late;
    if (!late) {
        inquiry->is_complete &= local->is_whole && !local->results.is_cut;
        cJSON_ArrayForEach(entry, local->results.list)
        {
            results_add(
                &inquiry->results,
                cJSON_GetObjectItem(entry, "type")->valuestring,
                cJSON_GetObjectItem(entry, "buildid")->valuestring,
                cJSON_GetStringValue(cJSON_GetObjectItem(entry, "file")),
                cJSON_GetStringValue(cJSON_GetObjectItem(entry, "archive")));
        }
    }
    one_ended(inquiry);
}

static void local_drop(void *arg)
{
    struct local *local = arg;

    config_unref(local->config);
    cJSON_Delete(local->results.list);
    free(local->value);
    free(local);
    atomic_fetch_sub(&walks, 1);
}

static const struct task_calls local_calls = {local_run, local_done,
                                              local_drop};

static bool start_local(struct metadata_query *inquiry, enum metadata_key key,
                        const char *value)
{
    struct local *local = NULL;

    if (atomic_fetch_add(&walks, 1) < INQUIRIES_MAX) {
        local = calloc(1, sizeof(*local));
    }
    if (local == NULL) {
        atomic_fetch_sub(&walks, 1);
        return false;
    }
    local->inquiry = inquiry;
    local->config = config_ref(inquiry->config);
    local->key = key;
    local->value = strdup(value);
    local->results.list = cJSON_CreateArray();
    local->is_whole = true;
    if (local->value == NULL || local->results.list == NULL) {
        local_drop(local);
        return false;
    }
    inquiry->task =
        task_start(inquiry->metadata->base,
                   inquiry->config->limits.first_byte_time, &local_calls,
                   local);
    return inquiry->task != NULL;
}

/* the sources -------------------------------------------------------------- */

static void take_answer(struct source_request *question)
{
    struct metadata_query *inquiry = question->inquiry;
    struct stat st;
    void *text;

    if (fstat(question->fd, &st) != 0 || st.st_size == 0) {
        inquiry->is_complete = false;
        return;
    }
    text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE,
                question->fd, 0);
    if (text == MAP_FAILED) {
        inquiry->is_complete = false;
        return;
    }
    inquiry->is_complete &=
        results_add_answer(&inquiry->results, text, (size_t)st.st_size);
    munmap(text, (size_t)st.st_size);
}

/* A server without this page says that it has none (404): it is older. */
static void on_fetched(void *arg, const struct fetch_result *result)
{
    struct source_request *question = arg;

    question->fetch = NULL;
    if (result->outcome == SOURCE_FOUND) {
        take_answer(question);
    } else {
        question->inquiry->is_complete = false;
        log_info(0, "metadata: source \"%s\" does not tell: %s",
                 question->source->name, result->detail);
    }
    one_ended(question->inquiry);
}

static bool is_asked(const struct source_config *source)
{
    return source->layout == LAYOUT_DEBUGINFOD && source->url != NULL &&
           source->type != NULL && strcmp(source->type->name, "http") == 0;
}

static bool start_question(struct source_request *question,
                           enum metadata_key key, const char *value)
{
    struct metadata_query *inquiry = question->inquiry;
    const struct source_config *source = question->source;
    struct fetch_request request = {0};
    char encoded[3 * METADATA_VALUE_MAX + 1];
    char *url;

    question->fd = unnamed_file_open(inquiry->config->downloads);
    percent_encode(encoded, value);
    if (question->fd == -1 ||
        asprintf(&url, "%s/metadata?key=%s&value=%s", source->url,
                 metadata_keys[key], encoded) < 0) {
        return false;
    }
    request.url = url;
    request.transport = &source->transport;
    request.credentials = true;
    request.limits = &inquiry->config->limits;
    request.cache = &inquiry->config->cache;
    request.fd = question->fd;
    request.max = ANSWER_MAX;
    request.seconds = SECONDS;
    question->fetch = fetch_start(inquiry->metadata->fetcher, &request,
                                  on_fetched, question);
    free(url);
    return question->fetch != NULL;
}

static void ask_sources(struct metadata_query *inquiry, enum metadata_key key,
                        const char *value)
{
    size_t i;

    for (i = 0; i < inquiry->config->nsources; i++) {
        struct source_request *question = &inquiry->questions[inquiry->n];

        if (!is_asked(&inquiry->config->sources[i])) {
            continue;
        }
        question->inquiry = inquiry;
        question->source = &inquiry->config->sources[i];
        question->fd = -1;
        inquiry->n++;
        if (start_question(question, key, value)) {
            inquiry->open++;
        } else {
            inquiry->is_complete = false;
        }
    }
}

/* -------------------------------------------------------------------------- */

bool metadata_ask(struct metadata *metadata, const struct config *config,
                  enum metadata_key key, const char *value, metadata_fn fn,
                  void *arg)
{
    struct metadata_query *inquiry;

    if (metadata->ninquiries == INQUIRIES_MAX ||
        strlen(value) > METADATA_VALUE_MAX) {
        return false;
    }
    inquiry = calloc(1, sizeof(*inquiry) + config->nsources *
                                             sizeof(inquiry->questions[0]));
    if (inquiry == NULL) {
        return false;
    }
    inquiry->metadata = metadata;
    inquiry->config = config_ref((struct config *)config); /* counts only */
    inquiry->fn = fn;
    inquiry->arg = arg;
    inquiry->is_complete = true;
    inquiry->results.list = cJSON_CreateArray();
    inquiry->open = 1;
    LIST_INSERT_HEAD(&metadata->all, inquiry, next);
    metadata->ninquiries++;
    if (inquiry->results.list == NULL || !start_local(inquiry, key, value)) {
        release_metadata_query(inquiry);
        return false;
    }
    ask_sources(inquiry, key, value);
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
    struct metadata_query *inquiry;

    while ((inquiry = LIST_FIRST(&metadata->all)) != NULL) {
        inquiry->fn(inquiry->arg, NULL);
        release_metadata_query(inquiry);
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
    return metadata->ninquiries;
}
