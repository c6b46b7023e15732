/*
 * Copyright (C) the ngx_symcache authors
 */

#include "single_lookup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <event2/bufferevent.h>
#include "base/clock.h"
#include "base/event.h"
#include "base/fd_readable.h"
#include "metrics/metrics.h"
#include "http/http.h"
#include "proto/header.h"
#include "proto/path.h"

/* The lookup if the client cannot be redirected. */
struct saved_request {
    struct scheduler *scheduler;
    char
        store[SYMCACHE_STORE_MAX + 1]; /* a reload replaces the store itself */
    symcache_key_t key;
    char name[SYMCACHE_NAME_MAX + 1];
    char via[VIA_MAX + 1];
    struct lookup_query query;
};

/*
 * While it waits, its connection either still belongs to evhttp, and an event
 * of ours tells of a close, or it is detached.  The wait ends in
 * lookup_on_answer(), or in lookup_on_gone() if the client goes away before.
 */
struct single_lookup {
    struct evhttp_request *req;     /* NULL: detached */
    struct pending_reply *pending;  /* or NULL */
    struct event *closed;           /* NULL: detached, or does not wait yet */
    struct waiter *waiter;          /* NULL while scheduler_ask() runs */
    struct tier_redirect *redirect; /* or NULL; it comes before that */
    struct saved_request *saved;    /* for that time */
    uint64_t began;
    single_lookup_ended_fn ended;
    void *arg;
};

static void single_lookup_free(struct single_lookup *lookup)
{
    event_drop(lookup->closed);
    free(lookup->saved);
    free(lookup);
}

static void reply_hit(struct evhttp_request *req,
                      const struct scheduler_answer *answer)
{
    char path[SYMCACHE_PATH_MAX + 1], text[SYMCACHE_VERSION_TEXT_MAX + 1];

    symcache_version_print(text, &answer->version);
    if (symcache_key_is_download(answer->key)) {
        symcache_path_original(path, answer->key);
    } else {
        symcache_path_file(path, answer->key, &answer->version,
                           SYMCACHE_FILE_PLAIN);
    }
    reply_header(req, SYMCACHE_HEADER_VERSION, text);
    reply_header(req, SYMCACHE_HEADER_PATH, path);
    reply_empty(req, 200);
}

int single_lookup_status(const struct scheduler_answer *answer)
{
    static const struct {
        int status;
        enum metric metric;
    } kinds[] = {
        [SCHEDULER_HIT] = {200, METRIC_LOOKUP_HIT},
        [SCHEDULER_NOT_MODIFIED] = {304, METRIC_LOOKUP_NOT_MODIFIED},
        [SCHEDULER_ABSENT] = {404, METRIC_LOOKUP_ABSENT},
        [SCHEDULER_PENDING] = {202, METRIC_LOOKUP_PENDING},
        [SCHEDULER_BUSY] = {503, METRIC_LOOKUP_BUSY},
    };

    metrics_add(answer->kind == SCHEDULER_HIT && answer->stale
                    ? METRIC_LOOKUP_STALE
                    : kinds[answer->kind].metric,
                1);
    return kinds[answer->kind].status;
}

static void single_lookup_reply(struct evhttp_request *req, const void *what)
{
    const struct scheduler_answer *answer = what;
    int status = single_lookup_status(answer);

    switch (answer->kind) {
    case SCHEDULER_HIT:
        reply_hit(req, answer);
        break;

    case SCHEDULER_NOT_MODIFIED:
        reply_empty(req, status);
        break;

    case SCHEDULER_ABSENT:
        reply_header(req, SYMCACHE_HEADER_REASON, answer->reason);
        reply_number(req, SYMCACHE_HEADER_VALID, answer->seconds);
        reply_error(req, status, answer->reason, answer->text);
        break;

    case SCHEDULER_PENDING:
        reply_number(req, "Retry-After", answer->seconds);
        reply_empty(req, status);
        break;

    case SCHEDULER_BUSY:
        reply_header(req, SYMCACHE_HEADER_REASON, answer->reason);
        reply_number(req, "Retry-After", answer->seconds);
        reply_error(req, status, answer->reason, answer->text);
        break;
    }
}

/* Sends the answer that print() makes, and frees the lookup. */
static void answer(struct single_lookup *lookup,
                   void (*print)(struct evhttp_request *req, const void *what),
                   const void *what)
{
    struct evhttp_request *req;

    metrics_observe(METRICS_LOOKUP, clock_since(lookup->began));
    if (lookup->req != NULL) {
        print(lookup->req, what);
        single_lookup_free(lookup);
        return;
    }

    req = evhttp_request_new(NULL, NULL);
    if (req != NULL) {
        print(req, what);
        pending_reply_answer(lookup->pending,
                             evhttp_request_get_output_buffer(req));
        evhttp_request_free(req);
    } else {
        pending_reply_free(
            lookup->pending); /* out of memory: the client asks again */
    }
    lookup->ended(lookup->arg);
    single_lookup_free(lookup);
}

/* Is called from inside scheduler_ask(), or later. */
static void lookup_on_answer(void *arg, const struct scheduler_answer *a)
{
    answer(arg, single_lookup_reply, a);
}

static void reply_redirect(struct evhttp_request *req, const void *url)
{
    metrics_add(METRIC_LOOKUP_REDIRECT, 1);
    reply_header(req, "Location", url);
    reply_empty(req, 302);
}

