/*
 * Copyright (C) the ngx_symcache authors
 */
#include "guests_report.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAUSE_MS 100

struct guests_report {
    int fd;
    struct event *timer;
    cJSON *(*get)(void *arg);
    void *arg;
};

/* A message that cannot be sent is followed by one that has all of it. */
static void guests_report_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct guests_report *report = arg;
    cJSON *object = report->get(report->arg);
    char *text = cJSON_PrintUnformatted(object);

    if (text != NULL && strlen(text) <= GUESTS_REPORT_MAX) {
        (void)send(report->fd, text, strlen(text),
                   MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    free(text);
    cJSON_Delete(object);
}

struct guests_report *guests_report_new(struct event_base *base, int fd,
                                        cJSON *(*get)(void *arg), void *arg)
{
    struct guests_report *report = calloc(1, sizeof(*report));

    if (report == NULL) {
        return NULL;
    }
    report->fd = fd;
    report->get = get;
    report->arg = arg;
    report->timer = evtimer_new(base, guests_report_on_timer, report);
    if (report->timer == NULL) {
        free(report);
        return NULL;
    }
    return report;
}

void guests_report_changed(struct guests_report *report)
{
    static const struct timeval pause = {.tv_usec = PAUSE_MS * 1000};

    if (!evtimer_pending(report->timer, NULL)) {
        evtimer_add(report->timer, &pause);
    }
}

void guests_report_free(struct guests_report *report)
{
    if (report == NULL) {
        return;
    }
    close(report->fd);
    event_free(report->timer);
    free(report);
}
