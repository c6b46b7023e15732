/*
 * Copyright (C) the ngx_symcache authors
 */

#include "lookup_batch.h"

#include <stdlib.h>
#include <string.h>
#include <event2/event_struct.h>
#include "base/clock.h"
#include "http/http.h"
#include "metrics/metrics.h"
#include "proto/header.h"

struct item {
    struct lookup_batch *batch;
    struct waiter *waiter; /* NULL: is answered, or scheduler_ask() runs */
};

struct lookup_batch {
    struct pending_reply *detached; /* NULL while the lookups are begun */
    struct evbuffer *lines;    /* of the answer, not sent yet */
    struct event flush;        /* sends those that came in one turn together */
    size_t open;               /* lookups that are not answered yet */
    uint64_t began;
    single_lookup_ended_fn ended;
    void *arg;
    size_t n;
    struct item items[SYMCACHE_LOOKUPS_MAX];
};

static void batch_add_line(struct lookup_batch *batch, size_t i, int status,
                           unsigned seconds, const char *reason)
{
    evbuffer_add_printf(batch->lines, "%zu %d %u%s%s\n", i, status, seconds,
                        reason != NULL ? " " : "",
                        reason != NULL ? reason : "");
}

static void batch_free(struct lookup_batch *batch)
{
    size_t i;

    for (i = 0; i < batch->n; i++) {
        if (batch->items[i].waiter != NULL) {
            metrics_add(METRIC_LOOKUP_ABORTED, 1);
            scheduler_leave(batch->items[i].waiter);
        }
    }
    if (batch->detached != NULL) {
        event_del(&batch->flush);
        pending_reply_free(batch->detached);
        batch->ended(batch->arg);
    }
    if (batch->lines != NULL) {
        evbuffer_free(batch->lines);
    }
    free(batch);
}

/* The client went away; the jobs go on without these waiters. */
static void batch_on_gone(void *arg)
{
    batch_free(arg);
}

static void batch_on_flush(evutil_socket_t fd, short events, void *arg)
{
    struct lookup_batch *batch = arg;

    if (!pending_reply_send(batch->detached, batch->lines) ||
        batch->open == 0) {
        batch_free(batch);
    }
}

/* Is called from inside scheduler_ask(), or later. */
static void batch_on_answer(void *arg, const struct scheduler_answer *answer)
{
    struct item *item = arg;
    struct lookup_batch *batch = item->batch;
    bool has_reason =
        answer->kind == SCHEDULER_ABSENT || answer->kind == SCHEDULER_BUSY;
    bool has_seconds = has_reason || answer->kind == SCHEDULER_PENDING;

    metrics_observe(METRICS_LOOKUP, clock_since(batch->began));
    item->waiter = NULL;
    batch->open--;
    batch_add_line(
        batch, (size_t)(item - batch->items), single_lookup_status(answer),
        has_seconds ? answer->seconds : 0, has_reason ? answer->reason : NULL);
    if (batch->detached != NULL) {
        event_active(&batch->flush, EV_TIMEOUT, 0);
    }
}

/* Begins the lookup that a line of the body asks for. */
static void batch_begin_line(struct lookup_batch *batch,
                             lookup_scheduler_fn find,
                             const struct lookup_query *lookup_query,
                             char *line, size_t size, const char *via)
{
    struct item *item = &batch->items[batch->n++];
    struct url_path_error error = {400, "bad-path", NULL};
    struct url_path path = {0};
    struct lookup_query own = *lookup_query;
    bool is_text = strlen(line) == size;
    char *query = strchr(line, '?');
    struct scheduler *scheduler;

    item->batch = batch;
    if (query != NULL) {
        *query++ = '\0';
    }
    if (is_text && lookup_query_parse_line(query, &own) &&
        url_path_split(&path, line) &&
        (scheduler = find(batch->arg, &path)) != NULL &&
        url_path_lookup(&path, scheduler_config(scheduler), &error) &&
        lookup_query_is_proved(&own, &path.key)) {
        batch->open++;
        own.ask.reads_file = 1;
        item->waiter = scheduler_ask(
            scheduler,
            &(struct scheduler_lookup){path.store, &path.key, path.segments[3],
                                       &own.ask, via, own.hints, own.wait},
            batch_on_answer, item);
    } else {
        metrics_add(METRIC_REQUEST_REFUSED, 1);
        batch_add_line(batch, batch->n - 1, error.status, 0, error.error);
    }
    url_path_clear(&path);
}

