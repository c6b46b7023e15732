/*
 * Copyright (C) the ngx_symcache authors
 *
 * Answers on a daemon's socket.  All functions but reply_header() and
 * reply_number() end the request.  If the request has no connection, the whole
 * answer is left in its output buffer; see pending_reply.h.
 */
#pragma once

#include <cjson/cJSON.h>
#include <event2/buffer.h>
#include <event2/http.h>

/* Sends an empty body with the headers that the caller added. */
void reply_empty(struct evhttp_request *req, int status);

/*
 * Sends a body of any type.  Only the headers that the caller added are sent
 * with it.  type and body may be NULL; the caller keeps the body.
 */
void reply_send(struct evhttp_request *req, int status, const char *type,
                struct evbuffer *body);

/* Sends {"error": "...", "detail": "..."}. */
void reply_error(struct evhttp_request *req, int status, const char *error,
                 const char *detail);

/* Sends an object and frees it; NULL means that memory is out, and is 503. */
void reply_object(struct evhttp_request *req, int status, cJSON *object);

/* The same with status 200. */
void reply_json(struct evhttp_request *req, cJSON *object);

/* Sends the text of metrics for Prometheus, and frees buf. */
void reply_text(struct evhttp_request *req, struct evbuffer *buf);

void reply_header(struct evhttp_request *req, const char *name,
                  const char *value);
void reply_number(struct evhttp_request *req, const char *name,
                  unsigned value);
