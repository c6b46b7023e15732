/*
 * Copyright (C) the ngx_symcache authors
 *
 * POST /minidump and POST /applecrashreport: a worker reads the form and finds
 * the frames, and what it comes to is answered as a request of
 * POST /symbolicate is.
 */
#pragma once

#include "reports/crash/crash.h"
#include "symbolicated/api/api.h"

/* What is configured for a kind of report. */
const struct event_config *
crash_config(const struct symbolication_config *config, enum crash_kind kind);

/* The call of a request.  NULL: the reply is complete already. */
struct api_call *crash_begin(const struct api_request *request,
                             enum crash_kind kind, const char *scope,
                             struct api_reply *reply);

/* A report that is somewhere else. */
struct crash_stored {
    enum crash_kind kind;
    char *url;
    char *token;                /* a secret; or NULL */
    char *rewrite;              /* JSON, of rewrite_first_module; or NULL */
    struct json_writer members; /* an object: sources, scraping, options */
};

/* Wipes and frees what it has. */
void crash_stored_free(struct crash_stored *stored);

/* The same of one, which is taken over in either case. */
struct api_call *crash_begin_stored(const struct symbolication_config *config,
                                    struct crash_stored *stored,
                                    const char *scope,
                                    struct api_reply *reply);
