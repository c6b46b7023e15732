/*
 * Copyright (C) the ngx_symcache authors
 *
 * One request to symcached and its answer, on a connection of its own.
 */
#pragma once

#include <event2/buffer.h>
#include <stdbool.h>
#include <sys/socket.h>
#include "base/secret.h"

struct event_base;

#define SYMCACHED_CLIENT_TEXT 128 /* "unix:" and a path, or the like */

/* Where symcached listens, and the token that it wants there. */
struct symcached_client_address {
    char text[SYMCACHED_CLIENT_TEXT];
    struct sockaddr_storage address;
    socklen_t size;
    bool is_tenant; /* not the symcached of the configuration */
    /* a line for the head of requests, a secret; or "" */
    char credentials[sizeof("Authorization: Bearer \r\n") + SECRET_MAX];
};

/* text: "unix:/path" or "address:port", and the token or NULL, both checked by
 * the configuration. */
void symcached_client_address(struct symcached_client_address *address,
                              const char *text, const char *token);

struct symcached_client;

enum symcached_client_news {
    EXCHANGE_BODY,   /* more of the body of an answer with status 200 */
    EXCHANGE_ENDED,  /* that answer has ended; all of it that came is there */
    EXCHANGE_FAILED, /* another answer, none, or not within the time */
    EXCHANGE_NOBODY  /* no connection could be made */
};

/* Is called when there is news; EXCHANGE_BODY can come several times, any
 * other news is the last. body: the part of the body that has arrived and was
 * not drained, or NULL if none has.  The client may be freed in it. */
typedef void (*exchange_fn)(void *arg, enum symcached_client_news news,
                            struct evbuffer *body);

/*
 * Sends a request: its line without the version, such as "GET /v1/jobs", and a
 * body, which is drained, or NULL.  All is over within these seconds.  fn is
 * not called from inside this function.  NULL: there is no memory or no
 * descriptor.
 */
struct symcached_client *
symcached_client_start(struct event_base *base,
                       const struct symcached_client_address *address,
                       const char *line, struct evbuffer *body,
                       unsigned seconds, exchange_fn fn, void *arg);

/* fn is not called any more.  NULL is allowed. */
void symcached_client_free(struct symcached_client *client);

/* Call this before event_base_free(): it runs the loop once without waiting,
 * so that libevent frees connections of exchanges that have ended. */
void symcached_client_end(struct event_base *base);
