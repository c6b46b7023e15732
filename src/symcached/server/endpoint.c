/*
 * Copyright (C) the ngx_symcache authors
 */

#include "endpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <event2/listener.h>
#include "base/event.h"
#include "base/log.h"
#include "proto/header.h"
#include "url_path.h"

/* nginx closes idle connections after 60 s itself */
#define IDLE_SECONDS 120

/* The priority of reading requests; all other events have 1 of 0 to 2. */
#define REQUEST_PRIORITY GATE_PRIORITY
#define REQUESTS_AT_ONCE 64

/* After accept() fails for lack of descriptors, others must close first. */
#define ACCEPT_PAUSE_MS 100

struct endpoint {
    LIST_ENTRY(endpoint) next;
    struct evhttp *http;
    struct evhttp_bound_socket *bound; /* NULL: stopped */
    struct listener listener;
    struct event *resume; /* accepting, after a pause */
    struct gate *gate;
};

/* evhttp sets the argument of a listener's callbacks, so this finds ours. */
static LIST_HEAD(, endpoint) endpoints = LIST_HEAD_INITIALIZER(endpoints);

static void on_accept_error(struct evconnlistener *listener, void *arg)
{
    struct timeval pause = {.tv_usec = ACCEPT_PAUSE_MS * 1000};
    struct endpoint *endpoint;

    log_crit(EVUTIL_SOCKET_ERROR(), "accept() failed");
    evconnlistener_disable(listener);
    LIST_FOREACH(endpoint, &endpoints, next)
    {
        if (endpoint->bound != NULL &&
            evhttp_bound_socket_get_listener(endpoint->bound) == listener) {
            event_add(endpoint->resume, &pause);
        }
    }
}

static void endpoint_on_resume(evutil_socket_t fd, short events, void *arg)
{
    struct endpoint *endpoint = arg;

    if (endpoint->bound != NULL) {
        evconnlistener_enable(
            evhttp_bound_socket_get_listener(endpoint->bound));
    }
}

struct event_base *endpoint_event_base(void)
{
    struct event_config *config = event_config_new();
    struct event_base *base = NULL;

    if (config != NULL &&
        event_config_set_max_dispatch_interval(config, NULL, REQUESTS_AT_ONCE,
                                               REQUEST_PRIORITY) == 0) {
        base = event_base_new_with_config(config);
    }
    if (config != NULL) {
        event_config_free(config);
    }
    if (base != NULL &&
        event_base_priority_init(base, REQUEST_PRIORITY + 1) != 0) {
        event_base_free(base);
        base = NULL;
    }
    return base;
}

/* Begins to accept, and sets what evhttp is told of requests. */
static int accept_requests(struct endpoint *endpoint)
{
    /* every method, as the server answers 405 itself */
    evhttp_set_allowed_methods(endpoint->http, 0xffff);
    evhttp_set_max_headers_size(endpoint->http, URL_PATH_HEADERS_MAX);
    evhttp_set_max_body_size(endpoint->http, SYMCACHE_LOOKUPS_SIZE);
    evhttp_set_timeout(endpoint->http, IDLE_SECONDS);
    endpoint->bound = evhttp_accept_socket_with_handle(endpoint->http,
                                                       endpoint->listener.fd);
    if (endpoint->bound == NULL) {
        return -1;
    }
    evconnlistener_set_error_cb(
        evhttp_bound_socket_get_listener(endpoint->bound), on_accept_error);
    return 0;
}

struct endpoint *endpoint_new(struct event_base *base, const char *address,
                              mode_t mode, const struct gate_calls *calls,
                              char *error, size_t size)
{
    struct endpoint *endpoint = calloc(1, sizeof(*endpoint));

    snprintf(error, size, "out of memory");
    if (endpoint == NULL) {
        return NULL;
    }
    LIST_INSERT_HEAD(&endpoints, endpoint, next);
    endpoint->listener.fd = -1;
    endpoint->http = evhttp_new(base);
    endpoint->resume = evtimer_new(base, endpoint_on_resume, endpoint);
    if (endpoint->http != NULL) {
        endpoint->gate = gate_new(base, endpoint->http, calls);
    }
    if (endpoint->gate == NULL || endpoint->resume == NULL ||
        listener_open(&endpoint->listener, address, mode, error, size) != 0) {
        endpoint_free(endpoint);
        return NULL;
    }
    if (accept_requests(endpoint) != 0) {
        snprintf(error, size, "cannot accept on \"%s\"", address);
        endpoint_free(endpoint);
        return NULL;
    }
    return endpoint;
}

void endpoint_stop(struct endpoint *endpoint)
{
    if (endpoint == NULL) {
        return;
    }
    listener_unlink(&endpoint->listener);
    if (endpoint->bound != NULL) {
        evhttp_del_accept_socket(endpoint->http, endpoint->bound);
        endpoint->bound = NULL;
    }
}

void endpoint_free(struct endpoint *endpoint)
{
    if (endpoint == NULL) {
        return;
    }
    listener_unlink(&endpoint->listener);
    if (endpoint->http != NULL) {
        evhttp_free(endpoint->http);
    }
    gate_free(endpoint->gate);
    event_drop(endpoint->resume);
    LIST_REMOVE(endpoint, next);
    free(endpoint);
}
