/*
 * Copyright (C) the ngx_symcache authors
 *
 * A request that is not answered yet.  For request.c, api_request.c and
 * streamed_answer.c only.
 */
#pragma once

#include "step_thread.h"
#include "packer.h"
#include "pending_calls.h"
#include "request_log.h"
#include "request.h"

struct request {
    LIST_ENTRY(request) entry; /* of those that wait, or of those with a step */
    struct request_context *context;
    struct http_request *http; /* NULL: the call goes on without it */
    void *texts;               /* of the request, then */
    struct pending_call *pending; /* the same */
    struct pending_poll poll;  /* if that is what the call is */
    struct settings *settings;
    struct api_request api;
    struct api_reply reply;
    struct api_call *call;
    struct search *search; /* for the newest round; search_before() */
    struct body *body;   /* its work, if a worker does it; or NULL */
    struct event *timer; /* NULL: it does not wait */
    struct step_thread *step; /* in another thread; NULL: there is none */
    unsigned tries;
    bool is_sending;         /* a part of the answer */
    struct packer *packer;   /* of parts; or NULL */
    uint64_t begun; /* microseconds: when the call was, or let its rounds go */
    struct request_log record;
    uint64_t worked; /* its worker got the body, or files, the last time */
};

/* What protocols see of it. */
void api_request_fill(struct request *request);

/* Takes the call's steps until one has to wait. */
void request_go_on(struct request *request);

/* Its client is gone, or its answer has been sent. */
void request_free(struct request *request);

/* It waits for nothing any more. */
void request_stop_waiting(struct request *request);

/* There is no memory for its answer. */
void request_fail(struct request *request);

/* Its client is gone. */
void request_gone(void *request);

/* The reply goes out as a part of the answer; then the call goes on. */
void streamed_answer_part(struct request *request);

/* The reply, which is empty, is the end of an answer that has parts. */
void streamed_answer_end(struct request *request);
