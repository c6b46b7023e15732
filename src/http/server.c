/*
 * Copyright (C) the ngx_symcache authors
 */
#include "server.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "base/event.h"
#include "base/log.h"
#include "connection.h"
#include "input_buffer.h"

/* No descriptor left: others must close first. */
#define ACCEPT_PAUSE_MS 100

static bool is_transient(int errnum)
{
    return errnum == EAGAIN || errnum == EINTR || errnum == ECONNABORTED;
}

static void server_set_time(struct http_server *server)
{
    time_t now = time(NULL);
    struct tm tm;

    server->now = running_clock_ms(&server->clock);
    gmtime_r(&now, &tm);
    strftime(server->date, sizeof(server->date), "%a, %d %b %Y %H:%M:%S GMT",
             &tm);
}

/* A process that nobody is connected to has no ticks: it need not wake up. */
static bool start_ticks(struct http_server *server)
{
    static const struct timeval often = {
        .tv_sec = RUNNING_CLOCK_LOOK_MS / 1000};

    if (event_pending(server->tick, EV_TIMEOUT, NULL)) {
        return true;
    }
    server_set_time(server);
    return event_add(server->tick, &often) == 0;
}

/*
 * One connection in each turn of the loop, or the thread that is first would
 * take all that come together.
 */
static void on_accept(evutil_socket_t listener, short what, void *arg)
{
    static const struct timeval pause = {.tv_usec = ACCEPT_PAUSE_MS * 1000};
    struct http_server *server = arg;
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd != -1 && start_ticks(server)) {
        http_connection_new(server, fd);
    } else if (fd != -1) {
        close(fd);
    } else if (!is_transient(errno)) {
        log_crit(errno, "accept() failed");
        event_del(server->accept);
        event_add(server->resume, &pause);
    }
}

static void server_on_resume(evutil_socket_t fd, short what, void *arg)
{
    struct http_server *server = arg;

    if (!server->is_stopping) {
        event_add(server->accept, NULL);
    }
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct http_server *server = arg;
    struct http_connection *c, *next;

    server_set_time(server);
    for (c = LIST_FIRST(&server->connections); c != NULL; c = next) {
        next = http_connection_next(c);
        http_connection_tick(c);
    }
    if (LIST_EMPTY(&server->connections)) {
        event_del(server->tick);
    }
}

struct http_server *http_server_new(struct event_base *base, int listener,
                                    http_request_fn on_request, void *arg)
{
    struct http_server *server = calloc(1, sizeof(*server));

    if (server == NULL) {
        return NULL;
    }
    server->base = base;
    server->on_request = on_request;
    server->arg = arg;
    server_set_time(server);
    server->accept =
        event_new(base, listener, EV_READ | EV_PERSIST, on_accept, server);
    server->resume = evtimer_new(base, server_on_resume, server);
    server->tick = event_new(base, -1, EV_PERSIST, on_tick, server);
    if (server->accept == NULL || server->resume == NULL ||
        server->tick == NULL || event_add(server->accept, NULL) != 0) {
        http_server_free(server);
        return NULL;
    }
    return server;
}

void http_server_watch_refused(struct http_server *server,
                               void (*refused)(int status, void *arg))
{
    server->refused = refused;
}

void http_server_limit(struct http_server *server, uint64_t body,
                       uint64_t receiving, uint64_t unsent)
{
    server->body = body;
    server->receiving = receiving;
    server->unsent = unsent;
}

void http_server_spool(struct http_server *server,
                       bool (*spools)(const char *path, void *arg),
                       uint64_t body)
{
    server->spools = spools;
    server->spooled = body;
}

void http_server_stop(struct http_server *server, void (*drained)(void *arg),
                      void *arg)
{
    struct http_connection *c, *next;

    server->is_stopping = true;
    event_del(server->accept);
    for (c = LIST_FIRST(&server->connections); c != NULL; c = next) {
        next = http_connection_next(c);
        http_connection_stop(c);
    }
    if (LIST_EMPTY(&server->connections)) {
        drained(arg);
        return;
    }
    server->drained = drained;
    server->drained_arg = arg;
}

void http_server_free(struct http_server *server)
{
    if (server == NULL) {
        return;
    }
    server->drained = NULL;
    while (!LIST_EMPTY(&server->connections)) {
        http_connection_free(LIST_FIRST(&server->connections));
    }
    event_drop(server->accept);
    event_drop(server->resume);
    event_drop(server->tick);
    http_input_free(server->input);
    free(server);
}
