/*
 * Copyright (C) the ngx_symcache authors
 */
#include "evict_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/log.h"
#include "base/uptime.h"
#include "evict_pass.h"
#include "metrics/metrics.h"

#define REPORT_MAX (1024 * 1024)

/* Gauges of each store; the names are API. */
#define STORE_FILES "symcached_store_files"
#define STORE_BYTES "symcached_store_bytes"

/* writing ------------------------------------------------------------------ */

static cJSON *
evict_removed_json(const struct evict_pass_count removed[EVICT_REASONS])
{
    cJSON *object = cJSON_CreateObject(), *item;
    int i;

    for (i = 0; i < EVICT_REASONS; i++) {
        item = cJSON_AddObjectToObject(
            object, evict_pass_reason_name((enum evict_pass_reason)i));
        cJSON_AddNumberToObject(item, "files", (double)removed[i].files);
        cJSON_AddNumberToObject(item, "bytes", (double)removed[i].bytes);
    }
    return object;
}

static cJSON *evict_tree_json(const struct evict_tree *tree)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, "store", tree->store);
    cJSON_AddStringToObject(object, "kind",
                            tree->downloads ? "downloads" : "symcache");
    cJSON_AddStringToObject(object, "path", tree->path);
    cJSON_AddNumberToObject(object, "files", (double)tree->kept.files);
    cJSON_AddNumberToObject(object, "bytes", (double)tree->kept.bytes);
    cJSON_AddItemToObject(object, "removed",
                          evict_removed_json(tree->removed));
    cJSON_AddNumberToObject(object, "failed", (double)tree->failed);
    cJSON_AddNumberToObject(object, "future", (double)tree->future);
    cJSON_AddNumberToObject(object, "ahead", (double)tree->ahead);
    cJSON_AddNumberToObject(object, "doubted", (double)tree->doubted);
    cJSON_AddNumberToObject(object, "clock_error", tree->clock_error);
    return object;
}

static cJSON *disk_space_json(const struct evict_pass_space *space)
{
    cJSON *object = cJSON_CreateObject();
    char device[32];

    snprintf(device, sizeof(device), "%" PRIu64, (uint64_t)space->device);
    cJSON_AddStringToObject(object, "device", device);
    cJSON_AddStringToObject(object, "path", space->path);
    cJSON_AddNumberToObject(object, "claim",
                            (double)space->share[SPACE_ANNOUNCED]);
    cJSON_AddNumberToObject(object, "body",
                            (double)space->share[SPACE_ARRIVED]);
    cJSON_AddBoolToObject(object, "refused", space->refused);
    return object;
}

int evict_report_write(const struct evict_pass *evict_pass, bool dry_run,
                       unsigned ms, FILE *f)
{
    struct evict_pass_count removed[EVICT_REASONS];
    const struct evict_tree *trees;
    const struct evict_pass_space *spaces;
    cJSON *object = cJSON_CreateObject(), *array;
    uint64_t failed;
    char *text;
    size_t i, n;

    evict_pass_removed(evict_pass, removed, &failed);
    cJSON_AddBoolToObject(object, "dry_run", dry_run);
    cJSON_AddNumberToObject(object, "ms", ms);
    cJSON_AddNumberToObject(object, "failed", (double)failed);
    cJSON_AddItemToObject(object, "removed", evict_removed_json(removed));
    array = cJSON_AddArrayToObject(object, "trees");
    trees = evict_trees(evict_pass, &n);
    for (i = 0; i < n; i++) {
        if (trees[i].path[0] != '\0') {
            cJSON_AddItemToArray(array, evict_tree_json(&trees[i]));
        }
    }
    array = cJSON_AddArrayToObject(object, "rooms");
    spaces = evict_pass_spaces(evict_pass, &n);
    for (i = 0; i < n; i++) {
        cJSON_AddItemToArray(array, disk_space_json(&spaces[i]));
    }

    text = cJSON_PrintUnformatted(object);
    cJSON_Delete(object);
    if (text == NULL) {
        errno = ENOMEM;
        return -1;
    }
    fprintf(f, "%s\n", text);
    free(text);
    return fflush(f) == 0 ? 0 : -1;
}

/* reading ------------------------------------------------------------------ */

