/*
 * Copyright (C) the ngx_symcache authors
 */

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <event2/bufferevent.h>
#include <event2/keyvalq_struct.h>
#include "hold.h"
#include "metrics.h"
#include "parked.h"
#include "reply.h"
#include "proto/symcache_header.h"
#include "proto/symcache_path.h"

struct hold {
    struct evhttp_request *req; /* NULL: parked */
    struct parked *parked;
    struct waiter *waiter; /* NULL while jobs_ask() runs */
    struct event *closed;  /* not parked */
    hold_ended_fn ended;
    void *arg;
};

static bool parse_seconds(const char *text, unsigned *seconds)
{
    char *end;
    unsigned long n;

    if (text[0] < '0' || text[0] > '9' || strlen(text) > 9) {
        return false;
    }
    n = strtoul(text, &end, 10);
    if (*end != '\0') {
        return false;
    }
    *seconds = n < SYMCACHE_WAIT_MAX ? (unsigned)n : SYMCACHE_WAIT_MAX;
    return true;
}

static const char *parse_pairs(const struct evkeyvalq *pairs,
                               struct hold_query *q)
{
    const char *version = NULL, *exceeds = NULL, *wait = NULL, **to;
    const struct evkeyval *pair;

    TAILQ_FOREACH(pair, pairs, next)
    {
        if (strcmp(pair->key, "version") == 0) {
            to = &version;
        } else if (strcmp(pair->key, "exceeds") == 0) {
            to = &exceeds;
        } else if (strcmp(pair->key, "wait") == 0) {
            to = &wait;
        } else {
            return "unknown query key";
        }
        if (*to != NULL) {
            return "repeated query key";
        }
        *to = pair->value;
    }

    if (version == NULL ||
        !symcache_version_parse(version, strlen(version), &q->ask.version)) {
        return "version= must be a version such as 3.1.0";
    }
    if (exceeds != NULL &&
        !symcache_answer_exceeds(exceeds, strlen(exceeds), &q->ask)) {
        return "exceeds= must be a version below the one asked for";
    }
    if (wait != NULL && !parse_seconds(wait, &q->wait)) {
        return "wait= must be a number of seconds";
    }
    return NULL;
}

const char *hold_parse(const char *query, struct hold_query *q)
{
    struct evkeyvalq pairs;
    const char *reason;

    memset(q, 0, sizeof(*q));
    if (evhttp_parse_query_str(query != NULL ? query : "", &pairs) != 0) {
        return "the query cannot be read";
    }
    reason = parse_pairs(&pairs, q);
    evhttp_clear_headers(&pairs);
    return reason;
}

static void hold_free(struct hold *h)
{
    if (h->closed != NULL) {
        event_free(h->closed);
    }
    free(h);
}

static void reply_hit(struct evhttp_request *req, const struct jobs_answer *a)
{
    char path[SYMCACHE_PATH_MAX + 1], text[SYMCACHE_VERSION_TEXT_MAX + 1];

    symcache_version_print(text, &a->version);
    symcache_path_file(path, a->key, &a->version, SYMCACHE_FILE_PLAIN);
    reply_header(req, SYMCACHE_HEADER_VERSION, text);
    reply_header(req, SYMCACHE_HEADER_PATH, path);
    reply_empty(req, 200);
}

static void reply(struct evhttp_request *req, const struct jobs_answer *a)
{
    switch (a->kind) {
    case JOBS_HIT:
        metrics_add(a->stale ? METRIC_LOOKUP_STALE : METRIC_LOOKUP_HIT, 1);
        reply_hit(req, a);
        break;

    case JOBS_NOT_MODIFIED:
        metrics_add(METRIC_LOOKUP_NOT_MODIFIED, 1);
        reply_empty(req, 304);
        break;

    case JOBS_ABSENT:
        metrics_add(METRIC_LOOKUP_ABSENT, 1);
        reply_header(req, SYMCACHE_HEADER_REASON, a->reason);
        reply_number(req, SYMCACHE_HEADER_VALID, a->seconds);
        reply_error(req, 404, a->reason, a->text);
        break;

    case JOBS_PENDING:
        metrics_add(METRIC_LOOKUP_PENDING, 1);
        reply_number(req, "Retry-After", a->seconds);
        reply_empty(req, 202);
        break;

    case JOBS_BUSY:
        metrics_add(METRIC_LOOKUP_BUSY, 1);
        reply_header(req, SYMCACHE_HEADER_REASON, a->reason);
        reply_number(req, "Retry-After", a->seconds);
        reply_error(req, 503, a->reason, a->text);
        break;
    }
}

static void on_answer(void *arg, const struct jobs_answer *a)
{
    struct hold *h = arg;
    struct evhttp_request *req;

    if (h->req != NULL) {
        reply(h->req, a);
        hold_free(h);
        return;
    }

    req = evhttp_request_new(NULL, NULL);
    if (req != NULL) {
        reply(req, a);
        parked_answer(h->parked, evhttp_request_get_output_buffer(req));
        evhttp_request_free(req);
    } else {
        parked_free(h->parked); /* out of memory: the client asks again */
    }
    h->ended(h->arg);
    hold_free(h);
}

/* The client went away: one waiter less, the job goes on. */
static void on_gone(void *arg)
{
    struct hold *h = arg;

    metrics_add(METRIC_LOOKUP_ABORTED, 1);
    jobs_leave(h->waiter);
    if (h->req != NULL) {
        evhttp_connection_free(evhttp_request_get_connection(h->req));
    } else {
        parked_free(h->parked);
        h->ended(h->arg);
    }
    hold_free(h);
}

static void on_closed(evutil_socket_t fd, short events, void *arg)
{
    on_gone(arg);
}

/*
 * While a request is held evhttp does not read from its connection, so it
 * does not see a close; reading in its place would make it fail on pipelined
 * bytes.  An event beside it tells of both.  No client of ours sends bytes
 * behind a held request, so these end it like a close.  (EV_CLOSED would tell
 * of a close alone, but not of a reset, and the loop would spin.)
 */
static void watch_close(struct event_base *base, struct hold *h)
{
    struct bufferevent *bev = evhttp_connection_get_bufferevent(
        evhttp_request_get_connection(h->req));

    h->closed = event_new(base, bufferevent_getfd(bev), EV_READ, on_closed, h);
    if (h->closed != NULL) {
        event_add(h->closed, NULL);
    }
}

void hold_start(struct event_base *base, struct jobs *jobs,
                const struct store_config *store, const symcache_key_t *key,
                const char *name, const struct hold_query *q,
                struct evhttp_request *req, hold_ended_fn ended, void *arg)
{
    struct hold *h = calloc(1, sizeof(*h));
    struct waiter *waiter;
    const char *via;

    if (h == NULL) {
        reply_number(req, "Retry-After", 1);
        reply_empty(req, 503);
        return;
    }

    h->req = req;
    h->ended = ended;
    h->arg = arg;
    via = evhttp_find_header(evhttp_request_get_input_headers(req),
                             SYMCACHE_HEADER_VIA);
    waiter = jobs_ask(jobs, store, key, name, &q->ask, via != NULL ? via : "",
                      q->wait, on_answer, h);
    if (waiter == NULL) {
        return;
    }

    h->waiter = waiter;
    if (evhttp_request_get_command(req) == EVHTTP_REQ_GET) {
        h->parked = parked_new(base, req, on_gone, h);
    }
    if (h->parked != NULL) {
        h->req = NULL;
    } else {
        watch_close(base, h);
    }
}
