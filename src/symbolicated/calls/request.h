/*
 * Copyright (C) the ngx_symcache authors
 *
 * One HTTP request: read by its protocol, searched for, answered, logged.
 */
#pragma once

#include <sys/queue.h>
#include "http/http.h"
#include "symbolicated/search/search.h"
#include "symbolicated/stats.h"
#include "worker_pool/worker_pool.h"

#define REQUEST_LINES_MAX 16384

struct request;

/* What the requests of a worker share. */
struct request_context {
    struct searcher searcher;
    struct settings *settings; /* for the next request */
    struct json json;
    struct json_writer writer;
    struct stats stats;
    struct work_pool *pool; /* NULL: no call has a work */
    struct pending_inbox *inbox;
    LIST_HEAD(, request) waiting; /* for modules, works, other calls */
    LIST_HEAD(, request) stepping; /* in threads of their own */
    LIST_HEAD(, request) sending; /* a part of their answer */
    bool is_stopping;
    struct event *flush; /* writes the lines */
    char lines[REQUEST_LINES_MAX]; /* of the log */
    size_t lines_size;
};

/* spawner is a socket of spawner_start(), or -1.  Returns 0, or -1 without
 * memory. */
int request_context_init(struct request_context *context,
                         struct event_base *base,
                         struct mapped_modules *mapped, int spawner,
                         struct settings *settings);
void request_context_clear(struct request_context *context);

/* Answers the requests that wait, with what there is. */
void request_context_stop(struct request_context *context);

/* Takes a request and answers it, now or later. */
void request_start(struct request_context *context,
                   struct http_request *request);
