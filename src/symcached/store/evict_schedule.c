/*
 * Copyright (C) the ngx_symcache authors
 */

#include "evict_schedule.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cjson/cJSON.h>
#include <event2/event.h>
#include "base/clock.h"
#include "base/log.h"
#include "metrics/metrics.h"
#include "symcached/space/space.h"
#include "evict_process.h"
#include "base/uptime.h"

/* Seconds until the first pass, so that a helper that is restarted often
 * cleans as well. */
#define FIRST_SECONDS 60

/* Seconds between two passes that make room for requests. */
#define EVICT_SPACE_SECONDS 60

/* Seconds for which the last pass's refusal of a request is believed. */
#define REFUSED_SECONDS 600

#define REPORT_MAX (1024 * 1024)

/* Gauges of each store; the names are API. */
#define STORE_FILES "symcached_store_files"
#define STORE_BYTES "symcached_store_bytes"

struct evict {
    struct event_base *base;
    struct config *config; /* reference */
    struct event *timer;   /* the next pass */
    uint64_t due;          /* clock_ms() of it, while the timer is set */
    struct child *child;
    enum evict_pass_scope scope; /* of the child process */
    struct evict_life life;
    uint64_t started; /* clock_ms() of the child */
    int report;       /* descriptor that the child process writes to, or -1 */
    struct space_requests requests; /* those made since the last pass began */
    struct space_request asked;   /* the one that the child process was given */
    struct space_request refused; /* by the last pass; 0 bytes = none */
    bool said;                   /* a refusal was logged since then */
    uint64_t ended;              /* clock_ms() of the last pass */
    cJSON *last;                 /* its report, or NULL */
    evict_fn cleaned;
    void *arg;
};

static void schedule_pass(struct evict *evict, unsigned seconds)
{
    struct timeval tv = {.tv_sec = (time_t)seconds};

    evict->due = clock_ms() + (uint64_t)seconds * 1000;
    evtimer_add(evict->timer, &tv);
}

/* Never delays a pass: otherwise frequent reloads would prevent cleaning. */
static void bring_nearer(struct evict *evict, unsigned seconds)
{
    if (evtimer_pending(evict->timer, NULL) &&
        evict->due > clock_ms() + (uint64_t)seconds * 1000) {
        schedule_pass(evict, seconds);
    }
}

static unsigned disk_space_seconds(const struct evict *evict)
{
    unsigned every = evict->config->cache.clean_every;

    return every < EVICT_SPACE_SECONDS ? every : EVICT_SPACE_SECONDS;
}

static void schedule_first(struct evict *evict)
{
    unsigned every = evict->config->cache.clean_every;

    schedule_pass(evict, every < FIRST_SECONDS ? every : FIRST_SECONDS);
}

static void schedule_next(struct evict *evict)
{
    schedule_pass(evict, evict->requests.n > 0
                             ? disk_space_seconds(evict)
                             : evict->config->cache.clean_every);
}

/* the report ------------------------------------------------------------ */

static double report_number(const cJSON *object, const char *name)
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
        *files += report_number(item, "files");
        *bytes += report_number(item, "bytes");
        metrics_add(metrics[i].files, (uint64_t)report_number(item, "files"));
        metrics_add(metrics[i].bytes, (uint64_t)report_number(item, "bytes"));
    }
}

/* The downloads of a store that was removed are cleaned as long as there
 * are any. */
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
                 report_number(tree, "files"));
    metrics_show(STORE_BYTES, labels, "Their bytes.",
                 report_number(tree, "bytes"));
}

/* Shows the last pass's report for the stores that still exist. */
static void show_trees(const struct evict *evict)
{
    const cJSON *tree;

    metrics_hide(STORE_FILES);
    metrics_hide(STORE_BYTES);
    cJSON_ArrayForEach(tree, cJSON_GetObjectItem(evict->last, "trees"))
    {
        show_tree(evict->config, tree);
    }
}

/* Logs jumps of the clock, times in which no helper was running, and a clock
 * that cannot be kept. */
static void say_clock(const cJSON *tree)
{
    const char *store =
        cJSON_GetStringValue(cJSON_GetObjectItem(tree, "store"));
    double ahead = report_number(tree, "ahead"),
           doubted = report_number(tree, "doubted");
    double future = report_number(tree, "future");
    double error = report_number(tree, "clock_error");

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
                 "clean: store \"%s\": by the clock %.0f files were used in "
                 "the future: that counts as now",
                 store, future);
    }
}

