/*
 * Copyright (C) the ngx_symcache authors
 */
#include "pages.h"

#include <stdlib.h>
#include <string.h>
#include "base/release.h"
#include "http/http.h"

static void page_metrics(const struct workers *workers,
                         struct evhttp_request *req)
{
    const struct stats **stats = calloc(workers->n, sizeof(stats[0]));
    struct evbuffer *buf = evbuffer_new();
    struct mapped_sizes sizes;
    unsigned i;

    if (stats == NULL || buf == NULL) {
        free(stats);
        if (buf != NULL) {
            evbuffer_free(buf);
        }
        reply_empty(req, 503);
        return;
    }
    for (i = 0; i < workers->n; i++) {
        stats[i] = worker_stats(workers->list[i]);
    }
    mapped_sizes(workers->mapped, &sizes);
    stats_print(buf, stats, workers->n, &sizes, workers->started);
    free(stats);
    reply_text(req, buf);
}

static void page_healthz(const struct workers *workers,
                         struct evhttp_request *req)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, "status", "ok");
    reply_json(req, object);
}

static void page_version(const struct workers *workers,
                         struct evhttp_request *req)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddStringToObject(object, "version", SYMCACHED_VERSION);
    reply_json(req, object);
}

static const struct page {
    const char *path;
    void (*fn)(const struct workers *workers, struct evhttp_request *req);
} pages[] = {
    {"/metrics", page_metrics},
    {"/healthz", page_healthz},
    {"/version", page_version},
};

bool page_reply(const struct workers *workers, struct evhttp_request *req)
{
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(req);
    const char *path = uri != NULL ? evhttp_uri_get_path(uri) : NULL;
    enum evhttp_cmd_type method = evhttp_request_get_command(req);
    size_t i;

    for (i = 0; path != NULL && i < sizeof(pages) / sizeof(pages[0]); i++) {
        if (strcmp(path, pages[i].path) != 0) {
            continue;
        }
        if (method != EVHTTP_REQ_GET && method != EVHTTP_REQ_HEAD) {
            reply_header(req, "Allow", "GET, HEAD");
            reply_error(req, 405, "method-not-allowed", path);
        } else {
            pages[i].fn(workers, req);
        }
        return true;
    }
    return false;
}
