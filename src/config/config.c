/*
 * Copyright (C) the ngx_symcache authors
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "field.h"

#define DEFAULT_LISTEN "unix:/run/symcached/symcached.sock"
#define DEFAULT_DOWNLOADS "/var/cache/symcached/downloads"

#define GIB (1024ULL * 1024 * 1024)
#define TIB (1024 * GIB)
#define DAY (24u * 60 * 60)
#define YEAR (366u * DAY)

static const struct limits_config default_limits = {
    .downloads = 16,
    .transcodes = 2,
    .queue = 10000,
    .download_size = 15 * GIB,
    .download_time = 5 * 60,
    .connect_time = 5,
    .first_byte_time = 30,
    .first_byte_patience = 3,
    .search_time = 5,
    .stall_time = 30,
    .attempts = 3,
    .downloads_per_host = 4,
    .slow_downloads_per_host = 4,
    .breaker_failures = 20,
    .breaker_window = 60,
    .breaker_pause = 60,
    .look_ahead_after = 1,
    .transcode_time = 15 * 60,
    .transcode_memory = 8 * GIB,
};

static const struct cache_config default_cache = {
    .max_unused_for = 7 * DAY,
    .retry_misses_after = 60 * 60,
    .retry_malformed_after = DAY,
    .retry_errors_after = 60,
    .downloads_max_unused_for = DAY,
    .clean_every = 15 * 60,
    .max_size = 200 * GIB,
    .downloads_max_size = 0,
    .total_size = 0,
    .min_free_percent = 5,
};

/* Reads "min_free", a percentage such as "5%" or a size. */
static int read_min_free(struct config_reader *r, const cJSON *item,
                         const struct config_field *field, void *at)
{
    struct cache_config *cache = at;
    const char *text = field_text(r, item, "\"5%\" or \"200g\"");
    unsigned long percent;
    char *end;

    if (text == NULL) {
        return -1;
    }

    if (strchr(text, '%') == NULL) {
        cache->min_free_percent = 0;
        return field_size(r, item, field, &cache->min_free);
    }

    percent = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || strcmp(end, "%") != 0 ||
        percent > 99) {
        return field_error(r, item, "must be \"0%%\" to \"99%%\", or a size");
    }
    cache->min_free_percent = (unsigned)percent;
    cache->min_free = 0;
    return 0;
}

#define CONFIG_LIMIT(name, type, min, max)                                    \
    {                                                                         \
#name, field_##type, offsetof(struct limits_config, name), min, max,  \
            0                                                                 \
    }

static const struct config_field limits_fields[] = {
    CONFIG_LIMIT(downloads, count, 1, 1000),
    CONFIG_LIMIT(transcodes, count, 1, 1000),
    CONFIG_LIMIT(queue, count, 1, 1000000),
    CONFIG_LIMIT(download_size, size, 1024, 1024 * TIB),
    CONFIG_LIMIT(download_time, duration, 1, DAY),
    CONFIG_LIMIT(connect_time, duration, 1, 60 * 60),
    CONFIG_LIMIT(first_byte_time, duration, 1, 60 * 60),
    CONFIG_LIMIT(first_byte_patience, duration, 0, 60 * 60),
    CONFIG_LIMIT(search_time, duration, 0, 60 * 60),
    CONFIG_LIMIT(stall_time, duration, 1, 60 * 60),
    CONFIG_LIMIT(attempts, count, 1, 10),
    CONFIG_LIMIT(downloads_per_host, count, 1, 1000),
    CONFIG_LIMIT(slow_downloads_per_host, count, 0, 1000),
    CONFIG_LIMIT(breaker_failures, count, 0, 1000000),
    CONFIG_LIMIT(breaker_window, duration, 1, DAY),
    CONFIG_LIMIT(breaker_pause, duration, 1, DAY),
    CONFIG_LIMIT(look_ahead_after, duration, 0, 60 * 60),
    CONFIG_LIMIT(transcode_time, duration, 1, 7 * DAY),
    CONFIG_LIMIT(transcode_memory, size, 16 * 1024 * 1024, 1024 * TIB),
};

#define CONFIG_CACHE(name, type, min, max)                                    \
    {                                                                         \
#name, field_##type, offsetof(struct cache_config, name), min, max, 0 \
    }

static const struct config_field cache_fields[] = {
    CONFIG_CACHE(max_unused_for, duration, 1, 100 * YEAR),
    CONFIG_CACHE(retry_misses_after, duration, 1, YEAR),
    CONFIG_CACHE(retry_malformed_after, duration, 1, YEAR),
    CONFIG_CACHE(retry_errors_after, duration, 1, DAY),
    CONFIG_CACHE(downloads_max_unused_for, duration, 1, 100 * YEAR),
    CONFIG_CACHE(clean_every, duration, 1, YEAR),
    CONFIG_CACHE(max_size, size, 0, 1024 * TIB),
    CONFIG_CACHE(downloads_max_size, size, 0, 1024 * TIB),
    CONFIG_CACHE(total_size, size, 0, 1024 * TIB),
    {"min_free", read_min_free, 0, 0, 1024 * TIB, 0},
};

