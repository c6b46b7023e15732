/*
 * Copyright (C) the ngx_symcache authors
 */

#include "source_config.h"
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "source_fingerprint.h"
#include "sympath_folders.h"
#include "base/origin.h"

static int set_origin(struct config_reader *r, const cJSON *item,
                      struct source_config *source)
{
    char origin[ORIGIN_MAX];

    if (source->path != NULL) {
        source->origin = origin_directory(source->path);
    } else if (source->url == NULL) {
        return 0; /* part of a symbol path; it gets its place later */
    } else if (origin_print(origin, sizeof(origin), source->url) != 0) {
        return field_error(r, item, "\"url\" is not a URL");
    } else {
        source->origin = strdup(origin);
    }
    return source->origin != NULL ? 0 : field_error(r, item, "out of memory");
}

/* Adds a source of that name and fills it from item.  Returns NULL with error
 * set if that fails. */
static struct source_config *add_source(struct config_reader *r,
                                        const cJSON *item, const char *name,
                                        const struct source_type *type)
{
    struct config *config = r->config;
    struct source_config *source;
    size_t i;

    for (i = 0; i < config->nsources; i++) {
        if (strcmp(config->sources[i].name, name) == 0) {
            field_error(r, item, "repeated key");
            return NULL;
        }
    }

    source = realloc(config->sources,
                     (config->nsources + 1) * sizeof(config->sources[0]));
    if (source == NULL) {
        field_error(r, item, "out of memory");
        return NULL;
    }
    config->sources = source;
    source += config->nsources++;
    memset(source, 0, sizeof(*source));

    source->type = type;
    source->name = strdup(name);
    source->settings = calloc(1, type->settings_size + 1);
    if (source->name == NULL || source->settings == NULL) {
        field_error(r, item, "out of memory");
        return NULL;
    }
    if (source_type_fill(r, item, source) != 0 ||
        (type->check != NULL && type->check(r, item, source) != 0) ||
        config_layout_check(r, item, source) != 0 ||
        config_transport_check(r, item, &source->transport) != 0 ||
        set_origin(r, item, source) != 0) {
        return NULL;
    }
    source->fingerprint = source_fingerprint_source(item, type);
    return source;
}

int config_source_add(struct config_reader *r, const cJSON *item,
                      const char *name, const char *group)
{
    const struct source_type *type = source_type_read(r, item);
    struct source_config *source;

    source = type != NULL ? add_source(r, item, name, type) : NULL;
    if (source == NULL) {
        return -1;
    }
    if (group != NULL && (source->group = strdup(group)) == NULL) {
        return field_error(r, item, "out of memory");
    }
    return 0;
}

/* Adds the n-th of the sources that a symbol path stands for. */
static struct source_config *add_sympath_source(struct config_reader *r,
                                                const cJSON *item, unsigned n)
{
    char name[CONFIG_NAME_MAX + 16];
    struct source_config *source;

    snprintf(name, sizeof(name), "%s.%u", item->string, n);
    source = add_source(r, item, name, &source_sympath);
    if (source == NULL) {
        return NULL;
    }
    source->group = strdup(item->string);
    if (source->group == NULL) {
        field_error(r, item, "out of memory");
        return NULL;
    }
    return source;
}

static int add_folders(struct config_reader *r, const cJSON *item,
                       const struct config_sympath *sympath, unsigned *n,
                       struct source_config *source)
{
    size_t i;

    for (i = 0; i < sympath->n; i++) {
        source = i == 0 ? source : add_sympath_source(r, item, ++*n);
        if (source == NULL) {
            return -1;
        }
        source->type = source_type_find(r->types, "filesystem");
        source->layout = sympath->layouts[i];
        source->path = strdup(sympath->folders[i]);
        if (source->path == NULL) {
            return field_error(r, item, "out of memory");
        }
        if (set_origin(r, item, source) != 0) {
            return -1;
        }
    }
    return 0;
}

static int add_sympath_sources(struct config_reader *r, const cJSON *item,
                               struct config_sympath *sympath)
{
    const struct sympath_place *place = sympath->path.places;
    const struct sympath_place *end = place + sympath->path.n;
    struct source_config *source;
    unsigned n = 0;

