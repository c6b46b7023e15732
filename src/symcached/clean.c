/*
 * Copyright (C) the ngx_symcache authors
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cjson/cJSON.h>
#include <event2/event.h>
#include "clean.h"
#include "clock.h"
#include "log.h"
#include "metrics.h"
#include "room.h"
#include "sweep_main.h"

/* The first pass: a helper that is restarted often cleans, too. */
#define FIRST_SECONDS 60

/* Between two passes that make room for somebody. */
#define ROOM_SECONDS 60

#define REPORT_MAX (1024 * 1024)

/* gauges of each store; API */
#define STORE_FILES "symcached_store_files"
#define STORE_BYTES "symcached_store_bytes"

struct clean {
    struct event_base *base;
    struct config *config; /* reference */
    struct event *timer;   /* the next pass */
    uint64_t due;          /* clock_ms() of it, while the timer is set */
    struct child *child;
    enum sweep_scope scope; /* of the child */
    int report;             /* what it writes, or -1 */
    bool wants_room;        /* somebody, since the last pass began */
    dev_t device;           /* there, and so much */
    uint64_t room;
    uint64_t ended; /* clock_ms() of the last pass */
    cJSON *last;    /* its report, or NULL */
    clean_fn cleaned;
    void *arg;
};

static void schedule(struct clean *clean, unsigned seconds)
{
    struct timeval tv = {.tv_sec = (time_t)seconds};

    clean->due = clock_ms() + (uint64_t)seconds * 1000;
    evtimer_add(clean->timer, &tv);
}

/* A pass that comes sooner stays: who reloads often cleans all the same. */
static void bring_nearer(struct clean *clean, unsigned seconds)
{
    if (evtimer_pending(clean->timer, NULL) &&
        clean->due > clock_ms() + (uint64_t)seconds * 1000) {
        schedule(clean, seconds);
    }
}

static unsigned room_seconds(const struct clean *clean)
{
    unsigned every = clean->config->cache.clean_every;

    return every < ROOM_SECONDS ? every : ROOM_SECONDS;
}

/* the report ------------------------------------------------------------ */

static double number(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItem(object, name);

    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static void count_removed(const cJSON *removed, double *files, double *bytes)
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
        *files += number(item, "files");
        *bytes += number(item, "bytes");
        metrics_add(metrics[i].files, (uint64_t)number(item, "files"));
        metrics_add(metrics[i].bytes, (uint64_t)number(item, "bytes"));
    }
}

/* The downloads of a former store are cleaned as long as there are any. */
static bool is_shown(const struct config *config, const char *store,
                     const char *kind)
{
    return strcmp(kind, "downloads") == 0 ||
           config_store(config, store, strlen(store)) != NULL;
}

static void show_tree(const struct config *config, const cJSON *tree)
{
    const char *store =
        cJSON_GetStringValue(cJSON_GetObjectItem(tree, "store"));
    const char *kind = cJSON_GetStringValue(cJSON_GetObjectItem(tree, "kind"));
    char labels[128];

    if (store == NULL || kind == NULL || !is_shown(config, store, kind)) {
        return;
    }
    snprintf(labels, sizeof(labels), "store=\"%.64s\",kind=\"%.16s\"", store,
             kind);
    metrics_show(STORE_FILES, labels,
                 "Files of a store, when it was cleaned last.",
                 number(tree, "files"));
    metrics_show(STORE_BYTES, labels, "Their bytes.", number(tree, "bytes"));
}

/* Of the last pass, and of now: what is gone is shown no more. */
static void show_trees(const struct clean *clean)
{
    const cJSON *tree;

    metrics_hide(STORE_FILES);
    metrics_hide(STORE_BYTES);
    cJSON_ArrayForEach(tree, cJSON_GetObjectItem(clean->last, "trees"))
    {
        show_tree(clean->config, tree);
    }
}

static void take_report(const cJSON *report)
{
    double files, bytes;

    count_removed(cJSON_GetObjectItem(report, "removed"), &files, &bytes);
    metrics_show("symcached_clean_milliseconds", "",
                 "How long the last pass of cleaning took.",
                 number(report, "ms"));
    metrics_show("symcached_clean_failed", "",
                 "Files that the last pass could not remove, and folders that "
                 "it could not read.",
                 number(report, "failed"));

    if (number(report, "failed") > 0) {
        log_warn(0, "clean: %.0f files or folders cannot be removed or read",
                 number(report, "failed"));
    }
    if (files > 0) {
        log_info(0, "clean files=%.0f bytes=%.0f ms=%.0f", files, bytes,
                 number(report, "ms"));
    }
}

