/*
 * Copyright (C) the ngx_symcache authors
 */
#include "running_request.h"

#include "symbolicated/search/reachability.h"

static const char *api_request_header(const struct api_request *api,
                                      const char *name)
{
    const struct request *request =
        (const struct request *)((const char *)api -
                                 offsetof(struct request, api));

    return http_request_field(request->http, name);
}

void api_request_fill(struct request *request)
{
    static const enum api_method methods[] = {
        [HTTP_GET] = API_GET,         [HTTP_HEAD] = API_HEAD,
        [HTTP_POST] = API_POST,       [HTTP_OPTIONS] = API_OPTIONS,
        [HTTP_OTHER] = API_OTHER,
    };
    struct api_request *api = &request->api;
    const struct http_request *http = request->http;

    api->method = methods[http->method];
    api->path = http->path;
    api->query = http->query;
    api->size = (size_t)http->size;
    api->body = api->size > 0 ? http->body : NULL;
    api->spool = http->spool;
    api->header = api_request_header;
    api->config = request->settings->symbolication;
    api->json = &request->context->json;
    api->is_cut_off = reachability_is_lost(request->settings);
    api->json->takes_nan = false;
}
