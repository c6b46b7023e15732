/*
 * Copyright (C) the ngx_symcache authors
 */
#include "symbolication.h"
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "proto/url.h"

#define DEFAULT_LISTEN "unix:/run/symcached/symbolicated.sock"

#define MIB (1024ULL * 1024)
#define GIB (1024 * MIB)
#define TIB (1024 * GIB)
#define DAY (24u * 60 * 60)

static const struct symbolication_limits_config default_symbolication_limits = {
    .body_size = 55 * MIB,
    .crash_size = 250 * MIB,
    .spool_size = 1 * GIB,
    .receiving_size = 256 * MIB,
    .answer_size = 128 * MIB,
    .frames = 100000,
    .modules = 2000,
    .batch_pairs = 10000000,
    .batch_files = 100000,
    .running_size = 256 * MIB,
    .files_size = 1024 * TIB,
};

static const struct mozilla_config default_mozilla = {
    .enabled = true,
    .on_failure = MOZILLA_ON_FAILURE_FALSE,
    .code_size = 256 * 1024,
    .wait = 30,
    .requests = 200,
};

static const struct symbolicator_config default_symbolicator = {
    .enabled = true,
    .sources = SYMBOLICATOR_SOURCES_CONFIGURED,
    .candidates = true,
    .requests = 200,
    .kept_size = 64 * MIB,
    .tenants = {.count = 1000,
                .size = GIB,
                .public_size = 20 * GIB,
                .idle = 60 * 60},
    .minidump = {.enabled = true, .requests = 200},
    .apple = {.enabled = true, .requests = 200},
    .jvm = {.enabled = true, .requests = 200},
    .js = {.enabled = true, .requests = 200},
};

static const struct symbolize_config default_symbolize = {
    .enabled = true,
    .requests = 20,
};

static const struct profile_config default_profile = {
    .enabled = true,
    .requests = 20,
    .wait = 30,
};

#define SYMBOLICATION_LIMIT(name, type, min, max)                             \
    {                                                                         \
#name, field_##type,                                                  \
            offsetof(struct symbolication_limits_config, name), min, max, 0   \
    }

static const struct config_field limits_fields[] = {
    SYMBOLICATION_LIMIT(body_size, size, 1024, 2 * GIB),
    SYMBOLICATION_LIMIT(crash_size, size, 1024, 2 * GIB),
    SYMBOLICATION_LIMIT(spool_size, size, 1024, 1024 * TIB),
    SYMBOLICATION_LIMIT(receiving_size, size, 1024, 1024 * TIB),
    SYMBOLICATION_LIMIT(answer_size, size, 1024, 1024 * TIB),
    SYMBOLICATION_LIMIT(frames, count, 1, 10000000),
    SYMBOLICATION_LIMIT(modules, count, 1, 1000000),
    SYMBOLICATION_LIMIT(batch_pairs, count, 1, 1000000000),
    SYMBOLICATION_LIMIT(batch_files, count, 1, 10000000),
    SYMBOLICATION_LIMIT(running_size, size, 1024, 1024 * TIB),
    SYMBOLICATION_LIMIT(files, count, 1, 1000000),
    SYMBOLICATION_LIMIT(files_size, size, MIB, 1024 * TIB),
};

static int read_limits(struct config_reader *r, const cJSON *item,
                       const struct config_field *field, void *at)
{
    return field_object(r, item, limits_fields, COUNT(limits_fields), at);
}

static int read_on_failure(struct config_reader *r, const cJSON *item,
                           const struct config_field *field, void *at)
{
    static const char *const words[] = {[MOZILLA_ON_FAILURE_FALSE] = "false",
                                        [MOZILLA_ON_FAILURE_503] = "503"};
    enum mozilla_on_failure *on_failure = at;
    int value = field_word(r, item, words, COUNT(words));

    if (value < 0) {
        return -1;
    }
    *on_failure = (enum mozilla_on_failure)value;
    return 0;
}

#define MOZILLA(name, read, min, max)                                         \
    {                                                                         \
#name, read, offsetof(struct mozilla_config, name), min, max, 0       \
    }

