/*
 * Copyright (C) the ngx_symcache authors
 *
 * A connection of a server: its input and its unsent output.  For server.c and
 * streamed_reply.c only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include "base/running_clock.h"
#include "chunked.h"
#include "output.h"
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
    struct running_clock clock;
    uint64_t now; /* its time of the last tick */
    char date[HTTP_DATE_MAX]; /* the value of Date then */
    bool is_stopping;
    void (*drained)(void *arg);
    void *drained_arg;
};

enum http_connection_state {
    READS, /* a request, or waits for one */
    RUNS,  /* its request is not answered yet */
    STREAMS, /* a part of its answer is on its way */
    WRITES,
    LINGERS /* the last answer is sent */
};

struct http_connection {
    struct http_request request; /* the first member */
    LIST_ENTRY(http_connection) entry;
    struct http_server *server;
    struct event event;
    short watched;            /* of the event; 0: nothing */
    short wanted;             /* to be watched: without memory it is not yet */
    struct http_input *input; /* or NULL */
    struct http_input *reads; /* this or the server's, while a request runs */
    struct http_head head;
    struct http_chunked chunked;
    uint32_t seen;    /* of the head */
    size_t head_size; /* 0: it is not read yet */
    size_t next;      /* where the next request begins */
    size_t counted;   /* bytes of its input among those that are received */
    uint64_t active;  /* the server's now */
    uint64_t since; /* the begin of what is read or thrown away; 0: nothing */
    enum http_connection_state state;
    bool is_busy;   /* it is not freed */
    bool is_closed; /* while it was busy: is to be freed */
    int fault;      /* status if the rest of a request is not waited for */
    bool closes;    /* with this answer */
    bool lingers;   /* then */
    bool is_streamed; /* the answer, which has begun */
    bool is_broken;   /* it cannot go on */
    bool in_chunks;
    void (*gone)(void *arg);
    void *arg;
    void (*sent)(void *arg); /* of a part */
    void *sent_arg;
    struct http_output output;
};

/* Takes over a connected socket that does not block.  Closes it if there is
 * no memory. */
void http_connection_new(struct http_server *server, int fd);

/* Closes it if it has been silent for too long. */
void http_connection_tick(struct http_connection *connection);

/* Closes it unless a request runs or an answer is on its way. */
void http_connection_stop(struct http_connection *connection);

void http_connection_free(struct http_connection *connection);

/* Waits for its socket: EV_READ, EV_WRITE, or 0: for nothing. */
void http_connection_watch(struct http_connection *connection, short what);

/* Its output is the end of the answer. */
void http_connection_answered(struct http_connection *connection);

/* The client is gone: tells the code that works on its request. */
void http_connection_leave_request(struct http_connection *connection);

/* Sends on the part that is on its way. */
void http_connection_stream(struct http_connection *connection);

/* The next one of the server's. */
struct http_connection *
http_connection_next(const struct http_connection *connection);
