/*
 * Copyright (C) the ngx_symcache authors
 */
#include "daemon_pages.h"

#include <event2/buffer.h>
#include <stdlib.h>
#include <string.h>
#include "base/release.h"

static void send_text(struct http_request *request, int status,
                      const char *type, char *text, size_t size)
{
    static const struct http_field fields[] = {
        {"Cache-Control", "no-store"}, {"Allow", "GET, HEAD"}, /* with 405 */
    };
    struct http_reply reply = {
        .status = status,
        .type = type,
        .fields = fields,
        .nfields = status == 405 ? 2 : 1,
        .body = text,
        .size = size,
    };

    http_reply(request, &reply);
}

static void send_json(struct http_request *request, int status,
                      const char *text)
{
    send_text(request, status, "application/json", (char *)text, strlen(text));
}

static void daemon_page_metrics(const struct workers *workers,
                                struct http_request *request)
{
    const struct stats **stats = calloc(workers->n, sizeof(stats[0]));
    struct evbuffer *buf = evbuffer_new();
    struct mapped_modules_sizes sizes;
    unsigned i;

    if (stats == NULL || buf == NULL) {
        send_text(request, 503, NULL, NULL, 0);
    } else {
        for (i = 0; i < workers->n; i++) {
            stats[i] = worker_stats(workers->list[i]);
        }
        mapped_modules_sizes(workers->mapped, &sizes);
        stats_print(buf, stats, workers->n, &sizes, workers->started,
                    atomic_load(&workers->config_stale));
        send_text(request, 200, "text/plain; version=0.0.4",
                  (char *)evbuffer_pullup(buf, -1), evbuffer_get_length(buf));
    }
    free(stats);
    if (buf != NULL) {
        evbuffer_free(buf);
    }
}

static void daemon_page_healthz(const struct workers *workers,
                                struct http_request *request)
{
    send_json(request, 200, "{\"status\": \"ok\"}\n");
}

static void daemon_page_version(const struct workers *workers,
                                struct http_request *request)
{
    send_json(request, 200, "{\"version\": \"" SYMCACHED_VERSION "\"}\n");
}

static const struct page {
    const char *path;
    void (*fn)(const struct workers *workers, struct http_request *request);
} pages[] = {
    {"/metrics", daemon_page_metrics},
    {"/healthz", daemon_page_healthz},
    {"/version", daemon_page_version},
};

bool daemon_page_reply(const struct workers *workers,
                       struct http_request *request)
{
    size_t i;

    for (i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
        if (strcmp(request->path, pages[i].path) != 0) {
            continue;
        }
        if (request->method != HTTP_GET && request->method != HTTP_HEAD) {
            send_json(request, 405, "{\"error\": \"method-not-allowed\"}\n");
        } else {
            pages[i].fn(workers, request);
        }
        return true;
    }
    return false;
}