static const struct config_field mozilla_fields[] = {
    MOZILLA(enabled, field_bool, 0, 0),
    MOZILLA(lenient, field_bool, 0, 0),
    MOZILLA(source, field_bool, 0, 0),
    MOZILLA(code, field_bool, 0, 0),
    MOZILLA(code_size, field_size, 1024, 64 * MIB),
    MOZILLA(on_failure, read_on_failure, 0, 0),
    MOZILLA(wait, field_duration, 0, DAY),
    MOZILLA(requests, field_count, 1, 1000000),
};

static int read_mozilla(struct config_reader *r, const cJSON *item,
                        const struct config_field *field, void *at)
{
    return field_object(r, item, mozilla_fields, COUNT(mozilla_fields), at);
}

static int read_sources(struct config_reader *r, const cJSON *item,
                        const struct config_field *field, void *at)
{
    static const char *const words[] = {
        [SYMBOLICATOR_SOURCES_CONFIGURED] = "configured",
        [SYMBOLICATOR_SOURCES_IGNORE] = "ignore",
        [SYMBOLICATOR_SOURCES_REFUSE] = "refuse",
        [SYMBOLICATOR_SOURCES_ALLOW] = "allow"};
    enum symbolicator_sources *sources = at;
    int value = field_word(r, item, words, COUNT(words));

    if (value < 0) {
        return -1;
    }
    *sources = (enum symbolicator_sources)value;
    return 0;
}

/* Each is asked for each file. */
#define DEBUGINFOD_MAX 4

static int read_debuginfod(struct config_reader *r, const cJSON *item,
                           const struct config_field *field, void *at)
{
    struct symbolicator_config *config = at;
    char url[SYMCACHE_URL_MAX + 1];
    const cJSON *child;
    const char *text;
    size_t n;

    if (!cJSON_IsArray(item) || cJSON_GetArraySize(item) > DEBUGINFOD_MAX) {
        return field_error(r, item,
                           "must be a list of at most %d URLs such as "
                           "[\"https://debuginfod.debian.net\"]",
                           DEBUGINFOD_MAX);
    }
    config->debuginfod = calloc(DEBUGINFOD_MAX, sizeof(char *));
    if (config->debuginfod == NULL) {
        return field_error(r, item, "out of memory");
    }
    for (child = item->child; child != NULL; child = child->next) {
        text = field_text(r, child, "\"https://debuginfod.debian.net\"");
        if (text == NULL) {
            return -1;
        }
        n = symcache_url_normalise(url, text, strlen(text));
        if (n == 0 || strchr(url, '?') != NULL) {
            return field_error(r, child, "is no URL of http or https");
        }
        if (url[n - 1] == '/') {
            url[n - 1] = '\0';
        }
        config->debuginfod[config->ndebuginfod] = strdup(url);
        if (config->debuginfod[config->ndebuginfod++] == NULL) {
            return field_error(r, child, "out of memory");
        }
    }
    return 0;
}

#define EVENT(name, read, min, max)                                           \
    {                                                                         \
#name, read, offsetof(struct event_config, name), min, max, 0         \
    }

static const struct config_field event_fields[] = {
    EVENT(enabled, field_bool, 0, 0),
    EVENT(requests, field_count, 1, 1000000),
};

static int read_event(struct config_reader *r, const cJSON *item,
                      const struct config_field *field, void *at)
{
    return field_object(r, item, event_fields, COUNT(event_fields), at);
}

