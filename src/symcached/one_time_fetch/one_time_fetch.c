/*
 * Copyright (C) the ngx_symcache authors
 */
#include "one_time_fetch.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/fd_close.h"
#include "base/secret.h"
#include "base/unnamed_file.h"
#include "symcached/fetch/fetch.h"

#define TRIES 3

struct one_time_fetches {
    struct fetcher *fetcher;
};

/* A fetch has copies of all settings that it needs: a reload replaces the
 * configuration. */
struct one_time_fetch {
    struct fetch *fetch;
    int fd;
    struct transport_config transport;
    struct header_config header; /* its value is a secret */
    struct limits_config limits;
    struct cache_config cache;
    once_fn fn;
    void *arg;
};

struct one_time_fetches *one_time_fetch_new(struct event_base *base)
{
    struct one_time_fetches *fetches = calloc(1, sizeof(*fetches));

    if (fetches != NULL) {
        fetches->fetcher = fetcher_new(base, NULL, NULL);
    }
    if (fetches != NULL && fetches->fetcher == NULL) {
        free(fetches);
        return NULL;
    }
    return fetches;
}

void one_time_fetch_free(struct one_time_fetches *fetches)
{
    if (fetches != NULL) {
        fetcher_free(fetches->fetcher);
        free(fetches);
    }
}

static void release(struct one_time_fetch *fetch)
{
    fd_close(fetch->fd);
    secret_free(fetch->header.value);
    free(fetch);
}

static const char *status_text(long status)
{
    switch (status) {
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    case 500:
        return "Internal Server Error";
    case 501:
        return "Not Implemented";
    case 502:
        return "Bad Gateway";
    case 503:
        return "Service Unavailable";
    case 504:
        return "Gateway Timeout";
    default:
        return "";
    }
}

static void print_error(char *text, size_t size,
                        const struct fetch_result *result)
{
    long status = result->status;

    if (status == 401 || status == 403) {
        snprintf(text, size, "permission denied: %ld %s", status,
                 status_text(status));
    } else if (result->outcome == SOURCE_NOT_FOUND ||
               (status >= 400 && status < 500)) {
        snprintf(text, size, "not found");
    } else if (status >= 500) {
        snprintf(text, size, "download failed: %ld %s", status,
                 status_text(status));
    } else if (result->outcome == SOURCE_FOUND) {
        snprintf(text, size, "download failed: 200 without a length, or with "
                             "a part");
    } else {
        snprintf(text, size, "download failed: %s", result->detail);
    }
}

static void one_time_on_fetched(void *arg, const struct fetch_result *result)
{
    struct one_time_fetch *fetch = arg;
    struct one_time_fetch_answer answer = {.fd = -1, .coding = ""};
    char error[300];

    if (result->outcome == SOURCE_FOUND && result->response->framed &&
        result->response->range[0] == '\0') {
        answer.fd = fetch->fd;
        answer.coding = result->response->coding;
        fetch->fd = -1;
    } else {
        print_error(error, sizeof(error), result);
        answer.error = error;
    }
    fetch->fn(fetch->arg, &answer);
    release(fetch);
}

static void set_token(struct one_time_fetch *fetch, const char *token)
{
    static char name[] = "Authorization";

    fetch->header.name = name;
    if (asprintf(&fetch->header.value, "Bearer %s", token) < 0) {
        fetch->header.value = NULL;
    }
}

struct one_time_fetch *one_time_fetch_start(struct one_time_fetches *fetches,
                                            const struct config *config,
                                            const char *url, const char *token,
                                            once_fn fn, void *arg)
{
    const struct symbolication_config *symbolication = &config->symbolication;
    struct one_time_fetch *fetch = calloc(1, sizeof(*fetch));
    struct fetch_request request = {.url = url, .credentials = true};

    if (fetch == NULL) {
        return NULL;
    }
    fetch->limits = config->limits;
    fetch->limits.attempts = TRIES;
    fetch->cache = config->cache;
    fetch->fn = fn;
    fetch->arg = arg;
    fetch->transport.internal =
        tenants_may_reach(&symbolication->symbolicator.tenants, url)
            ? TRANSPORT_INTERNAL_ORIGIN
            : TRANSPORT_OUTSIDE;
    /* one that may not reach internal hosts has other connections */
    fetch->transport.id = fetch->transport.internal;
    fetch->fd = unnamed_file_open(config->downloads);
    if (token != NULL) {
        set_token(fetch, token);
    }
    request.transport = &fetch->transport;
    request.extra = &fetch->header;
    request.nextra = token != NULL;
    request.limits = &fetch->limits;
    request.cache = &fetch->cache;
    request.fd = fetch->fd;
    request.max = symbolication->limits.crash_size;
    request.seconds = fetch->limits.download_time;
    if (fetch->fd != -1 && (token == NULL || fetch->header.value != NULL)) {
        fetch->fetch = fetch_start(fetches->fetcher, &request,
                                   one_time_on_fetched, fetch);
    }
    if (fetch->fetch == NULL) {
        release(fetch);
        return NULL;
    }
    return fetch;
}

void one_time_fetch_cancel(struct one_time_fetch *fetch)
{
    fetch_cancel(fetch->fetch);
    release(fetch);
}