static void take_report(const struct config *config, const cJSON *report)
{
    const cJSON *tree;
    double files, bytes, stored = 0;

    cJSON_ArrayForEach(tree, cJSON_GetObjectItem(report, "trees"))
    {
        say_clock(tree);
        stored += report_number(tree, "bytes");
    }
    total_stored(&config->cache, (uint64_t)stored);

    count_removed(cJSON_GetObjectItem(report, "removed"), &files, &bytes);
    metrics_show("symcached_clean_seconds", "",
                 "How long the last pass of cleaning took.",
                 report_number(report, "ms") / 1000);
    metrics_show("symcached_clean_failed", "",
                 "Files that the last pass could not remove, and folders that "
                 "it could not read.",
                 report_number(report, "failed"));

    if (report_number(report, "failed") > 0) {
        log_warn(0, "clean: %.0f files or folders cannot be removed or read",
                 report_number(report, "failed"));
    }
    if (files > 0) {
        log_info(0, "clean files=%.0f bytes=%.0f ms=%.0f", files, bytes,
                 report_number(report, "ms"));
    }
}

/* Returns NULL if there is no report. */
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

/* requests ---------------------------------------------------------------- */

/* The last pass's report about the file system of the request, or NULL. */
static const cJSON *disk_space_of(const struct evict *evict,
                                  const struct space_request *request)
{
    const cJSON *space, *name;
    char device[32];

    snprintf(device, sizeof(device), "%" PRIu64, (uint64_t)request->device);
    cJSON_ArrayForEach(space, cJSON_GetObjectItem(evict->last, "rooms"))
    {
        name = cJSON_GetObjectItem(space, "device");
        if (cJSON_IsString(name) && strcmp(name->valuestring, device) == 0) {
            return space;
        }
    }
    return NULL;
}

static double share_of(const cJSON *space, const struct space_request *request)
{
    return report_number(space,
                         request->kind == SPACE_ANNOUNCED ? "claim" : "body");
}

/* Logs one line after each pass, however many requests are refused. */
static void say_refused(struct evict *evict, const cJSON *space,
                        const struct space_request *request)
{
    bool claim = request->kind == SPACE_ANNOUNCED;

    if (!evict->said) {
        log_warn(0,
                 "clean: nothing is removed for a file of %" PRIu64
                 " bytes%s: on the file system of \"%s\" %.0f may be had, "
                 "%s of what is free, removable and under way there",
                 request->bytes, claim ? " that is announced" : "",
                 cJSON_GetStringValue(cJSON_GetObjectItem(space, "path")),
                 share_of(space, request), claim ? "a quarter" : "half");
    }
    evict->said = true;
}

/* Would a pass refuse the request, as far as is known? */
static bool is_refused(struct evict *evict, const struct space_request *request)
{
    const cJSON *space = disk_space_of(evict, request);
    const struct space_request *before = &evict->refused;

    if (space == NULL || clock_since(evict->ended) >= REFUSED_SECONDS * 1000 ||
        ((double)request->bytes <= share_of(space, request) &&
         (before->bytes == 0 || before->device != request->device ||
          before->kind != request->kind || request->bytes < before->bytes))) {
        return false;
    }
    say_refused(evict, space, request);
    return true;
}

/* A request that was refused is not made again before the next pass, so that
 * smaller requests get their turn. */
static void judge_asked(struct evict *evict)
{
    const cJSON *space = disk_space_of(evict, &evict->asked);

    evict->said = false;
    memset(&evict->refused, 0, sizeof(evict->refused));
    if (cJSON_IsTrue(cJSON_GetObjectItem(space, "refused"))) {
        evict->refused = evict->asked;
        say_refused(evict, space, &evict->asked);
    }
}

/* the child ------------------------------------------------------------- */

static void on_passed(void *arg, struct child_result *result)
{
    struct evict *evict = arg;
    bool ok = WIFEXITED(result->status) && WEXITSTATUS(result->status) == 0;
    cJSON *report = NULL;
    char end[CHILD_END_SIZE];

    evict->child = NULL;
    if (evict->scope == EVICT_WORK) {
        if (evict->requests.n > 0) {
            schedule_pass(evict, 0);
        }
        return;
    }

    if (ok) {
        report = read_report(evict->report);
    }
    if (report != NULL) {
        metrics_add(METRIC_CLEAN_PASSES, 1);
        evict->life.noted = evict->started;
        take_report(evict->config, report);
        cJSON_Delete(evict->last);
        evict->last = report;
        show_trees(evict);
        judge_asked(evict);
    } else {
        metrics_add(METRIC_CLEAN_PASSES_FAILED, 1);
        child_end_print(end, result);
        log_error(result->error,
                  "clean: the pass ended with %s, and another one begins in "
                  "its time%s%s",
                  end, result->tail_len > 0 ? ": " : "", result->tail);
    }
    evict->ended = clock_ms();
    schedule_next(evict);
    evict->cleaned(evict->arg);
}

