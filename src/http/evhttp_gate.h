/*
 * Copyright (C) the ngx_symcache authors
 *
 * Watches the connections of an evhttp.  Their input is also read by
 * request_head.h: a request that a proxy could understand in another way is
 * refused, and one that is not whole in time ends its connection.
 */
#pragma once

#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>

/*
 * The priority of reading requests, which comes after new connections are
 * accepted; otherwise the backlog could fill up meanwhile, and nginx would be
 * refused.
 */
#define GATE_PRIORITY 2

struct gate;

struct gate_calls {
    /* a request that is to be answered */
    void (*request)(struct evhttp_request *req, void *arg);
    /* its answer has been sent, or its connection is gone */
    void (*ended)(void *arg);
    /* a request was refused with this status; 408: it did not become whole,
     * 503: its peer has its share of connections */
    void (*refused)(int status, void *arg);
    void *arg;
};

/* Watches the connections that http accepts.  NULL when out of memory. */
struct gate *gate_new(struct event_base *base, struct evhttp *http,
                      const struct gate_calls *calls);

/* To be freed after its evhttp.  NULL is allowed. */
void gate_free(struct gate *gate);

/* The caller takes the connection over: ended is not called for its
 * request. */
void gate_release(struct evhttp_connection *connection);