    for (; place < end; place++) {
        source = add_sympath_source(r, item, ++n);
        if (source == NULL) {
            return -1;
        }
        if (place->kind == SYMPATH_URL) {
            source->type = source_type_find(r->types, "http");
            source->url = strdup(place->text);
            if (source->url == NULL) {
                return field_error(r, item, "out of memory");
            }
            if (set_origin(r, item, source) != 0) {
                return -1;
            }
            continue;
        }
        if (config_sympath_folders(r, item, source, place, sympath) != 0) {
            return -1;
        }
        if (sympath->n == 0) {
            config_source_clear(source);
            r->config->nsources--;
            n--;
        } else if (add_folders(r, item, sympath, &n, source) != 0) {
            return -1;
        }
    }
    return n > 0 ? 0 : field_error(r, item, "no place of it is here");
}

static int add_sympath(struct config_reader *r, const cJSON *item)
{
    struct config_sympath *sympath = malloc(sizeof(*sympath));
    int rc;

    if (sympath == NULL) {
        return field_error(r, item, "out of memory");
    }
    if (strlen(item->string) > CONFIG_NAME_MAX - 4) {
        rc = field_error(r, item, "the name is too long for a symbol path");
    } else {
        rc = config_sympath_read(r, item, sympath) == 0
                 ? add_sympath_sources(r, item, sympath)
                 : -1;
    }
    free(sympath);
    return rc;
}

int config_sources(struct config_reader *r, const cJSON *item,
                   const struct config_field *field, void *at)
{
    const struct source_type *type;
    const cJSON *child;

    if (r->types == NULL) {
        return 0;
    }
    if (!cJSON_IsObject(item)) {
        return field_error(r, item, "must be an object of sources");
    }

    for (child = item->child; child != NULL; child = child->next) {
        if (field_name(r, child, child->string) != 0) {
            return -1;
        }
        type = source_type_read(r, child);
        if (type == NULL) {
            return -1;
        }
        if (type == &source_sympath ? add_sympath(r, child) != 0
                                    : add_source(r, child, child->string,
                                                 type) == NULL) {
            return -1;
        }
    }
    return 0;
}

void config_source_clear(struct source_config *source)
{
    size_t i;

    for (i = 0; i < source->nmap; i++) {
        free(source->map[i].from);
        free(source->map[i].to);
    }
    config_transport_clear(&source->transport);
    if (source->settings != NULL) {
        field_clear(source->type->keys, source->type->nkeys, source->settings);
    }
    config_patterns_clear(&source->only);
    config_patterns_clear(&source->except);
    config_patterns_clear(&source->paths);
    free(source->settings);
    free(source->map);
    free(source->path);
    free(source->url);
    free(source->origin);
    free(source->group);
    free(source->name);
}

bool config_source_serves(const struct source_config *source,
                          const symcache_key_t *key)
{
    /* When in doubt, ask: if a source that has the file were left out, the
     * answer would be a final 404. */
    return (source->only.n == 0 ||
            config_patterns_match(&source->only, key->name, true)) &&
           !config_patterns_match(&source->except, key->name, false);
}

const symcache_version_t *
config_source_version(const struct source_config *source, symcache_kind_e kind)
{
    static const symcache_version_t ppdbcache = {1, 0, 0};

    if (!source->type->has_symcaches) {
        return NULL;
    }
    if (kind == SYMCACHE_KIND_PPDBCACHE && source->ppdbcaches) {
        return &ppdbcache;
    }
    return kind == SYMCACHE_KIND_SYMCACHE ? &source->version : NULL;
}

bool config_source_is_ready_made(const struct source_config *source,
                                 const symcache_key_t *key)
{
    return source->type->has_symcaches || symcache_key_is_url(key);
}

const symcache_version_t *
config_source_ready_made(const struct source_config *source,
                         const symcache_key_t *key)
{
    static const symcache_version_t url = {1, 0, 0};

    if (symcache_key_is_url(key)) {
        return source->type->has_urls ||
                       (config_source_is_uploads(source) &&
                        strcmp(key->name, SYMCACHE_NAME_NONE) == 0)
                   ? &url /* of lists, too */
                   : NULL;
    }
    return key->id_type == SYMCACHE_ID_DEBUG
               ? config_source_version(source, (symcache_kind_e)key->kind)
               : NULL;
}
