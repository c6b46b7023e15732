/*
 * Copyright (C) the ngx_symcache authors
 *
 * What is counted and logged of a call.
 */
#pragma once

#include "request.h"

/* Of the modules of rounds; their source code is counted apart. */
struct request_log_counts {
    size_t modules;
    size_t asked;
    size_t states[API_MODULE_LATE + 1];
    size_t sources[API_MODULE_LATE + 1];
    size_t mappings[API_MODULE_LATE + 1]; /* of modules */
    size_t programs[API_MODULE_LATE + 1]; /* machine code, apart, too */
};

/* Times in microseconds. */
struct request_log {
    uint64_t started;
    uint64_t parsed;
    uint64_t searched;
    struct request_log_counts let_go; /* of rounds that are gone */
};

/* The rounds of a call go. */
void request_log_let_go(struct request_log *log, const struct api_call *call);

/* A request was answered; call is NULL if none began. */
void request_log_answer(struct request_context *context,
                        const struct request_log *log,
                        const struct api_call *call,
                        const struct api_reply *reply);

/* Its client was told that the call is pending, with this id. */
void request_log_pending(struct request_context *context,
                         const struct request_log *log,
                         const struct api_call *call,
                         const struct api_reply *reply, const char *id);

/* Such a call has ended. */
void request_log_end(struct request_context *context,
                     const struct request_log *log,
                     const struct api_call *call,
                     const struct api_reply *reply, const char *id);

/* Writes the lines that were not written yet. */
void request_log_flush(struct request_context *context);
