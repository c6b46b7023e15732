/*
 * Copyright (C) the ngx_symcache authors
 */
#include "tier.h"

#include <event2/event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "base/event.h"
#include "base/log.h"
#include "base/task.h"
#include "metrics/metrics.h"
#include "call.h"
#include "outdated_objects.h"

/* Hosts have no say here: each way has a breaker of its own. */
const struct limits_config tier_limits = {
    .connect_time = TIER_CONNECT,
    .first_byte_time = TIER_FIRST,
    .stall_time = TIER_FIRST,
    .attempts = 1,
    .downloads_per_host = 1000,
};

static const struct breaker_limits breaker_limits = {3, 10, 30};

/* A write that hangs takes its time to fail, and the next one may come later.
 */
static const struct breaker_limits put_limits = {3, 120, 30};

/* Without new uploads nobody learns that a tier takes files again.  Within the
 * time an alert can fire. */
#define REFUSES_SECONDS 600

/* One failure is enough where the next request will be refused, too. */
static const struct breaker_limits denied_limits = {1, 10, 30};

const struct tier_type *tier_type_of(const struct tier_config *config)
{
    switch (config->kind) {
    case TIER_S3:
    case TIER_GCS:
        return &tier_s3;
    case TIER_FILESYSTEM:
        return &tier_filesystem;
    default:
        return &tier_symcache;
    }
}

void tier_names_add(struct tier_names *names, const char *name)
{
    size_t len = strlen(name), i, last = 0;

    if (len == 0 || len > SYMCACHE_NAME_MAX || name[0] == '.' ||
        strchr(name, '/') != NULL) {
        return;
    }
    if (names->n < sizeof(names->list) / sizeof(names->list[0])) {
        memcpy(names->list[names->n++], name, len + 1);
        return;
    }
    for (i = 1; i < names->n; i++) {
        last = strcmp(names->list[i], names->list[last]) > 0 ? i : last;
    }
    if (strcmp(name, names->list[last]) < 0) {
        memcpy(names->list[last], name, len + 1);
    }
}

void tier_call_init(struct tier_call *call, struct tiers *tiers,
                    const struct config *all, struct tier_config *config,
                    tier_reply_fn reply)
{
    call->tiers = tiers;
    call->config = config;
    call->all = all;
    call->reply = reply;
    call->max = config->max_object;
    call->lifetime = config->lifetime;
    call->seconds = TIER_BODY;
    snprintf(call->place, sizeof(call->place), "%.1000s/%s",
             config->url != NULL ? config->url : config->path, call->name);
}

void tier_call_end(struct tier_call *call, enum tier_reply reply,
                   const char *format, ...)
{
    char detail[512];
    va_list args;

    va_start(args, format);
    vsnprintf(detail, sizeof(detail), format, args);
    va_end(args);
    call->task = NULL;
    call->reply(call, reply, detail);
}

void tier_call_cancel(struct tier_call *call)
{
    if (call->task != NULL) {
        call->task_cancel(call->task);
    }
}

void tiers_find_stores(struct tiers *tiers,
                       const struct store_config *(*find)(void *arg,
                                                          const char *name),
                       void *arg)
{
    tiers->find = find;
    tiers->find_arg = arg;
}

/* breakers ----------------------------------------------------------------- */

static void say_works(const struct tier *tier)
{
    metrics_add(METRIC_TIER_BREAKER_CLOSED, 1);
    log_info(0, "tier %s: works again", tier->name);
}

/* Is the call that decides a download that has begun?  Its end may be far. */
static bool probe_receives(const struct tier_way *way)
{
    const struct tier_type *type;

    if (way->probe == NULL) {
        return false;
    }
    type = tier_type_of(way->probe->config);
    return type->receives != NULL && type->receives(way->probe);
}

bool tier_way_begins(const struct tier *tier, struct tier_way *way,
                     const struct tier_call *call, bool *probe)
{
    *probe = false;
    if (probe_receives(way) && breaker_trust(&way->breaker, clock_ms())) {
        say_works(tier);
    }
    if (!breaker_allows(&way->breaker, clock_ms())) {
        return false;
    }
    *probe = way->breaker.state == BREAKER_HALF_OPEN;
    way->probe = *probe ? call : way->probe;
    way->running++;
    return true;
}

