/*
 * Copyright (C) the ngx_symcache authors
 *
 * Answers that go out in parts: the loop has a turn between two of them, and a
 * client that reads slowly has one part here at the most.
 */
#include <string.h>
#include "api_reply.h"
#include "running_request.h"

static void on_answer_sent(void *arg)
{
    struct request *r = arg;

    r->is_sending = false;
    LIST_REMOVE(r, entry);
    r->call->parts++;
    r->call->is_stopped = r->context->is_stopping;
    request_go_on(r);
}

/* An answer that has begun cannot become a refusal. */
static void abort_answer(struct request *r)
{
    struct http_request *http = r->http;

    request_log_answer(r->context, &r->record, r->call, &r->reply);
    request_free(r);
    http_reply_abort(http);
}

static void send_answer_part(struct request *r, const struct http_reply *part,
                             void (*sent)(void *arg))
{
    request_stop_waiting(r);
    http_request_watch(r->http, request_gone, r);
    r->is_sending = true;
    LIST_INSERT_HEAD(&r->context->sending, r, entry);
    http_reply_part(r->http, part, sent, r);
}

void streamed_answer_part(struct request *r)
{
    struct http_field fields[API_HEADERS_MAX];
    struct http_reply part;

    if (r->call->parts == 0 && r->reply.packing != API_NOT_PACKED) {
        r->packer = packer_new(r->reply.packing);
        r->reply.body->has_failed |= r->packer == NULL;
    }
    if (r->packer != NULL) {
        packer_pack(r->packer, r->reply.body, false);
    }
    if (!r->reply.body->has_failed) {
        part = api_reply_http(&r->reply, fields);
        send_answer_part(r, &part, on_answer_sent);
    } else if (r->call->parts == 0) {
        request_fail(r);
    } else {
        abort_answer(r);
    }
}

static void end_answer(void *arg)
{
    struct request *r = arg;
    struct http_request *http = r->http;

    request_log_answer(r->context, &r->record, r->call, &r->reply);
    request_free(r);
    http_reply_end(http);
}

void streamed_answer_end(struct request *r)
{
    struct json_writer *body = r->reply.body;
    struct http_reply part = {0};

    r->reply.status = 200;
    if (r->packer != NULL) {
        packer_pack(r->packer, body, true);
    }
    if (body->has_failed) {
        abort_answer(r);
    } else if (body->size > 0) {
        part.body = body->data;
        part.size = body->size;
        send_answer_part(r, &part, end_answer);
    } else {
        end_answer(r);
    }
}
