/*
 * Copyright (C) the ngx_symcache authors
 *
 * A call that answers a request of Symbolicator's protocol, wherever the
 * request came from.
 */
#pragma once

#include "symbolicated/api/api.h"
#include "symbolicated/api/request_limit.h"
#include "native_answer.h"
#include "client_sources.h"
#include "source_links.h"

/* A call may take so long, and is answered "timeout" then. */
#define SYMBOLICATOR_LIMIT_MS (15 * 60 * 1000)

struct native_call {
    struct api_call api; /* first */
    const struct symbolication_config *config;
    struct symbolicator_request request;
    size_t body_size;
    char *text;          /* of the request, if it is the call's to free */
    bool has_no_sources; /* the client named none: nothing is looked for */
    bool wants_cfi;      /* of the modules that are used, after their names */
    struct symbolicator_result *results; /* of all modules */
    struct json_writer tenant;           /* api.tenant */
    struct client_list *client_sources;  /* or NULL */
    size_t *wanted; /* which module of the request each of api.first is */
    struct api_round images;   /* the second round, */
    size_t *imaged;            /* and which of the first each of it is */
    struct api_round sources;  /* the third round, of source code, */
    size_t *sourced;           /* and whose code each of it is */
    struct source_links links; /* the fourth */
    request_count *running;    /* that it is one of; NULL: it is not counted */
};

/* A call without a request, to be freed by its api.free; NULL without
 * memory. */
struct native_call *native_call_new(const struct symbolication_config *config);

/* When it has its request: tells which modules are needed, in api.first.
 * Returns 0, or -1 without memory. */
int native_call_want(struct native_call *call);

/* Has a module of a round not come in time? */
bool symbolicator_round_is_late(const struct api_round *round);
