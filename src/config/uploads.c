/*
 * Copyright (C) the ngx_symcache authors
 */

#include "uploads.h"
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/glob.h"
#include "source_config.h"
#include "source_fingerprint.h"
#include "tier.h"
#include "tokens.h"

#define GIB (1024ULL * 1024 * 1024)

#define DAY (24u * 60 * 60)

/* The file has one token in each line. */
static int read_uploads_tokens(struct config_reader *r, const cJSON *item,
                               const struct config_field *field, void *at)
{
    struct uploads_config *uploads = at;
    const char *text = field_text(r, item, "\"@/etc/symcached/tokens\"");
    const char *wrong;
    unsigned line;
    FILE *list;

    if (text == NULL) {
        return -1;
    }
    if (strncmp(text, "@/", 2) != 0) {
        return field_error(r, item,
                           "must be \"@\" and the absolute path of "
                           "a file");
    }
    uploads->needs_token = true;
    if (r->types == NULL) {
        return 0; /* a program that asks no sources needs no secrets */
    }
    list = fopen(text + 1, "re");
    if (list == NULL) {
        return field_error(r, item, "%s: %s", text + 1, strerror(errno));
    }
    wrong = config_tokens_read(uploads, list, &line);
    fclose(list);
    return wrong == NULL
               ? 0
               : field_error(r, item, "%s:%u: %s", text + 1, line, wrong);
}

/* Machines that hear of uploads; this one may be among them. */
static int read_uploads_peers(struct config_reader *r, const cJSON *item,
                              const struct config_field *field, void *at)
{
    struct uploads_config *uploads = at;
    const cJSON *child;

    if (!cJSON_IsArray(item)) {
        return field_error(r, item,
                           "must be a list such as [\"10.0.0.2:80\"]");
    }
    uploads->peers = calloc((size_t)cJSON_GetArraySize(item) + 1,
                            sizeof(uploads->peers[0]));
    if (uploads->peers == NULL) {
        return field_error(r, item, "out of memory");
    }
    for (child = item->child; child != NULL; child = child->next) {
        if (field_listen(r, child, field, &uploads->peers[uploads->npeers]) !=
            0) {
            return -1;
        }
        uploads->npeers++;
    }
    return 0;
}

static int read_uploads_pattern(struct config_reader *r, const cJSON *item,
                                const struct config_field *field, void *at)
{
    char **to = at;
    const char *text = field_text(r, item, "\"release-*\"");

    if (text == NULL) {
        return -1;
    }
    if (!glob_is_valid(text, strlen(text))) {
        return field_error(r, item,
                           "must be a pattern such as "
                           "\"release-*\"");
    }
    *to = strdup(text);
    return *to != NULL ? 0 : field_error(r, item, "out of memory");
}

#define UPLOADS_KEEP(member) offsetof(struct uploads_keep, member)

static const struct config_field uploads_keep_fields[] = {
    {"product", read_uploads_pattern, UPLOADS_KEEP(pattern.product), 0, 0, 0},
    {"branch", read_uploads_pattern, UPLOADS_KEEP(pattern.branch), 0, 0, 0},
    {"builds", field_count, UPLOADS_KEEP(builds), 1, 1000000, 0},
    {"max_age", field_duration, UPLOADS_KEEP(max_age), 1, 36600 * DAY, 0},
};

/* Rules, of which the first one that matches a build counts. */
static int read_uploads_keep(struct config_reader *r, const cJSON *item,
                             const struct config_field *field, void *at)
{
    struct uploads_config *uploads = at;
    const cJSON *child;

    if (!cJSON_IsArray(item)) {
        return field_error(r, item,
                           "must be a list such as "
                           "[{\"branch\": \"nightly\", \"builds\": 20}]");
    }
    uploads->keep = calloc((size_t)cJSON_GetArraySize(item) + 1,
                           sizeof(uploads->keep[0]));
    if (uploads->keep == NULL) {
        return field_error(r, item, "out of memory");
    }
    for (child = item->child; child != NULL; child = child->next) {
        if (field_object(r, child, uploads_keep_fields,
                         COUNT(uploads_keep_fields),
                         &uploads->keep[uploads->nkeep++]) != 0) {
            return -1;
        }
    }
    return 0;
}

