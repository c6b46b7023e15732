/*
 * Copyright (C) the ngx_symcache authors
 */
#include "store_config.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "config.h"
#include "source_fingerprint.h"

/* Adds a version that a SymCache server has, if it is none of the store's. */
static void add_version(struct store_config *store,
                        const struct source_config *source,
                        symcache_kind_e kind)
{
    const symcache_version_t *version = config_source_version(source, kind);
    struct transcoder_config *t = store->transcoders;
    size_t i;

    if (version == NULL) {
        return;
    }
    for (i = 0; i < store->ntranscoders; i++) {
        if (t[i].makes == kind &&
            symcache_version_cmp(&t[i].version, version) == 0) {
            return;
        }
    }
    memset(&t[i], 0, sizeof(t[i]));
    t[i].version = *version;
    t[i].makes = kind;
    store->ntranscoders++;
}

/* Adds the versions of the SymCache servers among the sources, as a store can
 * have those without a command of its own. */
static int add_versions(struct config_reader *r, const cJSON *item,
                        struct store_config *store)
{
    struct transcoder_config *t;
    size_t i;

    t = realloc(store->transcoders,
                (store->ntranscoders + 2 * store->nsources + 1) * sizeof(*t));
    if (t == NULL) {
        return field_error(r, item, "out of memory");
    }
    store->transcoders = t;

    for (i = 0; i < store->nsources; i++) {
        add_version(store, store->sources[i], SYMCACHE_KIND_SYMCACHE);
        add_version(store, store->sources[i], SYMCACHE_KIND_PPDBCACHE);
    }
    return 0;
}

/* Appends the sources of a name.  A symbol path stands for several. */
static int add_sources(struct config_reader *r, const cJSON *item,
                       struct store_config *store, const char *name)
{
    struct config *config = r->config;
    struct source_config *source;
    size_t i, j, n = 0;

    for (i = 0; i < config->nsources; i++) {
        source = &config->sources[i];
        if (strcmp(source->name, name) != 0 &&
            (source->group == NULL || strcmp(source->group, name) != 0)) {
            continue;
        }
        for (j = 0; j < store->nsources; j++) {
            if (store->sources[j] == source) {
                return field_error(r, item, "named twice");
            }
        }
        store->sources[store->nsources++] = source;
        n++;
    }
    return n > 0 ? 0 : field_error(r, item, "no source \"%s\"", name);
}

static int read_store_sources(struct config_reader *r, const cJSON *item,
                              const struct config_field *field, void *at)
{
    struct store_config *store = at;
    const cJSON *child;
    const char *name;

    if (!cJSON_IsArray(item)) {
        return field_error(r, item,
                           "must be an array of source names such as "
                           "[\"msdl\"]");
    }

    store->source_names = calloc((size_t)cJSON_GetArraySize(item) + 1,
                                 sizeof(store->source_names[0]));
    store->sources =
        calloc(r->config->nsources + 1, sizeof(store->sources[0]));
    if (store->source_names == NULL || store->sources == NULL) {
        return field_error(r, item, "out of memory");
    }

    for (child = item->child; child != NULL; child = child->next) {
        name = field_text(r, child, "\"msdl\"");
        if (name == NULL) {
            return -1;
        }
        store->source_names[store->nsource_names] = strdup(name);
        if (store->source_names[store->nsource_names++] == NULL) {
            return field_error(r, child, "out of memory");
        }
        if (r->types != NULL && add_sources(r, child, store, name) != 0) {
            return -1;
        }
    }
    config_uploads_first(store);
    return 0;
}

static const struct config_field store_fields[] = {
    {"root", field_path, offsetof(struct store_config, root), 0, 0,
     CONFIG_REQUIRED},
    {"transcoders", config_transcoders, 0, 0, 0, 0},
    {"sources", read_store_sources, 0, 0, 0, 0},
    {"gzip", field_bool, offsetof(struct store_config, gzip), 0, 0, 0},
    {"tier", config_store_tier, offsetof(struct store_config, tier), 0, 0, 0},
};

int config_stores(struct config_reader *r, const cJSON *item)
{
    struct config *config = r->config;
    struct store_config *store;
    const cJSON *child;
    size_t i;

    if (!cJSON_IsObject(item) || item->child == NULL) {
        return field_error(r, item, "must be an object with a store");
    }

    config->stores =
        calloc((size_t)cJSON_GetArraySize(item), sizeof(config->stores[0]));
    if (config->stores == NULL) {
        return field_error(r, item, "out of memory");
    }

    for (child = item->child; child != NULL; child = child->next) {
        if (field_name(r, child, child->string) != 0) {
            return -1;
        }
        if (config_store(config, child->string, strlen(child->string))) {
            return field_error(r, child, "repeated key");
        }

        store = &config->stores[config->nstores++];
        store->name = strdup(child->string);
        if (store->name == NULL) {
            return field_error(r, child, "out of memory");
        }
        if (field_object(r, child, store_fields, COUNT(store_fields), store) !=
                0 ||
            add_versions(r, child, store) != 0) {
            return -1;
        }
        store->fingerprint = source_fingerprint_store(store);

        for (i = 0; i + 1 < config->nstores; i++) {
            if (config_paths_overlap(config->stores[i].root, store->root)) {
                return field_error(r, child,
                                   "the root overlaps the one of store "
                                   "\"%s\"",
                                   config->stores[i].name);
            }
        }
        if (config_paths_overlap(config->downloads, store->root)) {
            return field_error(r, child, "the root overlaps \"downloads\"");
        }
        if (config->uploads.root != NULL &&
            config_paths_overlap(config->uploads.root, store->root)) {
            return field_error(r, child,
                               "the root overlaps the one of \"uploads\"");
        }
    }
    return 0;
}

void config_store_clear(struct store_config *store)
{
    size_t i;

    for (i = 0; i < store->ntranscoders; i++) {
        config_transcoder_clear(&store->transcoders[i]);
    }
    free(store->transcoders);
    while (store->nsource_names > 0) {
        free(store->source_names[--store->nsource_names]);
    }
    free(store->source_names);
    free(store->sources);
    free(store->root);
    free(store->name);
}

bool config_store_asks(const struct store_config *store,
                       const struct source_config *source)
{
    const struct transcoder_config *t = store->transcoders;
    unsigned formats = config_source_formats(source);
    size_t i;

    for (i = 0; i < store->ntranscoders; i++) {
        if (t[i].command != NULL && !t[i].is_implied &&
            (t[i].inputs & formats)) {
            return true;
        }
    }
    return source->type->has_symcaches;
}

const char *config_store_idle(const struct store_config *store)
{
    size_t i;

    for (i = 0; i < store->nsources; i++) {
        if (config_store_asks(store, store->sources[i])) {
            return NULL;
        }
    }
    if (store->nsources == 0) {
        return "no source";
    }
    return store->ntranscoders == 0
               ? "no transcoder, and no source of type \"symcache\""
               : "no transcoder that takes what its sources have";
}

const struct store_config *config_store(const struct config *config,
                                        const char *name, size_t len)
{
    size_t i;

    for (i = 0; i < config->nstores; i++) {
        if (strlen(config->stores[i].name) == len &&
            memcmp(config->stores[i].name, name, len) == 0) {
            return &config->stores[i];
        }
    }
    return NULL;
}