double evict_report_number(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItem(object, name);

    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static void evict_count_removed(const cJSON *removed, double *files,
                                double *bytes)
{
    static const struct {
        const char *reason;
        enum metric files;
        enum metric bytes;
    } metrics[] = {
        {"unused", METRIC_CLEANED_UNUSED, METRIC_CLEANED_UNUSED_BYTES},
        {"expired", METRIC_CLEANED_EXPIRED, METRIC_CLEANED_EXPIRED_BYTES},
        {"max_size", METRIC_CLEANED_SIZE, METRIC_CLEANED_SIZE_BYTES},
        {"min_free", METRIC_CLEANED_FREE, METRIC_CLEANED_FREE_BYTES},
    };
    const cJSON *item;
    size_t i;

    *files = *bytes = 0;
    for (i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
        item = cJSON_GetObjectItem(removed, metrics[i].reason);
        *files += evict_report_number(item, "files");
        *bytes += evict_report_number(item, "bytes");
        metrics_add(metrics[i].files,
                    (uint64_t)evict_report_number(item, "files"));
        metrics_add(metrics[i].bytes,
                    (uint64_t)evict_report_number(item, "bytes"));
    }
}

/* The downloads of a store that was removed are cleaned as long as there
 * are any. */
static bool evict_is_shown(const struct config *config, const char *store,
                           const char *kind)
{
    return strcmp(kind, "downloads") == 0 ||
           config_store(config, store, strlen(store)) != NULL;
}

static void evict_show_tree(const struct config *config, const cJSON *tree)
{
    const char *store =
        cJSON_GetStringValue(cJSON_GetObjectItem(tree, "store"));
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItem(tree, "kind"));
    char labels[128];

    if (store == NULL || kind == NULL ||
        !evict_is_shown(config, store, kind)) {
        return;
    }
    snprintf(labels, sizeof(labels), "store=\"%.64s\",kind=\"%.16s\"", store,
             kind);
    metrics_show(STORE_FILES, labels,
                 "Files of a store, when it was cleaned last.",
                 evict_report_number(tree, "files"));
    metrics_show(STORE_BYTES, labels, "Their bytes.",
                 evict_report_number(tree, "bytes"));
}

void evict_report_show(const cJSON *report, const struct config *config)
{
    const cJSON *tree;

    metrics_hide(STORE_FILES);
    metrics_hide(STORE_BYTES);
    cJSON_ArrayForEach(tree, cJSON_GetObjectItem(report, "trees"))
    {
        evict_show_tree(config, tree);
    }
}

/* Logs jumps of the clock, times in which no helper was running, and a clock
 * that cannot be kept. */
static void say_clock(const cJSON *tree)
{
    const char *store =
        cJSON_GetStringValue(cJSON_GetObjectItem(tree, "store"));
    double ahead = evict_report_number(tree, "ahead"),
           doubted = evict_report_number(tree, "doubted");
    double future = evict_report_number(tree, "future");
    double error = evict_report_number(tree, "clock_error");

    if (error > 0) {
        log_error((int)error,
                  "clean: \"%s/" UPTIME_FILE "\" cannot be written: until it "
                  "can, unused files of store \"%s\" are kept for too long",
                  cJSON_GetStringValue(cJSON_GetObjectItem(tree, "path")),
                  store);
    }
    if (ahead > 0) {
        log_warn(0,
                 "clean: store \"%s\": since it was cleaned last the clock "
                 "went on by %.0f s more than symcached ran: that time counts "
                 "for no file",
                 store, ahead);
    } else if (ahead < 0) {
        log_warn(0, "clean: store \"%s\": the clock went back by %.0f s",
                 store, -ahead);
    }
    if (doubted > 0) {
        log_warn(0,
                 "clean: store \"%s\": by the clock no file was used for "
                 "%.0f s, and nothing says that symcached ran meanwhile: that "
                 "time counts for no file",
                 store, doubted);
    }
    if (future > 0) {
        log_warn(0,
                 "clean: store \"%s\": by the clock %.0f file%s used in the "
                 "future: that counts as now",
                 store, future, future == 1 ? " was" : "s were");
    }
}

void evict_report_take(const struct config *config, const cJSON *report)
{
    const cJSON *tree;
    double files, bytes, stored = 0;

    cJSON_ArrayForEach(tree, cJSON_GetObjectItem(report, "trees"))
    {
        say_clock(tree);
        stored += evict_report_number(tree, "bytes");
    }
    total_stored(&config->cache, (uint64_t)stored);

    evict_count_removed(cJSON_GetObjectItem(report, "removed"), &files,
                        &bytes);
    metrics_show("symcached_clean_seconds", "",
                 "How long the last pass of cleaning took.",
                 evict_report_number(report, "ms") / 1000);
    metrics_show("symcached_clean_failed", "",
                 "Files that the last pass could not remove, and folders that "
                 "it could not read.",
                 evict_report_number(report, "failed"));

    if (evict_report_number(report, "failed") > 0) {
        log_warn(0,
                 "clean: files or folders that cannot be removed or read: "
                 "%.0f",
                 evict_report_number(report, "failed"));
    }
    if (files > 0) {
        log_info(0, "clean files=%.0f bytes=%.0f ms=%.0f", files, bytes,
                 evict_report_number(report, "ms"));
    }
}

cJSON *evict_report_read(int fd)
{
    char *text = malloc(REPORT_MAX);
    cJSON *report = NULL;
    ssize_t n;

    n = text != NULL ? pread(fd, text, REPORT_MAX, 0) : -1;
    if (n > 0) {
        report = cJSON_ParseWithLength(text, (size_t)n);
    }
    free(text);
    return report;
}

const cJSON *evict_report_space(const cJSON *report,
                                const struct space_request *request)
{
    const cJSON *space, *name;
    char device[32];

    snprintf(device, sizeof(device), "%" PRIu64, (uint64_t)request->device);
    cJSON_ArrayForEach(space, cJSON_GetObjectItem(report, "rooms"))
    {
        name = cJSON_GetObjectItem(space, "device");
        if (cJSON_IsString(name) && strcmp(name->valuestring, device) == 0) {
            return space;
        }
    }
    return NULL;
}