/* NULL: there is none. */
static cJSON *read_report(int fd)
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

/* the child ------------------------------------------------------------- */

static void on_swept(void *arg, struct child_result *result)
{
    struct clean *clean = arg;
    bool ok = WIFEXITED(result->status) && WEXITSTATUS(result->status) == 0;
    cJSON *report = NULL;

    clean->child = NULL;
    if (clean->scope == SWEEP_WORK) {
        if (clean->wants_room) {
            schedule(clean, 0);
        }
        return;
    }

    if (ok) {
        report = read_report(clean->report);
    }
    if (report != NULL) {
        metrics_add(METRIC_CLEAN_PASSES, 1);
        take_report(report);
        cJSON_Delete(clean->last);
        clean->last = report;
        show_trees(clean);
    } else {
        metrics_add(METRIC_CLEAN_PASSES_FAILED, 1);
        log_error(0, "clean: the pass ended with status %d: %s",
                  result->status, result->tail);
    }
    clean->ended = clock_ms();
    schedule(clean, clean->wants_room ? room_seconds(clean)
                                      : clean->config->cache.clean_every);
    clean->cleaned(clean->arg);
}

static void start_child(struct clean *clean, enum sweep_scope scope)
{
    uint64_t room = scope == SWEEP_ALL ? clean->room : 0;

    if (scope == SWEEP_ALL) {
        clean->wants_room = false;
        clean->room = 0;
    }
    if (clean->report != -1) {
        close(clean->report);
    }
    clean->report = memfd_create("sweep", MFD_CLOEXEC);
    clean->scope = scope;
    if (clean->report != -1) {
        clean->child =
            sweep_start(clean->base, clean->config, scope, clean->device, room,
                        clean->report, on_swept, clean);
    }
    if (clean->child == NULL) {
        metrics_add(METRIC_CLEAN_PASSES_FAILED, 1);
        log_crit(errno, "clean: no process");
    }
}

static void on_timer(evutil_socket_t fd, short events, void *arg)
{
    struct clean *clean = arg;

    if (clean->child != NULL) {
        schedule(clean, FIRST_SECONDS); /* old work is still being removed */
        return;
    }
    start_child(clean, SWEEP_ALL);
    if (clean->child == NULL) {
        schedule(clean, clean->config->cache.clean_every);
    }
}

/* A download or a SymCache had no room: not to wait for the next pass. */
static void on_room_wanted(void *arg, dev_t device, uint64_t bytes)
{
    struct clean *clean = arg;
    unsigned ms = clock_since(clean->ended);

    if (clean->room == 0 || device != clean->device || bytes > clean->room) {
        clean->device = device;
        clean->room = bytes;
    }
    if (clean->wants_room) {
        return;
    }
    clean->wants_room = true;
    if (clean->child == NULL) {
        schedule(clean, clean->ended == 0 || ms >= ROOM_SECONDS * 1000
                            ? 0
                            : room_seconds(clean));
    }
}

/* life ------------------------------------------------------------------ */

struct clean *clean_new(struct event_base *base, struct config *config,
                        clean_fn cleaned, void *arg)
{
    struct clean *clean = calloc(1, sizeof(*clean));
    unsigned first = config->cache.clean_every;

    if (clean == NULL) {
        return NULL;
    }
    clean->timer = evtimer_new(base, on_timer, clean);
    if (clean->timer == NULL) {
        free(clean);
        return NULL;
    }
    clean->base = base;
    clean->cleaned = cleaned;
    clean->arg = arg;
    clean->report = -1;
    clean->config = config_ref(config);
    room_watch(on_room_wanted, clean);
    start_child(clean, SWEEP_WORK);
    schedule(clean, first < FIRST_SECONDS ? first : FIRST_SECONDS);
    return clean;
}

void clean_configure(struct clean *clean, struct config *config)
{
    config_ref(config);
    config_unref(clean->config);
    clean->config = config;
    show_trees(clean);
    /* else a pass is under way, and sets the timer when it ends */
    bring_nearer(clean, config->cache.clean_every);
}

void clean_free(struct clean *clean)
{
    if (clean == NULL) {
        return;
    }
    room_watch(NULL, NULL);
    if (clean->child != NULL) {
        child_cancel(clean->child);
    }
    if (clean->report != -1) {
        close(clean->report);
    }
    event_free(clean->timer);
    cJSON_Delete(clean->last);
    config_unref(clean->config);
    free(clean);
}
