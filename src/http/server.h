/*
 * Copyright (C) the ngx_symcache authors
 *
 * A server of HTTP/1.1 on an event loop, as much of it as is needed behind a
 * proxy: keep-alive, pipelining, bodies with a length or in chunks, and "100
 * Continue".  A request is answered from the buffer that it was read into, and
 * an idle connection has no buffer.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <event2/event.h>
#include "base/spool.h"
#include "request_head.h"

struct http_server;

enum http_body {
    HTTP_BODY_WHOLE,
    HTTP_BODY_TOO_LONG, /* it is not read: size is what is known of it */
    HTTP_BODY_NO_ROOM   /* as HTTP_BODY_TOO_LONG: others take all there is */
};

/* A request that is to be answered; its texts live as long as it. */
struct http_request {
    enum http_method method;
    const char *path;  /* as sent, without the query */
    const char *query; /* or NULL */
    enum http_body state;
    char *body; /* size bytes, which may be changed; NULL unless whole */
    struct spool *spool; /* the body, in place of that; or NULL */
    uint64_t size;
};

struct http_field {
    const char *name;
    const char *value;
};

struct http_reply {
    int status;
    const char *type; /* Content-Type, or NULL */
    const struct http_field *fields;
    unsigned nfields;
    char *body; /* size bytes; not sent to a request with HEAD */
    size_t size;
    /* Takes over the body, and is called when nothing of it is needed any
     * more.  NULL: it stays the caller's, and what cannot be sent at once is
     * copied. */
    void (*release)(char *body, size_t size);
};

typedef void (*http_request_fn)(struct http_request *request, void *arg);

/*
 * Serves connections that are accepted on a listening socket, which stays the
 * caller's and may be shared.  on_request is to answer each request by
 * http_reply(), at once or later.  NULL without memory.
 */
struct http_server *http_server_new(struct event_base *base, int listener,
                                    http_request_fn on_request, void *arg);

/* Has refused called, with the arg of on_request, for each request that is
 * answered with a status of the server's own, as it cannot be read. */
void http_server_watch_refused(struct http_server *server,
                               void (*refused)(int status, void *arg));

/*
 * Bytes, from the next request on: of a body; of all bodies that this process
 * is receiving; of all answers, or ends of them, that clients have not taken
 * and that are copied, beyond which a connection is closed.  One body and one
 * answer alone may be larger than the last two.
 */
void http_server_limit(struct http_server *server, uint64_t body,
                       uint64_t receiving, uint64_t unsent);

/*
 * Bodies of requests with a path for which spools() returns true are put into
 * spools, and may have so many bytes.
 */
void http_server_spool(struct http_server *server,
                       bool (*spools)(const char *path, void *arg),
                       uint64_t body);

/* Accepts and reads nothing more; calls drained when all answers are sent. */
void http_server_stop(struct http_server *server, void (*drained)(void *arg),
                      void *arg);

/* Closes its connections, and calls nobody.  NULL is allowed. */
void http_server_free(struct http_server *server);

/* The value of the first field of that name, or NULL. */
const char *http_request_field(const struct http_request *request,
                               const char *name);

/*
 * For requests that are answered later: gone is called when the client has
 * closed the connection, and then the request is over.  A client that only says
 * that it sends nothing more is answered.  With NULL the connection and its
 * texts stay until the answer, or until it is watched again.
 */
void http_request_watch(struct http_request *request,
                        void (*gone)(void *arg), void *arg);

/*
 * Takes over the memory of the texts and the body of a request that was not
 * answered at once: they stay valid after its answer, until free().  NULL when
 * out of memory.
 */
void *http_request_take(struct http_request *request);

/* Answers a request, which is over then. */
void http_reply(struct http_request *request, const struct http_reply *reply);

/*
 * Answers a part, which is copied and has some bytes, after
 * http_request_watch(); the first one with status and fields.  sent is called
 * from the loop when the client has taken it.
 */
void http_reply_part(struct http_request *request,
                     const struct http_reply *part, void (*sent)(void *arg),
                     void *arg);

/* The parts that were sent are the whole answer; the request is over then. */
void http_reply_end(struct http_request *request);

/* There will be no more parts, which the client learns from the end of the
 * connection; the request is over then. */
void http_reply_abort(struct http_request *request);