#define OF(member) offsetof(struct uploads_config, member)

static const struct config_field uploads_fields[] = {
    {"root", field_path, OF(root), 0, 0, CONFIG_REQUIRED},
    {"spool", field_path, OF(spool), 0, 0, 0},
    {"listen", field_listen_unix, OF(listen), 0, 0, 0},
    {"tokens", read_uploads_tokens, 0, 0, 0, CONFIG_SECRET},
    {"max_size", field_size, OF(max_size), 1024, 1024 * GIB, 0},
    {"replace", field_bool, OF(replace), 0, 0, 0},
    {"max_unused_for", field_duration, OF(max_unused_for), 1, 36600 * DAY, 0},
    {"peers", read_uploads_peers, 0, 0, 0, 0},
    {"keep", read_uploads_keep, 0, 0, 0, 0},
    {"parts_kept", field_duration, OF(parts_kept), 1, 36600 * DAY, 0},
    {"try_max_age", field_duration, OF(try_max_age), 1, 36600 * DAY, 0},
};

int config_uploads(struct config_reader *r, const cJSON *item,
                   const struct config_field *field, void *at)
{
    struct uploads_config *uploads = at;
    size_t size;

    uploads->max_size = 15 * GIB;
    uploads->replace = true;
    uploads->try_max_age = 28 * DAY;
    uploads->parts_kept = DAY;
    if (field_object(r, item, uploads_fields, COUNT(uploads_fields),
                     uploads) != 0) {
        return -1;
    }
    if (uploads->spool == NULL) {
        size = strlen(uploads->root) + sizeof("/" UPLOADS_SPOOL);
        uploads->spool = malloc(size);
        if (uploads->spool == NULL) {
            return field_error(r, item, "out of memory");
        }
        snprintf(uploads->spool, size, "%s/" UPLOADS_SPOOL, uploads->root);
    }
    return 0;
}

static bool has_uploads_source(const struct config *config, const char *name)
{
    size_t i = 0;

    while (i < config->nsources &&
           strcmp(config->sources[i].name, name) != 0) {
        i++;
    }
    return i < config->nsources;
}

/* Adds a source of type "filesystem" as if it stood in "sources".  Its files
 * are neither packed nor pointers, since uploads are unpacked. */
static int add_uploads_source(struct config_reader *r, const cJSON *item,
                              const char *name, const char *group,
                              const char *folder, const char *layout)
{
    cJSON *source = cJSON_CreateObject();
    char path[CONFIG_PATH_MAX + 16];
    cJSON *forms;
    int rc = -1;

    snprintf(path, sizeof(path), "%s%s", r->config->uploads.root, folder);
    forms = cJSON_AddArrayToObject(source, "forms");
    cJSON_AddItemToArray(forms, cJSON_CreateString("plain"));
    if (has_uploads_source(r->config, name)) {
        field_error(r, item,
                    "makes the source \"%s\", and \"sources\" has "
                    "one of this name",
                    name);
    } else if (cJSON_AddStringToObject(source, "type", "filesystem") == NULL ||
               cJSON_AddStringToObject(source, "path", path) == NULL ||
               cJSON_AddStringToObject(source, "layout", layout) == NULL ||
               cJSON_GetArraySize(forms) != 1) {
        field_error(r, item, "out of memory");
    } else {
        rc = config_source_add(r, source, name, group);
    }
    cJSON_Delete(source);
    return rc;
}

/*
 * A source has originals of one format, so each of the two trees is a source of
 * PDBs and another of Breakpad's text.  A store names both by their group.
 */
