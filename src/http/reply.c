/*
 * Copyright (C) the ngx_symcache authors
 */

#include "reply.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <event2/keyvalq_struct.h>
#include "base/utf8.h"
#include "base/http_status.h"

void reply_header(struct evhttp_request *req, const char *name,
                  const char *value)
{
    evhttp_add_header(evhttp_request_get_output_headers(req), name, value);
}

void reply_number(struct evhttp_request *req, const char *name, unsigned value)
{
    char text[16];

    snprintf(text, sizeof(text), "%u", value);
    reply_header(req, name, text);
}

/* What answers HEAD is a header, with the length that the body of GET has. */
static bool reply_is_head(const struct evhttp_request *req)
{
    return evhttp_request_get_command(req) == EVHTTP_REQ_HEAD;
}

/* Writes what evhttp would have sent, for a request without a connection. */
static void print_reply(struct evhttp_request *req, int status,
                        struct evbuffer *body)
{
    struct evbuffer *out = evhttp_request_get_output_buffer(req);
    const struct evkeyval *header;

    evbuffer_add_printf(out, "HTTP/1.1 %d %s\r\n", status,
                        http_status_text(status));
    TAILQ_FOREACH(header, evhttp_request_get_output_headers(req), next)
    {
        evbuffer_add_printf(out, "%s: %s\r\n", header->key, header->value);
    }
    if (status != 304) {
        evbuffer_add_printf(out, "Content-Length: %zu\r\n",
                            body != NULL ? evbuffer_get_length(body) : 0);
    }
    evbuffer_add_printf(out, "Connection: close\r\n\r\n");
    if (body != NULL && !reply_is_head(req)) {
        evbuffer_add_buffer(out, body);
    }
}

/* evhttp leaves the length out for HEAD and CONNECT, and sends the body
 * nevertheless, which the client would take for the next answer. */
static void add_reply_length(struct evhttp_request *req, int status,
                             const struct evbuffer *body)
{
    char text[24];

    if (status != 304 && status != 204 &&
        evhttp_find_header(evhttp_request_get_output_headers(req),
                           "Content-Length") == NULL) {
        snprintf(text, sizeof(text), "%zu",
                 body != NULL ? evbuffer_get_length(body) : 0);
        reply_header(req, "Content-Length", text);
    }
}

static void send_reply(struct evhttp_request *req, int status,
                       struct evbuffer *body)
{
    if (evhttp_request_get_connection(req) != NULL) {
        if (reply_is_head(req) ||
            evhttp_request_get_command(req) == EVHTTP_REQ_CONNECT) {
            add_reply_length(req, status, body);
            body = reply_is_head(req) ? NULL : body;
        }
        evhttp_send_reply(req, status, http_status_text(status), body);
    } else {
        print_reply(req, status, body);
    }
}

void reply_empty(struct evhttp_request *req, int status)
{
    if (status != 304) {
        /* without it evhttp sends a Content-Type of HTML */
        reply_header(req, "Content-Type", "text/plain");
    }
    reply_header(req, "Cache-Control", "no-store");
    send_reply(req, status, NULL);
}

void reply_send(struct evhttp_request *req, int status, const char *type,
                struct evbuffer *body)
{
    if (type != NULL) {
        reply_header(req, "Content-Type", type);
    }
    send_reply(req, status, body);
}

static void reply_body(struct evhttp_request *req, int status,
                       const char *type, struct evbuffer *buf)
{
    reply_header(req, "Cache-Control", "no-store");
    reply_send(req, status, type, buf);
    evbuffer_free(buf);
}

void reply_object(struct evhttp_request *req, int status, cJSON *object)
{
    char *text = object != NULL ? cJSON_Print(object) : NULL;
    struct evbuffer *buf = evbuffer_new();

    cJSON_Delete(object);
    if (text == NULL || buf == NULL) {
        if (buf != NULL) {
            evbuffer_free(buf);
        }
        free(text);
        reply_empty(req, 503);
        return;
    }

    utf8_mend(text);
    evbuffer_add_printf(buf, "%s\n", text);
    free(text);
    reply_body(req, status, "application/json", buf);
}

void reply_error(struct evhttp_request *req, int status, const char *error,
                 const char *detail)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, "error", error);
    cJSON_AddStringToObject(object, "detail", detail != NULL ? detail : "");
    reply_object(req, status, object);
}

void reply_json(struct evhttp_request *req, cJSON *object)
{
    reply_object(req, 200, object);
}

void reply_text(struct evhttp_request *req, struct evbuffer *buf)
{
    reply_body(req, 200, "text/plain; version=0.0.4", buf);
}
