/*
 * Copyright (C) the ngx_symcache authors
 */
#include "status_page.h"

#include <stdbool.h>
#include "base/release.h"

#define STATUS_ITEMS 40 /* of a kind */

/* Names of fields; NULL ends each list. */
struct status_fields {
    const char *texts[6];
    const char *values[13]; /* numbers and booleans */
};

static const struct status_fields jobs_fields = {
    {NULL},
    {"total", "queued", "queue", "downloading", "transcoding", "waiters",
     "missing", "inquiries", "builds", "uploads_refused", "packed", "draining",
     NULL}};

static const struct status_fields disks_fields = {
    {"kind", "store", "path", "failure", NULL},
    {"size", "free", "kept", "files", "bytes", "counted", NULL}};

static const struct status_fields running_fields = {
    {"store", "key", "version", "state", "source", NULL},
    {"ms", "waiters", "upgrade", NULL}};

static const struct status_fields sources_fields = {
    {"name", "type", "health", "failure", NULL},
    {"not_asked_for", "found", "not_found", "unusable", "failed", "bytes",
     "failed_at", "failed_first", NULL}};

static const struct status_fields tiers_fields = {
    {"name", "type", "read", "write", "failure", NULL},
    {"queue", "hit", "absent", "refused", "failed", "stored",
     "not_stored", NULL}};

static const struct status_fields symbolicated_fields = {
    {"name", "version", "listen", NULL},
    {"started", "requests", "frames", "dumps", "apple_reports", "sources",
     "mappings", "programs", "reported", "config_stale", NULL}};

static const struct status_fields tenants_fields = {
    {"name", "scope", "listen", NULL}, {"sources", "started", "asked", NULL}};

static const struct status_fields misses_fields = {
    {"store", "key", "version", "outcome", "reason", NULL}, {"time", NULL}};

/*
 * Copies the fields of an object; a value that it does not have is taken from
 * its "host".  What neither has is added as empty or 0, so that readers of the
 * page need not know which fields are left out when there is nothing to tell.
 */
static cJSON *pick_status_fields(const cJSON *from,
                                 const struct status_fields *fields)
{
    const cJSON *host = cJSON_GetObjectItemCaseSensitive(from, "host");
    cJSON *to = cJSON_CreateObject();
    const char *const *name, *text;
    const cJSON *value;

    for (name = fields->texts; *name != NULL; name++) {
        text = cJSON_GetStringValue(
            cJSON_GetObjectItemCaseSensitive(from, *name));
        cJSON_AddStringToObject(to, *name, text != NULL ? text : "");
    }
    for (name = fields->values; *name != NULL; name++) {
        value = cJSON_GetObjectItemCaseSensitive(from, *name);
        if (value == NULL) {
            value = cJSON_GetObjectItemCaseSensitive(host, *name);
        }
        if (cJSON_IsBool(value)) {
            cJSON_AddBoolToObject(to, *name, cJSON_IsTrue(value));
        } else {
            cJSON_AddNumberToObject(to, *name,
                                    value != NULL ? value->valuedouble : 0);
        }
    }
    return to;
}

static void add_status_items(cJSON *page, const char *name, const cJSON *items,
                             const struct status_fields *fields)
{
    cJSON *array = cJSON_AddArrayToObject(page, name);
    const cJSON *item;
    unsigned n = 0;

    cJSON_ArrayForEach(item, items)
    {
        if (n++ < STATUS_ITEMS) {
            cJSON_AddItemToArray(array, pick_status_fields(item, fields));
        }
    }
}

/* Counters of "get" and "put" are copied whole. */
static void add_status_tiers(cJSON *page, const cJSON *tiers)
{
    static const char *const ways[] = {"get", "put"};
    cJSON *item = NULL;
    const cJSON *tier;
    size_t i;

    add_status_items(page, "tiers", tiers, &tiers_fields);
    item =
        cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(page, "tiers"), 0);
    cJSON_ArrayForEach(tier, tiers)
    {
        for (i = 0; i < 2 && item != NULL; i++) {
            cJSON_AddItemToObject(
                item, ways[i],
                cJSON_Duplicate(
                    cJSON_GetObjectItemCaseSensitive(tier, ways[i]), true));
        }
        item = item != NULL ? item->next : NULL;
    }
}

cJSON *status_page_json(struct status *status)
{
    cJSON *object = cJSON_CreateObject();

    /* The module has other states, for a helper that does not answer. */
    cJSON_AddStringToObject(object, "state", "answered");
    cJSON_AddStringToObject(object, "config_stale", status->config_stale);
    cJSON_AddStringToObject(object, "version", SYMCACHED_VERSION);
    cJSON_AddNumberToObject(object, "started", (double)status->started);
    cJSON_AddStringToObject(object, "not_ready", status->not_ready);
    cJSON_AddStringToObject(object, "uploads_not_ready",
                            status->uploads_not_ready);
    add_status_items(object, "disks", status->disks, &disks_fields);
    cJSON_AddItemToObject(object, "jobs",
                          pick_status_fields(status->jobs, &jobs_fields));
    add_status_items(object, "running",
                     cJSON_GetObjectItemCaseSensitive(status->jobs, "jobs"),
                     &running_fields);
    add_status_items(object, "sources", status->sources, &sources_fields);
    add_status_tiers(object, status->tiers);
    add_status_items(object, "misses", status->misses, &misses_fields);
    add_status_items(object, "symbolicated", status->reports,
                     &symbolicated_fields);
    add_status_items(object, "tenants", status->tenants, &tenants_fields);
    cJSON_Delete(status->disks);
    cJSON_Delete(status->jobs);
    cJSON_Delete(status->sources);
    cJSON_Delete(status->tiers);
    cJSON_Delete(status->misses);
    cJSON_Delete(status->reports);
    cJSON_Delete(status->tenants);
    return object;
}