static int read_limits(struct config_reader *r, const cJSON *item,
                       const struct config_field *field, void *at)
{
    return field_object(r, item, limits_fields, COUNT(limits_fields), at);
}

static int read_cache(struct config_reader *r, const cJSON *item,
                      const struct config_field *field, void *at)
{
    return field_object(r, item, cache_fields, COUNT(cache_fields), at);
}

/* Stores depend on "sources" and "downloads", and symbolication on stores.  As
 * keys may be in any order, read_last() reads those two. */
static const struct config_field top_fields[] = {
    {"listen", field_listen, offsetof(struct config, listen), 0, 0, 0},
    {"listen_token", field_token, offsetof(struct config, listen_token), 0, 0,
     CONFIG_SECRET},
    {"admin_listen", field_listen_unix, offsetof(struct config, admin_listen),
     0, 0, 0},
    {"downloads", field_path, offsetof(struct config, downloads), 0, 0, 0},
    {"stores", field_read_apart, 0, 0, 0, CONFIG_REQUIRED},
    {"sources", config_sources, 0, 0, 0, 0},
    {"tiers", config_tiers, 0, 0, 0, 0},
    {"limits", read_limits, offsetof(struct config, limits), 0, 0, 0},
    {"cache", read_cache, offsetof(struct config, cache), 0, 0, 0},
    {"uploads", config_uploads, offsetof(struct config, uploads), 0, 0, 0},
    {"symbolication", field_read_apart, 0, 0, 0, 0},
};

/* Reads the sections that refer to other ones. */
static int read_last(struct config_reader *r, const cJSON *root)
{
    const struct config *config = r->config;

    if (config->admin_listen != NULL &&
        strcmp(config->admin_listen, config->listen) == 0) {
        return field_error(
            r, cJSON_GetObjectItemCaseSensitive(root, "admin_listen"),
            "must be another socket than \"listen\"");
    }
    if (config->uploads.listen != NULL &&
        (strcmp(config->uploads.listen, config->listen) == 0 ||
         (config->admin_listen != NULL &&
          strcmp(config->uploads.listen, config->admin_listen) == 0))) {
        return field_error(
            r, cJSON_GetObjectItemCaseSensitive(root, "uploads"),
            "\"listen\" must be another socket than \"listen\" and "
            "\"admin_listen\" of symcached");
    }
    if (config->uploads.root != NULL &&
        config_paths_overlap(config->uploads.root, config->downloads)) {
        return field_error(r,
                           cJSON_GetObjectItemCaseSensitive(root, "uploads"),
                           "the root overlaps \"downloads\"");
    }
    return config_uploads_sources(
               r, cJSON_GetObjectItemCaseSensitive(root, "uploads")) == 0 &&
                   config_stores(r, cJSON_GetObjectItemCaseSensitive(
                                        root, "stores")) == 0 &&
                   config_uploads_tier(r, cJSON_GetObjectItemCaseSensitive(
                                              root, "uploads")) == 0
               ? config_symbolication(r, cJSON_GetObjectItemCaseSensitive(
                                             root, "symbolication"))
               : -1;
}

int config_read(const char *file, const struct source_type *const *types,
                struct config **config, char *error, size_t size)
{
    struct json_file json;
    struct config_reader r = {
        .json = &json, .types = types, .error = error, .size = size};
    struct config *c;

    if (json_file_read(file, &json, error, size) != 0) {
        return -1;
    }

    c = calloc(1, sizeof(*c));
    if (c == NULL) {
        snprintf(error, size, "%s: out of memory", file);
        json_file_free(&json);
        return -1;
    }

    c->refs = 1;
    c->fingerprint = json.fingerprint;
    c->types = types;
    c->limits = default_limits;
    c->cache = default_cache;
    c->file = strdup(file);
    c->listen = strdup(DEFAULT_LISTEN);
    c->downloads = strdup(DEFAULT_DOWNLOADS);
    r.config = c;

    if (c->file == NULL || c->listen == NULL || c->downloads == NULL) {
        snprintf(error, size, "%s: out of memory", file);
        goto failed;
    }

    if (field_object(&r, json.root, top_fields, COUNT(top_fields), c) != 0 ||
        read_last(&r, json.root) != 0) {
        goto failed;
    }

    json_file_free(&json);
    *config = c;
    return 0;

failed:
    json_file_free(&json);
    config_unref(c);
    return -1;
}

struct config *config_ref(struct config *config)
{
    atomic_fetch_add(&config->refs, 1);
    return config;
}

void config_unref(struct config *config)
{
    size_t i;

    if (config == NULL || atomic_fetch_sub(&config->refs, 1) > 1) {
        return;
    }

    for (i = 0; i < config->nstores; i++) {
        config_store_clear(&config->stores[i]);
    }
    for (i = 0; i < config->nsources; i++) {
        config_source_clear(&config->sources[i]);
    }
    for (i = 0; i < config->ntiers; i++) {
        config_tier_clear(&config->tiers[i]);
    }
    config_uploads_clear(&config->uploads);
    config_symbolication_clear(&config->symbolication);
    free(config->stores);
    free(config->sources);
    free(config->tiers);
    free(config->downloads);
    free(config->listen);
    free(config->admin_listen);
    secret_free(config->listen_token);
    free(config->file);
    free(config);
}