/* The batch cannot be answered later: for lookups that wait, the answer is
 * that a job runs. */
static void stop_waiting(struct lookup_batch *batch)
{
    struct scheduler_answer pending = {.kind = SCHEDULER_PENDING,
                                       .seconds = 1};
    size_t i;

    for (i = 0; i < batch->n; i++) {
        if (batch->items[i].waiter != NULL) {
            scheduler_leave(batch->items[i].waiter);
            batch_on_answer(&batch->items[i], &pending);
        }
    }
}

/* Sends the head of an answer of which more is to come. */
static void send_head(struct event_base *base, struct lookup_batch *batch)
{
    static const char head[] = "HTTP/1.1 200 OK\r\n"
                               "Content-Type: text/plain\r\n"
                               "Cache-Control: no-store\r\n"
                               "Connection: close\r\n\r\n";

    event_assign(&batch->flush, base, -1, 0, batch_on_flush, batch);
    evbuffer_prepend(batch->lines, head, sizeof(head) - 1);
    event_active(&batch->flush, EV_TIMEOUT, 0);
}

static struct lookup_batch *batch_new(single_lookup_ended_fn ended, void *arg)
{
    struct lookup_batch *batch = calloc(1, sizeof(*batch));

    if (batch != NULL) {
        batch->ended = ended;
        batch->arg = arg;
        batch->began = clock_ms();
        batch->lines = evbuffer_new();
        if (batch->lines == NULL) {
            free(batch);
            batch = NULL;
        }
    }
    return batch;
}

/* Returns the fault of a body as a sentence, or NULL. */
static const char *check_body(struct evbuffer *body)
{
    size_t size = evbuffer_get_length(body), n = 0, i;
    const unsigned char *text = evbuffer_pullup(body, -1);

    for (i = 0; i < size; i++) {
        n += text[i] == '\n';
    }
    return size == 0                  ? "no line: each has a lookup's path"
           : text[size - 1] != '\n'  ? "the last line has no line feed"
           : n > SYMCACHE_LOOKUPS_MAX ? "more than 64 lines"
                                      : NULL;
}

static void begin_all(struct lookup_batch *batch, lookup_scheduler_fn find,
                      const struct lookup_query *lookup_query,
                      struct evhttp_request *req)
{
    struct evbuffer *body = evhttp_request_get_input_buffer(req);
    const char *via = request_header(req, SYMCACHE_HEADER_VIA);
    char *line;
    size_t size;

    while ((line = evbuffer_readln(body, &size, EVBUFFER_EOL_LF)) != NULL) {
        batch_begin_line(batch, find, lookup_query, line, size,
                         via != NULL ? via : "");
        free(line);
    }
}

void lookup_batch_start(struct event_base *base, lookup_scheduler_fn find,
                        const struct lookup_query *lookup_query,
                        struct evhttp_request *req,
                        single_lookup_ended_fn ended, void *arg)
{
    const char *wrong = check_body(evhttp_request_get_input_buffer(req));
    struct lookup_batch *batch;

    if (wrong != NULL) {
        url_path_refuse(req, 400, "bad-body", wrong);
        return;
    }
    batch = batch_new(ended, arg);
    if (batch == NULL) {
        reply_number(req, "Retry-After", 1);
        reply_empty(req, 503);
        return;
    }
    begin_all(batch, find, lookup_query, req);
    if (batch->open > 0) {
        batch->detached = pending_reply_new(base, req, batch_on_gone, batch);
        if (batch->detached != NULL) {
            send_head(base, batch);
            return;
        }
        stop_waiting(batch);
    }
    reply_header(req, "Cache-Control", "no-store");
    reply_send(req, 200, "text/plain", batch->lines);
    batch_free(batch);
}
