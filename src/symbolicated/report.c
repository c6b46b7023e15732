/*
 * Copyright (C) the ngx_symcache authors
 */
#include "report.h"

#include <cjson/cJSON.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/release.h"

#define EVERY_SECONDS 30

/* symcached forgets who has not reported for so long. */
#define VALID_SECONDS (3 * EVERY_SECONDS)

/* How long symcached may take to read a report. */
#define PATIENCE_SECONDS 10

#define NAME_SIZE 65 /* of a machine on Linux */

struct reporter {
    struct event_base *base;
    const struct workers *workers;
    struct settings *settings;
    struct event *timer;
    struct bufferevent *bev; /* a report is on its way, or NULL */
    char name[NAME_SIZE];
    char *listen; /* as at the start: it does not change with the settings */
    time_t started;
};

static void drop(struct reporter *r)
{
    if (r->bev != NULL) {
        bufferevent_free(r->bev);
        r->bev = NULL;
    }
}

/* Whatever the answer is: the next report comes in its time. */
static void on_read(struct bufferevent *bev, void *arg)
{
    drop(arg);
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
    if ((what & BEV_EVENT_CONNECTED) == 0) {
        drop(arg);
    }
}

/* The report as JSON, to be freed with free(); NULL without memory. */
static char *print(const struct reporter *r)
{
    const struct stats **stats = calloc(r->workers->n, sizeof(stats[0]));
    cJSON *object = cJSON_CreateObject();
    uint64_t requests, frames;
    char *text = NULL;
    unsigned i;

    if (stats != NULL) {
        for (i = 0; i < r->workers->n; i++) {
            stats[i] = worker_stats(r->workers->list[i]);
        }
        stats_sums(stats, r->workers->n, &requests, &frames);
        cJSON_AddStringToObject(object, "name", r->name);
        cJSON_AddStringToObject(object, "version", SYMCACHED_VERSION);
        cJSON_AddStringToObject(object, "listen", r->listen);
        cJSON_AddNumberToObject(object, "started", (double)r->started);
        cJSON_AddNumberToObject(object, "requests", (double)requests);
        cJSON_AddNumberToObject(object, "frames", (double)frames);
        cJSON_AddNumberToObject(object, "valid", VALID_SECONDS);
        text = cJSON_PrintUnformatted(object);
    }
    cJSON_Delete(object);
    free(stats);
    return text;
}

static void send_report(struct reporter *r)
{
    static const struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
    const struct ask_address *helper = &r->settings->helper;
    char *text = print(r);

    drop(r);
    r->bev = bufferevent_socket_new(
        r->base, -1, BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
    if (text == NULL || r->bev == NULL ||
        evbuffer_add_printf(bufferevent_get_output(r->bev),
                            "POST /v1/symbolicated HTTP/1.1\r\n"
                            "Host: symcached\r\nConnection: close\r\n"
                            "Content-Length: %zu\r\n\r\n%s",
                            strlen(text), text) < 0) {
        drop(r);
    } else {
        bufferevent_setcb(r->bev, on_read, NULL, on_event, r);
        bufferevent_set_timeouts(r->bev, &patience, &patience);
        bufferevent_enable(r->bev, EV_READ | EV_WRITE);
        if (bufferevent_socket_connect(
                r->bev, (const struct sockaddr *)&helper->address,
                (int)helper->size) != 0) {
            drop(r);
        }
    }
    free(text);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    static const struct timeval every = {.tv_sec = EVERY_SECONDS};
    struct reporter *r = arg;

    event_add(r->timer, &every);
    send_report(r);
}

struct reporter *reporter_new(struct event_base *base,
                              const struct workers *workers,
                              struct settings *settings)
{
    struct reporter *r = calloc(1, sizeof(*r));

    if (r == NULL) {
        return NULL;
    }
    r->base = base;
    r->workers = workers;
    r->started = time(NULL);
    r->settings = settings_ref(settings);
    r->listen = strdup(settings->symbolication->listen);
    r->timer = evtimer_new(base, on_timer, r);
    if (r->listen == NULL || r->timer == NULL ||
        gethostname(r->name, sizeof(r->name) - 1) != 0) {
        reporter_free(r);
        return NULL;
    }
    event_active(r->timer, EV_TIMEOUT, 0);
    return r;
}

void reporter_configure(struct reporter *reporter, struct settings *settings)
{
    settings_ref(settings);
    settings_unref(reporter->settings);
    reporter->settings = settings;
    event_active(reporter->timer, EV_TIMEOUT, 0);
}

void reporter_free(struct reporter *reporter)
{
    if (reporter == NULL) {
        return;
    }
    drop(reporter);
    if (reporter->timer != NULL) {
        event_free(reporter->timer);
    }
    settings_unref(reporter->settings);
    free(reporter->listen);
    free(reporter);
}
