/*
 * Copyright (C) the ngx_symcache authors
 */

#include "evict_schedule.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <event2/event.h>
#include "base/clock.h"
#include "base/fd_close.h"
#include "base/log.h"
#include "metrics/metrics.h"
#include "symcached/space/space.h"
#include "evict_process.h"
#include "evict_report.h"

/* Seconds until the first pass, so that a helper that is restarted often
 * cleans as well. */
#define FIRST_SECONDS 60

/* Seconds between two passes that make room for requests. */
#define EVICT_SPACE_SECONDS 60

/* Seconds for which the last pass's refusal of a request is believed. */
#define REFUSED_SECONDS 600

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

/* requests ---------------------------------------------------------------- */

static double share_of(const cJSON *space, const struct space_request *request)
{
    return evict_report_number(space,
                               request->kind == SPACE_ANNOUNCED ? "claim"
                                                                : "body");
}

/* Logs one line after each pass, however many requests are refused. */
static void say_refused(struct evict *evict, const cJSON *space,
                        const struct space_request *request)
{
    bool claim = request->kind == SPACE_ANNOUNCED;

    if (!evict->said) {
        log_warn(0,
                 "clean: nothing is removed for a file of %" PRIu64
                 " bytes%s: it can have %.0f bytes on the file system of "
                 "\"%s\", %s of those that are free, can be freed, or belong "
                 "to files that are being received",
                 request->bytes, claim ? " that is announced" : "",
                 share_of(space, request),
                 cJSON_GetStringValue(cJSON_GetObjectItem(space, "path")),
                 claim ? "a quarter" : "half");
    }
    evict->said = true;
}

/* Would a pass refuse the request, as far as is known? */
static bool is_refused(struct evict *evict, const struct space_request *request)
{
    const cJSON *space = evict_report_space(evict->last, request);
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
    const cJSON *space = evict_report_space(evict->last, &evict->asked);

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
        report = evict_report_read(evict->report);
    }
    if (report != NULL) {
        metrics_add(METRIC_CLEAN_PASSES, 1);
        evict->life.noted = evict->started;
        evict_report_take(evict->config, report);
        cJSON_Delete(evict->last);
        evict->last = report;
        evict_report_show(evict->last, evict->config);
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
    fd_close(evict->report);
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

static void evict_on_timer(evutil_socket_t fd, short events, void *arg)
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
            files += evict_report_number(tree, "files");
            bytes += evict_report_number(tree, "bytes");
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
    evict->timer = evtimer_new(base, evict_on_timer, evict);
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
    evict_report_show(evict->last, evict->config);
    /* Otherwise a pass is running, and sets the timer when it ends. */
    bring_nearer(evict, config->cache.clean_every);
}

void evict_free(struct evict *evict)
{
    if (evict == NULL) {
        return;
    }
    disk_space_watch(NULL, NULL);
    child_cancel(evict->child);
    fd_close(evict->report);
    event_free(evict->timer);
    cJSON_Delete(evict->last);
    config_unref(evict->config);
    free(evict);
}