static int read_corrections(struct config_reader *r, const cJSON *item,
                            const struct config_field *field, void *at)
{
    static const char *const words[CORRECTIONS] = {
        [CORRECTION_ALL] = "all",
        [CORRECTION_ARM_CFI] = "arm-cfi",
        [CORRECTION_ARM64_PE_CFI] = "arm64-pe-cfi",
        [CORRECTION_CFI_EXPRESSIONS] = "cfi-expressions",
        [CORRECTION_CONSTANT_SP] = "constant-sp",
        [CORRECTION_PACKED_DUMPS] = "packed-dumps",
        [CORRECTION_APPLE_REGISTERS] = "apple-registers",
        [CORRECTION_APPLE_IMAGES] = "apple-images",
        [CORRECTION_APPLE_HEADERS] = "apple-headers",
        [CORRECTION_APPLE_NAMES] = "apple-names",
        [CORRECTION_APPLE_EXCEPTION] = "apple-exception",
        [CORRECTION_MAP_LINES] = "map-lines",
        [CORRECTION_PDB_LINKS] = "pdb-links"};
    unsigned *corrections = at;
    const cJSON *child;
    int word;

    if (!cJSON_IsArray(item)) {
        return field_error(r, item, "must be a list such as [\"all\"]");
    }
    *corrections = 0;
    for (child = item->child; child != NULL; child = child->next) {
        word = field_word(r, child, words, COUNT(words));
        if (word < 0) {
            return -1;
        }
        *corrections |= word == CORRECTION_ALL ? ~0u : 1u << word;
    }
    return 0;
}

#define SYMBOLICATOR(name, read, min, max)                                    \
    {                                                                         \
#name, read, offsetof(struct symbolicator_config, name), min, max, 0  \
    }

static const struct config_field symbolicator_fields[] = {
    SYMBOLICATOR(enabled, field_bool, 0, 0),
    SYMBOLICATOR(sources, read_sources, 0, 0),
    SYMBOLICATOR(candidates, field_bool, 0, 0),
    SYMBOLICATOR(links, field_bool, 0, 0),
    {"debuginfod", read_debuginfod, 0, 0, 0, 0},
    SYMBOLICATOR(corrections, read_corrections, 0, 0),
    SYMBOLICATOR(tokens, field_bool, 0, 0),
    SYMBOLICATOR(requests, field_count, 1, 1000000),
    SYMBOLICATOR(node, field_count, 0, 65535),
    SYMBOLICATOR(kept_size, field_size, 0, TIB),
    SYMBOLICATOR(tenants, config_tenants, 0, 0),
    SYMBOLICATOR(minidump, read_event, 0, 0),
    SYMBOLICATOR(apple, read_event, 0, 0),
    SYMBOLICATOR(jvm, read_event, 0, 0),
    SYMBOLICATOR(js, read_event, 0, 0),
};

static int read_symbolicator(struct config_reader *r, const cJSON *item,
                             const struct config_field *field, void *at)
{
    const struct symbolicator_config *symbolicator = at;

    if (field_object(r, item, symbolicator_fields, COUNT(symbolicator_fields),
                     at) != 0) {
        return -1;
    }
    return symbolicator->sources == SYMBOLICATOR_SOURCES_ALLOW &&
                   symbolicator->tenants.root == NULL
               ? field_error(r, item,
                             "\"sources\" is \"allow\", so "
                             "\"root\" of \"tenants\" is needed")
               : 0;
}

#define SYMBOLIZE(name, type, min, max)                                       \
    {                                                                         \
#name, field_##type, offsetof(struct symbolize_config, name), min,    \
            max, 0                                                            \
    }

static const struct config_field symbolize_fields[] = {
    SYMBOLIZE(enabled, bool, 0, 0),
    SYMBOLIZE(requests, count, 1, 1000000),
    SYMBOLIZE(wait, duration, 0, DAY),
};

static int read_symbolize(struct config_reader *r, const cJSON *item,
                          const struct config_field *field, void *at)
{
    return field_object(r, item, symbolize_fields, COUNT(symbolize_fields),
                        at);
}

#define PROFILE(name, type, min, max)                                         \
    {                                                                         \
#name, field_##type, offsetof(struct profile_config, name), min, max, \
            0                                                                 \
    }

static const struct config_field profile_fields[] = {
    PROFILE(enabled, bool, 0, 0),
    PROFILE(requests, count, 1, 1000000),
    PROFILE(wait, duration, 0, DAY),
};

static int read_profile(struct config_reader *r, const cJSON *item,
                        const struct config_field *field, void *at)
{
    return field_object(r, item, profile_fields, COUNT(profile_fields), at);
}

