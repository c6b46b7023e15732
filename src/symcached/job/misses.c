/*
 * Copyright (C) the ngx_symcache authors
 */

#include "misses.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "proto/path.h"

#define MISSES_KEPT 20
#define MISSES_TEXT 512

struct miss {
    time_t time;
    symcache_version_t version;
    const char *outcome; /* a constant */
    char store[65];
    char key[SYMCACHE_PATH_MAX + 1];
    char text[MISSES_TEXT];
};

struct misses {
    unsigned long long n; /* so far */
    struct miss ring[MISSES_KEPT];
};

struct misses *misses_new(void)
{
    return calloc(1, sizeof(struct misses));
}

void misses_free(struct misses *misses)
{
    free(misses);
}

void misses_add(struct misses *misses, const char *store, const char *key,
                const symcache_version_t *version, const char *outcome,
                const char *text)
{
    struct miss *miss = &misses->ring[misses->n++ % MISSES_KEPT];

    miss->time = time(NULL);
    miss->version = *version;
    miss->outcome = outcome;
    snprintf(miss->store, sizeof(miss->store), "%s", store);
    snprintf(miss->key, sizeof(miss->key), "%s", key);
    snprintf(miss->text, sizeof(miss->text), "%s", text);
}

cJSON *misses_json(const struct misses *misses)
{
    cJSON *array = cJSON_CreateArray(), *object;
    char version[SYMCACHE_VERSION_TEXT_MAX + 1];
    const struct miss *miss;
    unsigned i;

    for (i = 1; array != NULL && i <= MISSES_KEPT && i <= misses->n; i++) {
        miss = &misses->ring[(misses->n - i) % MISSES_KEPT];
        symcache_version_print(version, &miss->version);
        object = cJSON_CreateObject();
        cJSON_AddNumberToObject(object, "time", (double)miss->time);
        cJSON_AddStringToObject(object, "store", miss->store);
        cJSON_AddStringToObject(object, "key", miss->key);
        cJSON_AddStringToObject(object, "version", version);
        cJSON_AddStringToObject(object, "outcome", miss->outcome);
        cJSON_AddStringToObject(object, "reason", miss->text);
        cJSON_AddItemToArray(array, object);
    }
    return array;
}