void tier_way_ends(const struct tier *tier, struct tier_way *way,
                   const struct tier_call *call, enum tier_reply reply,
                   bool probe, const char *detail)
{
    static const char unasked[] = "not asked: "; /* its host */
    const char *what = way == &tier->get ? "not read" : "nothing is stored";
    bool is_unasked, is_changed;
    enum breaker_end end = BREAKER_GOOD;

    way->running--;
    way->probe = probe ? NULL : way->probe;
    if (reply == TIER_REPLY_FAILED) {
        end = BREAKER_NOTHING;
    } else if (reply == TIER_REPLY_FAULT || reply == TIER_REPLY_DENIED) {
        end = BREAKER_FAULT;
        is_unasked = strncmp(detail, unasked, sizeof(unasked) - 1) == 0;
        snprintf(way->why, sizeof(way->why), "%s",
                 detail + (is_unasked ? sizeof(unasked) - 1 : 0));
        way->at = time(NULL);
        way->refusal = call->refusal;
        way->writes_fail |= !call->looks;
    }
    is_changed = breaker_end(&way->breaker,
                             reply == TIER_REPLY_DENIED ? &denied_limits
                             : way == &tier->put        ? &put_limits
                                                        : &breaker_limits,
                             end, probe, clock_ms());
    if (end == BREAKER_GOOD) {
        is_changed = is_changed || way->is_unproved;
        way->is_unproved = false;
        way->writes_fail &= call->looks;
    }
    if (!is_changed) {
        /* the first in a row tells of the others until the breaker opens */
        if (end == BREAKER_FAULT && way->breaker.state == BREAKER_CLOSED &&
            way->breaker.failures == 1) {
            log_warn(0, "tier %s: %s this time: %s", tier->name, what, detail);
        }
        return;
    }
    if (end == BREAKER_NOTHING) {
        return;
    }
    if (end == BREAKER_GOOD) {
        say_works(tier);
    } else {
        metrics_add(METRIC_TIER_BREAKER_OPEN, 1);
        log_warn(0, "tier %s: %s for %u s: %s", tier->name, what,
                 breaker_limits.pause, detail);
    }
}

void tier_way_looked(struct tier_way *way, bool probe)
{
    way->running--;
    way->probe = probe ? NULL : way->probe;
    way->is_unproved |= breaker_trust(&way->breaker, clock_ms());
}

/* all tiers ---------------------------------------------------------------- */

struct tier *tiers_find(struct tiers *tiers, const char *name)
{
    struct tier *tier;

    LIST_FOREACH(tier, &tiers->all, all)
    {
        if (strcmp(tier->name, name) == 0) {
            return tier;
        }
    }
    tier = calloc(1, sizeof(*tier));
    if (tier == NULL) {
        return NULL;
    }
    tier->name = strdup(name);
    if (tier->name == NULL) {
        free(tier);
        return NULL;
    }
    TAILQ_INIT(&tier->gets);
    TAILQ_INIT(&tier->puts);
    LIST_INSERT_HEAD(&tiers->all, tier, all);
    return tier;
}

void tiers_pump(struct tiers *tiers)
{
    event_active(tiers->pump, 0, 0);
}

/* Is nothing written, and can nothing that waits be? */
static bool is_finished(const struct tiers *tiers)
{
    const struct tier *tier;

    LIST_FOREACH(tier, &tiers->all, all)
    {
        if (tier->putting > 0 ||
            (tier->nputs > 0 && tier->put.breaker.state == BREAKER_CLOSED)) {
            return false;
        }
    }
    return true;
}