static void start_child(struct evict *evict, enum evict_pass_scope scope)
{
    if (scope == EVICT_ALL) {
        evict->asked = space_requests_take(&evict->requests);
    }
    if (evict->report != -1) {
        close(evict->report);
    }
    evict->report = memfd_create("evict", MFD_CLOEXEC);
    evict->scope = scope;
    evict->started = clock_ms();
    if (evict->report != -1) {
        evict->child =
            evict_pass_start(evict->base, evict->config, scope, &evict->asked,
                             &evict->life, evict->report, on_passed, evict);
    }
    if (evict->child == NULL) {
        metrics_add(METRIC_CLEAN_PASSES_FAILED, 1);
        log_crit(errno, "clean: no process");
    }
}

static void on_timer(evutil_socket_t fd, short events, void *arg)
{
    struct evict *evict = arg;

    if (evict->child != NULL) {
        schedule_first(evict); /* what killed processes left is still being
                                  removed */
        return;
    }
    start_child(evict, EVICT_ALL);
    if (evict->child == NULL) {
        schedule_next(evict);
    }
}

/* A download or a SymCache had no room.  It does not wait for the next
 * regular pass. */
static void on_space_wanted(void *arg, const struct space_request *request)
{
    struct evict *evict = arg;
    unsigned ms = clock_since(evict->ended);
    bool first;

    if (is_refused(evict, request)) {
        return;
    }
    first = evict->requests.n == 0;
    space_requests_add(&evict->requests, request);
    if (first && evict->child == NULL) {
        schedule_pass(evict,
                      evict->ended == 0 || ms >= EVICT_SPACE_SECONDS * 1000
                          ? 0
                          : disk_space_seconds(evict));
    }
}

static const char *report_text(const cJSON *object, const char *name)
{
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItem(object, name));

    return value != NULL ? value : "";
}

void evict_add_sizes(const struct evict *evict, cJSON *object)
{
    const char *store = report_text(object, "store");
    double files = 0, bytes = 0, counted = 0;
    const cJSON *tree;
    bool downloads;

    cJSON_ArrayForEach(tree, cJSON_GetObjectItem(evict->last, "trees"))
    {
        downloads = strcmp(report_text(tree, "kind"), "downloads") == 0;
        if (store[0] == '\0' ? downloads
                             : !downloads && strcmp(report_text(tree, "store"),
                                                    store) == 0) {
            files += report_number(tree, "files");
            bytes += report_number(tree, "bytes");
            counted = (double)(time(NULL) -
                               (time_t)(clock_since(evict->ended) / 1000));
        }
    }
    cJSON_AddNumberToObject(object, "files", files);
    cJSON_AddNumberToObject(object, "bytes", bytes);
    cJSON_AddNumberToObject(object, "counted", counted);
}

/* life ------------------------------------------------------------------ */

struct evict *evict_new(struct event_base *base, struct config *config,
                        evict_fn cleaned, void *arg)
{
    struct evict *evict = calloc(1, sizeof(*evict));

    if (evict == NULL) {
        return NULL;
    }
    evict->timer = evtimer_new(base, on_timer, evict);
    if (evict->timer == NULL) {
        free(evict);
        return NULL;
    }
    evutil_secure_rng_get_bytes(&evict->life.run, sizeof(evict->life.run));
    evict->life.run |= 1; /* 0 means that there is no helper */
    evict->life.began = evict->life.noted = clock_ms();
    evict->base = base;
    evict->cleaned = cleaned;
    evict->arg = arg;
    evict->report = -1;
    evict->config = config_ref(config);
    disk_space_watch(on_space_wanted, evict);
    start_child(evict, EVICT_WORK);
    schedule_first(evict);
    return evict;
}

void evict_configure(struct evict *evict, struct config *config)
{
    config_ref(config);
    config_unref(evict->config);
    evict->config = config;
    show_trees(evict);
    /* Otherwise a pass is running, and sets the timer when it ends. */
    bring_nearer(evict, config->cache.clean_every);
}

void evict_free(struct evict *evict)
{
    if (evict == NULL) {
        return;
    }
    disk_space_watch(NULL, NULL);
    if (evict->child != NULL) {
        child_cancel(evict->child);
    }
    if (evict->report != -1) {
        close(evict->report);
    }
    event_free(evict->timer);
    cJSON_Delete(evict->last);
    config_unref(evict->config);
    free(evict);
}
