/*
 * Copyright (C) the ngx_symcache authors
 */

#include "source_stats.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sources.h"

#define OUTCOMES (SOURCE_PENDING + 1)
#define NAME_MAX_LEN 64

/* label values and JSON keys: API */
static const char *const outcome_keys[OUTCOMES] = {
    "found",  "not_found",   "unusable", "wrong_format",
    "failed", "failed_here", "pending"};

struct count {
    char name[NAME_MAX_LEN + 1];
    uint64_t attempts[OUTCOMES];
    uint64_t bytes;
    bool failing; /* the latest attempt failed */
    time_t failed_at;
    char failure[256];
};

struct source_stats {
    struct count *counts;
    size_t n;
};

struct source_stats *source_stats_new(void)
{
    return calloc(1, sizeof(struct source_stats));
}

void source_stats_free(struct source_stats *source_stats)
{
    if (source_stats != NULL) {
        free(source_stats->counts);
        free(source_stats);
    }
}

static struct count *stats_find_source(const struct source_stats *source_stats,
                                       const char *name)
{
    size_t i;

    for (i = 0; i < source_stats->n; i++) {
        if (strcmp(source_stats->counts[i].name, name) == 0) {
            return &source_stats->counts[i];
        }
    }
    return NULL;
}

static bool source_is_wanted(const struct count *count,
                             const struct config *config)
{
    size_t i;

    for (i = 0; i < config->nsources; i++) {
        if (strcmp(config->sources[i].name, count->name) == 0) {
            return true;
        }
    }
    return false;
}

void source_stats_keep(struct source_stats *source_stats,
                       const struct config *config)
{
    size_t i, n = 0;

    for (i = 0; i < source_stats->n; i++) {
        if (source_is_wanted(&source_stats->counts[i], config)) {
            source_stats->counts[n++] = source_stats->counts[i];
        }
    }
    source_stats->n = n;
}

void source_stats_add(struct source_stats *source_stats,
                      const struct lookup_attempt *attempt)
{
    struct count *count = stats_find_source(source_stats, attempt->source);

    if (attempt->is_ruled_out) {
        return; /* it says nothing of how the source is */
    }
    if (count == NULL) {
        count = realloc(source_stats->counts,
                        (source_stats->n + 1) * sizeof(*count));
        if (count == NULL) {
            return;
        }
        source_stats->counts = count;
        count += source_stats->n++;
        memset(count, 0, sizeof(*count));
        snprintf(count->name, sizeof(count->name), "%s", attempt->source);
    }

    count->attempts[attempt->outcome == SOURCE_MALFORMED
                        ? SOURCE_UNUSABLE
                        : attempt->outcome]++;
    count->bytes += attempt->bytes;
    if (attempt->outcome == SOURCE_FAILED_HERE) {
        return; /* what it answered before still holds */
    }
    count->failing = attempt->outcome == SOURCE_FAILED ||
                     attempt->outcome == SOURCE_UNUSABLE;
    if (count->failing) {
        count->failed_at = time(NULL);
        snprintf(count->failure, sizeof(count->failure), "%s",
                 attempt->detail != NULL ? attempt->detail : "");
    }
}

static void add_patterns(cJSON *object, const char *key,
                         const struct patterns_config *patterns)
{
    cJSON *array;
    size_t i;

    if (patterns->n == 0) {
        return;
    }
    array = cJSON_AddArrayToObject(object, key);
    for (i = 0; i < patterns->n; i++) {
        cJSON_AddItemToArray(array,
                             cJSON_CreateString(patterns->list[i].text));
    }
}

cJSON *source_stats_json(const struct source_stats *source_stats,
                         const struct config *config)
{
    cJSON *array = cJSON_CreateArray(), *object;
    const struct source_config *source;
    const struct count *count;
    static const struct count none;
    size_t i;
    int outcome;

    for (i = 0; i < config->nsources; i++) {
        source = &config->sources[i];
        count = stats_find_source(source_stats, source->name);
        if (count == NULL) {
            count = &none;
        }

        object = cJSON_CreateObject();
        cJSON_AddStringToObject(object, "name", source->name);
        cJSON_AddStringToObject(object, "type", source->type->name);
        cJSON_AddStringToObject(object, "place", source_place(source));
        add_patterns(object, "only", &source->only);
        add_patterns(object, "except", &source->except);
        for (outcome = 0; outcome < OUTCOMES; outcome++) {
            cJSON_AddNumberToObject(object, outcome_keys[outcome],
                                    (double)count->attempts[outcome]);
        }
        cJSON_AddStringToObject(object, "health",
                                count == &none   ? "not asked yet"
                                : count->failing ? "failing"
                                                 : "ok");
        cJSON_AddNumberToObject(object, "bytes", (double)count->bytes);
        if (count->failed_at != 0) {
            cJSON_AddNumberToObject(object, "failed_at",
                                    (double)count->failed_at);
            cJSON_AddStringToObject(object, "failure", count->failure);
        }
        cJSON_AddItemToArray(array, object);
    }
    return array;
}

void source_stats_print(const struct source_stats *source_stats,
                        struct evbuffer *buf)
{
    size_t i;
    int outcome;

    evbuffer_add_printf(buf, "# HELP symcached_source_attempts_total Places "
                             "looked in, by source and answer.\n"
                             "# TYPE symcached_source_attempts_total "
                             "counter\n");
    for (i = 0; i < source_stats->n; i++) {
        for (outcome = 0; outcome < OUTCOMES; outcome++) {
            evbuffer_add_printf(
                buf,
                "symcached_source_attempts_total{source=\"%s\","
                "outcome=\"%s\"} %" PRIu64 "\n",
                source_stats->counts[i].name, outcome_keys[outcome],
                source_stats->counts[i].attempts[outcome]);
        }
    }
}
