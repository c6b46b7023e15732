/*
 * Copyright (C) the ngx_symcache authors
 *
 * From what a call has written to what its connection sends.
 */
#pragma once

#include "http/http.h"
#include "symbolicated/api/api.h"

/* There is no memory, or no room for the answer. */
void api_reply_set_failed(struct api_reply *reply);

/* fields is the room of those of the reply: API_HEADERS_MAX. */
struct http_reply api_reply_http(const struct api_reply *reply,
                                 struct http_field *fields);

/* Hands over a large answer, whose buffer belongs to the connection then.
 * Clients that do not read can hold up to most bytes of such answers, which
 * is enough for one.  Returns false if there is no room for it. */
bool api_reply_send_large(struct api_reply *from, uint64_t most,
                          struct http_reply *reply);
