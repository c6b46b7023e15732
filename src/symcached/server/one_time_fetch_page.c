/*
 * Copyright (C) the ngx_symcache authors
 *
 * POST /v1/fetch: a one-time fetch, whose file is handed over as a descriptor
 * with the first byte of the answer.  So it can be asked for on a Unix socket
 * only.
 */
#include "pages.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/fd_close.h"
#include "base/secret.h"
#include "http/http.h"
#include "url_path.h"

struct handover {
    LIST_ENTRY(handover) entry;
    struct one_time_fetch *fetch;
    struct pending_reply *pending;
    void (*ended)(void *arg);
    void *arg;
};

static LIST_HEAD(, handover) all = LIST_HEAD_INITIALIZER(all);

static void end_fetch(struct handover *handover)
{
    LIST_REMOVE(handover, entry);
    handover->ended(handover->arg);
    free(handover);
}

static void on_gone(void *arg)
{
    struct handover *handover = arg;

    one_time_fetch_cancel(handover->fetch);
    pending_reply_free(handover->pending);
    end_fetch(handover);
}

static void on_fetched(void *arg, const struct one_time_fetch_answer *answer)
{
    struct handover *handover = arg;
    struct evhttp_request *req = evhttp_request_new(NULL, NULL);
    cJSON *object = cJSON_CreateObject();

    if (req != NULL) {
        cJSON_AddStringToObject(
            object, answer->error != NULL ? "failed" : "coding",
            answer->error != NULL ? answer->error : answer->coding);
        reply_json(req, object);
        pending_reply_hand(handover->pending,
                           evhttp_request_get_output_buffer(req), answer->fd);
        evhttp_request_free(req);
    } else {
        cJSON_Delete(object);
        pending_reply_free(handover->pending);
    }
    fd_close(answer->fd);
    end_fetch(handover);
}

static const char *one_time_text(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItem(object, name));
}

/* Returns NULL when it has answered. */
static struct handover *begin_fetch(struct event_base *base,
                                    struct one_time_fetches *fetches,
                                    const struct config *config,
                                    struct evhttp_request *req,
                                    const cJSON *asked)
{
    const char *url = one_time_text(asked, "url"),
               *token = one_time_text(asked, "token");
    struct handover *handover = calloc(1, sizeof(*handover));

    if (url == NULL || (token != NULL && !secret_is_token(token))) {
        free(handover);
        url_path_refuse(req, 400, "bad-request", "a url, and perhaps a token");
        return NULL;
    }
    if (handover != NULL) {
        handover->fetch = one_time_fetch_start(fetches, config, url, token,
                                               on_fetched, handover);
    }
    if (handover != NULL && handover->fetch != NULL) {
        handover->pending = pending_reply_new(base, req, on_gone, handover);
        if (handover->pending != NULL) {
            return handover;
        }
        one_time_fetch_cancel(handover->fetch);
    }
    free(handover);
    reply_number(req, "Retry-After", 1);
    reply_error(req, 503, "busy", "there is no room for a file");
    return NULL;
}

void one_time_fetch_page_start(struct event_base *base,
                               struct one_time_fetches *fetches,
                               const struct config *config,
                               struct evhttp_request *req,
                               void (*ended)(void *arg), void *arg)
{
    struct evbuffer *body = evhttp_request_get_input_buffer(req);
    size_t size = evbuffer_get_length(body);
    char *text = (char *)evbuffer_pullup(body, -1);
    cJSON *asked = cJSON_ParseWithLength(text != NULL ? text : "", size);
    char *token = cJSON_GetStringValue(cJSON_GetObjectItem(asked, "token"));
    struct handover *handover = NULL;

    if (text != NULL) {
        explicit_bzero(text, size);
    }
    if (fetches != NULL) {
        handover = begin_fetch(base, fetches, config, req, asked);
    } else {
        url_path_refuse(req, 403, "no-tenants",
                        "the configuration does not allow them");
    }
    if (handover != NULL) {
        handover->ended = ended;
        handover->arg = arg;
        LIST_INSERT_HEAD(&all, handover, entry);
    }
    if (token != NULL) {
        explicit_bzero(token, strlen(token));
    }
    cJSON_Delete(asked);
}

void one_time_fetch_pages_stop(void)
{
    while (!LIST_EMPTY(&all)) {
        on_gone(LIST_FIRST(&all));
    }
}
