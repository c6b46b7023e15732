/*
 * Copyright (C) the ngx_symcache authors
 *
 * POST /v1/tenants: starts the tenant of a client's sources.
 */
#include "pages.h"

#include "http/http.h"
#include "url_path.h"

void tenant_page(struct guests *guests, struct evhttp_request *req)
{
    struct evbuffer *body = evhttp_request_get_input_buffer(req);
    size_t size = evbuffer_get_length(body);
    const char *detail;
    cJSON *answer;
    int status;

    if (guests == NULL) {
        url_path_refuse(req, 403, "no-tenants",
                        "the socket of tenants is in their folder, if the "
                        "configuration allows them");
        return;
    }
    answer =
        guests_ask(guests, size > 0 ? (char *)evbuffer_pullup(body, -1) : "",
                   size, &status, &detail);
    if (answer == NULL) {
        reply_error(req, status, "no-tenant", detail);
        return;
    }
    reply_json(req, answer);
}