/* The client went away; the job goes on without this waiter. */
static void lookup_on_gone(void *arg)
{
    struct single_lookup *lookup = arg;

    metrics_add(METRIC_LOOKUP_ABORTED, 1);
    if (lookup->redirect != NULL) {
        tier_redirect_cancel(lookup->redirect);
    } else {
        scheduler_leave(lookup->waiter);
    }
    if (lookup->req != NULL) {
        evhttp_connection_free(evhttp_request_get_connection(lookup->req));
    } else {
        pending_reply_free(lookup->pending);
        lookup->ended(lookup->arg);
    }
    single_lookup_free(lookup);
}

static void on_closed(evutil_socket_t fd, short events, void *arg)
{
    struct single_lookup *lookup = arg;

    if (!fd_is_readable(fd) && event_add(lookup->closed, NULL) == 0) {
        return;
    }
    lookup_on_gone(lookup);
}

/*
 * While a request waits for its answer, evhttp does not read from its
 * connection and so does not see a close.  Making it read would make it fail
 * on pipelined bytes, so an event of ours tells of both.  No client of ours
 * sends bytes behind a request that waits, so they end it like a close.
 * (EV_CLOSED would tell of a close alone, but not of a reset, and then the
 * loop would spin.)
 */
static void watch_close(struct event_base *base, struct single_lookup *lookup)
{
    struct bufferevent *bev = evhttp_connection_get_bufferevent(
        evhttp_request_get_connection(lookup->req));

    lookup->closed =
        event_new(base, bufferevent_getfd(bev), EV_READ, on_closed, lookup);
    if (lookup->closed != NULL) {
        event_add(lookup->closed, NULL);
    }
}

/* The rest of the time that the client waits. */
static unsigned seconds_left(const struct single_lookup *lookup)
{
    unsigned spent = (unsigned)((clock_since(lookup->began) + 999) / 1000);
    unsigned wait = lookup->saved->query.wait;

    return wait == 0 ? 0 : wait > spent ? wait - spent : 1;
}

static void on_redirect(void *arg, const char *url)
{
    static const struct scheduler_answer gone = {
        .kind = SCHEDULER_BUSY, .reason = SYMCACHE_REASON_STORE, .seconds = 1};
    struct single_lookup *lookup = arg;
    const struct saved_request *saved = lookup->saved;
    const struct store_config *store;
    struct waiter *waiter;

    lookup->redirect = NULL;
    if (url != NULL) {
        answer(lookup, reply_redirect, url);
        return;
    }
    store = config_store(scheduler_config(saved->scheduler), saved->store,
                         strlen(saved->store));
    if (store == NULL) {
        lookup_on_answer(lookup, &gone);
        return;
    }
    waiter = scheduler_ask(
        saved->scheduler,
        &(struct scheduler_lookup){store, &saved->key, saved->name,
                                   &saved->query.ask, saved->via,
                                   saved->query.hints, seconds_left(lookup)},
        lookup_on_answer, lookup);
    if (waiter != NULL) {
        lookup->waiter = waiter;
        free(lookup->saved);
        lookup->saved = NULL;
    }
}

/* Looks whether the client is sent to the tier for the file.  Returns false if
 * that cannot be. */
static bool start_redirect(struct single_lookup *lookup,
                           struct scheduler *scheduler,
                           const struct store_config *store,
                           const symcache_key_t *key, const char *name,
                           const struct lookup_query *lookup_query,
                           const char *via)
{
    struct saved_request *saved;

    if (!lookup_query->redirects || strlen(via) >= sizeof(saved->via)) {
        return false;
    }
    saved = lookup->saved = calloc(1, sizeof(*saved));
    if (saved == NULL) {
        return false;
    }
    saved->scheduler = scheduler;
    snprintf(saved->store, sizeof(saved->store), "%s", store->name);
    symcache_key_copy(&saved->key, key);
    snprintf(saved->name, sizeof(saved->name), "%s", name);
    snprintf(saved->via, sizeof(saved->via), "%s", via);
    saved->query = *lookup_query;
    lookup->redirect =
        scheduler_redirect(scheduler, store, key, on_redirect, lookup);
    return lookup->redirect != NULL;
}

void single_lookup_start(struct event_base *base, struct scheduler *scheduler,
                         const struct store_config *store,
                         const symcache_key_t *key, const char *name,
                         const struct lookup_query *lookup_query,
                         struct evhttp_request *req,
                         single_lookup_ended_fn ended, void *arg)
{
    struct single_lookup *lookup = calloc(1, sizeof(*lookup));
    struct waiter *waiter = NULL;
    const char *via;

    if (lookup == NULL) {
        reply_number(req, "Retry-After", 1);
        reply_empty(req, 503);
        return;
    }

    lookup->req = req;
    lookup->ended = ended;
    lookup->arg = arg;
    lookup->began = clock_ms();
    via = request_header(req, SYMCACHE_HEADER_VIA);
    via = via != NULL ? via : "";
    if (!start_redirect(lookup, scheduler, store, key, name, lookup_query,
                        via)) {
        waiter = scheduler_ask(scheduler,
                               &(struct scheduler_lookup){
                                   store, key, name, &lookup_query->ask, via,
                                   lookup_query->hints, lookup_query->wait},
                               lookup_on_answer, lookup);
        if (waiter == NULL) {
            return;
        }
        lookup->waiter = waiter;
    }

    if (evhttp_request_get_command(req) == EVHTTP_REQ_GET) {
        lookup->pending = pending_reply_new(base, req, lookup_on_gone, lookup);
    }
    if (lookup->pending != NULL) {
        lookup->req = NULL;
    } else {
        watch_close(base, lookup);
    }
}
