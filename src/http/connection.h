/*
 * Copyright (C) the ngx_symcache authors
 *
 * A connection of a server: what it has read and what it has still to write.
 * For server.c only.
 */
#ifndef HTTP_CONNECTION_H
#define HTTP_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <event2/event.h>
#include "server.h"

#define HTTP_DATE_MAX 32

struct http_connection;
struct http_input;

struct http_server {
    struct event_base *base;
    http_request_fn on_request;
    void (*refused)(int status, void *arg); /* or NULL */
    void *arg;
    uint64_t body;      /* bytes at most */
    uint64_t receiving; /* the same of all */
    bool (*spools)(const char *path, void *arg); /* or NULL */
    uint64_t spooled;   /* bytes of such a body, at most */
    uint64_t unsent;    /* of copies of answers, of all */
    struct http_input *input; /* for what comes; NULL: a request has it */
    LIST_HEAD(, http_connection) connections;
    struct event *accept;
    struct event *resume; /* accepting */
    struct event *tick;
    uint64_t now; /* clock_ms() of the last tick */
    char date[HTTP_DATE_MAX]; /* the value of Date then */
    bool is_stopping;
    void (*drained)(void *arg);
    void *drained_arg;
};

/* Takes over a connected socket that does not block.  Closes it if there is
 * no memory. */
void http_connection_new(struct http_server *server, int fd);

/* Closes it if it has been silent for too long. */
void http_connection_tick(struct http_connection *connection);

/* Closes it unless a request runs or an answer is on its way. */
void http_connection_stop(struct http_connection *connection);

void http_connection_free(struct http_connection *connection);

/* The next one of the server's. */
struct http_connection *
http_connection_next(const struct http_connection *connection);

#endif
