/*
 * Copyright (C) the ngx_symcache authors
 */
#include "tenant_page.h"

#include "http/http.h"
#include "url_path.h"

static void on_tenant(void *arg, const struct tenant_answer *answer)
{
    struct evhttp_request *req = arg;
    cJSON *object;

    if (answer->status != 200) {
        reply_error(req, answer->status, "no-tenant", answer->detail);
        return;
    }
    object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "tenant", answer->name);
    reply_json(req, object);
}

void tenant_page(struct tenants *tenants, struct evhttp_request *req)
{
    struct evbuffer *body = evhttp_request_get_input_buffer(req);
    size_t size = evbuffer_get_length(body);

    if (tenants == NULL) {
        url_path_refuse(req, 403, "no-tenants",
                        "the configuration does not allow them");
        return;
    }
    tenants_ask(tenants, size > 0 ? (char *)evbuffer_pullup(body, -1) : "",
                size, on_tenant, req);
}
