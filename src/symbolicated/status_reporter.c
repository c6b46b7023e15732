/*
 * Copyright (C) the ngx_symcache authors
 */
#include "status_reporter.h"

#include <cjson/cJSON.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/event.h"
#include "base/release.h"

#define EVERY_SECONDS 30

/* symcached forgets a daemon that has not reported for so long. */
#define VALID_SECONDS (3 * EVERY_SECONDS)

/* How long symcached may take to read a report. */
#define PATIENCE_SECONDS 10

#define NAME_SIZE 65 /* of a machine on Linux */

struct status_reporter {
    struct event_base *base;
    const struct workers *workers;
    struct settings *settings;
    struct event *timer;
    struct symcached_client *client; /* a report is on its way, or NULL */
    char name[NAME_SIZE];
    char *listen; /* as at the start: it does not change with the settings */
    time_t started;
};

/* The answer does not matter: the next report is sent at its time. */
static void on_status_news(void *arg, enum symcached_client_news news,
                           struct evbuffer *body)
{
    struct status_reporter *reporter = arg;

    symcached_client_free(reporter->client);
    reporter->client = NULL;
}

/* The report as JSON, to be freed with free(); NULL without memory. */
static char *reporter_print_status(const struct status_reporter *reporter)
{
    const struct stats **stats =
        calloc(reporter->workers->n, sizeof(stats[0]));
    cJSON *object = cJSON_CreateObject();
    struct stats_sums sums;
    char *text = NULL;
    unsigned i;

    if (stats != NULL) {
        for (i = 0; i < reporter->workers->n; i++) {
            stats[i] = worker_stats(reporter->workers->list[i]);
        }
        sums = stats_sums(stats, reporter->workers->n);
        cJSON_AddStringToObject(object, "name", reporter->name);
        cJSON_AddStringToObject(object, "version", SYMCACHED_VERSION);
        cJSON_AddStringToObject(object, "listen", reporter->listen);
        cJSON_AddNumberToObject(object, "started", (double)reporter->started);
        cJSON_AddNumberToObject(object, "requests", (double)sums.requests);
        cJSON_AddNumberToObject(object, "frames", (double)sums.frames);
        cJSON_AddNumberToObject(object, "dumps", (double)sums.dumps);
        cJSON_AddNumberToObject(object, "apple_reports",
                                (double)sums.apple_reports);
        cJSON_AddNumberToObject(object, "sources", (double)sums.sources);
        cJSON_AddNumberToObject(object, "mappings", (double)sums.mappings);
        cJSON_AddNumberToObject(object, "programs", (double)sums.programs);
        cJSON_AddBoolToObject(object, "config_stale",
                              atomic_load(&reporter->workers->config_stale));
        cJSON_AddNumberToObject(object, "valid", VALID_SECONDS);
        text = cJSON_PrintUnformatted(object);
    }
    cJSON_Delete(object);
    free(stats);
    return text;
}

static void send_status_report(struct status_reporter *reporter)
{
    struct evbuffer *body = evbuffer_new();
    char *text = reporter_print_status(reporter);

    symcached_client_free(reporter->client);
    reporter->client = NULL;
    if (text != NULL && body != NULL &&
        evbuffer_add(body, text, strlen(text)) == 0) {
        reporter->client =
            symcached_client_start(reporter->base, &reporter->settings->helper,
                                   "POST /v1/symbolicated", body,
                                   PATIENCE_SECONDS, on_status_news, reporter);
    }
    if (body != NULL) {
        evbuffer_free(body);
    }
    free(text);
}

static void on_status_timer(evutil_socket_t fd, short what, void *arg)
{
    static const struct timeval every = {.tv_sec = EVERY_SECONDS};
    struct status_reporter *reporter = arg;

    event_add(reporter->timer, &every);
    send_status_report(reporter);
}

struct status_reporter *status_reporter_new(struct event_base *base,
                                            const struct workers *workers,
                                            struct settings *settings)
{
    struct status_reporter *reporter = calloc(1, sizeof(*reporter));

    if (reporter == NULL) {
        return NULL;
    }
    reporter->base = base;
    reporter->workers = workers;
    reporter->started = time(NULL);
    reporter->settings = settings_ref(settings);
    reporter->listen = strdup(settings->symbolication->listen);
    reporter->timer = evtimer_new(base, on_status_timer, reporter);
    if (reporter->listen == NULL || reporter->timer == NULL ||
        gethostname(reporter->name, sizeof(reporter->name) - 1) != 0) {
        status_reporter_free(reporter);
        return NULL;
    }
    event_active(reporter->timer, EV_TIMEOUT, 0);
    return reporter;
}

void status_reporter_configure(struct status_reporter *status_reporter,
                               struct settings *settings)
{
    settings_ref(settings);
    settings_unref(status_reporter->settings);
    status_reporter->settings = settings;
    event_active(status_reporter->timer, EV_TIMEOUT, 0);
}

void status_reporter_free(struct status_reporter *status_reporter)
{
    if (status_reporter == NULL) {
        return;
    }
    symcached_client_free(status_reporter->client);
    event_drop(status_reporter->timer);
    settings_unref(status_reporter->settings);
    free(status_reporter->listen);
    free(status_reporter);
}
