/*
 * Copyright (C) the ngx_symcache authors
 */
#include "short_answer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT_TYPE "text/plain; charset=utf-8"

void answer_text(struct api_reply *reply, int status, const char *format, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof(text), format, ap);
    va_end(ap);
    reply->status = status;
    reply->type = TEXT_TYPE;
    json_write_reset(reply->body);
    json_write_raw(reply->body, text, strlen(text));
}

void answer_unreadable(struct api_reply *reply, int status, const char *error)
{
    if (status == 400) {
        answer_text(reply, 400, "Failed to parse the request body as JSON: %s",
                    error);
    } else if (status == 422) {
        answer_text(
            reply, 422,
            "Failed to deserialize the JSON body into the target type: %s",
            error);
    } else {
        answer_text(reply, 503, "out of memory");
    }
}

void answer_detail(struct api_reply *reply, int status, const char *detail)
{
    reply->status = status;
    reply->type = ANSWER_JSON_TYPE;
    json_write_reset(reply->body);
    json_write_open(reply->body, '{');
    json_put_text(reply->body, "detail", detail);
    json_write_close(reply->body, '}');
}

void answer_later(struct api_reply *reply, const char *detail)
{
    api_reply_header(reply, "Retry-After", "1");
    answer_detail(reply, 503, detail);
}

void answer_busy(struct api_reply *reply)
{
    answer_later(reply, "maximum number of concurrent requests reached");
}

void answer_status(struct api_reply *reply, const char *status, const char *id)
{
    reply->status = 200;
    reply->type = ANSWER_JSON_TYPE;
    json_write_open(reply->body, '{');
    json_put_text(reply->body, "status", status);
    if (id != NULL) {
        json_put_text(reply->body, "request_id", id);
        json_put_number(reply->body, "retry_after", 30);
    }
    json_write_close(reply->body, '}');
}

void answer_pending(struct api_reply *reply, const char *id)
{
    api_reply_header(reply, "Cache-Control", "no-store");
    if (id != NULL) {
        answer_status(reply, "pending", id);
    } else {
        answer_busy(reply);
    }
}

void answer_late(const struct api_call *call, struct api_reply *reply)
{
    if (call->is_stopped) {
        answer_later(reply, "the server is stopping");
    } else {
        answer_status(reply, "timeout", NULL);
    }
}