static int read_stores(struct config_reader *r, const cJSON *item,
                       const struct config_field *field, void *at)
{
    struct symbolication_config *symbolication = at;
    const struct store_config *store;
    const cJSON *child;
    const char *name;
    size_t i;

    if (!cJSON_IsArray(item) || item->child == NULL) {
        return field_error(r, item,
                           "must be an array of store names such as "
                           "[\"default\"]");
    }
    symbolication->nstores = 0;
    for (child = item->child; child != NULL; child = child->next) {
        name = field_text(r, child, "\"default\"");
        if (name == NULL) {
            return -1;
        }
        store = config_store(r->config, name, strlen(name));
        if (store == NULL) {
            return field_error(r, child, "no store \"%s\"", name);
        }
        for (i = 0; i < symbolication->nstores; i++) {
            if (symbolication->stores[i] == store) {
                return field_error(r, child, "named twice");
            }
        }
        symbolication->stores[symbolication->nstores++] = store;
    }
    return 0;
}

static int read_javascript(struct config_reader *r, const cJSON *item,
                           const struct config_field *field, void *at)
{
    static const struct config_field javascript_fields[] = {
        {"scraping", field_bool, offsetof(struct javascript_config, scraping),
         0, 0, 0},
    };

    return field_object(r, item, javascript_fields, COUNT(javascript_fields),
                        at);
}

#define SYMBOLICATION_FIELD(name, read, min, max)                             \
    {                                                                         \
#name, read, offsetof(struct symbolication_config, name), min, max, 0 \
    }

static const struct config_field symbolication_fields[] = {
    SYMBOLICATION_FIELD(listen, field_listen, 0, 0),
    SYMBOLICATION_FIELD(threads, field_count, 0, 1024),
    {"stores", read_stores, 0, 0, 0, 0},
    SYMBOLICATION_FIELD(spool, field_path, 0, 0),
    SYMBOLICATION_FIELD(limits, read_limits, 0, 0),
    SYMBOLICATION_FIELD(mozilla, read_mozilla, 0, 0),
    SYMBOLICATION_FIELD(symbolicator, read_symbolicator, 0, 0),
    SYMBOLICATION_FIELD(symbolize, read_symbolize, 0, 0),
    SYMBOLICATION_FIELD(profile, read_profile, 0, 0),
    SYMBOLICATION_FIELD(javascript, read_javascript, 0, 0),
};

int config_symbolication(struct config_reader *r, const cJSON *item)
{
    struct config *config = r->config;
    struct symbolication_config *symbolication = &config->symbolication;

    symbolication->limits = default_symbolication_limits;
    symbolication->mozilla = default_mozilla;
    symbolication->symbolicator = default_symbolicator;
    symbolication->symbolize = default_symbolize;
    symbolication->profile = default_profile;
    symbolication->listen = strdup(DEFAULT_LISTEN);
    symbolication->stores =
        calloc(config->nstores, sizeof(symbolication->stores[0]));
    if (symbolication->listen == NULL || symbolication->stores == NULL) {
        return field_error(r, item, "out of memory");
    }
    while (symbolication->nstores < config->nstores) {
        symbolication->stores[symbolication->nstores] =
            &config->stores[symbolication->nstores];
        symbolication->nstores++;
    }
    return item == NULL
               ? 0
               : field_object(r, item, symbolication_fields,
                              COUNT(symbolication_fields), symbolication);
}

bool config_same_tenants(const struct symbolicator_config *a,
                         const struct symbolicator_config *b)
{
    return (a->sources == SYMBOLICATOR_SOURCES_ALLOW) ==
               (b->sources == SYMBOLICATOR_SOURCES_ALLOW) &&
           tenants_are_same(&a->tenants, &b->tenants);
}

void config_symbolication_clear(struct symbolication_config *symbolication)
{
    struct symbolicator_config *symbolicator = &symbolication->symbolicator;

    tenants_clear(&symbolicator->tenants);
    while (symbolicator->ndebuginfod > 0) {
        free(symbolicator->debuginfod[--symbolicator->ndebuginfod]);
    }
    free(symbolicator->debuginfod);
    free(symbolication->spool);
    free(symbolication->listen);
    free(symbolication->stores);
}
