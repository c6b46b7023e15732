/*
 * Copyright (C) the ngx_symcache authors
 */
#include "server_state.h"

#include <stdio.h>
#include <stdlib.h>
#include "proto/header.h"
#include "http/http.h"
#include "symcached/job/job.h"
#include "symcached/negcache/negcache.h"
#include "symcached/upload/upload.h"
#include "base/event.h"
#include "metrics/metrics.h"
#include "endpoint.h"
#include "pages.h"
#include "ready.h"
#include "daemon_reports.h"
#include "symcached/metadata/metadata.h"
#include "tecken_session.h"

/* How long answers may take to leave when we stop, and what waits for a tier
 * to be stored. */
#define DRAIN_SECONDS 3

/* Modes of the files of Unix sockets.  Every user may look files up; the
 * rights of the folder keep others out.  Administrators belong to symcached's
 * group. */
#define LISTEN_MODE 0666
#define ADMIN_MODE 0660

static void server_drained(struct server *server)
{
    void (*done)(void *arg) = server->done;

    if (done != NULL && server->open == 0 && server->is_stored) {
        server->done = NULL;
        scheduler_give_up(server->scheduler);
        done(server->arg);
    }
}

/* The tiers have stored all files of their queues. */
static void on_stored(void *arg)
{
    struct server *server = arg;

    server->is_stored = true;
    server_drained(server);
}

void server_request_ended(void *arg)
{
    struct server *server = arg;

    server->open--;
    server_drained(server);
}

static void on_refused(int status, void *arg)
{
    metrics_add(status == 503   ? METRIC_CONNECTION_SHARE
                : status == 408 ? METRIC_CONNECTION_LATE
                                : METRIC_REQUEST_REFUSED,
                1);
}

static void serve_request(struct server *server, enum rights_socket socket,
                          struct evhttp_request *req)
{
    server->open++;
    if (server->done != NULL) {
        reply_header(req, "Connection", "close");
    }
    page_serve(server, socket, req);
}

static void on_request(struct evhttp_request *req, void *arg)
{
    struct server *server = arg;

    serve_request(server,
                  server->admin != NULL ? RIGHTS_LISTEN_ONLY : RIGHTS_LISTEN,
                  req);
}

static void on_admin_request(struct evhttp_request *req, void *arg)
{
    serve_request(arg, RIGHTS_ADMIN, req);
}

static void on_upload_request(struct evhttp_request *req, void *arg)
{
    serve_request(arg, RIGHTS_UPLOADS, req);
}

static void on_drain_timeout(evutil_socket_t fd, short events, void *arg)
{
    struct server *server = arg;

    server->open = 0;
    on_stored(server);
}

struct event_base *server_event_base(void)
{
    return endpoint_event_base();
}

static struct endpoint *
listen_at(struct server *server, const char *address, mode_t mode,
          void (*request)(struct evhttp_request *req, void *arg), char *error,
          size_t size)
{
    const struct gate_calls calls = {request, server_request_ended, on_refused,
                                     server};

    return endpoint_new(server->base, address, mode, &calls, error, size);
}

static int listen_on(struct server *server, const struct config *config,
                     char *error, size_t size)
{
    if (config->admin_listen != NULL) {
        server->admin = listen_at(server, config->admin_listen, ADMIN_MODE,
                                  on_admin_request, error, size);
        if (server->admin == NULL) {
            return -1;
        }
    }
    if (config->uploads.listen != NULL) {
        server->upload = listen_at(server, config->uploads.listen, LISTEN_MODE,
                                   on_upload_request, error, size);
        if (server->upload == NULL) {
            return -1;
        }
    }
    server->lookups = listen_at(server, config->listen, LISTEN_MODE,
                                on_request, error, size);
    return server->lookups != NULL ? 0 : -1;
}

/* What an earlier process left on that disk may not have been seen yet. */
static void server_on_uploads_back(void *arg)
{
    const struct server *server = arg;

    uploads_configure(server->uploads);
}

struct server *server_new(struct event_base *base, struct scheduler *scheduler,
                          struct guests *guests,
                          struct guest_process *guest_process,
                          const struct evict *evict, char *error, size_t size)
{
    const struct config *config = scheduler_config(scheduler);
    struct server *server = calloc(1, sizeof(*server));

    snprintf(error, size, "out of memory");
    if (server == NULL) {
        return NULL;
    }
    server->base = base;
    server->scheduler = scheduler;
    server->guests = guests;
    server->guest_process = guest_process;
    server->evict = evict;
    server->started = time(NULL);
    server->config_stale = "";
    server->reports = daemon_reports_new();
    server->ready = ready_new(base, scheduler, server_on_uploads_back, server);
    server->uploads = uploads_new(base, scheduler);
    server->symuploads = symuploads_new(server->uploads);
    server->tecken = tecken_new(base, server->uploads);
    server->pyroscope = pyroscope_new(server->uploads);
    server->metadata = metadata_new(base);
    server->drain = evtimer_new(base, on_drain_timeout, server);
    if (server->reports == NULL || server->ready == NULL ||
        server->uploads == NULL || server->symuploads == NULL ||
        server->tecken == NULL || server->pyroscope == NULL ||
        server->metadata == NULL || server->drain == NULL ||
        (guest_process != NULL &&
         !(server->fetches = one_time_fetch_new(base))) ||
        listen_on(server, config, error, size) != 0) {
        server_free(server);
        return NULL;
    }
    return server;
}

void server_configure(struct server *server)
{
    uploads_configure(server->uploads);
}

void server_config_stale(struct server *server, const char *why)
{
    server->config_stale = why;
}

void server_stop(struct server *server, void (*done)(void *arg), void *arg)
{
    struct timeval limit = {.tv_sec = DRAIN_SECONDS};

    server->done = done;
    server->arg = arg;
    one_time_fetch_pages_stop();
    if (server->forget != NULL) {
        forget_malformed_cancel(server->forget);
        server->forget = NULL;
        reply_number(server->forgetting, "Retry-After", 1);
        reply_error(server->forgetting, 503, SYMCACHE_REASON_STOPPING,
                    "not all of it: the helper stops");
    }
    metadata_stop(server->metadata);
    uploads_stop(server->uploads);
    endpoint_stop(server->lookups);
    endpoint_stop(server->admin);
    endpoint_stop(server->upload);
    event_add(server->drain, &limit);
    scheduler_finish(server->scheduler, on_stored, server);
}

void server_free(struct server *server)
{
    if (server == NULL) {
        return;
    }
    /* what is left answers its requests, which go with the endpoints */
    uploads_free(server->uploads);
    endpoint_free(server->lookups);
    endpoint_free(server->admin);
    endpoint_free(server->upload);
    event_drop(server->drain);
    one_time_fetch_free(server->fetches);
    symuploads_free(server->symuploads);
    tecken_free(server->tecken);
    pyroscope_free(server->pyroscope);
    metadata_free(server->metadata);
    daemon_reports_free(server->reports);
    ready_free(server->ready);
    free(server);
}