int config_uploads_sources(struct config_reader *r, const cJSON *item)
{
    if (item == NULL || r->types == NULL) {
        return 0;
    }
    return add_uploads_source(r, item, UPLOADS_SOURCE, NULL, "", "symstore") ==
                       0 &&
                   add_uploads_source(r, item, UPLOADS_SOURCE ".sym",
                                      UPLOADS_SOURCE, "", "breakpad") == 0 &&
                   add_uploads_source(r, item, UPLOADS_SOURCE_TRY, NULL,
                                      "/" UPLOADS_TRY, "symstore") == 0 &&
                   add_uploads_source(r, item, UPLOADS_SOURCE_TRY ".sym",
                                      UPLOADS_SOURCE_TRY, "/" UPLOADS_TRY,
                                      "breakpad") == 0
               ? 0
               : -1;
}

static bool is_of(const struct source_config *source, const char *group)
{
    return strcmp(source->name, group) == 0 ||
           (source->group != NULL && strcmp(source->group, group) == 0);
}

/* Returns 0, or -1 if another store has another tier. */
static int take_uploads_tier(struct config_reader *r, const cJSON *item,
                             const struct store_config *store)
{
    struct uploads_config *uploads = &r->config->uploads;

    if (store->tier == NULL || store->tier->kind == TIER_SYMCACHE ||
        (!config_store_has_uploads(store, false) &&
         !config_store_has_uploads(store, true))) {
        return 0;
    }
    if (uploads->tier != NULL && uploads->tier != store->tier) {
        return field_error(r, item,
                           "the stores that have uploads have the tiers "
                           "\"%s\" and \"%s\": it can be one only",
                           uploads->tier->name, store->tier->name);
    }
    uploads->tier = store->tier;
    return 0;
}

int config_uploads_tier(struct config_reader *r, const cJSON *item)
{
    struct config *config = r->config;
    struct source_config *source;
    size_t i;

    if (item == NULL || r->types == NULL) {
        return 0;
    }
    for (i = 0; i < config->nstores; i++) {
        if (take_uploads_tier(r, item, &config->stores[i]) != 0) {
            return -1;
        }
    }
    for (i = 0; i < config->nsources && config->uploads.tier != NULL; i++) {
        source = &config->sources[i];
        if (is_of(source, UPLOADS_SOURCE)) {
            source->tier = config->uploads.tier;
            source->tier_path = "";
        } else if (is_of(source, UPLOADS_SOURCE_TRY)) {
            source->tier = config->uploads.tier;
            source->tier_path = UPLOADS_TRY "/";
        }
    }
    for (i = 0; i < config->nstores; i++) {
        config->stores[i].fingerprint =
            source_fingerprint_store(&config->stores[i]);
    }
    return 0;
}

bool config_source_is_uploads(const struct source_config *source)
{
    return is_of(source, UPLOADS_SOURCE) || is_of(source, UPLOADS_SOURCE_TRY);
}

void config_uploads_first(struct store_config *store)
{
    struct source_config *source;
    size_t i, at = 0;

    for (i = 0; i < store->nsources; i++) {
        source = store->sources[i];
        if (is_of(source, UPLOADS_SOURCE)) {
            memmove(store->sources + at + 1, store->sources + at,
                    (i - at) * sizeof(store->sources[0]));
            store->sources[at++] = source;
        }
    }
}

bool config_store_has_uploads(const struct store_config *store, bool is_try)
{
    size_t i;

    for (i = 0; i < store->nsources; i++) {
        if (is_of(store->sources[i],
                  is_try ? UPLOADS_SOURCE_TRY : UPLOADS_SOURCE)) {
            return true;
        }
    }
    return false;
}

void config_uploads_clear(struct uploads_config *uploads)
{
    config_tokens_clear(uploads);
    while (uploads->npeers > 0) {
        free(uploads->peers[--uploads->npeers]);
    }
    free(uploads->peers);
    while (uploads->nkeep > 0) {
        uploads->nkeep--;
        free(uploads->keep[uploads->nkeep].pattern.product);
        free(uploads->keep[uploads->nkeep].pattern.branch);
    }
    free(uploads->keep);
    free(uploads->root);
    free(uploads->spool);
    free(uploads->listen);
}
