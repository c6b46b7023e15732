/*
 * Copyright (C) the ngx_symcache authors
 */

#include "recent_misses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MISSES_KEPT 20
#define MISSES_TEXT 512 /* bytes of a reason, at most */

struct miss {
    time_t time;
    symcache_version_t version;
    const char *outcome; /* a constant */
    const char *store;   /* these are in texts */
    const char *key;
    const char *text;
    char texts[];
};

/* There are as many as tenants, most of which have missed little. */
struct recent_misses {
    unsigned long long n; /* so far */
    struct miss *ring[MISSES_KEPT];
};

struct recent_misses *recent_misses_new(void)
{
    return calloc(1, sizeof(struct recent_misses));
}

void recent_misses_free(struct recent_misses *misses)
{
    size_t i;

    for (i = 0; misses != NULL && i < MISSES_KEPT; i++) {
        free(misses->ring[i]);
    }
    free(misses);
}

void recent_misses_add(struct recent_misses *misses, const char *store,
                       const char *key, const symcache_version_t *version,
                       const char *outcome, const char *text)
{
    size_t store_size = strlen(store) + 1, key_size = strlen(key) + 1;
    size_t text_size = strnlen(text, MISSES_TEXT);
    struct miss **place = &misses->ring[misses->n % MISSES_KEPT], *miss;
    char *at;

    miss = malloc(sizeof(*miss) + store_size + key_size + text_size + 1);
    if (miss == NULL) {
        return;
    }
    at = miss->texts;
    miss->time = time(NULL);
    miss->version = *version;
    miss->outcome = outcome;
    miss->store = memcpy(at, store, store_size);
    miss->key = memcpy(at + store_size, key, key_size);
    at += store_size + key_size;
    miss->text = memcpy(at, text, text_size);
    at[text_size] = '\0';
    free(*place);
    *place = miss;
    misses->n++;
}

cJSON *recent_misses_json(const struct recent_misses *misses)
{
    cJSON *array = cJSON_CreateArray(), *object;
    char version[SYMCACHE_VERSION_TEXT_MAX + 1];
    const struct miss *miss;
    unsigned i;

    for (i = 1; array != NULL && i <= MISSES_KEPT && i <= misses->n; i++) {
        miss = misses->ring[(misses->n - i) % MISSES_KEPT];
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