/* Of two times from now, of which 0 is never. */
static unsigned sooner(unsigned a, unsigned b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

static void on_pump(evutil_socket_t fd, short what, void *arg)
{
    struct tiers *tiers = arg;
    void (*finished)(void *arg);
    unsigned soonest = 0;
    struct timeval delay;
    struct tier *tier;

    if (tiers->stopping) {
        return;
    }
    LIST_FOREACH(tier, &tiers->all, all)
    {
        soonest = sooner(soonest, tier_gets_pump(tier));
        soonest = sooner(soonest, tier_puts_pump(tiers, tier));
    }
    if (soonest != 0) {
        delay.tv_sec = soonest / 1000;
        delay.tv_usec = (suseconds_t)(soonest % 1000) * 1000;
        evtimer_add(tiers->pump, &delay);
    }
    if (tiers->finished != NULL && is_finished(tiers)) {
        finished = tiers->finished;
        tiers->finished = NULL;
        finished(tiers->finished_arg);
    }
}

struct tiers *tiers_new(struct event_base *base, struct config *config)
{
    static const struct timeval now;
    struct tiers *tiers = calloc(1, sizeof(*tiers));

    if (tiers == NULL) {
        return NULL;
    }
    LIST_INIT(&tiers->all);
    LIST_INIT(&tiers->writing);
    tiers->base = base;
    tiers->config = config_ref(config);
    tiers->pump = event_new(base, -1, 0, on_pump, tiers);
    tiers->look = evtimer_new(base, outdated_objects_look, tiers);
    tiers->fetcher = fetcher_new(base, NULL, NULL);
    if (tiers->pump == NULL || tiers->look == NULL ||
        tiers->fetcher == NULL) {
        tiers_free(tiers);
        return NULL;
    }
    evtimer_add(tiers->look, &now);
    return tiers;
}

void tiers_configure(struct tiers *tiers, struct config *config)
{
    static const struct timeval now;
    static const struct breaker closed;
    struct tier *tier;

    config_ref(config);
    config_unref(tiers->config);
    tiers->config = config;
    fetcher_keep(tiers->fetcher, config);
    LIST_FOREACH(tier, &tiers->all, all)
    {
        tier->get.breaker = tier->put.breaker = closed;
        tier->put.refusal = 0;
        tier->put.is_unproved = tier->put.writes_fail = false;
        if (config_tier(config, tier->name) == NULL) {
            tier_puts_stop(tiers, tier);
        }
    }
    evtimer_add(tiers->look, &now);
    tiers_pump(tiers);
}

void tiers_finish(struct tiers *tiers, void (*done)(void *arg), void *arg)
{
    tiers->finishing = true;
    tiers->finished = done;
    tiers->finished_arg = arg;
    tiers_pump(tiers);
}

void tiers_stop(struct tiers *tiers)
{
    struct tier *tier;

    tiers->stopping = true;
    tiers->finished = NULL;
    LIST_FOREACH(tier, &tiers->all, all)
    {
        if (tier->nputs + tier->putting > 0) {
            log_info(0,
                     "tier %s: %u files are not stored any more; their next "
                     "use is another chance",
                     tier->name, tier->nputs + tier->putting);
        }
        tier_puts_stop(tiers, tier);
    }
}

void tiers_free(struct tiers *tiers)
{
    struct tier *tier;

    if (tiers == NULL) {
        return;
    }
    while ((tier = LIST_FIRST(&tiers->all)) != NULL) {
        tier_puts_stop(tiers, tier);
        LIST_REMOVE(tier, all);
        free(tier->name);
        free(tier);
    }
    fetcher_free(tiers->fetcher);
    event_drop(tiers->pump);
    task_cancel(tiers->looking);
    event_drop(tiers->look);
    config_unref(tiers->config);
    free(tiers);
}

#define TIERS_SHOWN 40 /* the page of the status takes no more */

/* statistics -------------------------------------------------------------- */

static const char *const breaker_names[] = {"closed", "open", "half_open"};

/* One that only a look has closed does not count as closed, for as long as one
 * that nothing asks counts as open. */
static enum breaker_state tier_way_report(const struct tier_way *way)
{
    enum breaker_state state = breaker_report(&way->breaker, clock_ms());

    return state == BREAKER_CLOSED && way->is_unproved &&
                   clock_since(way->breaker.since) < REFUSES_SECONDS * 1000
               ? BREAKER_HALF_OPEN
               : state;
}

static const char *name_state(const struct tier_way *way)
{
    return breaker_names[tier_way_report(way)];
}

static void add_way(cJSON *object, const char *name,
                    const struct tier_way *way)
{
    cJSON *item = cJSON_AddObjectToObject(object, name);
    uint64_t left = breaker_left(&way->breaker, clock_ms());

    cJSON_AddStringToObject(item, "breaker", name_state(way));
    cJSON_AddNumberToObject(item, "running", way->running);
    if (left > 0) {
        cJSON_AddNumberToObject(item, "not_asked_for",
                                (double)((left + 999) / 1000));
    }
    if (way->why[0] != '\0') {
        cJSON_AddStringToObject(item, "failure", way->why);
        cJSON_AddNumberToObject(item, "failed_at", (double)way->at);
    }
}

/* The results of reads have the names that they have in the metrics. */
static void add_results(cJSON *object, const struct tier *tier)
{
    static const char *const outcomes[] = {"hit", "absent", "refused",
                                           "failed"};
    const struct tier_way *last =
        tier->get.at >= tier->put.at ? &tier->get : &tier->put;
    size_t i;

    for (i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
        cJSON_AddNumberToObject(object, outcomes[i],
                                (double)tier->outcomes[i]);
    }
    cJSON_AddNumberToObject(object, "stored", (double)tier->stored);
    cJSON_AddNumberToObject(object, "not_stored", (double)tier->not_stored);
    cJSON_AddStringToObject(object, "read", name_state(&tier->get));
    cJSON_AddStringToObject(object, "write", name_state(&tier->put));
    cJSON_AddStringToObject(object, "failure", last->why);
}

/* The tier, or an unused one before its first call. */
static const struct tier *look_up(const struct tiers *tiers, const char *name)
{
    static const struct tier unused;
    const struct tier *tier;

    LIST_FOREACH(tier, &tiers->all, all)
    {
        if (strcmp(tier->name, name) == 0) {
            return tier;
        }
    }
    return &unused;
}

bool tiers_refuse_files(const struct tiers *tiers,
                        const struct tier_config *config)
{
    const struct tier_way *way = &look_up(tiers, config->name)->put;

    return (way->breaker.state != BREAKER_CLOSED || way->is_unproved ||
            way->refusal != 0) &&
           clock_since(way->breaker.since) < REFUSES_SECONDS * 1000;
}

cJSON *tiers_json(const struct tiers *tiers)
{
    cJSON *array = cJSON_CreateArray(), *item;
    const struct tier_config *config = tiers->config->tiers;
    const struct tier *tier;

    for (; config < tiers->config->tiers + tiers->config->ntiers &&
           cJSON_GetArraySize(array) < TIERS_SHOWN;
         config++) {
        tier = look_up(tiers, config->name);
        item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "name", config->name);
        cJSON_AddStringToObject(item, "type", config_tier_kind(config->kind));
        cJSON_AddStringToObject(
            item, "place", config->url != NULL ? config->url : config->path);
        cJSON_AddNumberToObject(item, "queue", tier->nputs);
        add_results(item, tier);
        add_way(item, "get", &tier->get);
        add_way(item, "put", &tier->put);
        cJSON_AddItemToArray(array, item);
    }
    return array;
}

