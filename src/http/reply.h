/*
 * Copyright (C) the ngx_symcache authors
 *
 * Answers on a daemon's socket.  Each function ends the request.  One that
 * has no connection has the whole answer in its output buffer then.
 */
#ifndef HTTP_REPLY_H
#define HTTP_REPLY_H

#include <cjson/cJSON.h>
#include <event2/buffer.h>
#include <event2/http.h>

/* An empty body; the headers are those that the caller added. */
void reply_empty(struct evhttp_request *req, int status);

/*
 * A body of any type; no headers but those that the caller added.  type and
 * body may be NULL; the body stays the caller's.
 */
void reply_send(struct evhttp_request *req, int status, const char *type,
                struct evbuffer *body);

/* {"error": "...", "detail": "..."} */
void reply_error(struct evhttp_request *req, int status, const char *error,
                 const char *detail);

/* Takes the object over; NULL is answered as out of memory. */
void reply_json(struct evhttp_request *req, cJSON *object);

/* Prometheus text; takes buf over. */
void reply_text(struct evhttp_request *req, struct evbuffer *buf);

void reply_header(struct evhttp_request *req, const char *name,
                  const char *value);
void reply_number(struct evhttp_request *req, const char *name,
                  unsigned value);

#endif
