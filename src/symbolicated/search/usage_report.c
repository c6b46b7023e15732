/*
 * Copyright (C) the ngx_symcache authors
 */
#include "usage_report.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include "batch_request.h"

#define AGAIN_MS (60 * 60 * 1000)
#define TOGETHER_SECONDS 1
#define WAITING_MAX 10000 /* more are told of at their next use */

struct use {
    STAILQ_ENTRY(use) next;
    struct settings *settings;
    size_t store;
    symcache_key_t key;
    size_t name_size;
    const char *hints; /* after the name; or NULL */
    char name[];
};

struct usage_report {
    struct event_base *base;
    struct event *timer;
    struct batch_request *ask; /* under way, or NULL */
    size_t asked;    /* the first ones of the list, which it is about */
    size_t waiting;
    STAILQ_HEAD(, use) list;
};

static void drop_first_usage(struct usage_report *report)
{
    struct use *use = STAILQ_FIRST(&report->list);

    STAILQ_REMOVE_HEAD(&report->list, next);
    report->waiting--;
    settings_unref(use->settings);
    free(use);
}

static void drop_asked_usage(struct usage_report *report)
{
    for (; report->asked > 0; report->asked--) {
        drop_first_usage(report);
    }
}

static void tell_next_usage(struct usage_report *report);

static void on_usage_told(void *arg, const struct batch_reply *replies,
                          size_t n, bool is_last)
{
    struct usage_report *report = arg;

    if (is_last) {
        report->ask = NULL;
        drop_asked_usage(report);
        tell_next_usage(report);
    }
}

/* As many as one question may be about, of one configuration. */
static void take_usage_keys(struct usage_report *report,
                            struct batch_key *keys)
{
    const struct use *use, *first = STAILQ_FIRST(&report->list);

    STAILQ_FOREACH(use, &report->list, next)
    {
        if (report->asked == BATCH_KEYS_MAX ||
            use->settings != first->settings) {
            break;
        }
        keys[report->asked++] = (struct batch_key){
            use->settings->symbolication->stores[use->store]->name, &use->key,
            use->name, use->name_size, use->hints};
    }
}

static void tell_next_usage(struct usage_report *report)
{
    struct batch_key keys[BATCH_KEYS_MAX];

    while (report->ask == NULL && !STAILQ_EMPTY(&report->list)) {
        take_usage_keys(report, keys);
        report->ask = batch_start(
            report->base, &STAILQ_FIRST(&report->list)->settings->helper, keys,
            report->asked, 0, on_usage_told, report);
        if (report->ask == NULL) {
            drop_asked_usage(report);
        }
    }
}

static void on_usage_timer(evutil_socket_t fd, short what, void *arg)
{
    tell_next_usage(arg);
}

struct usage_report *usage_report_new(struct event_base *base)
{
    struct usage_report *report = calloc(1, sizeof(*report));

    if (report != NULL) {
        report->base = base;
        STAILQ_INIT(&report->list);
        report->timer = evtimer_new(base, on_usage_timer, report);
        if (report->timer == NULL) {
            free(report);
            report = NULL;
        }
    }
    return report;
}

void usage_report_free(struct usage_report *report)
{
    if (report == NULL) {
        return;
    }
    if (report->ask != NULL) {
        batch_cancel(report->ask);
    }
    while (!STAILQ_EMPTY(&report->list)) {
        drop_first_usage(report);
    }
    event_free(report->timer);
    free(report);
}

void usage_report_add(struct usage_report *report, struct settings *settings,
                      size_t store, const struct api_module *wanted,
                      struct module *module, uint64_t now)
{
    static const struct timeval together = {.tv_sec = TOGETHER_SECONDS};
    uint_least64_t told =
        atomic_load_explicit(&module->told, memory_order_relaxed);
    size_t size = wanted->hints != NULL ? strlen(wanted->hints) + 1 : 0;
    struct use *use;

    if ((told != 0 && now - told < AGAIN_MS) ||
        report->waiting == WAITING_MAX ||
        !atomic_compare_exchange_strong(&module->told, &told, now)) {
        return; /* or another thread tells */
    }
    use = calloc(1, sizeof(*use) + wanted->name_size + size);
    if (use == NULL) {
        return;
    }
    use->settings = settings_ref(settings);
    use->store = store;
    symcache_key_copy(&use->key, &wanted->key);
    use->name_size = wanted->name_size;
    memcpy(use->name, wanted->name, wanted->name_size);
    if (size > 0) {
        use->hints =
            memcpy(use->name + wanted->name_size, wanted->hints, size);
    }
    STAILQ_INSERT_TAIL(&report->list, use, next);
    if (report->waiting++ == 0) {
        event_add(report->timer, &together);
    }
}