static void print_breaker(struct evbuffer *buf, const struct tier *tier,
                          const char *name, const struct tier_way *way)
{
    evbuffer_add_printf(buf,
                        "symcached_tier_breaker{tier=\"%s\",way=\"%s\"} %d\n",
                        tier->name, name,
                        tier_way_report(way) != BREAKER_CLOSED);
}

void tiers_print(const struct tiers *tiers, struct evbuffer *buf)
{
    const struct tier *tier;

    if (LIST_EMPTY(&tiers->all)) {
        return;
    }
    evbuffer_add_printf(buf, "# HELP symcached_tier_queue Files that wait to "
                             "be stored in a tier.\n"
                             "# TYPE symcached_tier_queue gauge\n");
    LIST_FOREACH(tier, &tiers->all, all)
    {
        evbuffer_add_printf(buf, "symcached_tier_queue{tier=\"%s\"} %u\n",
                            tier->name, tier->nputs);
    }
    evbuffer_add_printf(buf, "# HELP symcached_tier_breaker 1 while a tier is "
                             "not read, or not written.\n"
                             "# TYPE symcached_tier_breaker gauge\n");
    LIST_FOREACH(tier, &tiers->all, all)
    {
        print_breaker(buf, tier, "get", &tier->get);
        print_breaker(buf, tier, "put", &tier->put);
    }
}
